"""Whether a worker has the code of the command: other code may give other records."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Mapping
from functools import cache
from importlib.metadata import distributions
from pathlib import Path

from recallscope import __version__
from recallscope.common.extras import installed_version

_FOLDER = Path(__file__).parents[2]


@cache
def own_code() -> dict[str, str]:
    """The versions that results of this process depend on, by name, without importing them.

    >>> own_code()["Python"] == platform.python_version().rpartition(".")[0]
    True
    """
    found = {
        "recallscope": __version__,
        "the hash of recallscope's files": hash_of_files(_FOLDER),
        "Python": platform.python_version().rpartition(".")[0],
        **{name: installed_version(name) for name in ("torch", "numpy")},
    }
    for each in distributions():
        if any(entry.group.startswith("recallscope.") for entry in each.entry_points):
            found.setdefault(f"the plugin {each.name}", each.version)
    return found


def hash_of_files(folder: Path) -> str:
    """Sixteen hexadecimal digits that change with any .py or .csv file."""
    files = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*.*")}
    digest = hashlib.sha256()
    for name in sorted(name for name in files if name.endswith((".py", ".csv"))):
        content = files[name].read_bytes()
        digest.update(f"{name} {len(content)}\n".encode() + content)
    return digest.hexdigest()[:16]


def difference(host: str, there: Mapping[str, str], here: Mapping[str, str]) -> str | None:
    """A sentence on how a worker's code differs from the command's; None if it does not.

    A plugin that only one of them has does not matter until a problem needs it.

    >>> difference("node7", {"numpy": "2.3"}, {"numpy": "2.3"})
    >>> difference("node7", {"numpy": "2.3"}, {"numpy": "2.4"})
    'a worker on node7 has other code than this command: numpy is 2.3 there and 2.4 here; ...'
    """
    differing = [
        f"{name} is {there[name]} there and {wanted} here"
        for name, wanted in here.items()
        if there.get(name, wanted) != wanted
    ]
    if not differing:
        return None
    return (
        f"a worker on {host} has other code than this command: {', '.join(differing)}; install "
        "the same on every node of the cluster, then run this command again"
    )
