"""Examples in docstrings become blocks of code when the site is built.

An extension of Python-Markdown, which would take a line that begins with `>>>` for a quotation of a
quotation of a quotation.
"""

from __future__ import annotations

from markdown import Extension, Markdown
from markdown.preprocessors import Preprocessor

_BEFORE_FENCES = 50


def fenced(lines: list[str]) -> list[str]:
    """The same lines, with a fence around every example.

    >>> fenced(["Add:", "", ">>> 1 + 1", "2", "", "Done."])
    ['Add:', '', '```pycon', '>>> 1 + 1', '2', '```', '', 'Done.']
    """
    found: list[str] = []
    inside = example = False
    for line in [*lines, ""]:
        if line.lstrip().startswith("```"):
            inside = not inside
        if example and not line.strip():
            found.append("```")
            example = False
        if not inside and not example and line.startswith(">>> "):
            found.append("```pycon")
            example = True
        found.append(line)
    return found[:-1]


class _Fence(Preprocessor):
    def run(self, lines: list[str]) -> list[str]:
        return fenced(lines)


class _Doctests(Extension):
    def extendMarkdown(self, md: Markdown) -> None:  # noqa: N802, the name that Markdown calls
        md.preprocessors.register(_Fence(md), "doctests", _BEFORE_FENCES)


def makeExtension(**options: object) -> Extension:  # noqa: N802
    """What Markdown calls."""
    return _Doctests(**options)
