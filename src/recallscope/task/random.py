"""The only place where randomness is made.

Philox is counter-based: a key and a counter give a word, with no state in between. Any part of any
stream can be made anywhere. The key has the seed and the sizes a draw depends on, the top word of
the counter has the role. Two roles of one key therefore never have a counter in common. Philox is a
bijection of its counter, so they have no block of words in common. The stream of test samples is no
part of the training stream, whatever the lengths of the two.
"""

from __future__ import annotations

import hashlib
from enum import IntEnum

import numpy as np

from recallscope.common.shapes import Int64, UInt, UInt64

_WORDS_PER_COUNT = 4
_WORD = 2**64


class Role(IntEnum):
    """The purpose of a stream of random numbers."""

    PERMUTATION = 1
    TRAIN = 2
    TEST = 3
    TOKENS = 4
    OUTPUTS = 5
    TRIGGER = 6
    END = 7
    HIDDEN = 8
    ORDER = 9
    START = 10
    NOISE = 11
    FACTS = 12


def generator(
    seed: int, role: Role, *sizes: int, block: int = 0, count: int = 0
) -> np.random.Generator:
    """A separate generator for one role, at one block and one place within it."""
    name = ",".join(str(number) for number in (seed, *sizes))
    digest = hashlib.blake2b(name.encode(), digest_size=16, person=b"recallscope").digest()
    key = np.frombuffer(digest, dtype="<u8").astype(np.uint64)
    counter = np.array([count % _WORD, count // _WORD, block, role], dtype=np.uint64)
    return np.random.Generator(np.random.Philox(key=key, counter=counter))


def words(seed: int, role: Role, *sizes: int, start: int, stop: int) -> UInt64[np.ndarray, " n"]:
    """Words start…stop−1 of a stream of random 64-bit words, always the same.

    >>> whole = words(0, Role.TRAIN, start=0, stop=10)
    >>> bool((words(0, Role.TRAIN, start=3, stop=7) == whole[3:7]).all())
    True
    """
    count, skipped = divmod(start, _WORDS_PER_COUNT)
    source = generator(seed, role, *sizes, count=count).bit_generator
    return source.random_raw(skipped + stop - start)[skipped:]


def below(bound: int, random: UInt[np.ndarray, ...]) -> Int64[np.ndarray, ...]:
    """Whole numbers uniform on 0 … bound−1, one for each random word of 32 or 64 bits.

    A 32-bit word favours some numbers over others by at most bound/2^32 of their probability, a
    64-bit word by bound/2^53. Use the former for small bounds only.
    """
    if random.dtype == np.uint32:
        scaled = random.astype(np.uint64)
        scaled *= np.uint64(bound)
        scaled >>= np.uint64(32)
        return scaled.view(np.int64)
    return ((random >> np.uint64(11)) * (bound * 2.0**-53)).astype(np.int64)
