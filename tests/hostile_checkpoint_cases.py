"""Hostile checkpoints: valid ones that are damaged, and some that are made to do harm.

Every case is a pure function of its number and the seed.
"""

from __future__ import annotations

import io
import json
import os
import pickle
import random
import struct
import zipfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

HUGE = (2**31, 2**32 - 1, 2**40, 2**62, 2**63 - 1, 2**64 - 1)
DTYPES = ("F32", "F16", "BF16", "F64", "F8_E4M3", "BOOL", "I64", "C64", "Q9", "", None, 7, [])
STRANGE = (None, True, -1, 0, 1, 2**63, 10**400, 1.5, "8", [], {}, [[]], "\x1b[2J", "a" * 10**4)


class Case(NamedTuple):
    """A file or the files of a folder, by name; links and pipes have a kind instead of content."""

    kind: str
    files: dict[str, bytes]
    special: str = ""

    def write(self, folder: Path) -> Path:
        """Put it into an empty folder, and say what to audit."""
        for name, content in self.files.items():
            (folder / name).write_bytes(content)
        if self.special:
            target = folder / f"special{self.special[self.special.rfind('.') :]}"
            if self.special.startswith("fifo"):
                os.mkfifo(target)
            elif self.special.startswith("zero"):
                target.symlink_to("/dev/zero")
            elif self.special.startswith("loop"):
                target.symlink_to(target.name)
            elif self.special.startswith("folder"):
                target.mkdir()
            return target
        return folder / next(iter(self.files)) if len(self.files) == 1 else folder


def rows(rng: np.random.Generator, count: int = 96, dim: int = 16) -> np.ndarray:
    return rng.standard_normal((count, dim)).astype("<f4")


def safetensors(header: object, data: bytes, length: int | None = None) -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", (len(text) if length is None else length) % 2**64) + text + data


def described(table: np.ndarray, start: int = 0, kind: object = "F32") -> dict[str, object]:
    end = start + table.nbytes
    return {"dtype": kind, "shape": list(table.shape), "data_offsets": [start, end]}


@cache
def sound_safetensors() -> tuple[dict[str, object], bytes]:
    rng = np.random.default_rng(0)
    embed, head = rows(rng), rows(rng)
    header: dict[str, object] = {
        "__metadata__": {"format": "pt"},
        "model.embed_tokens.weight": described(embed),
        "lm_head.weight": described(head, embed.nbytes),
    }
    return header, embed.tobytes() + head.tobytes()


@cache
def sound_gguf() -> bytes:
    """Q8_0 rows, tokens, a merge list and a second table, as a writer of such files makes them."""
    from gguf import GGMLQuantizationType, GGUFWriter, quantize

    path = Path(f"/tmp/sound-{os.getpid()}.gguf")
    writer = GGUFWriter(path, "llama")
    rng = np.random.default_rng(1)
    writer.add_token_list([f"token {number}" for number in range(96)])
    writer.add_array("numbers", list(range(20)))
    for name in ("token_embd.weight", "output.weight"):
        table = quantize(rows(rng, 96, 32), GGMLQuantizationType.Q8_0)
        writer.add_tensor(name, table, raw_dtype=GGMLQuantizationType.Q8_0)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    content = path.read_bytes()
    path.unlink()
    return content


def npy(table: np.ndarray) -> bytes:
    content = io.BytesIO()
    np.save(content, table, allow_pickle=True)
    return content.getvalue()


def npy_header(said: str, data: bytes = b"", version: int = 1, length: int | None = None) -> bytes:
    text = said.encode("latin-1", errors="replace") + b"\n"
    size = struct.pack("<H" if version == 1 else "<I", len(text) if length is None else length)
    return b"\x93NUMPY" + bytes([version, 0]) + size + text + data


def npz(members: dict[str, bytes], how: int = zipfile.ZIP_DEFLATED) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", how) as archive:
        for name, each in members.items():
            archive.writestr(name, each)
    return content.getvalue()


class Payload:
    """An object that writes a file when it is unpickled."""

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.system, ("touch /tmp/recallscope-was-run",)


def changed(content: bytes, rng: random.Random) -> bytes:
    """Cut, flipped, doubled, or with a huge number in it."""
    what = bytearray(content)
    how = rng.randrange(6)
    if how == 0:
        return bytes(what[: rng.randrange(len(what) + 1)])
    if how == 1:
        for _ in range(rng.choice((1, 1, 4, 32))):
            what[rng.randrange(min(len(what), rng.choice((24, 400, len(what)))))] = rng.randrange(
                256
            )
    elif how == 2:
        at = rng.randrange(min(len(what), 600))
        what[at : at + 8] = struct.pack("<Q", rng.choice(HUGE))
    elif how == 3:
        at = rng.randrange(min(len(what), 600))
        what[at : at + 4] = struct.pack("<I", rng.choice((0, 1, 9, 2**31, 2**32 - 1)))
    elif how == 4:
        at, size = rng.randrange(len(what)), rng.randrange(1, 200)
        del what[at : at + size]
    else:
        at = rng.randrange(len(what))
        what[at:at] = bytes(rng.randrange(256) for _ in range(rng.randrange(1, 64)))
    return bytes(what)


def of_safetensors(rng: random.Random) -> Case:
    header, data = sound_safetensors()
    content = safetensors(header, data)
    if rng.random() < 0.5:
        return Case("safetensors bytes", {"model.safetensors": changed(content, rng)})
    said = json.loads(json.dumps(header))
    name = rng.choice([each for each in said if each != "__metadata__"])
    how = rng.randrange(7)
    if how == 0:
        said[name]["dtype"] = rng.choice(DTYPES)
    elif how == 1:
        said[name]["shape"] = rng.choice(
            ([96], [96, 16, 1], [2**40, 16], [1, 1536], [0, 16], [96, 0], [-96, -16], *STRANGE)
        )
    elif how == 2:
        said[name]["data_offsets"] = rng.choice(
            ([0, 6144], [6144, 0], [1, 6145], [2**62, 2**63], [-6144, 0], [0], *STRANGE)
        )
    elif how == 3:
        said["lm_head.weight"]["data_offsets"] = [rng.randrange(0, 6144)] * 2
        said["lm_head.weight"]["data_offsets"][1] += 6144
    elif how == 4:
        said[name] = rng.choice(STRANGE)
    elif how == 5:
        said |= {f"layer.{number}": said[name] for number in range(rng.choice((1, 100, 5000)))}
    else:
        length = rng.choice((*HUGE, 0, 1, 7))
        return Case("safetensors header", {"model.safetensors": safetensors(said, data, length)})
    return Case("safetensors header", {"model.safetensors": safetensors(said, data)})


def of_gguf(rng: random.Random) -> Case:
    content = sound_gguf()
    if rng.random() < 0.8:
        return Case("gguf bytes", {"model.gguf": changed(content, rng)})
    counts = struct.pack("<QQ", rng.choice((10**9, *HUGE)), rng.choice((0, 10**9, *HUGE)))
    parts = (
        content[:8] + counts + content[24:],
        b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + _gguf_list(rng.choice((4, 8, 9)), rng),
        b"GGUF" + struct.pack("<IQQ", 3, 1, 0) + _gguf_tensor(rng),
    )
    return Case("gguf header", {"model.gguf": rng.choice(parts)})


def _gguf_list(kind: int, rng: random.Random) -> bytes:
    name = b"tokenizer.ggml.tokens"
    head = struct.pack("<Q", len(name)) + name + struct.pack("<II", 9, kind)
    return head + struct.pack("<Q", rng.choice((10**6, 10**9, *HUGE))) + bytes(rng.randrange(2000))


def _gguf_tensor(rng: random.Random) -> bytes:
    name = b"token_embd.weight"
    count = rng.choice((1, 2, 3, 5, 2**31))
    sizes = [rng.choice((0, 1, 32, 2**20, 2**32, 2**63)) for _ in range(min(count, 8))]
    said = struct.pack("<Q", len(name)) + name + struct.pack("<I", count)
    said += struct.pack(f"<{len(sizes)}Q", *sizes)
    return said + struct.pack("<IQ", rng.randrange(60), rng.choice((0, 8, *HUGE))) + bytes(256)


def of_npy(rng: random.Random) -> Case:
    if rng.random() < 0.5:
        content = npy(rows(np.random.default_rng(2)))
        return Case("npy bytes", {"rows.npy": changed(content, rng)})
    shape = rng.choice(("(96, 16)", "(-1, 16)", "(10**9, 10**9)", "(2**62, 2)", "(1, 16)", "()"))
    shape = rng.choice((shape, "(1000000000, 4096)", "(96, 16, 1)", "[96, 16]", "None", "('a',)"))
    kind = rng.choice(("<f4", ">f8", "|O", "<c8", "<M8[s]", "|V4", "<U9", "f", "zz", "<f4,<f4"))
    said = f"{{'descr': {kind!r}, 'fortran_order': {rng.choice((True, False))}, 'shape': {shape}}}"
    if rng.random() < 0.2:
        said = rng.choice(
            ("__import__('os').system('touch /tmp/recallscope-was-run')", "[" * 9999, "")
        )
    version = rng.choice((1, 2, 3, 9))
    length = rng.choice((None, None, 2**16 - 1)) if version == 1 else rng.choice((None, 2**32 - 1))
    return Case("npy header", {"rows.npy": npy_header(said, bytes(6144), version, length)})


def of_npz(rng: random.Random) -> Case:
    table = npy(rows(np.random.default_rng(3)))
    how = rng.randrange(6)
    if how < 2:
        return Case("npz bytes", {"rows.npz": changed(npz({"embedding.npy": table}), rng)})
    if how == 2:
        size = rng.choice((10**6, 10**7))
        zeros = npy_header(
            f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({size}, 16)}}", bytes(size * 8)
        )
        return Case("npz bomb", {"rows.npz": npz({f"a{each}.npy": zeros for each in range(3)})})
    if how == 3:
        members = {f"{number}.npy": table[:128] for number in range(rng.choice((500, 3000)))}
        return Case("npz bomb", {"rows.npz": npz(members, zipfile.ZIP_STORED)})
    if how == 4:
        way = rng.choice((zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA))
        return Case("npz bomb", {"rows.npz": npz({"embedding.npy": bytes(10**7)}, way)})
    return Case(
        "npz header",
        {
            "rows.npz": npz(
                {rng.choice(("a.npy", "../a.npy")): npy(np.array([Payload()], dtype=object))}
            )
        },
    )


def of_pickles(rng: random.Random) -> Case:
    content = pickle.dumps(Payload(), protocol=rng.randrange(6))
    if rng.random() < 0.3:
        content = npz({"archive/data.pkl": content}, zipfile.ZIP_STORED)
    endings = ("pt", "pth", "bin", "ckpt", "pkl", "safetensors", "gguf", "npy", "npz", "model")
    return Case("pickle", {f"model.{rng.choice(endings)}": content})


def of_numbers(rng: random.Random) -> Case:
    """Valid files with extreme or invalid numbers."""
    table = rows(np.random.default_rng(rng.randrange(2**32)))
    how = rng.randrange(9)
    if how == 0:
        table[rng.randrange(96) :] = np.nan
    elif how == 1:
        table[rng.randrange(96) :] = 0
    elif how == 2:
        table = table[:1]
    elif how == 3:
        table[:, 0] = rng.choice((np.inf, 3e38, 1e-45))
    elif how == 4:
        table[:] = table[0]
    elif how == 5:
        table *= np.float32(rng.choice((1e-44, 1e-30, 1e30, 0)))
    elif how == 6:
        table = np.outer(np.arange(96), table[0]).astype("<f4")
    elif how == 7:
        table = table[: rng.randrange(2, 8), : rng.randrange(1, 4)]
    else:
        table[:] = np.nan
    table = np.ascontiguousarray(table)
    if rng.random() < 0.5:
        return Case("numbers", {"rows.npy": npy(table)})
    return Case(
        "numbers",
        {"model.safetensors": safetensors({"embed.weight": described(table)}, table.tobytes())},
    )


def of_folders(rng: random.Random) -> Case:
    header, data = sound_safetensors()
    content = safetensors(header, data)
    name = "model.safetensors.index.json"
    how = rng.randrange(8)
    if how == 0:
        shard = rng.choice(("../../etc/passwd", "/dev/zero", "missing.safetensors", 7, None, ""))
        said = {"weight_map": {"lm_head.weight": shard}}
        return Case("folder", {name: json.dumps(said).encode(), "a.safetensors": content})
    if how == 1:
        said_strange = rng.choice(({}, {"weight_map": []}, {"weight_map": {}}, [], 7))
        return Case("folder", {name: json.dumps(said_strange).encode(), "a.safetensors": content})
    if how == 2:
        deep = rng.choice(
            (b"[" * 10**6, b'{"a":' * 10**5, b"[]," * 10**6, b"\xff\xfe", b"1" * 10**5)
        )
        return Case("folder", {name: deep, "config.json": b"{}"})
    if how == 3:
        strange = {
            "model": {"vocab": rng.choice((*STRANGE, {"a": -1, "b": 10**30, "c": "x"}))},
            "added_tokens": rng.choice(STRANGE),
        }
        text = json.dumps(strange).encode()
        return Case("folder", {"model.safetensors": content, "tokenizer.json": text})
    if how == 4:
        text = changed(json.dumps({"model": {"vocab": {"a": 0, "b": 1}}}).encode(), rng)
        return Case("folder", {"model.safetensors": content, "tokenizer.json": text})
    if how == 5:
        return Case("folder", {"config.json": b"{}", "pytorch_model.bin": pickle.dumps(Payload())})
    if how == 6:
        files = {f"step-{number}.npy": npy(rows(np.random.default_rng(4))) for number in range(3)}
        files["step-1.npy"] = changed(files["step-1.npy"], rng)
        return Case("folder", files)
    kind = rng.choice(("fifo", "zero", "loop", "folder", "missing"))
    ending = rng.choice(("safetensors", "gguf", "npy", "npz", "pt"))
    return Case("no file", {}, f"{kind}.{ending}")


KINDS: dict[Callable[[random.Random], Case], float] = {
    of_safetensors: 0.27,
    of_gguf: 0.25,
    of_npy: 0.13,
    of_npz: 0.08,
    of_pickles: 0.07,
    of_numbers: 0.08,
    of_folders: 0.12,
}


def hostile_case(number: int, seed: int) -> Case:
    """One case."""
    rng = random.Random(f"{seed} {number}")
    (make,) = rng.choices(list(KINDS), list(KINDS.values()))
    return make(rng)
