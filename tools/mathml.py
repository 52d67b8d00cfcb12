"""LaTeX in the pages becomes MathML when the site is built, so no script has to draw it.

An extension of Python-Markdown: `$…$` within a line, and paragraphs that are one `$$…$$`. Their
`\\tag{…}` is set at the right, and is an anchor: a link to `#eq:…` leads to it.
"""

from __future__ import annotations

import re
from html import escape
from xml.etree import ElementTree

from latex2mathml.converter import convert
from markdown import Extension, Markdown
from markdown.blockprocessors import BlockProcessor
from markdown.inlinepatterns import InlineProcessor

_INLINE = r"(?<![\\$])\$([^$]+)\$"
_DISPLAY = re.compile(r"\$\$(.+?)\$\$", re.DOTALL)
_TAG = re.compile(r"\\tag\{([^}]*)\}")
_LETTERS = {"mathbb E": "𝔼", "mathbb R": "ℝ", "mathcal L": "ℒ"}  # browsers know no such styles
_NAMES = re.compile(r"<(m[io])>([A-Za-z]{2,})</\1>")  # of functions: set off, but not far
_ABOVE_ESCAPES = 185  # and below code, which keeps its dollars
_ABOVE_PARAGRAPHS = 75


def mathml(latex: str, display: str = "inline") -> str:
    """One formula.

    >>> mathml("x").startswith("<math")
    True
    """
    for command, letter in _LETTERS.items():
        latex = latex.replace(f"\\{command}", letter)
    drawn = convert(" ".join(latex.split()), display=display)
    return _NAMES.sub(r'<mo lspace="0.17em" rspace="0.1em">\2</mo>', drawn)


class _Inline(InlineProcessor):
    def handleMatch(  # noqa: N802, the name that Markdown calls
        self, match: re.Match[str], data: str
    ) -> tuple[str, int, int]:
        return self.md.htmlStash.store(mathml(match[1])), match.start(0), match.end(0)


class _Display(BlockProcessor):
    def test(self, parent: ElementTree.Element, block: str) -> bool:
        return bool(_DISPLAY.fullmatch(block.strip()))

    def run(self, parent: ElementTree.Element, blocks: list[str]) -> None:
        latex = blocks.pop(0).strip()[2:-2]
        tag = _TAG.search(latex)
        number = f"<span>({escape(tag[1])})</span>" if tag else ""
        formula = mathml(_TAG.sub("", latex), "block")
        place = ElementTree.SubElement(parent, "div", {"class": "formula", "tabindex": "0"})
        if tag:
            place.set("id", f"eq:{tag[1]}")
        place.text = self.parser.md.htmlStash.store(formula + number)


class _MathML(Extension):
    def extendMarkdown(self, md: Markdown) -> None:  # noqa: N802
        md.inlinePatterns.register(_Inline(_INLINE, md), "mathml", _ABOVE_ESCAPES)
        md.parser.blockprocessors.register(_Display(md.parser), "mathml", _ABOVE_PARAGRAPHS)


def makeExtension(**options: object) -> Extension:  # noqa: N802
    """What Markdown calls."""
    return _MathML(**options)
