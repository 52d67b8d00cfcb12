"""Packages that may not be installed: their versions, and advice about those that are missing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

EXTRAS = {
    "torch": "torch",
    "cloudpickle": "torch",
    "safetensors": "torch",
    "pyarrow": "sweep",
    "deltalake": "sweep",
    "ray": "ray",
    "transformers": "models",
    "peft": "models",
    "accelerate": "teach",
    "datasets": "teach",
    "gguf": "teach",
    "tokenizers": "teach",
}
"""Optional packages and their extra; pyproject.toml has the same groups."""


def missing(package: str, extra: str | None = None) -> str:
    """A sentence that says how to install what a package, or a module of it, is part of.

    Args:
        package: what could not be imported.
        extra: one that has it and all else that is needed here; the smallest one if not given.

    >>> missing("torch.nn")
    "this needs torch, which is not installed: pip install 'recallscope[torch]'"
    """
    name = package.partition(".")[0]
    extra = extra or EXTRAS.get(name)
    what = f"'recallscope[{extra}]'" if extra else name
    return f"this needs {name}, which is not installed: pip install {what}"


class MissingPackageError(ModuleNotFoundError):
    """A package is not installed; the message says what to install."""


@contextmanager
def missing_explained(extra: str | None = None) -> Iterator[None]:
    """If a package cannot be imported within, the error is that sentence."""
    try:
        yield
    except MissingPackageError:
        raise
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("recallscope"):
            raise
        raise MissingPackageError(missing(error.name, extra), name=error.name) from None


def installed_version(package: str) -> str:
    """The version of a package, or "not installed"."""
    from importlib.metadata import PackageNotFoundError, version  # here, as it takes a while

    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
