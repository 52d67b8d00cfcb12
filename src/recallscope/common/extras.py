"""What to do about a package that is not installed."""

from __future__ import annotations

_EXTRAS = {
    "pyarrow": "sweep",
    "filelock": "sweep",
    "ray": "ray",
    "fsspec": "s3",
    "s3fs": "s3",
    "jinja2": "paper",
    "markupsafe": "paper",
    "gguf": "audit",
}
"""The optional dependencies, as pyproject.toml groups them."""


def missing(package: str, extra: str | None = None) -> str:
    """A sentence that says how to install what a package, or a module of it, is part of.

    Where several extras have the package, whoever needs it names its own.

    >>> missing("jinja2.sandbox")
    "this needs jinja2, which is not installed: pip install '.[paper]' in a checkout of recallscope"
    """
    name = package.partition(".")[0]
    extra = extra or _EXTRAS.get(name)
    what = f"'.[{extra}]'" if extra else name
    where = " in a checkout of recallscope" if extra else ""
    return f"this needs {name}, which is not installed: pip install {what}{where}"
