"""Code in the attributes of a page, which its Content-Security-Policy forbids."""

from __future__ import annotations

from html.parser import HTMLParser


class _Attributes(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        for name, value in attributes:
            # Browsers leave out white space and control characters in the scheme of a link.
            plain = "".join(each for each in value or "" if each > " ").lower()
            if name.startswith("on") or plain.startswith("javascript:"):
                self.found.append(f"<{tag} {name}={value!r}>")


def inline_code(page: str) -> list[str]:
    """The handlers (`on…=`) and `javascript:` links of a page, whatever writes it."""
    reader = _Attributes()
    reader.feed(page)
    reader.close()
    return reader.found
