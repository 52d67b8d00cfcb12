"""Frozen embeddings: families to draw them from, or arrays of your own."""

from __future__ import annotations

import hashlib
import math
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from recallscope.common.formatting import format_bytes
from recallscope.common.machine import machine_memory
from recallscope.problem import FAMILIES, Problem, ProblemError
from recallscope.tasks.random import Role, generator

if TYPE_CHECKING:
    from jaxtyping import Float, Shaped

_ROWS_AT_ONCE = 4096
_ARRAYS = ("tokens", "outputs", "trigger", "end")


@dataclass(frozen=True, eq=False)
class Embeddings:
    """The four frozen arrays a model reads: tokens and outputs (V×d), trigger and end (d).

    Give your own to `run`, under a problem that names them:

    >>> rng = np.random.default_rng(0)
    >>> own = Embeddings(
    ...     tokens=rng.standard_normal((64, 16)) / 4, outputs=rng.standard_normal((64, 16)) / 4,
    ...     trigger=rng.standard_normal(16) / 4, end=np.eye(16)[0])
    >>> problem = Problem(vocab=64, samples=4096, dim=16, length=4, embedding=own.name)
    >>> own.check(problem)
    """

    tokens: Float[np.ndarray, "V d"]
    outputs: Float[np.ndarray, "V d"]
    trigger: Float[np.ndarray, " d"]
    end: Float[np.ndarray, " d"]

    def __post_init__(self) -> None:
        for name in _ARRAYS:
            array = getattr(self, name)
            if not isinstance(array, np.ndarray) or not np.issubdtype(array.dtype, np.floating):
                kind = array.dtype if isinstance(array, np.ndarray) else type(array).__name__
                raise ProblemError(
                    f"embedding array {name} must hold floating-point numbers, not {kind}"
                )
        if self.tokens.ndim != 2:
            raise ProblemError(f"embedding array tokens must be vocab×dim, not {self.tokens.shape}")
        vocab, dim = self.tokens.shape
        for name, shape in (("outputs", (vocab, dim)), ("trigger", (dim,)), ("end", (dim,))):
            if getattr(self, name).shape != shape:
                raise ProblemError(
                    f"embedding array {name} must have shape {shape} to go with tokens of shape "
                    f"{self.tokens.shape}, not {getattr(self, name).shape}"
                )
        for name in _ARRAYS:
            if not np.isfinite(getattr(self, name)).all():
                raise ProblemError(f"embedding array {name} holds values that are not finite")

    @cached_property
    def name(self) -> str:
        """The name of these very numbers, to be used as `Problem.embedding`."""
        digest = hashlib.sha256()
        for name in _ARRAYS:
            array = np.ascontiguousarray(getattr(self, name), dtype="<f8")
            digest.update(repr(array.shape).encode())
            digest.update(array.data)
        return f"arrays:{digest.hexdigest()[:16]}"

    def check(self, problem: Problem) -> None:
        """Raise unless these are the arrays that the problem names, and of its sizes."""
        if self.tokens.shape != (problem.vocab, problem.dim):
            raise ProblemError(
                f"the embedding arrays are for vocab={self.tokens.shape[0]}, "
                f"dim={self.tokens.shape[1]}, but the problem has vocab={problem.vocab}, "
                f"dim={problem.dim}"
            )
        if problem.embedding != self.name:
            raise ProblemError(
                f"the problem's embedding is {problem.embedding!r}, but the arrays given are "
                f"{self.name!r}; write Problem(…, embedding=arrays.name)"
            )

    def save(self, path: str | Path) -> None:
        """Write the four arrays as one .npz file."""
        np.savez(path, **{name: getattr(self, name) for name in _ARRAYS})

    @classmethod
    def load(cls, path: str | Path) -> Embeddings:
        """Read a .npz file that holds tokens, outputs, trigger and end. Pickles are refused."""
        try:
            with zipfile.ZipFile(path) as archive:
                claimed = sum(_claimed_bytes(archive, name) for name in _ARRAYS)
                if claimed > machine_memory() / 4:
                    raise ProblemError(
                        f"the arrays in {str(path)!r} claim {format_bytes(claimed)}; "
                        f"this machine has {format_bytes(machine_memory())}"
                    )
                arrays = {name: _read_array(archive, name) for name in _ARRAYS}
        except ProblemError:
            raise
        except Exception as error:  # a damaged file can make zip and NumPy raise nearly anything
            reason = str(error).strip().splitlines() or [type(error).__name__]
            raise ProblemError(
                f"cannot read embedding arrays from {str(path)!r}: {reason[0][:100]}"
            ) from None
        return cls(**arrays)


def check_arrays(problem: Problem, embeddings: Embeddings | None) -> None:
    """Raise unless arrays are given just if the problem names some, and are those."""
    if embeddings is not None:
        embeddings.check(problem)
    elif problem.embedding not in FAMILIES:
        raise ProblemError(
            f"the problem's embedding is {problem.embedding!r}: give these arrays as `embeddings`"
        )


def draw_embeddings(
    problem: Problem, seed: int, dtype: type[np.floating[Any]] = np.float64
) -> Embeddings:
    """The embeddings of a problem's family, a pure function of (family, V, d, seed).

    >>> problem = Problem(vocab=64, samples=1, dim=16, length=4)
    >>> draw_embeddings(problem, seed=0).tokens.shape
    (64, 16)
    """
    vocab, dim = problem.vocab, problem.dim
    if problem.embedding == "orthogonal":
        # The model sees inner products alone, so any orthonormal set is as good as the axes.
        tokens, outputs = np.eye(vocab, dim, dtype=dtype), np.eye(vocab, dim, dtype=dtype)
        trigger = np.eye(1, dim, k=vocab, dtype=dtype)[0]
        end = _rows(_sphere, 1, Role.END, vocab, dim, seed, dtype)[0]
        return Embeddings(tokens, outputs, trigger, end)
    family = _ROWS_OF[problem.embedding]
    return Embeddings(
        tokens=_rows(family, vocab, Role.TOKENS, vocab, dim, seed, dtype),
        outputs=_rows(family, vocab, Role.OUTPUTS, vocab, dim, seed, dtype),
        trigger=_rows(family, 1, Role.TRIGGER, vocab, dim, seed, dtype)[0],
        end=_rows(family, 1, Role.END, vocab, dim, seed, dtype)[0],
    )


def draw_hidden_weights(
    width: int, dim: int, seed: int, dtype: type[np.floating[Any]] = np.float64
) -> Float[np.ndarray, "m d"]:
    """The frozen input weights of the MLP, rows N(0, I_d): a unit token gives N(0, 1) inputs."""
    return _rows(_normal, width, Role.HIDDEN, width, dim, seed, dtype)


def _normal(stream: np.random.Generator, rows: int, dim: int) -> Float[np.ndarray, "rows d"]:
    return stream.standard_normal((rows, dim))


def _gaussian(stream: np.random.Generator, rows: int, dim: int) -> Float[np.ndarray, "rows d"]:
    return _normal(stream, rows, dim) / math.sqrt(dim)


def _sphere(stream: np.random.Generator, rows: int, dim: int) -> Float[np.ndarray, "rows d"]:
    normal = _normal(stream, rows, dim)
    normal /= np.linalg.norm(normal, axis=1, keepdims=True)
    return normal


def _rademacher(stream: np.random.Generator, rows: int, dim: int) -> Float[np.ndarray, "rows d"]:
    return np.where(stream.random((rows, dim)) < 0.5, 1.0, -1.0) / math.sqrt(dim)


_Family = Callable[[np.random.Generator, int, int], "Float[np.ndarray, 'rows d']"]
_ROWS_OF: dict[str, _Family] = {"sphere": _sphere, "gaussian": _gaussian, "rademacher": _rademacher}


def _rows(
    family: _Family,
    rows: int,
    role: Role,
    size: int,
    dim: int,
    seed: int,
    dtype: type[np.floating[Any]],
) -> Float[np.ndarray, "rows d"]:
    """Rows drawn block by block: float32 rows need no float64 copy of the whole."""
    out = np.empty((rows, dim), dtype=dtype)
    for block, start in enumerate(range(0, rows, _ROWS_AT_ONCE)):
        part = out[start : start + _ROWS_AT_ONCE]
        part[:] = family(generator(seed, role, size, dim, block=block), len(part), dim)
    return out


def _claimed_bytes(archive: zipfile.ZipFile, name: str) -> int:
    """What the header of an array says that it holds, if the file can hold it."""
    if f"{name}.npy" not in archive.namelist():
        found = ", ".join(sorted(member.removesuffix(".npy") for member in archive.namelist()))
        raise ProblemError(
            f"the embedding file has no array {name!r}; it needs {', '.join(_ARRAYS)} "
            f"and has {found or 'none'}"
        )
    with archive.open(f"{name}.npy") as member:
        read_header = {
            (1, 0): np.lib.format.read_array_header_1_0,
            (2, 0): np.lib.format.read_array_header_2_0,
        }[np.lib.format.read_magic(member)]
        shape, _, dtype = read_header(member)
    if dtype.hasobject:
        raise ProblemError(f"embedding array {name!r} holds Python objects; numbers are needed")
    size = dtype.itemsize * math.prod(shape)
    if size > archive.getinfo(f"{name}.npy").file_size:
        raise ProblemError(f"embedding array {name!r} claims {size} bytes but the file holds fewer")
    return size


def _read_array(archive: zipfile.ZipFile, name: str) -> Shaped[np.ndarray, ...]:
    with archive.open(f"{name}.npy") as member:
        return np.lib.format.read_array(member, allow_pickle=False)
