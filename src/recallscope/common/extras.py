"""What to do about a package that is not installed."""

from __future__ import annotations

_EXTRAS = {
    "pyarrow": "sweep",
    "filelock": "sweep",
    "ray": "ray",
    "fsspec": "s3",
    "s3fs": "s3",
    "jinja2": "paper",
    "gguf": "audit",
}
"""The optional dependencies, as pyproject.toml groups them."""


def missing(package: str) -> str:
    """A sentence that says how to install what a package, or a module of it, is part of.

    >>> missing("jinja2.sandbox")
    "this needs jinja2, which is not installed: pip install '.[paper]' in a checkout of recallscope"
    """
    name = package.partition(".")[0]
    what = f"'.[{_EXTRAS[name]}]'" if name in _EXTRAS else name
    where = " in a checkout of recallscope" if name in _EXTRAS else ""
    return f"this needs {name}, which is not installed: pip install {what}{where}"
