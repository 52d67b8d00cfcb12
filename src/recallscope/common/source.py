"""The source of a user's function or part: hashed, so that an edit is noticed, and sent to workers.

It is the Python files of the folder of the file that defines it, with the packages in that folder;
of its top package, if it is in one. In a notebook it is the text of the function itself. Data files
and installed packages are not noticed.
"""

from __future__ import annotations

import hashlib
import inspect
import marshal
import pickle
import sys
import sysconfig
from collections.abc import Iterator, Mapping
from functools import lru_cache, partial
from pathlib import Path
from types import FunctionType, MethodType
from typing import Any, NamedTuple

from recallscope.common.errors import ProblemError

MOST_FILES = 200
_VALUES = "what it was given"
_PLAIN = (bool, int, float, complex, str, bytes, range, type(None))
_INSTALLED = (
    *(sysconfig.get_paths()[name] for name in ("stdlib", "purelib", "platlib")),
    str(Path(__file__).parents[1]),  # of ours, the version says it all
)


class Source(NamedTuple):
    """The mark of records of a function or part, and the hashes of its files."""

    mark: str
    """Sixteen hexadecimal digits, or v and the version that the user gave."""
    files: dict[str, str]
    """Hashes of its files by their paths, and of what it was given; none with a version."""

    def files_of(self, called: str) -> dict[str, str]:
        """The files as records have them: the name of the function or part is in front."""
        return {f"{called}: {path}": digest for path, digest in self.files.items()}


def source_of(thing: object, version: int | None = None) -> Source:
    """The mark of a function or part, and the hashes behind it.

    >>> one, two = source_of(partial(pow, 1)), source_of(partial(pow, 2))
    >>> len(one.mark), one == two, source_of(pow, version=3).mark
    (16, False, 'v3')
    """
    if version is not None:
        return Source(f"v{version}", {})
    files: dict[str, str] = {}
    values: list[str] = []
    folders: dict[Path, None] = {}
    for piece in _walk(thing, set()):
        if isinstance(piece, str):
            values.append(piece)
        elif (folder := _folder(piece)) is None:
            files[piece.__qualname__] = _hash(_text(piece))
        else:
            # The file has others, with the same name too if they have none, such as lambdas.
            line = getattr(getattr(piece, "__code__", None), "co_firstlineno", 0)
            values.append(f"{piece.__qualname__} {line}")
            folders[folder] = None
    for folder in folders:
        for path in python_files(folder):
            name = path.relative_to(folder).as_posix()
            # Another folder may have a file of this name: then both are in the hash.
            files[name] = _hash(files.get(name, "").encode() + path.read_bytes())
    files[_VALUES] = _hash("\n".join(values).encode())
    return Source(_hash(repr(sorted(files.items())).encode(), digits=16), files)


def edited(old: Mapping[str, str], new: Mapping[str, str]) -> str:
    """Return the files of a source that have changed, in words.

    >>> edited({"mine: train.py": "ab12"}, {"mine: train.py": "cd34"})
    'train.py was edited'
    """
    names = [name for name in sorted({*old, *new}) if old.get(name) != new.get(name)]
    files = [path for name in names if (path := name.partition(": ")[2]) != _VALUES]
    if not files:
        return f"{_VALUES} has changed"
    more = f" and {len(files) - 1} more files were" if len(files) > 1 else " was"
    return f"{files[0]}{more} edited"


def pack(thing: object) -> bytes:
    """A thing, and by their content all functions and classes of the folders it is from."""
    import cloudpickle  # type: ignore[import-untyped]

    code = [piece for piece in _walk(thing, set()) if not isinstance(piece, str)]
    folders = {folder for piece in code if (folder := _folder(piece)) is not None}
    files = {str(path) for folder in folders for path in python_files(folder)}
    known = cloudpickle.list_registry_pickle_by_value()
    own = [
        module
        for name, module in [*sys.modules.items()]
        if str(Path(getattr(module, "__file__", None) or "")) in files
        and name not in ("__main__", *known)
    ]
    for module in own:
        cloudpickle.register_pickle_by_value(module)
    try:
        packed: bytes = cloudpickle.dumps(thing)
    finally:
        for module in own:
            cloudpickle.unregister_pickle_by_value(module)
    return packed


@lru_cache(100)  # so a variable of a module is kept from one run to the next, as it is here
def unpack(packed: bytes) -> Any:
    """Return what another process of ours packed."""
    return pickle.loads(packed)


def python_files(folder: Path) -> list[Path]:
    """The Python files of a folder and of the packages in it."""
    paths: list[Path] = []
    for path in sorted(folder.iterdir()):
        if path.suffix == ".py" and path.is_file():
            paths.append(path)
        elif (path / "__init__.py").is_file():
            paths += python_files(path)
        if len(paths) > MOST_FILES:
            raise ProblemError(
                f"{str(folder)!r} has more than {MOST_FILES} Python files, too many to notice an "
                "edit of them; give version=, and raise it when your code changes"
            )
    return paths


def _walk(thing: Any, seen: set[int]) -> Iterator[FunctionType | type | str]:
    """The user's functions and classes that a thing consists of; texts say the rest of it."""
    if isinstance(thing, _PLAIN):
        yield repr(thing)
        return
    if id(thing) in seen:
        return
    seen.add(id(thing))
    inside: list[Any] = []
    if isinstance(thing, partial):
        inside = [thing.func, thing.args, thing.keywords]
    elif isinstance(thing, MethodType):
        inside = [thing.__func__, thing.__self__]
    elif isinstance(thing, FunctionType):
        yield thing if _is_own(thing) else f"{thing.__module__}.{thing.__qualname__}"
        inside = _enclosed(thing)
    elif isinstance(thing, type):
        yield thing if _is_own(thing) else f"{thing.__module__}.{thing.__qualname__}"
        inside = [*thing.__bases__, *_members(thing)] if _is_own(thing) else []
    elif isinstance(thing, Mapping):
        inside = [value for pair in thing.items() for value in pair]
    elif isinstance(thing, (list, tuple)):
        inside = [*thing]
    elif isinstance(thing, (set, frozenset)):
        inside = sorted(map(repr, thing))  # the order differs between processes
    elif hasattr(thing, "__wrapped__"):
        inside = [thing.__wrapped__]
    elif _is_own(type(thing)) or type(thing).__module__.startswith("recallscope."):
        inside = [type(thing), getattr(thing, "__dict__", {})]
        names = [name for base in type(thing).__mro__ for name in getattr(base, "__slots__", ())]
        inside += [getattr(thing, name) for name in names if hasattr(thing, name)]
    else:
        yield _pickled(thing)
    for element in inside:
        yield from _walk(element, seen)


def _is_own(thing: FunctionType | type) -> bool:
    """Whether a function or class is the user's, and of no installed package."""
    path = getattr(sys.modules.get(thing.__module__), "__file__", None)
    if path is None:  # built in, or of a notebook or a prompt
        return thing.__module__ not in ("builtins", *sys.builtin_module_names)
    return not path.startswith(_INSTALLED)


def _folder(thing: FunctionType | type) -> Path | None:
    """The folder of the file that defines it, or of its top package; none for a notebook."""
    module = sys.modules.get(thing.__module__)
    file = getattr(module, "__file__", None)
    if file is None:
        return None
    within = (getattr(module, "__package__", None) or "").count(".")
    return Path(file).parents[within]


def _enclosed(function: FunctionType) -> list[Any]:
    """Return the values that a function encloses."""
    values = []
    for cell in function.__closure__ or ():
        try:
            values.append(cell.cell_contents)
        except ValueError:  # not filled yet
            continue
    return values


def _members(thing: type) -> list[Any]:
    """The attributes of a class, and the methods that enclose values, as those made in a function.

    Other methods are in the text of the class, or in its file.
    """
    return [
        value
        for name, value in vars(thing).items()
        if not name.startswith("__")
        and name != "_abc_impl"
        and (not isinstance(value, FunctionType) or value.__closure__ is not None)
    ]


def _text(thing: FunctionType | type) -> bytes:
    """The source of what is in no file; its compiled code where Python does not keep the source."""
    try:
        return inspect.getsource(thing).encode()
    except (OSError, TypeError):
        functions = [thing] if isinstance(thing, FunctionType) else [*vars(thing).values()]
        code = [function.__code__ for function in functions if isinstance(function, FunctionType)]
        return b"".join(marshal.dumps(block, 2) for block in code)


def _pickled(value: Any) -> str:
    """A text for a value of a type that is not the user's, such as an array."""
    try:
        return _hash(pickle.dumps(value))
    except Exception:  # of whatever kind: it is not made to be pickled
        return f"{type(value).__module__}.{type(value).__qualname__}"


def _hash(content: bytes, digits: int = 8) -> str:
    return hashlib.sha256(content).hexdigest()[:digits]
