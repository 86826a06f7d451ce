"""Finds and reads the code behind classes: files, the cells of a notebook, versions of libraries.

The code of a trial is coarse on purpose. Of dpbench, the folders count that a trial may use (the import contracts in
pyproject.toml forbid others). Of the user, the module of the class counts, and every module outside site-packages that it
imports, a package with its whole folder. Installed libraries count by their version.
Only `identity` calls this; others import its constants. Imports `errors` only.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import hashlib
import importlib.machinery
import importlib.metadata
import importlib.util
import linecache
import operator
import os
import pickle
import re
import sys
import time
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType, SimpleNamespace
from typing import Any, NamedTuple

from dpbench.errors import UserError

OURS = "dpbench"
PACKAGE = Path(__file__).parent
EXEMPT = ("dpbench.errors", "dpbench.paths", "dpbench.registry", "dpbench.identity", "dpbench.code_reader")
"""Modules that are used in every trial but affect no number: messages, paths, names of classes, and identities."""

BUILDING = ("data/*.py", "model/*.py", "numerics/*.py", "sources/*.py", "storage/files.py", "storage/seals.py")
"""The files of dpbench that may run when a dataset is built or opened, beside the folder of its source."""
CORE = (*BUILDING, "engine/failures.py", "engine/worker.py", "mechanisms/*.py", "privacy/*.py", "tasks/*.py")
"""The files of dpbench that may run in any trial, beside the folders of its source and its mechanism."""
_LOOKUPS = {"mechanism", "mechanisms", "task", "sources", "MECHANISMS", "SOURCES", "TASKS"}
"""Names of dpbench through which any of its classes can be made."""
_LOADERS = {"import_module", "__import__", "spec_from_file_location", "run_path", "run_module"}

# --- the text of a file or cell ---------------------------------------------------------------------------------------


class SourceText(NamedTuple):
    """The code of one file or notebook cell."""

    digest: str
    """Of the syntax tree: comments, docstrings and layout do not count."""
    imports: frozenset[str] = frozenset()
    """Dotted names that it imports; they end with a module or with a name in one."""
    reasons: tuple[str, ...] = ()
    """Why not all that it imports is known."""


@functools.lru_cache(maxsize=4096)
def parse(content: bytes, file: str, package: str = "") -> SourceText:
    try:
        tree = ast.parse(content)
    except (SyntaxError, ValueError):  # also a compiled module
        return SourceText(_hash(content))
    imports, aliases, attributes, reasons = set(), {OURS: OURS}, set(), []
    for node in ast.walk(tree):
        if isinstance(body := getattr(node, "body", None), list):
            node.body = [s for s in body if not _is_docstring(s)]  # type: ignore[attr-defined]
        if isinstance(node, ast.Import):
            imports |= {alias.name for alias in node.names}
            aliases |= {alias.asname: alias.name for alias in node.names if alias.asname}
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            imports |= {".".join([*above, *filter(None, [node.module]), alias.name]) for alias in node.names}
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            attributes.add((node.value.id, node.attr))
        elif isinstance(node, ast.Call) and (called := _last_name(node.func)) in _LOADERS:
            name = getattr(node.args[0], "value", None) if len(node.args) == 1 else None
            if called == "import_module" and isinstance(name, str) and "/" not in name:
                imports.add(name)
            else:
                reasons.append(f"{file}, line {node.lineno}: loads a module by a computed name")
    imports |= {f"{aliases[name]}.{attribute}" for name, attribute in attributes if name in aliases}
    return SourceText(_hash(ast.dump(tree).encode()), frozenset(imports), tuple(reasons))


def _last_name(node: ast.expr) -> str:
    return str(getattr(node, "attr", getattr(node, "id", "")))


def _hash(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=16).hexdigest()


def _is_docstring(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(getattr(statement.value, "value", None), str)


# --- the text of a module ---------------------------------------------------------------------------------------------

# A loaded module counts with the code that was loaded, not with what its file has become since. Its file is read when the
# code is first asked for, and is refused if it was written after the import. Python does not record what the file was then (and
# the bytecode beside it may be of another process, which imported the file later), so it is noted here. Clocks jump, so the times
# of a file are compared with each other, and with the clock only where the file was not found before it was loaded.


class _Notes:
    """First on sys.meta_path: notes the file of a module that is imported or reloaded, and leaves the search to the others."""

    @staticmethod
    def find_spec(name: str, path: Iterable[str] | None = None, target: object = None) -> None:
        last = name.rpartition(".")[2]
        for folder in sys.path if path is None else path:
            for file in (os.path.join(folder, last, "__init__.py"), os.path.join(folder, f"{last}.py")):
                if (written := _written(file))[0]:
                    _LOADED[name] = time.time_ns(), os.path.abspath(file), written
                    return
        _LOADED[name] = time.time_ns(), "", (0, 0)


_Load = tuple[int, str, tuple[int, int]]
_LOADED: dict[str, _Load] = {}
_BEGAN: _Load = (time.time_ns(), "", (0, 0))  # modules without an entry were loaded earlier
sys.meta_path.insert(0, _Notes)  # type: ignore[arg-type]
_TEXTS: dict[tuple[str, str], tuple[tuple[Any, ...], SourceText]] = {}


def _stamp(name: str, file: str) -> tuple[Any, ...]:
    """Changes when a module that is loaded is loaded again, or when the file of another one is written."""
    module = sys.modules.get(name)
    return (None, *_written(file)) if module is None else (module, _LOADED.get(name, _BEGAN))


def read(name: str, file: str) -> SourceText:
    """The text of a module: of a loaded one as it was loaded, of another one as its file is now."""
    stamp = module, loaded, *_ = _stamp(name, file)
    known = _TEXTS.get((name, file))
    if known is None or known[0] != stamp:
        if module is not None and _changed(file, loaded):
            raise UserError(f"{file} has changed since {name} was loaded: restart Python, or reload the module")
        package = name if "__init__." in file else name.rpartition(".")[0]
        text = parse(Path(file).read_bytes(), file, package) if os.path.isfile(file) else SourceText("")
        known = _TEXTS[name, file] = stamp, text
    return known[1]


def _changed(file: str, loaded: _Load) -> bool:
    """Whether a file was written since it was loaded."""
    when, noted, written = loaded
    return _written(file) != written if noted == os.path.abspath(file) else _written(file)[0] > when


def _written(file: str) -> tuple[int, int]:
    """When a file was last written, and its size. Programs can set the time of modification, but not that of the inode."""
    try:
        status = os.stat(file)
    except (OSError, ValueError):
        return 0, 0
    return max(status.st_ctime_ns, status.st_mtime_ns), status.st_size


for _name, _module in list(sys.modules.items()):  # those of ours that were loaded a moment ago
    if _name.partition(".")[0] == "dpbench" and (_file := getattr(_module, "__file__", None)):
        _LOADED[_name] = _BEGAN[0], os.path.abspath(_file), _written(_file)


# --- where the code of classes begins ---------------------------------------------------------------------------------

MAIN = ("__main__", "__mp_main__")
_LABEL = "_dpbench_code"
_PROCESS = uuid.uuid4().hex
_HEAP_TYPE = 1 << 9  # Py_TPFLAGS_HEAPTYPE: made by a class statement, whatever module it names
_WRAPPERS = (staticmethod, classmethod, property, functools.cached_property, type(functools.cache(len)))
_WRAPPED = ("__func__", "fget", "fset", "fdel", "func", "__wrapped__")


@dataclass
class Roots:
    """The modules that some classes, functions and instances are defined in, and all code that no import can reach.

    The latter is live code: of a script or notebook, or a class that a function made. Other processes have neither its
    source nor its variables, so its identity is written on the class or function, as `_dpbench_code`, and travels with it.
    """

    names: set[str] = field(default_factory=set)
    """Modules, or names in them, that other processes can import."""
    live: dict[str, str] = field(default_factory=dict)
    """Cells, scripts, and values that they use, each with its hash."""
    reasons: list[str] = field(default_factory=list)
    """What could not be read."""
    inside: bool = False
    """Whether this collects what one class or function of live code uses."""
    seen: dict[int, Any] = field(default_factory=dict)

    def add(self, what: str, value: Any) -> str:
        """Add all code of a value: a class or function, or what an instance holds. Return the hash of its content."""
        content = _Content(self)
        try:
            content.dump(value)
        except Exception as error:  # of the user's classes, too
            self.reasons.append(f"{what}: its content is not known ({error})")
        return content.hash.hexdigest()

    def define(self, thing: Any) -> None:
        """Add a class or function by its module, and live code by what it holds."""
        if id(thing) in self.seen:
            return
        self.seen[id(thing)] = thing  # kept, because an id may be reused
        if _module_says_all(thing) and not (self.inside and getattr(thing, "__closure__", None)):
            self.names.add(_home(thing))
            for function in _functions(thing):  # also those that were put into the class from elsewhere
                self.define(function)
        elif self.inside:
            self._read(thing)
        else:
            label = vars(thing).get(_LABEL)
            if label is None or label[0] == _PROCESS:  # in the process that made it, its variables may have changed
                alone = Roots(inside=True, seen={id(thing): thing})
                alone._read(thing)
                label = _PROCESS, alone.names, alone.live, alone.reasons
                with contextlib.suppress(AttributeError, TypeError):
                    setattr(thing, _LABEL, label)
            self.names |= label[1]
            self.live |= label[2]
            self.reasons += label[3]

    def _read(self, thing: Any) -> None:
        """A script counts by its whole file. All else counts by its cell or module, and by the values that it uses."""
        home, functions = _home(thing), list(_functions(thing))
        values: dict[str, Any] = {}
        if _has_no_source(thing) or not (home in sys.modules or thing.__module__ in MAIN):
            self.reasons.append(f"{thing.__module__}.{thing.__qualname__}: its source is not known")
            return
        if home not in MAIN:
            self.names.add(home)
        if isinstance(thing, FunctionType):
            values |= {"defaults": (thing.__defaults__, thing.__kwdefaults__), **_outer_variables(thing), **vars(thing)}
            values |= self._read_main(thing) if home in MAIN else {}
        else:
            fields = vars(thing).get("__dataclass_fields__", {})
            values |= {name: (field.default, field.default_factory) for name, field in fields.items()}
            values |= {name: value for name, value in vars(thing).items() if not name.startswith("__")}
        if "<locals>" in thing.__qualname__ or not functions or not all(map(_in_script, functions)):
            self._add_values(thing.__qualname__, values)
        for function in functions:
            self.define(function)

    def _read_main(self, function: FunctionType) -> dict[str, Any]:
        """Add the script or cell of a function. Return the values of all variables of a notebook that it may use."""
        file, script = function.__code__.co_filename, _in_script(function)
        text = read("__main__", file) if script else parse("".join(linecache.getlines(file)).encode(), file)
        self.live["__main__" if script else f"__main__:{text.digest[:16]}"] = text.digest
        self.names |= text.imports
        self.reasons += text.reasons
        if script:
            return {}
        used = _names(function.__code__)
        values = {name: function.__globals__[name] for name in used & function.__globals__.keys()}
        modules = [value.__name__ for value in values.values() if isinstance(value, ModuleType)]
        self.names |= {f"{module}.{name}" for module in modules for name in used}
        return values

    def _add_values(self, owner: str, values: dict[str, Any]) -> None:
        left_out = (_LABEL, "_abc_impl")
        contents = [f"{n} {self.add(f'variable {n!r}', values[n])}" for n in sorted(values) if n not in left_out]
        key = f"__main__:{owner}"
        contents.append(self.live.get(key, ""))  # a function and its decorated form have one name
        self.live[key] = _hash("\n".join(contents).encode())


class _Content(pickle.Pickler):
    """Hashes what a value pickles to. Code is not pickled, but added to the roots."""

    def __init__(self, roots: Roots) -> None:
        self.roots, self.hash = roots, hashlib.blake2b(digest_size=16)
        target: Any = SimpleNamespace(write=self.hash.update)
        super().__init__(target, protocol=5, buffer_callback=lambda buffer: self.hash.update(buffer.raw()))

    def persistent_id(self, thing: Any) -> Any:
        if isinstance(thing, _WRAPPERS):
            return [getattr(thing, name, None) for name in _WRAPPED]
        if isinstance(thing, set | frozenset):
            return sorted(thing, key=repr)  # their order differs between processes
        if isinstance(thing, type | FunctionType):
            for part in (*thing.__mro__, type(thing)) if isinstance(thing, type) else _functions(thing):
                self.roots.define(part)
            return f"{thing.__module__}.{thing.__qualname__}"
        if isinstance(thing, ModuleType):
            self.roots.names.add(thing.__name__)
            return thing.__name__
        if isinstance(thing, BuiltinFunctionType) and isinstance(thing.__self__, ModuleType | None):
            self.roots.names.add(thing.__module__ or "builtins")
            return f"{thing.__module__}.{thing.__qualname__}"
        if not callable(thing) or isinstance(thing, MethodType | functools.partial):
            return None
        if isinstance(type(thing).__call__, FunctionType):
            return None
        raise TypeError(f"{type(thing).__name__}: it would be pickled as a name")


def _home(thing: Any) -> str:
    return str(thing.__module__ if isinstance(thing, type) else thing.__globals__.get("__name__"))


def _functions(thing: Any) -> Iterator[FunctionType]:
    """The functions of a class, or the function itself, without those that `dataclass` makes."""
    for value in vars(thing).values() if isinstance(thing, type) else (thing,):
        for function in [getattr(value, name, None) for name in _WRAPPED] if isinstance(value, _WRAPPERS) else [value]:
            if isinstance(function, FunctionType) and not (
                function.__code__.co_filename == "<string>" and function.__code__.co_name.startswith("__")
            ):
                yield function


def _module_says_all(thing: Any) -> bool:
    """Whether the source of its module is all that there is to know about a class or function."""
    home = _home(thing)
    if home in MAIN or home not in sys.modules or _has_no_source(thing):
        return False
    if isinstance(thing, FunctionType):
        return home != "builtins" and ("<locals>" not in thing.__qualname__ or _is_library(home))
    if home == "builtins":
        return not thing.__flags__ & _HEAP_TYPE
    try:  # a class that a function makes is not there
        return operator.attrgetter(thing.__qualname__)(sys.modules[home]) is thing or _is_library(home)
    except AttributeError:
        return _is_library(home)


def _has_no_source(thing: Any) -> bool:
    """Whether a function is in no file and in no cell of a notebook. All that `exec` and `python -c` run is called `<string>`,
    and Python 3.13 knows the text of the latter only."""
    file = thing.__code__.co_filename if isinstance(thing, FunctionType) else ""
    if file == "<string>":
        return True
    return bool(file) and not os.path.isfile(file) and not linecache.getlines(file, thing.__globals__)


def _in_script(function: FunctionType) -> bool:
    return function.__code__.co_filename == getattr(sys.modules["__main__"], "__file__", None)


def _outer_variables(function: FunctionType) -> dict[str, Any]:
    values = {}
    for name, variable in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        with contextlib.suppress(ValueError):  # not assigned yet
            values[f"outer {name}"] = variable.cell_contents
    return values


def _names(code: CodeType) -> set[str]:
    """The names of variables outside a function, and of attributes, that it and the functions inside it use."""
    return set(code.co_names).union(*(_names(inner) for inner in code.co_consts if isinstance(inner, CodeType)))


# --- what can be reached from there by imports ------------------------------------------------------------------------

_STANDARD = os.path.dirname(os.__file__) + os.sep


class Reached:
    """The files of ours and of the user that some names lead to, and the distributions of all others."""

    def __init__(self, names: Iterable[str], own: Iterable[str], patterns: Iterable[str]) -> None:
        """`own`: packages that count by their source even if installed. `patterns`: files of dpbench that count too."""
        self.modules: dict[str, str] = {}
        self.distributions: set[str] = set()
        self.reasons: list[str] = []
        self.missing = False
        """Whether some imported module is nowhere: it may appear later."""
        self._own = set(own)
        self._stamps: dict[tuple[str, str], tuple[Any, ...]] = {}
        self._files: dict[str, dict[str, str]] = {}
        done: set[str] = set()
        waiting = [*names, *patterns]
        while waiting:
            name = waiting.pop()
            if name in done:
                continue
            done.add(name)
            if "/" in name:  # a pattern
                imports = {n for module, file in _listed(name) for n in self._count(module, file).imports}
                waiting += [n for n in imports if n.partition(".")[0] != OURS]
            elif name.partition(".")[0] == OURS:
                waiting += _patterns(name)
            else:
                waiting += self._count_users(name)

    def is_current(self) -> bool:
        return all(_stamp(*module) == stamp for module, stamp in self._stamps.items())

    def _count_users(self, name: str) -> Iterator[str]:
        """Count the package of a name. Return what those of its modules import that are loaded or lead to the name."""
        top = name.partition(".")[0]
        if top not in self._files:
            self._files[top] = self._sources_of(top)
        for module, file in self._files[top].items():
            text = self._count(module, file)
            if module in sys.modules or f"{name}.".startswith(f"{module}."):
                self.reasons += text.reasons
                yield from text.imports

    def _count(self, name: str, file: str) -> SourceText:
        text = read(name, file)
        self.modules[name], self._stamps[name, file] = text.digest, _TEXTS[name, file][0]
        if not text.digest:
            self.reasons.append(f"{name}: its source is not known")
        return text

    def _sources_of(self, top: str) -> dict[str, str]:
        """The files of a top-level module by name, if it counts by its source."""
        file, folders = _location(top)
        owners = _owners(top, file)
        self.distributions |= set(owners)
        if not file and top not in sys.stdlib_module_names:
            self.missing = True
            if top in sys.modules:
                self.reasons.append(f"{top}: its source is not known")
        if not file or (_is_library(top) and not (owners and top in self._own)):
            return {}
        return dict(_inside(top, folders)) if folders else {top: file}


def _patterns(name: str) -> Iterator[str]:
    """The files of dpbench that may run if a user's file uses this name, or a class of ours is in this module."""
    parts = name.split(".")[1:]
    if not parts or ".".join([OURS, parts[0]]) in EXEMPT:
        return
    yield from BUILDING if parts[0] in ("data", "sources", "numerics", "model") else CORE
    if parts[-1] in _LOOKUPS:
        yield from ("mechanisms/*/*.py", "sources/*/*.py")
    elif f"{parts[0]}/*.py" in CORE:
        yield from [f"{'/'.join(parts[:2])}/*.py"] if (PACKAGE / "/".join(parts[:2])).is_dir() else []
    elif (PACKAGE / parts[0]).is_dir() or (PACKAGE / f"{parts[0]}.py").is_file():
        yield "**/*.py"


@functools.cache
def _listed(pattern: str) -> list[tuple[str, str]]:
    """The modules of dpbench whose files match a pattern."""
    names = {file: [OURS, *file.relative_to(PACKAGE).with_suffix("").parts] for file in sorted(PACKAGE.glob(pattern))}
    modules = [(".".join(parts).removesuffix(".__init__"), str(file)) for file, parts in names.items()]
    if not modules:
        raise FileNotFoundError(f"{PACKAGE / pattern}: no such file")
    return [module for module in modules if module[0] not in EXEMPT]


def _location(top: str) -> tuple[str, tuple[str, ...]]:
    """The file of a top-level module, or its first folder, and all folders of a package: as loaded, or as an import would."""
    try:
        spec = importlib.util.find_spec(top)
    except (ImportError, ValueError, AttributeError):
        spec = None
    folders = tuple((spec and spec.submodule_search_locations) or ())
    return (spec.origin if spec and spec.has_location else None) or next(iter(folders), ""), folders


def _inside(top: str, folders: Iterable[str]) -> Iterator[tuple[str, str]]:
    """All modules in the folders of a package."""
    endings = (".py", *importlib.machinery.EXTENSION_SUFFIXES)
    for root in folders:
        for folder, inner, files in os.walk(root):
            inner[:] = [name for name in inner if name.isidentifier()]  # neither .venv nor lib/python3.11
            parts = [top, *Path(folder).relative_to(root).parts]
            for file in files:
                stem = file.partition(".")[0]
                if file.endswith(endings):
                    yield ".".join(parts if stem == "__init__" else [*parts, stem]), os.path.join(folder, file)


def _is_library(name: str) -> bool:
    """Whether a module counts by the version of its distribution or of Python, not by its source."""
    top = name.partition(".")[0]
    file, _ = _location(top)
    standard = top in sys.stdlib_module_names and (not file or file.startswith(_STANDARD))
    owners = _owners(top, file)
    return top == OURS or standard or (bool(owners) and not any(map(_is_plugin, owners)))


def _owners(top: str, file: str) -> tuple[str, ...]:
    """The distributions that installed a module; none of a user's own."""
    return _distributions(top) if {"site-packages", "dist-packages"} & set(Path(file).parts) else ()


@functools.cache
def _distributions(top: str) -> tuple[str, ...]:
    """The distributions that installed a top-level module. The one of the same name is tried first: searching all takes 0.2 s."""
    try:
        names = [importlib.metadata.distribution(top).metadata["Name"]]
    except importlib.metadata.PackageNotFoundError:
        names = importlib.metadata.packages_distributions().get(top, [])
    return tuple(sorted({re.sub(r"[-_.]+", "-", name).lower() for name in names}))


@functools.cache
def _is_plugin(distribution: str) -> bool:
    points = importlib.metadata.distribution(distribution).entry_points
    return any(point.group.startswith(f"{OURS}.") for point in points)


@functools.cache
def version(distribution: str) -> str:
    """The version of a distribution, as this process first saw it: what it has loaded does not change later."""
    return importlib.metadata.version(distribution)
