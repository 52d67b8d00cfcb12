"""Ten random mutations of the code: each one should make a test fail.

    python tools/mutations.py             # lists them: where, the line before and the line after
    python tools/mutations.py --apply 3   # writes the third into its file

`git checkout` of the file undoes a mutation. The seed chooses ten packages, and in each package one
of all places that can be changed. Code inside f-strings is left out, because Python 3.11 reports
wrong columns for it; so are annotations, `__init__.py` files and what only type checkers read.
"""

from __future__ import annotations

import argparse
import ast
import random
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

SEED = 35
COUNT = 10
ROOT = Path(__file__).parents[1]
PACKAGES = ROOT / "src" / "recallscope"

EQUIVALENT: tuple[tuple[str, str, str], ...] = ()
"""Mutations that change no behaviour: the file, the line after the mutation, and the reason."""

_OTHER = {
    **{"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="},
    **{"in": "not in", "not in": "in", "is": "is not", "is not": "is", "and": "or", "or": "and"},
    **{"+": "-", "-": "+", "*": "/", "/": "*", "//": "*", "%": "*", "**": "*"},
}
_OPERATOR = re.compile(r"not\s+in|is\s+not|[a-z]+|[<>=!+*/%-]+")
_TYPES_ONLY = {"annotation", "returns"}


class Mutation(NamedTuple):
    """Another text for the bytes of a file from `start` to `stop`."""

    path: Path
    start: int
    stop: int
    text: str

    def mutated(self) -> bytes:
        """The whole file with the mutation."""
        source = self.path.read_bytes()
        return source[: self.start] + self.text.encode() + source[self.stop :]

    def lines(self) -> tuple[str, int, str, str]:
        """The file, the number of the line, and the line before and after."""
        source, mutated = self.path.read_bytes(), self.mutated()
        number = source.count(b"\n", 0, self.start)
        before, after = (text.split(b"\n")[number].decode().strip() for text in (source, mutated))
        return self.path.relative_to(ROOT).as_posix(), number + 1, before, after


def nodes_below(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes that run and whose columns are right."""
    yield node
    for name, value in ast.iter_fields(node):
        for child in value if isinstance(value, list) else [value]:
            types_only = name in _TYPES_ONLY or (
                isinstance(child, ast.If) and "TYPE_CHECKING" in ast.dump(child.test)
            )
            if isinstance(child, ast.AST) and not types_only:
                yield from () if isinstance(child, ast.JoinedStr) else nodes_below(child)


def mutations_of(path: Path) -> Iterator[Mutation]:
    """All mutations of a file."""
    source = path.read_bytes()
    starts = [0] + [match.end() for match in re.finditer(b"\n", source)]

    def between(left: ast.expr, right: ast.expr) -> Iterator[Mutation]:
        """Another operator between two expressions; one after a comment is left out."""
        start = starts[(left.end_lineno or 0) - 1] + (left.end_col_offset or 0)
        gap = source[start : starts[right.lineno - 1] + right.col_offset].decode()
        found = _OPERATOR.search(gap)
        if "#" not in gap and found and (other := _OTHER.get(" ".join(found[0].split()))):
            yield Mutation(path, start + found.start(), start + found.end(), other)

    for node in nodes_below(ast.parse(source)):
        if isinstance(node, ast.Compare | ast.BoolOp | ast.BinOp):
            parts = (part for part in ast.iter_child_nodes(node) if isinstance(part, ast.expr))
            for left, right in pairwise(parts):
                yield from between(left, right)
        elif isinstance(node, ast.UnaryOp | ast.Constant | ast.If):
            last = node.body[-1] if isinstance(node, ast.If) else node
            start = starts[last.lineno - 1] + last.col_offset
            stop = starts[(last.end_lineno or 0) - 1] + (last.end_col_offset or 0)
            if isinstance(last, ast.Return) and not isinstance(last.value, None | ast.Constant):
                yield Mutation(path, start, stop, "return None")
            elif isinstance(last, ast.UnaryOp) and isinstance(last.op, ast.Not | ast.USub):
                yield Mutation(path, start, start + (4 if isinstance(last.op, ast.Not) else 1), "")
            elif isinstance(last, ast.Constant) and isinstance(last.value, bool):
                yield Mutation(path, start, stop, str(not last.value))
            elif isinstance(last, ast.Constant) and isinstance(last.value, int | float):
                yield Mutation(path, start, stop, repr(last.value + 1))


def drawn(package: Path) -> Mutation:
    """The first mutation, in a random order, that is not known to be equivalent."""
    files = (path for path in sorted(package.rglob("*.py")) if path.name != "__init__.py")
    mutations = sorted({mutation for path in files for mutation in mutations_of(path)})
    random.Random(f"{SEED} {package.name}").shuffle(mutations)
    known = {(name, after) for name, after, _ in EQUIVALENT}
    return next(each for each in mutations if each.lines()[::3] not in known)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    arguments.add_argument("--apply", type=int, choices=range(1, COUNT + 1), metavar="N")
    wanted = arguments.parse_args().apply
    packages = sorted(path.parent for path in PACKAGES.glob("*/__init__.py"))
    chosen = sorted(random.Random(SEED).sample(packages, COUNT))
    for number, package in enumerate(chosen, 1):
        mutation = drawn(package)
        if wanted in (None, number):
            name, line, before, after = mutation.lines()
            print(f"{number:2} {name}:{line}\n   - {before}\n   + {after}")
        if wanted == number:
            mutation.path.write_bytes(mutation.mutated())


if __name__ == "__main__":
    main()
