"""Functions and parts of the user's on their way to another process, with the modules they need."""

from __future__ import annotations

import pickle
import secrets
import sys
from collections.abc import Mapping, Sequence
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import spec_from_file_location
from types import CodeType, ModuleType
from typing import Any

from recallscope.parts.fingerprint import modules_of
from recallscope.parts.modules import Module

_HERE = secrets.token_hex(8)


def pack(thing: object) -> bytes:
    """A thing, and the source of every module of the user's that it needs."""
    import cloudpickle  # type: ignore[import-untyped]

    return pickle.dumps((_HERE, modules_of(thing), cloudpickle.dumps(thing)))


def unpack(packed: bytes) -> Any:
    """What another process of ours packed. Its modules go before those that are here by that name.

    So all workers run what the hash of the source was taken of, on whatever machine they are.
    """
    sender, modules, thing = pickle.loads(packed)
    if sender != _HERE:
        _FROM_AFAR.modules.update(modules)
        if _FROM_AFAR not in sys.meta_path:
            sys.meta_path.insert(0, _FROM_AFAR)
    return pickle.loads(thing)


class _Finder:
    """Finds modules that came with what was unpacked."""

    def __init__(self) -> None:
        self.modules: dict[str, Module] = {}

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: object = None
    ) -> ModuleSpec | None:
        module = self.modules.get(name)
        if module is None or not module.paths:
            return None
        if module.edited:
            raise ImportError(
                f"the file of {name} was edited after it was loaded: a worker would run "
                "something else; load it again, as a new process does"
            )
        if module.source is not None:
            loader = _Loader(name, module.paths[0], module.source, module.values)
            return spec_from_file_location(name, module.paths[0], loader=loader)
        spec = ModuleSpec(name, None, is_package=True)
        spec.submodule_search_locations = [*module.paths]
        return spec


_FROM_AFAR = _Finder()


class _Loader(SourceFileLoader):
    """Loads a module from a text, as if it were in its file."""

    def __init__(self, name: str, path: str, source: str, values: Mapping[str, Any]) -> None:
        super().__init__(name, path)
        self._source, self._values = source, values

    def get_source(self, name: str) -> str:
        return self._source

    def get_code(self, name: str) -> CodeType:
        return compile(self._source, self.path, "exec", dont_inherit=True)

    def exec_module(self, module: ModuleType) -> None:
        super().exec_module(module)
        vars(module).update(self._values)
