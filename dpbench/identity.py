"""What a result is named by: one spelling for every value, the code that can run, and ids made of both.

Any module may import it. Which code can run, and how it is read, is in `code_reader`.
"""

from __future__ import annotations

import contextlib
import dataclasses
import dis
import functools
import hashlib
import json
import linecache
import math
import os
import pickle
import sys
import uuid
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from operator import attrgetter
from types import CellType, CodeType, FunctionType, MappingProxyType, ModuleType, SimpleNamespace
from typing import Any

from dpbench.code_reader import CORE, LOADERS, MAIN, OURS, TRIAL, reach

# --- values -----------------------------------------------------------------------------------------------------------


def canonical(value: Any) -> Any:
    """`value` as plain JSON with one spelling: tuples as lists, whole floats and numpy numbers as Python's."""
    if isinstance(value, dict):
        return {str(key): canonical(value[key]) for key in sorted(value, key=str)}
    if isinstance(value, list | tuple):
        return [canonical(item) for item in value]
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, float) and math.isfinite(value) and value == int(value):
        return int(value)
    return value if isinstance(value, str | int | float | bool | None) else str(value)


def digest(value: Any, size: int = 16) -> str:
    """Hexadecimal hash of a canonical value, the same on every machine and in every process."""
    text = json.dumps(canonical(value), sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.blake2b(text.encode(), digest_size=size).hexdigest()


def parameters(instance: Any, of: type | None = None) -> dict[str, Any]:
    """The parameters that differ from the class's defaults, or from those of another class, `of`, with the same fields.

    Writing out a default is the same as leaving it out, and a new field with a default changes no identity.
    """
    if not dataclasses.is_dataclass(instance):
        return {}
    given = {}
    for entry in dataclasses.fields(of or instance):
        value = getattr(instance, entry.name)
        default = entry.default
        if entry.default_factory is not dataclasses.MISSING:
            default = entry.default_factory()
        if default is dataclasses.MISSING or canonical(value) != canonical(default):
            given[entry.name] = canonical(value)
    return given


def class_path(cls: type) -> str:
    """The dotted path by which a worker imports the class."""
    return f"{cls.__module__}.{cls.__qualname__}"


# --- code -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Code:
    """The code behind some classes. Equal digests mean equal numbers on the same type of processor."""

    digest: str
    modules: Mapping[str, str]
    """Each module of ours and of the user, and the hash of its code."""
    distributions: Mapping[str, str]
    """Each library that those modules import, and its version; `python` stands for the standard library."""
    resumable: bool
    """False if some code could not be read: its results are never reused."""
    reasons: tuple[str, ...] = ()
    """Why not."""


def code_of(*things: Any, files: Iterable[str] = (), as_planned: bool = False) -> Code:
    """The code of classes, instances or functions, of all that they hold and import, and of some files of dpbench.

    `as_planned`: live code is read once for a plan.
    """
    content = _Content(as_planned=as_planned)
    for thing in things:
        content.add(thing)
    modules, versions, reasons = reach({*content.names, *files, *(TRIAL if content.live else ())})
    modules, versions = (dict(sorted(names.items())) for names in (modules | content.live, versions))
    name = digest({"modules": modules, "distributions": versions})
    because = tuple(dict.fromkeys([*reasons, *content.reasons]))
    return Code(name, modules, versions, not because, because)


# --- live code --------------------------------------------------------------------------------------------------------

# Classes and functions of a script or notebook, or made by a function: no import leads to them. They count by what they are
# made of, which is what a worker is sent: bytecode, defaults, attributes, and the variables that they use. A worker cannot
# compute the same again, so the result is written on the class or function, and travels with it.

_LABEL = "_dpbench_code"
_PROCESS = uuid.uuid4().hex
_plans = 0
_HEAP_TYPE = 1 << 9  # Py_TPFLAGS_HEAPTYPE: made by a class statement; all others are compiled
_NO_CODE = {
    _LABEL,
    *["__slotnames__", "_abc_impl", "__dict__", "__weakref__", "__doc__", "__firstlineno__", "__static_attributes__"],
}
_VARIABLES = [step for step in map(dis.opname.__getitem__, dis.hasname) if "ATTR" not in step and "METHOD" not in step]
_CODE = "code consts names varnames freevars cellvars flags argcount posonlyargcount kwonlyargcount exceptiontable"
_PARTS: dict[type, list[str]] = {
    CodeType: [f"co_{part}" for part in _CODE.split()],
    CellType: ["cell_contents"],
    property: ["fget", "fset", "fdel"],
    functools.cached_property: ["func"],
    classmethod: ["__func__"],
    staticmethod: ["__func__"],
    type(functools.cache(len)): ["__wrapped__"],
}


def begin_plan() -> None:
    """Read the live code of settings anew: its variables may have changed since the last plan. Until the next one its name
    stays the same, even if trials change some variable, such as numbers that are kept for the next trial."""
    global _plans
    _plans += 1


class _Content(pickle.Pickler):
    """Hashes what a value is made of, and collects the modules and the live code that it uses."""

    def __init__(self, *, as_planned: bool = False, inside: bool = False) -> None:
        self.names: set[str] = set()
        """Modules that other processes can import."""
        self.live: dict[str, str] = {}
        """Live code, each with its hash."""
        self.reasons: list[str] = []
        """What could not be read."""
        self._as_planned, self._inside = as_planned, inside
        """Whether live code keeps its name during a plan; whether this reads live code, all parts of which count."""
        self._seen: dict[int, tuple[int, Any]] = {}
        self._hash = hashlib.blake2b(digest_size=16)
        target: Any = SimpleNamespace(write=self._hash.update)
        super().__init__(target, protocol=5, buffer_callback=lambda buffer: self._hash.update(buffer.raw()))

    def add(self, thing: Any) -> str:
        """The hash of a value; empty if something in it cannot be read."""
        try:
            self.dump(thing)
        except Exception as error:  # of the user's classes, too
            what = getattr(thing, "__qualname__", f"an object of {type(thing).__qualname__}")
            self.reasons.append(f"{what}: its content is not known ({error})")
            return ""
        return self._hash.hexdigest()

    def persistent_id(self, thing: Any) -> Any:
        """What counts in place of a value; None if its own pickle does."""
        if isinstance(thing, type | FunctionType):
            return self._define(thing)
        if isinstance(thing, ModuleType):
            self.names.add(thing.__name__)
            if sys.modules.get(thing.__name__) is not thing:
                self.reasons.append(f"{thing.__name__}: its source is not known")
            return thing.__name__
        if isinstance(thing, set | frozenset):
            return sorted(thing, key=repr)  # their order differs between processes
        if isinstance(thing, MappingProxyType):
            return dict(thing)
        if isinstance(thing, CodeType):
            if unknown := {"eval", "exec", "globals", *LOADERS} & {*thing.co_names}:
                self.reasons.append(f"{thing.co_name}: what it uses by {', '.join(sorted(unknown))} is not known")
            self.names |= _used(["IMPORT_NAME"], thing) | {f"{OURS}.{name}" for name in thing.co_names}
        if type(thing) in _PARTS:
            return [getattr(thing, part) for part in _PARTS[type(thing)]]
        if not callable(thing) or isinstance(type(thing).__call__, FunctionType) or not hasattr(thing, "__name__"):
            return None
        module = pickle.whichmodule(thing, thing.__name__)  # type: ignore[attr-defined]
        if module in MAIN or not isinstance(getattr(thing, "__self__", None), ModuleType | None):
            return None
        self.names.add(module)  # compiled: its own pickle is no more than a name
        return [module, thing.__name__]

    def _define(self, thing: Any) -> Any:
        """A class or function: by its module if it is found there, otherwise by its parts."""
        if id(thing) in self._seen:
            return self._seen[id(thing)][0]
        self._seen[id(thing)] = len(self._seen), thing  # kept, because an id may be reused
        if _is_in_module(thing):
            self.names.add(thing.__module__)
            path = f"{thing.__module__}.{thing.__qualname__}"
            if isinstance(thing, FunctionType):
                return path
            functions = [*_functions(thing)]
            self.names |= {*map(_home, functions)}
            elsewhere = [function for function in functions if not _home(function)]  # put into the class by live code
            return [path, *thing.__mro__[1:], type(thing), *elsewhere]
        if not self._inside:
            return self._add_live(thing)
        held = {name: value for name, value in vars(thing).items() if name not in _NO_CODE}
        if isinstance(thing, type):
            return [thing.__qualname__, type(thing), thing.__bases__, held]
        parts = [thing.__code__, thing.__defaults__, thing.__kwdefaults__, thing.__closure__, held]
        if home := _home(thing):  # its module counts, and with it the variables
            self.names.add(home)
            return parts
        if _has_no_source(thing):
            self.reasons.append(f"{thing.__module__}.{thing.__qualname__}: its source is not known")
        scope = thing.__globals__
        self.names |= {*filter(None, [scope.get("__package__")])}  # relative imports
        return [*parts, {name: scope[name] for name in sorted(_used(_VARIABLES, thing.__code__) & scope.keys())}]

    def _add_live(self, thing: Any) -> str:
        process, plan, value, names, reasons = vars(thing).get(_LABEL) or (_PROCESS, -1, "", set(), [])
        if process == _PROCESS and not (self._as_planned and plan == _plans):
            content = _Content(inside=True)
            value = content.add(thing) or uuid.uuid4().hex
            names, reasons = content.names, content.reasons
            if plan != _plans:
                with contextlib.suppress(AttributeError, TypeError):
                    setattr(thing, _LABEL, (_PROCESS, _plans if self._as_planned else -1, value, names, reasons))
        self.live[f"{thing.__module__}.{thing.__qualname__} {value[:8]}"] = value
        self.names |= names
        self.reasons += reasons
        return str(value)


def _is_in_module(thing: Any) -> bool:
    if isinstance(thing, type) and not thing.__flags__ & _HEAP_TYPE:
        return True
    if thing.__module__ in MAIN or (isinstance(thing, FunctionType) and not _home(thing)):
        return False
    try:
        return attrgetter(thing.__qualname__)(sys.modules[thing.__module__]) is thing
    except (AttributeError, KeyError):
        return False


def _home(function: FunctionType) -> str:
    """The module whose source a function comes from; empty if it is of a script or notebook, typed in, or made by `exec`."""
    home = str(function.__globals__.get("__name__"))
    is_home = getattr(sys.modules.get(home), "__dict__", None) is function.__globals__
    return home if is_home and home not in MAIN and not _has_no_source(function) else ""


def _has_no_source(function: FunctionType) -> bool:
    """Whether a function is in no file and in no cell of a notebook. All that `exec` and `python -c` run is called `<string>`,
    and Python 3.13 knows the text of the latter only. The methods that `dataclass` makes count by its fields."""
    code, file = function.__code__, function.__code__.co_filename
    if file == "<string>":
        return not code.co_name.startswith("__")
    return file.startswith("<") and not file.startswith("<frozen ") and not linecache.getlines(file)


def _functions(cls: type) -> Iterator[FunctionType]:
    for value in vars(cls).values():
        parts = [getattr(value, part) for part in _PARTS[type(value)]] if type(value) in _PARTS else [value]
        yield from (part for part in parts if isinstance(part, FunctionType))


def _used(steps: Collection[str], code: CodeType) -> set[str]:
    """The names in all steps of some kinds of a function and of the functions inside it."""
    names = {str(found.argval) for found in dis.get_instructions(code) if found.opname in steps}
    return names.union(*(_used(steps, inner) for inner in code.co_consts if isinstance(inner, CodeType)))


# --- settings ---------------------------------------------------------------------------------------------------------

MOST = 4  # differences named in a message
SCHEMA = 2  # version of the stored rows
SESSION = "DPBENCH_SESSION"


def setting_code(source: Any, mechanism: Any, task: Any) -> Code:
    """The code that builds the data, releases, scores, and that seeds and measures all this.

    Each is a class or an instance. An instance also counts the code of its parameters, such as a mechanism inside a
    mechanism. For data that was given and not built, `source` is the class of the data.
    """
    return code_of(source, mechanism, task, files=CORE, as_planned=True)


def setting_id(key: str, seed: int, fingerprint: str, code: Code, files: str = "", schema: int = SCHEMA) -> str:
    """The id under which the trials of a setting are stored. `files`: a digest of the files that its parts declare."""
    return digest([key, seed, fingerprint, code.digest, schema, *filter(None, [files, _session(code)])])


def _session(code: Code) -> str:
    """Code without source may have changed since: its results are valid only for this process and its workers."""
    return "" if code.resumable else os.environ.setdefault(SESSION, uuid.uuid4().hex)


def session() -> str:
    """The name of this process if any result depends on it, otherwise empty: its workers must know it."""
    return os.environ.get(SESSION, "")


def join(name: str) -> None:
    """Work for another process: code without source is then identified by that process."""
    if name:
        os.environ[SESSION] = name


def differences(ours: Code, modules: Mapping[str, str], distributions: Mapping[str, str]) -> str:
    """How another process's code differs from ours, in a few words."""
    words = []
    for name in sorted({*ours.distributions, *distributions}):
        here, there = (versions.get(name) for versions in (ours.distributions, distributions))
        if here != there:
            words.append(f"{name} {there or 'is missing'} instead of {here}" if here else f"{name} {there} as well")
    words += sorted(name for name in {*ours.modules, *modules} if ours.modules.get(name) != modules.get(name))
    words = words or list(ours.reasons) or ["the files that its mechanism or task reads"]
    return ", ".join(words[:MOST]) + (f" and {len(words) - MOST} more" if len(words) > MOST else "")
