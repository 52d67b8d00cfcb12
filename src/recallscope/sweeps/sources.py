"""Refuses to run a function or part of the user's that was edited since its last records.

Records of another source have other keys: without this, all would be run again unasked.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import pyarrow.compute as pc

from recallscope.common.errors import ProblemError
from recallscope.common.source import edited
from recallscope.experiment.cell import OwnExperiment
from recallscope.problem.naming import PART_DEFAULTS
from recallscope.problem.problem import Problem
from recallscope.problem.registry import files_of
from recallscope.sweeps.store.schema import files_in
from recallscope.sweeps.store.store import Store
from recallscope.sweeps.store.tables import different_rows


def check_sources(store: Store, own: OwnExperiment | None, problems: Iterable[Problem]) -> None:
    """Raise if the store has records of the function, or of a part, from before an edit of it."""
    parts = {part for problem in problems for part in problem.parts()}
    used = {part: files_of([part]) for part in parts}
    if own is not None:
        used["measure", own.measure] = own.files
    used = {part: files for part, files in used.items() if files}  # others have a version
    if not used or not store.exists():
        return
    known = _known(store)
    for (kind, name), files in used.items():
        called = _called(name)
        before = [
            old for place, old in known.items() if (place[0], _called(place[1])) == (kind, called)
        ]
        if before and (kind, name) not in known:
            prefix = f"{called}: "  # other parts of the same records have files too
            old = {path: digest for path, digest in before[0].items() if path.startswith(prefix)}
            raise ProblemError(
                f"the store {store.place!r} has records of {called} from before "
                f"{edited(old, files)}; to run it as it is now, give it a version=, which "
                "is to be raised at every change, or another name"
            )


def _called(name: str) -> str:
    """The name of a function or part without the mark of its source."""
    return re.split("[ :]", name)[0]


def _known(store: Store) -> dict[tuple[str, str], dict[str, str]]:
    """The functions and parts that there are records of, by kind and name, with their files."""
    table = store.table(["measure", *PART_DEFAULTS, "files"])
    found: dict[tuple[str, str], dict[str, str]] = {}
    for row in different_rows(table.filter(pc.is_valid(table["files"]))).to_pylist():
        files = files_in(row.pop("files"))
        metrics = [("metric", name) for name in (row.pop("metrics") or "").split()]
        for place in [*row.items(), *metrics]:
            found[place] = files
    return {place: files for place, files in found.items() if place[1] is not None}
