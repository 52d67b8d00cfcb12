"""What nobody should give: command lines, sweep files, tables, problems, arrays and old readings.

Made from sound ones and a seed, for `hostile_input.py`.
"""

from __future__ import annotations

import io
import json
import random
import re
import warnings
import zipfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import typer.main

from recallscope import Problem
from recallscope.cli.commands import COMMANDS, load_command
from recallscope.cli.main import app

COUNTS = {"readings": 500, "arrays": 1500, "problems": 3000, "tables": 5000, "sweep files": 5000}
COUNTS["lines"] = 20000

NUMBERS = [
    "0",
    "-1",
    "1",
    "2",
    "7",
    "64",
    "1e400",
    "-1e400",
    "nan",
    "inf",
    "-inf",
    "1e300",
    "0.5",
    "1e-320",
    "2.5",
    "9007199254740992",
    "1e15",
    "1e6",
    "9007199254740993",
    "9223372036854775807",
    "9223372036854775808",
    "0x10",
    "1_0",
    "٣",
    "1e",
    "+5",
    "1,5",
    "True",
    "1/2",
    "99999",
]
NUMBERS += ["", " ", "1e6 ", "9" * 400, "-" + "9" * 400, "9" * 5000]
TEXTS = [
    "[/b]",
    "{0}",
    "%s",
    "💥",
    "=1+1",
    "--",
    "-",
    "../..",
    "'",
    "a=b=c",
    "k=5",
    "arrays:0",
    "∞",
    "a:b:c",
    "sphere",
    "os:system",
    "json:x",
]
TEXTS += ["", '"', "\udcff", "\x7f\x80", "\x1b[2J\x1b[31m", "\n\n", "arrays:" + "0" * 16]
TEXTS += ["é" * 300, "a" * 300, "a" * 10**5]
PATHS = [
    "pipe",
    "folder",
    "zero",
    "nowhere",
    "loop",
    "facts",
    "~",
    "..",
    "/dev/zero",
    "/dev/full",
    "/dev/null",
    "/dev/stdin",
    "/proc/self/mem",
    "folder/a.csv",
    "folder.csv",
    "pipe.csv",
    "zero.csv",
    "zero.npz",
    "own.npz",
    "law.csv",
    "plane.csv",
    "out.csv",
    "out.png",
    "out.svg",
    "nowhere/out.pdf",
    "facts/out.csv",
    "sweep.toml",
    "../outside",
    "../outside/precious",
]
PATHS += ["a\nb.csv", "\x1b[31m.png", "\udcff.csv", "a" * 300 + ".csv", "é" * 200 + ".png"]
PATHS += ["x/" * 3000 + "a.csv", "a" * 300 + ".npz", "a" * 10**4]
KINDS = [
    "ftp",
    "jupyter",
    "generic",
    "zip",
    "arrow_hdfs",
    "memory",
    "s3",
    "file",
    "local",
    "http",
    "tar",
    "simplecache",
    "reference",
    "data",
]
PLACES = [*PATHS, *(f"{kind}://{name}" for kind in KINDS for name in ("a/b", "", "facts"))]
PLACES += ["://", "s3://", "zip://a::facts", "::", "nothing://x", "file:///dev/zero"]
PLACES += ["s3://" + "a" * 10**4]
AXES = [
    "dim=8:16:2",
    "samples=32,64",
    "dim=1:9007199254740992:1000",
    "samples=1:1e15:1000",
    "dim=",
    "=1",
    "dim=8:8:8",
    "dim=nan:inf:3",
    "x=1:2:3",
    "dim=a",
    "length=1:2",
    "dim=1:2:3:4",
    "vocab=1:99999:999",
    "samples=inf",
    "dim",
]
AXES += ["width=" + "9" * 400, "dim=" + ",".join(map(str, range(1, 2000)))]
NAMES = {
    "--executor": "serial processes ray",
    "--engine": "auto stream counts",
    "--dtype": "float32 float64 float16",
    "--device": "cpu cuda meta mps",
    "--address": "auto localhost:1 ray://x",
    "--field": "k=5 k=-1 k= =5 vocab=3 k=nan",
    "--task": "recall",
    "--model": "transformer",
    "--learner": "three-step",
    "--metric": "recall-at-k recall",
    "--regime": "limit literal",
    "--activation": "relu gelu tanh quadratic identity",
    "--embedding": "sphere gaussian rademacher orthogonal own.npz",
    "--accuracy": "recall lock one-step",
    "--for": "samples dim width vocab length",
    "--size": "smoke short full",
    "--drop": "failed infeasible ok",
}

SIZES = {"--vocab": "32", "--samples": "64", "--dim": "8", "--length": "4"}
RUNS = {"--test-samples": "64"}
SEARCH = {"--for": "dim", "--vocab": "32", "--samples": "64", "--length": "4", "--budget": "8"}
PLANE = {"--x": "dim=8,16", "--y": "samples=32,64", "--vocab": "32", "--length": "4"}
CLAIMS = {"--store": "paper", "--size": "smoke"}
SOUND: dict[tuple[str, ...], dict[str, str]] = {
    ("run",): SIZES | RUNS,
    ("predict",): SIZES,
    ("solve",): {"--for": "dim", "--vocab": "32", "--samples": "640", "--length": "4"},
    ("bound",): SIZES,
    ("check",): SIZES | {"--seeds": "2"},
    ("critical",): SEARCH | RUNS,
    ("fit",): SEARCH | RUNS | {"--dim": "8", "--for": "samples", "--vary": "dim=8,16,24"},
    ("phase",): PLANE | RUNS | {"--seeds": "2"},
    ("ablate", "trigger"): SIZES | RUNS | {"--seeds": "2"},
    ("sweep", "sweep.toml"): {"--store": "facts"},
    ("fit", "--from", "law.csv"): {},
    ("phase", "--from", "plane.csv"): {},
    ("phase", "--from", "facts"): {"--x": "dim", "--y": "samples"},
    **{
        ("records", "--store", "facts", *name.split()): {}
        for name in [
            "list",
            "verify",
            "repair",
            "upgrade",
            "compact",
            "merge facts",
            "export a.csv",
        ]
    },
    ("paper", "list"): CLAIMS,
    ("paper", "run", "products"): CLAIMS,
    ("paper", "plot", "news"): CLAIMS,
    ("paper", "report"): CLAIMS,
}
FILES = ("--table", "--figure", "--from", "--embedding", "--to")
FIXED = "[problem]\nvocab = 32\nlength = 4\ndim = 8\nsamples = 64\n"


class Case(NamedTuple):
    """What is given: a file next to the sound ones, and a line, or a problem in JSON."""

    kind: str
    line: list[str]
    file: str = ""
    content: bytes = b""


def real_options() -> dict[str, dict[str, bool]]:
    """The options of every command by its name, and whether they take a value."""
    found: dict[str, dict[str, bool]] = {}

    def visit(command: Any) -> None:
        for inner in getattr(command, "commands", {}).values():
            visit(inner)
        for each in command.params:
            for name in [*each.opts, *each.secondary_opts]:
                if name.startswith("--"):
                    takes = not getattr(each, "is_flag", False)
                    found.setdefault(command.name, {})[name] = takes

    for name in COMMANDS:
        visit(load_command(name))
    visit(typer.main.get_command(app))
    return found


class Hostile:
    """Makes hostile cases from sound ones."""

    def __init__(self, sound: Path, rng: random.Random) -> None:
        self.rng = rng
        self.options = real_options()
        self.all_options = {k: v for each in self.options.values() for k, v in each.items()}
        self.sweep = (sound / "sweep.toml").read_bytes()
        self.tables = {name: (sound / f"{name}.csv").read_bytes() for name in ("law", "plane")}
        self.arrays = (sound / "own.npz").read_bytes()
        self.reading = (sound / "paper/smoke/readings.jsonl").read_bytes()

    def value(self, option: str) -> str:
        """A value for an option: mostly of the right kind, hostile or not."""
        rng = self.rng
        pool = NUMBERS
        if option == "--store":
            pool = PLACES
        elif option in FILES and rng.random() < 0.8:
            pool = PATHS
        elif option in ("--x", "--y", "--vary"):
            pool = AXES
        elif option in NAMES:
            pool = NAMES[option].split() if rng.random() < 0.6 else TEXTS
        elif rng.random() < 0.3:
            pool = [str(rng.randrange(1, 100)), str(rng.random())]
        if rng.random() < 0.05:
            pool = rng.choice([NUMBERS, TEXTS, PATHS, PLACES, AXES])
        return rng.choice(pool)

    def line(self) -> Case:
        """A sound line with some things changed."""
        rng = self.rng
        if rng.random() < 0.15:
            return self.closed_form()
        command, given = rng.choice(list(SOUND.items()))
        words = [[name, value] for name, value in given.items()]
        if rng.random() < 0.3:
            words.append(["--json"])
        for _ in range(rng.choice([1, 1, 2, 3, 6])):
            place = rng.randrange(len(words) + 1)
            match rng.randrange(10):
                case 0 | 1 | 2 if words:
                    word = rng.choice(words)
                    word[1:] = [self.value(word[0])] if len(word) > 1 else []
                case 3 | 4 | 5 | 6 | 7:
                    own = [self.options[word] for word in command if word in self.options]
                    options = own[-1] if own and rng.random() < 0.9 else self.all_options
                    name = rng.choice(list(options))
                    words.insert(place, [name, self.value(name)] if options[name] else [name])
                case 8 if words:
                    words.pop(rng.randrange(len(words)))
                case _:
                    words.insert(
                        place, [rng.choice([*TEXTS, "--help", "--version", "--nope", "-x"])]
                    )
        line = [*command, *(text for word in words for text in word)]
        if rng.random() < 0.05:
            line[rng.randrange(len(line))] = rng.choice([*TEXTS, *PATHS])
        # No program takes a NUL; a report or figures outside of the folder would be honest work.
        line = [text.replace("\0", "") for text in line]
        if line[0] == "paper":
            line = ["nowhere" if text in ("..", "../outside") else text for text in line]
        return Case("lines", line)

    def closed_form(self) -> Case:
        """Sizes of any order of magnitude, each of them allowed."""
        rng = self.rng
        line = [rng.choice(["predict", "predict", "solve", "bound"]), "--json"]
        if line[0] == "solve":
            line += ["--for", rng.choice(["samples", "dim", "width", "vocab", "length"])]
            line += ["--target", str(rng.choice([0.5, 1e-9, 1 - 1e-9, rng.random()]))]
        for name in ("--vocab", "--samples", "--dim", "--length", "--width"):
            if name != "--width" or rng.random() < 0.5:
                line += [name, str(round(2 ** rng.uniform(name == "--vocab", 53)))]
        if "--width" in line:
            line += ["--activation", rng.choice(NAMES["--activation"].split())]
        line += ["--embedding", rng.choice(["sphere", "gaussian", "rademacher"])]
        return Case("lines", [*line, *rng.choice([[], ["--trigger-in-values"]])])

    def changed(self, content: bytes) -> bytes:
        """Some bytes, numbers, words or lines of a text changed."""
        rng = self.rng
        for _ in range(rng.choice([1, 1, 2, 4])):
            match rng.randrange(5):
                case 0:
                    found = list(re.finditer(rb"[0-9.e+]+", content))
                    new = rng.choice(NUMBERS)
                case 1:
                    found = list(re.finditer(rb"[A-Za-z_]+", content))
                    new = rng.choice(TEXTS)
                case 2:
                    place = rng.randrange(len(content) + 1)
                    new_bytes = rng.choice(
                        [b"\0", b"\xff\xfe", b"\xef\xbb\xbf", b"\r", b'"', b"[" * 9]
                    )
                    content = content[:place] + new_bytes + content[place:]
                    continue
                case 3:
                    lines = content.split(b"\n")
                    rng.choice([rng.shuffle, list.reverse, list.pop])(lines)  # type: ignore[operator]
                    content = b"\n".join(lines)
                    continue
                case _:
                    place = rng.randrange(len(content) + 1)
                    content = (
                        content[:place]
                        + rng.randbytes(rng.choice([0, 1, 9]))
                        + content[place + 9 :]
                    )
                    continue
            if found:
                here = rng.choice(found)
                encoded = new.encode(errors="surrogateescape")
                content = content[: here.start()] + encoded + content[here.end() :]
        return content

    def sweep_file(self) -> Case:
        """A sweep file that was changed, or one that asks for too much."""
        rng = self.rng
        made: list[Callable[[], str]] = [
            lambda: f"seeds = {rng.choice([10**8, 10**6, 10**5, 10**9, 10**30])}\n" + FIXED,
            lambda: (
                FIXED.replace("samples = 64", "") + "[grid]\nsamples = " + str([*range(1, 10**5)])
            ),
            lambda: FIXED.replace("samples = 64", "") + self._range(),
            lambda: ".".join(["a"] * rng.choice([10, 10**3, 2 * 10**5])) + " = 1",
            lambda: "a = " + "[" * rng.choice([10, 10**3, 10**5]) + "]" * 10,
            lambda: "[" + ".".join("ab" * 10**4) + "]",
            lambda: "\n".join(f"a{number} = 1" for number in range(10**4)),
            lambda: "".join(f"[a{number}.b]\n" for number in range(3000)),
            lambda: "a = {" * 300 + "}" * 300,
            lambda: f"seeds = {'9' * 5000}\n" + FIXED,
            lambda: FIXED + "[critical]\nfor = 'dim'\n" + f"budget = {rng.choice(NUMBERS)}",
            lambda: (
                FIXED.replace("samples = 64", "[grid]\ndim = [8]") + "[critical]\ntheory = false"
            ),
            lambda: FIXED.replace("samples = 64\n", "") + "[grid]\ndim = [8, 9]\n[critical]\n",
            lambda: ".".join(['","'] * rng.choice([10, 10**5])) + " = 1",
            lambda: "\n".join(".".join("a" * 900) + f".b{n} = 1" for n in range(500)),
            lambda: "x = '''" + "a" * 2**20 + "'''",
            lambda: "",
        ]
        content = self.changed(self.sweep)
        if rng.random() < 0.4:
            content = rng.choice(made)().encode(errors="surrogateescape")
        if rng.random() < 0.1:
            content = self.changed(content)
        how = rng.choice(
            [["--dry-run"], ["--dry-run"], ["--dry-run", "--json"], ["--shards", "2"], []]
        )
        return Case(
            "sweep files", ["sweep", "own.toml", "--store", "made", *how], "own.toml", content
        )

    def _range(self) -> str:
        ends = [self.rng.choice([*NUMBERS, "1", "2", "1000", "1000000"]) for _ in range(3)]
        return "[grid]\nsamples = {{ from = {}, to = {}, count = {} }}".format(*ends)

    def table(self) -> Case:
        """A table of a law or a plane that was changed, or is made of nothing that it should be."""
        rng = self.rng
        name = rng.choice(list(self.tables))
        content = self.changed(self.tables[name])
        header, *rows = self.tables[name].split(b"\n")
        made: list[Callable[[], bytes]] = [
            lambda: header,
            lambda: header + b"\n" + b"," * 10**5,
            lambda: b",".join(b"a%d" % number for number in range(10**5)) + b"\n",
            lambda: header + b"\n" + b"\n".join(rows) * 300,
            lambda: b'"' + b"a" * 200_000 + b'"\n1\n',
            lambda: header + b'\n"' + b"\n".join(rows),
            lambda: b"\xef\xbb\xbf" + self.tables[name],
            lambda: self.many_rows(header, rows),
            lambda: self.tables[name].decode().encode("utf-16"),
            lambda: self.tables[name].replace(b",", b";"),
            lambda: header + b"," + header + b"\n" + b"\n".join(row + b"," + row for row in rows),
            lambda: b"",
            lambda: self.cells_changed(header, rows),
            lambda: self.cells_changed(header, rows),
            lambda: self.cells_changed(header, rows),
        ]
        if rng.random() < 0.4:
            content = rng.choice(made)()
        command = {"law": "fit", "plane": "phase"}[name]
        how = [["--json"], ["--table", "out.csv"], [], []] * 5 + [["--figure", "out.svg"]]
        return Case("tables", [command, "--from", "own.csv", *rng.choice(how)], "own.csv", content)

    def many_rows(self, header: bytes, rows: list[bytes]) -> bytes:
        """As many rows as a table may have, no two of them alike."""
        names, cells = header.strip().split(b","), rows[0].strip().split(b",")
        dim = names.index(b"dim")
        size = self.rng.choice([10**3] * 20 + [10**4, 3 * 10**4, 10**5])
        made = (b",".join([*cells[:dim], b"%d" % n, *cells[dim + 1 :]]) for n in range(8, 8 + size))
        return b"\n".join([header.strip(), *made])

    def cells_changed(self, header: bytes, rows: list[bytes]) -> bytes:
        """One column of hostile values."""
        names = header.split(b",")
        cells = [row.split(b",") for row in rows if row.count(b",") == len(names) - 1]
        column = self.rng.randrange(len(names))
        for row in cells:
            if self.rng.random() < 0.7:
                new = self.rng.choice([*NUMBERS, *TEXTS[:6]])
                row[column] = new.replace(",", "").encode(errors="surrogateescape")
        return b"\n".join([header, *(b",".join(row) for row in cells)])

    def problem(self) -> Case:
        """A problem in JSON that was changed, or is none."""
        rng = self.rng
        content = Problem(vocab=32, samples=64, dim=8, length=4, width=16).to_json()
        if rng.random() < 0.5:
            fields = json.loads(content)
            for _ in range(rng.choice([1, 2, 4])):
                new = rng.choice(
                    [*NUMBERS, *TEXTS, 10**400, -1, 1.5, None, True, [], {}, [[]], 2**63]
                )
                new = float(new) if new in ("nan", "inf", "-inf") else new
                fields[
                    rng.choice([*fields, "metrics", "task", "learner", "k", "self", "declared"])
                ] = new
            content = json.dumps(fields)
        elif rng.random() < 0.5:
            content = self.changed(content.encode()).decode(errors="replace")
        else:
            deep, many = rng.choice([10, 10**5]), rng.choice([10, 10**5])
            forms = ["[" * deep, '{"a":' * deep, "9" * deep, '"' + "a" * many, "\ufeff{}", "\0"]
            forms += ["{}", "[]", "null", "NaN", '"a"', ""]
            forms.append(f'{{"vocab": {"9" * deep}, "samples": 1, "dim": 1, "length": 1}}')
            forms.append("{" + ",".join(f'"a{each}": 1' for each in range(many)) + "}")
            content = rng.choice(forms)
        return Case("problems", [], "", content.encode(errors="surrogatepass"))

    def array_file(self) -> Case:
        """Arrays that were changed, are forged, or unpack to far more than the file."""
        rng = self.rng
        match rng.randrange(8):
            case 0 | 1:
                content = bytearray(self.arrays)
                for _ in range(rng.choice([1, 2, 8, 64])):
                    content[rng.randrange(len(content))] = rng.randrange(256)
            case 2:
                content = bytearray(self.arrays[: rng.randrange(len(self.arrays))])
            case 3:
                shape, kind = (
                    rng.choice([(10**9,), (-1, 8), (32, 8), (), (0, 0)]),
                    rng.choice("fcOSUMbi"),
                )
                head = {"descr": f"<{kind}8", "fortran_order": False, "shape": shape}
                text = f"{head!r}\n".encode()
                content = self._zipped(
                    b"\x93NUMPY\1\0" + len(text).to_bytes(2, "little") + text + bytes(9)
                )
            case 4:
                dtype = rng.choice(["f2", "f4", "i8", "c16", "U5", "?", "M8[s]", "f16", "i4,f8"])
                content = self._zipped(_npy(np.zeros(rng.choice([(32, 8), (8,), (0, 0)]), dtype)))
            case 5:
                content = self._zipped(
                    _npy(np.array(0.0)), rng.choice(["tokens.npy", "a" * 60000, "../x"])
                )
            case 6:
                size = rng.choice(
                    [2**16] * 30 + [2**28, 2**31]
                )  # those that are large take a while
                content = bytearray(_bomb(size))
            case _:
                content = self._zipped(self.arrays)
        sizes = [text for pair in SIZES.items() for text in pair]
        line = [
            rng.choice(["run", "predict"]),
            "--embedding",
            "own.npz",
            *sizes,
            "--test-samples",
            "64",
        ]
        return Case(
            "arrays", line[: -2 if line[0] == "predict" else None], "own.npz", bytes(content)
        )

    def _zipped(self, content: bytes, extra: str = "") -> bytearray:
        file = io.BytesIO()
        with warnings.catch_warnings(), zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            warnings.simplefilter("ignore")  # of names that are there twice
            for name in ("tokens.npy", "outputs.npy", "trigger.npy", "end.npy", extra):
                if name:
                    archive.writestr(name, content)
        return bytearray(file.getvalue())

    def readings(self) -> Case:
        """Measures as version 0.1 kept them."""
        rng = self.rng
        content = self.changed(self.reading)
        if rng.random() < 0.4:
            content = rng.choice(
                [b"\xff\n", b"[" * 200_000 + b"\n", b'{"seed": []}\n', b"1\n", b"\0\n"]
            )
            content = rng.choice([content, self.reading + content])
        line = ["paper", "list", "--store", "paper", "--size", "smoke"]
        return Case("readings", line, "paper/smoke/readings.jsonl", content)

    def cases(self, share: float) -> Iterator[Case]:
        """So many of each kind."""
        makers: dict[str, Callable[[], Case]] = {
            "lines": self.line,
            "sweep files": self.sweep_file,
            "tables": self.table,
            "problems": self.problem,
            "arrays": self.array_file,
            "readings": self.readings,
        }
        for kind, count in COUNTS.items():
            for _ in range(round(count * share)):
                yield makers[kind]()


def _npy(array: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


@cache
def _bomb(size: int) -> bytes:
    """Zeros by the gibibyte, packed a thousandfold, under a true header."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name in ("tokens", "outputs", "trigger", "end"):
            shape = (size // 64, 8) if name in ("tokens", "outputs") else (8,)
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                head = {"descr": "<f8", "fortran_order": False, "shape": shape}
                np.lib.format.write_array_header_1_0(member, head)
                left = 8 * int(np.prod(shape))
                while left > 0:
                    member.write(bytes(min(left, 2**20)))
                    left -= 2**20
    return file.getvalue()
