"""Changes of sound inputs for the fuzzer: of bytes, texts, trees of JSON, tables and headers.

Every change is a pure function of the content and a generator of random numbers.
"""

from __future__ import annotations

import ast
import copy
import io
import json
import random
import re
import struct
import warnings
import zipfile
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

Change = Callable[[bytes, random.Random], bytes]

NUMBERS = ["0", "-1", "1", "2", "7", "64", "1e400", "-1e400", "nan", "inf", "-inf", "1e300", "0.5"]
NUMBERS += ["1e-320", "2.5", "9007199254740992", "9007199254740993", "1e15", "1e6", "99999", "50k"]
NUMBERS += ["9223372036854775807", "9223372036854775808", "0x10", "1_0", "٣", "1e", "+5", "1,5"]
NUMBERS += ["True", "1/2", "", " ", "1e6 ", "9" * 400, "-" + "9" * 400, "9" * 5000]
TEXTS = ["[/b]", "[bold red]a[/]", "{0}", "%s", "💥", "=1+1", "--", "-", "../..", "'", "a=b=c"]
TEXTS += ["k=5", "arrays:0", "∞", "a:b:c", "sphere", "os:system", "json:x", "json:" + "0" * 16]
TEXTS += ["", '"', "\udcff", "\x7f\x80", "\x1b[2J\x1b[31m", "\n\n", "arrays:" + "0" * 16, "\0"]
TEXTS += ["é" * 300, "a" * 300, "a" * 10**5, "__class__", "\u202e", "folder:" + "0" * 16]
STRANGE = (None, True, False, -1, 0, 1, 1.5, 2**31, 2**53, 2**63, 10**400, float("nan"))
STRANGE += (float("inf"), -float("inf"), 1e300, "8", [], {}, [[]], [1, "a"], {"a": 1}, *TEXTS)  # type: ignore[assignment]
HUGE = (2**16, 2**31, 2**32 - 1, 2**40, 2**62, 2**63 - 1, 2**64 - 1)
DTYPES = ("F32", "F16", "BF16", "F64", "F8_E4M3", "BOOL", "I64", "C64", "Q9", "", None, 7, [])
_DEEP = 100_000
_LONGEST = 2**20


def of_bytes(content: bytes, rng: random.Random) -> bytes:
    """Cut, flipped, doubled, or with a huge number in it."""
    what = bytearray(content or b"\0")
    for _ in range(rng.choice((1, 1, 1, 2, 8))):
        near = min(len(what), rng.choice((24, 400, len(what)))) or 1
        at = rng.randrange(near)
        match rng.randrange(8):
            case 0:
                what = what[: rng.randrange(len(what) + 1)]
            case 1 | 2:
                for _ in range(rng.choice((1, 1, 4, 32))):
                    place = rng.randrange(near)
                    what[place : place + 1] = bytes(
                        [rng.choice((0, 1, 127, 255, rng.randrange(256)))]
                    )
            case 3:
                what[at : at + 8] = struct.pack("<Q", rng.choice(HUGE))
            case 4:
                what[at : at + 4] = struct.pack("<I", rng.choice((0, 1, 9, 2**31, 2**32 - 1)))
            case 5:
                del what[at : at + rng.choice((1, 4, 100))]
            case 6:
                what[at:at] = rng.randbytes(rng.choice((1, 4, 64)))
            case _:
                what[at:at] = what[at : at + rng.choice((8, 100, 1000))]
    return bytes(what[:_LONGEST])


def of_text(content: bytes, rng: random.Random) -> bytes:
    """Some bytes, numbers, words or lines of a text changed."""
    for _ in range(rng.choice((1, 1, 2, 4))):
        found: list[re.Match[bytes]] = []
        new = ""
        match rng.randrange(6):
            case 0 | 1:
                found = list(re.finditer(rb"[0-9.e+]+", content[:50_000]))
                new = rng.choice([*NUMBERS, str(rng.randrange(300))])
            case 2:
                found = list(re.finditer(rb"[A-Za-z_]+", content[:50_000]))
                new = rng.choice(TEXTS)
            case 3:
                at = rng.randrange(len(content) + 1)
                odd = rng.choice(
                    (b"\0", b"\xff\xfe", b"\xef\xbb\xbf", b"\r", b'"', b"[" * 9, b"\n")
                )
                content = content[:at] + odd + content[at:]
            case 4:
                lines = content.split(b"\n")
                rng.choice([rng.shuffle, list.reverse, list.pop, _doubled])(lines)  # type: ignore[operator]
                content = b"\n".join(lines)
            case _:
                content = of_bytes(content, rng)
        if found:
            here = rng.choice(found)
            put = new.encode(errors="surrogateescape")
            content = content[: here.start()] + put + content[here.end() :]
    return content[:_LONGEST]


def _doubled(lines: list[bytes]) -> None:
    lines += lines


def of_json(content: bytes, rng: random.Random) -> bytes:
    """A tree of JSON with branches replaced, moved, renamed, doubled or nested."""
    if rng.random() < 0.02:
        return rng.choice(
            (
                b"[" * _DEEP,
                b'{"a":' * _DEEP,
                b"[]," * _DEEP,
                b"9" * 10**4,
                b"null",
                b"\xff\xfe",
                b"",
            )
        )
    try:
        tree = json.loads(content)
    except (ValueError, RecursionError):
        return of_text(content, rng)
    if rng.random() < 0.2:
        return of_text(content, rng)
    try:
        for _ in range(rng.choice((1, 1, 2, 4))):
            tree = _of_tree(tree, rng)
        text = json.dumps(tree, ensure_ascii=rng.random() < 0.7)
    except (RecursionError, ValueError):
        return content
    if rng.random() < 0.1:  # a name twice
        text = re.sub(r'\{("[^"]{1,40}": [^,{}\[\]]{1,40}),', r"{\1, \1,", text, count=3)
    return text.encode(errors="surrogatepass")[:_LONGEST]


def _of_tree(tree: Any, rng: random.Random) -> Any:
    """The tree with one branch changed."""
    places = _places(tree)
    if not places:
        return copy.deepcopy(rng.choice(STRANGE))
    holder, name = rng.choice(places)
    match rng.randrange(8):
        case 0 | 1 | 2:
            holder[name] = copy.deepcopy(rng.choice(STRANGE))
        case 3:
            del holder[name]
        case 4:
            other, key = rng.choice(places)
            holder[name] = copy.deepcopy(other[key]) if key in _names(other) else None
        case 5:
            value = holder[name]
            for _ in range(rng.choice((1, 3, 60))):
                value = [value] if rng.random() < 0.5 else {"a": value}
            holder[name] = value
        case 6 if isinstance(holder, dict):
            holder[rng.choice((*TEXTS, name.upper(), "0", "key"))] = holder.pop(name)
        case _:
            value = holder[name]
            number = isinstance(value, (int, float)) and not isinstance(value, bool)
            if number and abs(value) < 1e300:  # what is larger may be no float, and has no text
                holder[name] = rng.choice(
                    (-value, value + 1, value + 0.5, str(value), value * 10**6)
                )
            elif isinstance(value, list):
                holder[name] = value * rng.choice((0, 2, 50))
            else:
                holder[name] = copy.deepcopy(rng.choice(STRANGE))
    return tree


def _names(holder: Any) -> Any:
    return holder if isinstance(holder, dict) else range(len(holder))


def _places(tree: Any) -> list[tuple[Any, Any]]:
    found, waiting = [], [tree]
    while waiting and len(found) < 3000:
        each = waiting.pop()
        if isinstance(each, (dict, list)):
            found += [(each, name) for name in list(_names(each))[:500]]
            waiting += (each[name] for name in list(_names(each))[:500])
    return found


def of_toml(content: bytes, rng: random.Random) -> bytes:
    """A sweep file that was changed, or one that asks for too much."""
    if rng.random() < 0.7:
        return of_text(content, rng)
    fixed = "[problem]\nvocab = 32\nlength = 4\ndim = 8\n"
    ends = [rng.choice([*NUMBERS, "1", "2", "1000", "1000000"]) for _ in range(3)]
    made: list[Callable[[], str]] = [
        lambda: f"seeds = {rng.choice([10**8, 10**6, 10**5, 10**9, 10**30])}\n{fixed}samples = 64",
        lambda: fixed + "[grid]\nsamples = " + str([*range(1, rng.choice((10, 10**4)))]),
        lambda: fixed + "[grid]\nsamples = {{ from = {}, to = {}, count = {} }}".format(*ends),
        lambda: ".".join(["a"] * rng.choice([10, 10**3, 10**5])) + " = 1",
        lambda: "a = " + "[" * rng.choice([10, 10**3, 10**5]) + "]" * 10,
        lambda: "[" + ".".join("ab" * 10**4) + "]",
        lambda: "\n".join(f"a{number} = 1" for number in range(10**3)),
        lambda: "".join(f"[a{number}.b]\n" for number in range(1000)),
        lambda: "a = {" * 300 + "}" * 300,
        lambda: f"seeds = {'9' * 5000}\n{fixed}",
        lambda: fixed + "[critical]\nfor = 'samples'\nbudget = " + rng.choice(NUMBERS),
        lambda: fixed + "[zip]\nsamples = [8, 9]\nwidth = [8]\n" + rng.choice(("", "[critical]")),
        lambda: ".".join(['","'] * rng.choice([10, 10**4])) + " = 1",
        lambda: "\n".join(".".join("a" * 900) + f".b{n} = 1" for n in range(50)),
        lambda: "x = '''" + "a" * 2**18 + "'''",
    ]
    text = rng.choice(made)().encode(errors="surrogateescape")
    return of_text(text, rng) if rng.random() < 0.2 else text[:_LONGEST]


def of_csv(content: bytes, rng: random.Random) -> bytes:
    """A table with cells, columns or rows changed."""
    header, *rows = content.split(b"\n")
    names = header.split(b",")
    match rng.randrange(10):
        case 0 | 1 | 2 | 3:
            cells = [row.split(b",") for row in rows if row.count(b",") == len(names) - 1]
            column = rng.randrange(len(names))
            share, mild = rng.choice((0.2, 0.7)), rng.random() < 0.5
            for row in cells:
                if rng.random() < share:
                    new = rng.choice([*NUMBERS, *TEXTS]).replace(",", "").replace("\n", "")
                    new = str(rng.choice((rng.randrange(300), rng.random()))) if mild else new
                    row[column] = new[:9000].encode(errors="surrogateescape")
            return b"\n".join([header, *(b",".join(row) for row in cells)])
        case 4:
            odd: list[Callable[[], bytes]] = [
                lambda: header,
                lambda: header + b"\n" + b"," * 10**4,
                lambda: b",".join(b"a%d" % number for number in range(10**4)) + b"\n",
                lambda: header + b"\n" + b"\n".join(rows) * 30,
                lambda: b'"' + b"a" * 200_000 + b'"\n1\n',
                lambda: header + b'\n"' + b"\n".join(rows),
                lambda: b"\xef\xbb\xbf" + content,
                lambda: content.decode(errors="replace").encode("utf-16"),
                lambda: content.replace(b",", b";"),
                lambda: (
                    header + b"," + header + b"\n" + b"\n".join(row + b"," + row for row in rows)
                ),
                lambda: b"",
            ]
            return rng.choice(odd)()[:_LONGEST]
    return of_text(content, rng)


def safetensors(header: object, data: bytes, length: int | None = None) -> bytes:
    """A file of a header and data."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", (len(text) if length is None else length) % 2**64) + text + data


def of_safetensors(content: bytes, rng: random.Random) -> bytes:
    """Its header changed as a tree, with a right or a wrong length; or its bytes."""
    length = int.from_bytes(content[:8], "little")
    text, data = content[8 : 8 + length], content[8 + length :]
    if rng.random() < 0.3 or not text:
        return of_bytes(content, rng)
    try:
        said = json.loads(text)
        names = [each for each in said if isinstance(said[each], dict) and "shape" in said[each]]
        name = rng.choice(names)
    except (ValueError, TypeError, IndexError, RecursionError):
        return of_bytes(content, rng)
    match rng.randrange(7):
        case 0:
            said[name]["dtype"] = rng.choice(DTYPES)
        case 1:
            shapes = ([96, 16, 1], [2**40, 16], [1, 1536], [0, 16], [96, 0], [-96, -16], *STRANGE)
            said[name]["shape"] = rng.choice(shapes)
        case 2:
            places = ([0, 6144], [6144, 0], [1, 6145], [2**62, 2**63], [-6144, 0], [0], *STRANGE)
            said[name]["data_offsets"] = rng.choice(places)
        case 3:
            said |= {f"layer.{number}": said[name] for number in range(rng.choice((1, 100, 2000)))}
        case 4:
            metadata = said.get("__metadata__")
            if isinstance(metadata, dict) and isinstance(metadata.get("training"), str):
                new = of_json(metadata["training"].encode(), rng)
                metadata["training"] = new.decode(errors="replace")
        case _:
            return safetensors(of_json(text, rng), data, rng.choice((None, None, *HUGE, 0, 1, 7)))
    return safetensors(said, data)[:_LONGEST]


def npy(array: np.ndarray) -> bytes:
    """An array as NumPy writes it."""
    content = io.BytesIO()
    np.save(content, array, allow_pickle=True)
    return content.getvalue()


def npy_header(said: str, data: bytes = b"", version: int = 1, length: int | None = None) -> bytes:
    """A header that says anything."""
    text = said.encode("latin-1", errors="replace") + b"\n"
    size = len(text) if length is None else length
    head = struct.pack("<H", min(size, 65535)) if version == 1 else struct.pack("<I", size)
    return b"\x93NUMPY" + bytes([version, 0]) + head + text + data


def of_npy(content: bytes, rng: random.Random) -> bytes:
    """Its bytes, its header, or its numbers changed."""
    match rng.randrange(5):
        case 0 | 1:
            return of_bytes(content, rng)
        case 2:
            return _of_numbers(content, rng)
    end = content.find(b"\n")
    try:
        said = ast.literal_eval(content[10:end].decode("latin-1").strip())
        descr, order, shape = said["descr"], said["fortran_order"], said["shape"]
    except (ValueError, SyntaxError, KeyError, TypeError, MemoryError, RecursionError):
        return of_bytes(content, rng)
    shapes = ((96, 16), (-1, 16), (10**9, 10**9), (2**62, 2), (1, 16), (), (0, 0), None, ("a",))
    kinds = ("<f4", ">f8", "<f2", "|O", "<c8", "<M8[s]", "|V4", "<U9", "f", "zz", "<f4,<f4", "?")
    kinds += ("<f16", "<i8", "<u2", "(2,)<f4")
    shape = rng.choice((shape, rng.choice((*shapes, [96, 16], (96, 16, 1), (1e3, 16), (True, 5)))))
    text = str(
        {
            "descr": rng.choice((descr, rng.choice(kinds))),
            "fortran_order": rng.choice((order, True)),
            "shape": shape,
        }
    )
    if rng.random() < 0.1:
        text = rng.choice(("__import__('os').system('touch was-run')", "[" * 9999, "", "{" * 200))
    version = rng.choice((1, 1, 2, 3, 9))
    length = rng.choice((None, None, None, 2**16 - 1, 2**32 - 1))
    return npy_header(text, content[end + 1 :], version, length)


def _of_numbers(content: bytes, rng: random.Random) -> bytes:
    """Valid arrays with extreme numbers."""
    try:
        array = np.load(io.BytesIO(content), allow_pickle=False)
    except Exception:  # it was changed before
        return of_bytes(content, rng)
    if array.ndim != 2 or array.dtype.kind != "f" or not array.size:
        return of_bytes(content, rng)
    table = array.copy()
    rows, at = len(table), rng.randrange(len(table))
    with np.errstate(all="ignore"):
        match rng.randrange(8):
            case 0:
                table[at:] = rng.choice((np.nan, 0, np.inf, -np.inf))
            case 1:
                table = table[: rng.randrange(0, 4)]
            case 2:
                table[:, 0] = rng.choice((np.inf, 3e38, 1e-45, 1e300))
            case 3:
                table[:] = table[0]
            case 4:
                table *= table.dtype.type(rng.choice((1e-44, 1e-30, 1e30, 0)))
            case 5:
                table = np.outer(np.arange(rows), table[0]).astype(table.dtype)
            case 6:
                table = table[:, : rng.randrange(0, 3)]
            case _:
                table = np.asfortranarray(table.astype(rng.choice(("f2", "f8", "i1", "u8", ">f4"))))
    return npy(table)


def npz(members: dict[str, bytes], how: int = zipfile.ZIP_STORED) -> bytes:
    """An archive of files."""
    content = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(content, "w", how, compresslevel=1) as archive:
        warnings.simplefilter("ignore")  # of names that are there twice
        for name, each in members.items():
            archive.writestr(name.partition("\0")[0] or ".", each)  # zipfile needs a name
    return content.getvalue()


@cache
def _bomb(size: int, rows: int) -> bytes:
    """Zeros packed a thousandfold, under headers that are true or claim more."""
    header = npy_header(str({"descr": "<f8", "fortran_order": False, "shape": (rows, 8)}))
    names = ("tokens", "outputs", "trigger", "end")
    zeros = header + bytes(size)
    return npz({f"{name}.npy": zeros for name in names}, zipfile.ZIP_DEFLATED)


def of_npz(content: bytes, rng: random.Random) -> bytes:
    """Its bytes or one of its members changed; or an archive that unpacks to far more."""
    match rng.randrange(10):
        case 0 | 1 | 2:
            return of_bytes(content, rng)
        case 3:  # large ones take their time
            size = rng.choices((2**16, 2**22, 2**26), (90, 9, 1))[0]
            return _bomb(size, rng.choice((size // 64, 2**40, 10)))
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = {
                each.filename: archive.read(each)[: 2**18] for each in archive.infolist()[:50]
            }
    except Exception:  # it was changed before
        return of_bytes(content, rng)
    if not members:
        return of_bytes(content, rng)
    name = rng.choice(list(members))
    match rng.randrange(6):
        case 0 | 1 | 2:
            members[name] = of_npy(members[name], rng)
        case 3:
            new = rng.choice(("../x.npy", "a" * 6000, "tokens.npy", "x\0.npy", "a/b.npy", "/x.npy"))
            members[new] = members.pop(name)
        case 4:
            members |= {
                f"{number}.npy": members[name][:128] for number in range(rng.choice((5, 1500)))
            }
        case _:
            members[name] = npy(np.array([{"a": 1}], dtype=object))
    ways = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)
    return npz(members, rng.choices(ways, (5, 3, 1, 1))[0])[:_LONGEST]


def of_parquet(content: bytes, rng: random.Random) -> bytes:
    """Its bytes, its footer, its rows, its columns, or what it says of itself changed."""
    match rng.randrange(6):
        case 0:
            return of_bytes(content, rng)
        case 1 if len(content) > 12:
            what = bytearray(content)
            length = min(int.from_bytes(content[-8:-4], "little"), len(content) - 8)
            for _ in range(rng.choice((1, 2, 5, 20))):
                what[len(what) - 8 - rng.randrange(length + 1)] = rng.randrange(256)
            return bytes(what)
    try:
        table = pq.read_table(pa.BufferReader(content), use_threads=False)
        if not table.num_columns or table.num_rows > 10**4:
            return of_bytes(content, rng)
        about = dict(table.schema.metadata or {}).get(b"recallscope", b"{}")
        table = table.replace_schema_metadata(None)
        for _ in range(rng.choice((1, 1, 2, 4))):
            table = _of_table(table, rng)
        if rng.random() < 0.25:
            about = of_json(about, rng)
        sink = pa.BufferOutputStream()
        described = table.replace_schema_metadata({"recallscope": about})
        pq.write_table(described, sink, compression="zstd")
        return bytes(sink.getvalue().to_pybytes()[:_LONGEST])
    except Exception:  # pyarrow has many for tables that it cannot write
        return of_bytes(content, rng)


def _of_table(table: pa.Table, rng: random.Random) -> pa.Table:
    index = rng.randrange(table.num_columns)
    name, rows = table.column_names[index], table.num_rows
    match rng.randrange(9):
        case 0:
            return table.remove_column(index)
        case 1:
            kind = rng.choice([pa.string(), pa.float32(), pa.binary(), pa.int8(), pa.date32()])
            return table.set_column(index, name, pa.nulls(rows, kind))
        case 2:
            odd = rng.choice(["metric.", "metric.[]", "metric.a[][]", "", "a\0b", "x", name])
            return table.append_column(odd, pa.array([[1.0]] * rows))
        case 3:
            kind = pa.int64()
            for _ in range(rng.choice([1, 5, 40])):
                kind = rng.choice([pa.list_, lambda inner: pa.struct([("a", inner)])])(kind)
            return table.append_column("deep", pa.nulls(rows, kind))
        case 4 if rows:
            return table.take(pa.array([0] * rng.choice([1, 2, 10, 10**4])))
        case 5 if rows:
            text = "a" * rng.choice([10, 1000, 10**5])
            column = pa.DictionaryArray.from_arrays(pa.array([0] * rows, pa.int32()), [text])
            return table.set_column(index, name, column)
    field = table.schema.field(index)
    kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
    pool: list[object] = [b"0" * 24, b"\xff" * 24]
    if pa.types.is_string(kind):
        pool = [each for each in TEXTS if "\udcff" not in each]
    elif pa.types.is_floating(kind):
        pool = [-1.0, 7.0, float("nan"), float("inf"), float("-inf"), 1e300, 0.5]
    elif pa.types.is_integer(kind):
        pool = [
            -1,
            0,
            1,
            7,
            2**31 - 1,
            *([2**53, 2**63 - 1, -(2**63)] if kind == pa.int64() else []),
        ]
    elif pa.types.is_boolean(kind):
        pool = [True, False]
    values = pa.array([rng.choice([*pool, None]) for _ in range(rows)], kind)
    return table.set_column(index, name, values.cast(field.type))


def folder(files: dict[str, bytes]) -> bytes:
    """A folder as one input: names and contents."""
    return json.dumps({name: each.decode("latin-1") for name, each in files.items()}).encode()


SPECIAL = ("fifo", "zero", "loop", "folder", "nowhere")
"""What may lie in a folder instead of a file; a list of one of these."""


def of_folder(kinds: dict[str, Change]) -> Change:
    """One of the files changed by its ending, renamed, removed, doubled, or made something else."""

    def change(content: bytes, rng: random.Random) -> bytes:
        try:
            files = json.loads(content)
            name = rng.choice(list(files))
            text = files[name]
            if not isinstance(text, str):
                raise TypeError
            old = text.encode("latin-1")
        except (
            ValueError,
            TypeError,
            IndexError,
            AttributeError,
            UnicodeEncodeError,
            RecursionError,
        ):
            return content
        match rng.randrange(12):
            case 0:
                files[name] = [rng.choice(SPECIAL)]
            case 1:
                new = rng.choice(
                    (*files, "x.parquet", "\x1b[31m", f".{'0' * 32}.part", "config.json")
                )
                files[new] = files.pop(name)
            case 2:
                del files[name]
            case _:
                way = next((each for end, each in kinds.items() if name.endswith(end)), of_bytes)
                files[name] = way(old, rng).decode("latin-1")
        return json.dumps(files).encode()

    return change
