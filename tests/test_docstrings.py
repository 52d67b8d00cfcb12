"""Docstrings of public names are complete, in the style that the API page renders."""

from __future__ import annotations

import re
from pathlib import Path

import griffe
import pytest

import recallscope
from recallscope import Problem
from recallscope.results.result import Result

ROOT = Path(__file__).parents[1]
PROBLEM = Problem(vocab=64, samples=512, dim=16, length=4)
NAMES = sorted(recallscope.__all__)


@pytest.fixture(scope="module")
def sources():
    """The source of the API page: the code is read, not run."""
    loader = griffe.GriffeLoader(
        search_paths=[Path(recallscope.__file__).parents[1]], docstring_parser="google"
    )
    return loader.load("recallscope")


def sections_of(found) -> dict[str, list]:
    """The sections of a docstring by kind, each as a list of its entries."""
    sections: dict[str, list] = {}
    for section in found.docstring.parse("google") if found.docstring else ():
        value = section.value if isinstance(section.value, list) else [section.value]
        sections.setdefault(section.kind.value, []).extend(value)
    return sections


def public(sources, name):
    made = getattr(recallscope, name)
    return sources[f"{made.__module__}.{made.__qualname__}".removeprefix("recallscope.")]


def arguments(found) -> set[str]:
    return {each.name for each in found.parameters} - {"self", "cls"}


def documented(found) -> set[str]:
    sections = sections_of(found)
    return {each.name for kind in ("parameters", "attributes") for each in sections.get(kind, ())}


def is_returned(name: str) -> bool:
    made = getattr(recallscope, name)
    return isinstance(made, type) and issubclass(made, Result)


@pytest.mark.parametrize("name", NAMES)
def test_every_argument_is_documented(sources, name):
    found = public(sources, name)
    assert sections_of(found)["text"]
    if is_returned(name):  # users do not construct it
        return
    assert arguments(found) <= documented(found)
    if found.is_function:
        assert documented(found) <= arguments(found)


@pytest.mark.parametrize("name", NAMES)
def test_methods_are_documented(sources, name):
    """All have a sentence; where arguments are listed, the list is complete."""
    found = public(sources, name)
    methods = [] if found.is_function else found.members.items()
    for called, each in methods:
        if called.startswith("_") or each.is_alias or not each.is_function:
            continue
        assert sections_of(each).get("text"), f"{name}.{called}"
        if documented(each):
            assert documented(each) == arguments(each), f"{name}.{called}"


@pytest.mark.parametrize("name", NAMES)
def test_functions_say_what_they_return_and_raise(sources, name):
    found = public(sources, name)
    if found.is_function:
        assert {"returns", "raises"} <= sections_of(found).keys()


@pytest.mark.parametrize("name", NAMES)
def test_what_a_function_returns_is_on_the_api_page(sources, name):
    found = public(sources, name)
    page = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    if found.is_function:
        for each in set(re.findall(r"[A-Z]\w+", str(found.returns))) - {"Path"}:
            assert re.search(rf"^::: recallscope\.(\w+\.)*{each}$", page, re.MULTILINE), each


MISTAKES = {
    "ablate": lambda: recallscope.ablate(PROBLEM, ["nothing"]),
    "audit": lambda: recallscope.audit(),
    "bound": lambda: recallscope.bound(PROBLEM, 2.0),
    "check": lambda: recallscope.check(PROBLEM, seeds=1),
    "critical": lambda: recallscope.critical(PROBLEM, "colour"),
    "explore": lambda: recallscope.explore("nowhere/page.html", open=False),
    "fit": lambda: recallscope.fit(PROBLEM, "samples", ["samples=1,2"]),
    "learn": lambda: recallscope.learn(
        recallscope.Instance.make(PROBLEM, 0), recallscope.Threads(), engine="steam"
    ),
    "phase": lambda: recallscope.phase(PROBLEM, "dim=1,2", "dim=1,2"),
    "phase_map": lambda: recallscope.phase_map(PROBLEM, ("dim", [8]), ("dim", [8])),
    "plan": lambda: recallscope.plan(),
    "predict": lambda: recallscope.predict(),
    "predict_cost": lambda: recallscope.predict_cost(PROBLEM, "steam"),
    "run": lambda: recallscope.run(PROBLEM, -1),
    "solve": lambda: recallscope.solve(PROBLEM, "samples", 2.0),
    "summarise": lambda: recallscope.summarise([recallscope.run(PROBLEM)] * 2, 2.0),
    "sweep": lambda: recallscope.sweep("nothing.toml", "store"),
    "train": lambda: recallscope.train(PROBLEM),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_functions_raise_what_they_say(sources, name):
    said = {str(each.annotation) for each in sections_of(public(sources, name))["raises"]}
    with pytest.raises((recallscope.ProblemError, ValueError)) as raised:
        MISTAKES[name]()
    assert said & {each.__name__ for each in raised.type.__mro__}


def test_every_public_function_is_among_the_mistakes(sources):
    functions = {name for name in NAMES if public(sources, name).is_function}
    assert functions <= MISTAKES.keys(), "give a call that it refuses"
