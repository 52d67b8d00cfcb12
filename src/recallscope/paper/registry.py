"""All claims, in the order of the report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from importlib import import_module

from recallscope.paper.claim import Claim, Finding
from recallscope.paper.evidence import Evidence, NotMeasuredError
from recallscope.parts.data_files import data_next_to
from recallscope.parts.errors import did_you_mean
from recallscope.problem import ProblemError

_WRITTEN = data_next_to(__file__, "claims.toml")


def _claim(name: str, sweeps: Sequence[str], of_the_paper: bool = True, **texts: str) -> Claim:
    """A claim from claims.toml, with the analysis of the module of its name."""
    module = import_module(f"recallscope.paper.claims.{name.replace('-', '_')}")
    in_one_line = {field: " ".join(text.split()) for field, text in texts.items()}
    return Claim(
        name=name,
        sweeps=tuple(sweeps),
        of_the_paper=of_the_paper,
        analyse=module.analyse,
        **in_one_line,
    )


CLAIMS = {name: _claim(name, **written) for name, written in _WRITTEN.items()}


def claims_named(name: str | Claim | Sequence[Claim]) -> list[Claim]:
    """The claim of that name, every claim for "all", or the given claims themselves.

    >>> [claim.title for claim in claims_named("products")]
    ['Capacity comes in products of N, d and L']
    """
    if not isinstance(name, str):
        given = [name] if isinstance(name, Claim) else list(name)
        if not given or not all(isinstance(claim, Claim) for claim in given):
            raise ProblemError(f"claims are a name, a Claim or a list of them, not {name!r:.60}")
        return given
    if name == "all":
        return list(CLAIMS.values())
    if name not in CLAIMS:
        raise ProblemError(
            f"there is no claim {name!r}; claims are {', '.join(CLAIMS)}, or all"
            f"{did_you_mean(name, CLAIMS)}"
        )
    return [CLAIMS[name]]


def finding(claim: Claim, evidence: Evidence) -> Finding | None:
    """The finding of a claim, or None if some runs are missing."""
    try:
        found = claim.analyse(evidence)
    except NotMeasuredError:
        return None
    return replace(
        found,
        practice=found.practice or claim.practice,
        lost=evidence.lost(claim.sweeps),
        untestable=claim.untestable,
        undecided=claim.undecided,
    )
