"""Frozen embeddings as arrays: given ones, which a problem names by a hash of their numbers."""

from __future__ import annotations

import hashlib
import io
import math
import os
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import BinaryIO

import numpy as np

from recallscope.common.errors import ProblemError
from recallscope.common.formatting import format_bytes
from recallscope.common.given_files import open_regular
from recallscope.common.machine import machine_memory
from recallscope.common.shapes import Float, Shaped
from recallscope.problem.facts import inputs_of
from recallscope.problem.problem import Problem

_ARRAYS = ("tokens", "outputs", "trigger", "end")
_UNFOLDED = 2**29  # bytes that arrays may take, however small the file is
_MOST_FOLDED = 4  # times that a larger file may unfold to: embeddings hardly compress
_HEADERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}


@dataclass(frozen=True, eq=False)
class Embeddings:
    """The four frozen arrays a model reads: tokens and outputs (V×d), trigger and end (d).

    Args:
        tokens: the embedding of each token.
        outputs: the embedding of each label.
        trigger: what marks a position.
        end: from where attention looks.

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
        dim = self.tokens.shape[1]
        # Facts beyond the labels have tokens too.
        vocab = min([*self.outputs.shape[:1], len(self.tokens)])
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

    @property
    def nbytes(self) -> int:
        """The bytes of all arrays."""
        return sum(getattr(self, name).nbytes for name in _ARRAYS)

    def check(self, problem: Problem) -> None:
        """Raise unless these are the arrays that the problem names, and of its sizes.

        Args:
            problem: the one that is to be run with them.

        Raises:
            ProblemError: other sizes, or another name.
        """
        if self.tokens.shape != (inputs_of(problem), problem.dim):
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

    def save(self, path: str | Path | BinaryIO) -> None:
        """Write the four arrays as one .npz file.

        Args:
            path: the file to write, or one that is open for writing bytes.
        """
        np.savez(path, **{name: getattr(self, name) for name in _ARRAYS})

    @classmethod
    def load(cls, path: str | Path) -> Embeddings:
        """Read a .npz file with tokens, outputs, trigger and end. Pickles are refused.

        Args:
            path: the file to read.

        Returns:
            The arrays, checked.

        Raises:
            ProblemError: no such file, or one without these four arrays.
        """
        return cls._read(lambda: open_regular(path), path)

    @classmethod
    def from_bytes(cls, content: bytes, place: str) -> Embeddings:
        """The same from the content of such a file, wherever it is.

        Args:
            content: of the file.
            place: what to call it in errors.

        Returns:
            The arrays, checked.

        Raises:
            ProblemError: they are not what `save` writes.
        """
        return cls._read(lambda: io.BytesIO(content), place)

    @classmethod
    def _read(cls, opened: Callable[[], BinaryIO], path: str | Path) -> Embeddings:
        try:
            with opened() as file, zipfile.ZipFile(file) as archive:
                claimed = sum(_claimed_bytes(archive, name) for name in _ARRAYS)
                size = file.seek(0, os.SEEK_END)
                if claimed > max(_UNFOLDED, _MOST_FOLDED * size):
                    raise ProblemError(
                        f"the arrays in {str(path)!r:.200} claim {format_bytes(claimed)}, more "
                        f"than {_MOST_FOLDED} times the {format_bytes(size)} of the file; write "
                        "them with Embeddings.save, which does not compress"
                    )
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
    elif problem.embedding.startswith("arrays:"):
        raise ProblemError(
            f"the problem's embedding is {problem.embedding!r}: give these arrays as `embeddings`"
        )


def _claimed_bytes(archive: zipfile.ZipFile, name: str) -> int:
    """The bytes of an array by its header; raises if the file is too small for them."""
    if f"{name}.npy" not in archive.namelist():
        members = ", ".join(sorted(member.removesuffix(".npy") for member in archive.namelist()))
        raise ProblemError(
            f"the embedding file has no array {name!r}; it needs {', '.join(_ARRAYS)} "
            f"and has {repr(members[:200]) if members else 'none'}"
        )
    with archive.open(f"{name}.npy") as member:
        shape, _, dtype = _HEADERS[np.lib.format.read_magic(member)](member)
    if dtype.hasobject:
        raise ProblemError(f"embedding array {name!r} holds Python objects; numbers are needed")
    if any(length < 0 for length in shape):
        raise ProblemError(
            f"embedding array {name!r} claims the shape {shape!s:.80}, which is impossible"
        )
    size = dtype.itemsize * math.prod(shape)
    if size > archive.getinfo(f"{name}.npy").file_size:
        raise ProblemError(f"embedding array {name!r} claims {size} bytes but the file holds fewer")
    return max(dtype.itemsize, 8) * math.prod(shape)  # they are computed with in 8 bytes


def _read_array(archive: zipfile.ZipFile, name: str) -> Shaped[np.ndarray, ...]:
    with archive.open(f"{name}.npy") as member:
        return np.lib.format.read_array(member, allow_pickle=False)
