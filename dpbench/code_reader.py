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
import os
import pickle
import re
import sys
import time
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
_FAMILIES = ("mechanisms/*/*.py", "sources/*/*.py")
_LOOKUPS = {"mechanism", "task", "MECHANISMS", "SOURCES", "TASKS"}  # these make any class of dpbench by its name

# --- the text of a file or cell ---------------------------------------------------------------------------------------

_LOADERS = {"import_module", "__import__", "spec_from_file_location", "run_path", "run_module"}


class SourceText(NamedTuple):
    """The code of one file or notebook cell."""

    digest: str
    """Of the syntax tree: comments, docstrings and layout do not count."""
    imports: frozenset[str] = frozenset()
    """Dotted names that it imports; they end with a module or with a name in one."""
    computed: tuple[int, ...] = ()
    """Lines that load a module by a name which is not written there."""


@functools.lru_cache(maxsize=4096)
def parse(content: bytes, package: str) -> SourceText:
    try:
        tree = ast.parse(content)
    except (SyntaxError, ValueError):  # also a compiled module
        return SourceText(hashlib.blake2b(content, digest_size=16).hexdigest())
    imports, aliases, attributes, computed = set(), {OURS: OURS}, set(), []
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
        elif isinstance(node, ast.Call) and (loader := _last_name(node.func)) in _LOADERS and node.args:
            name = getattr(node.args[0], "value", None)
            if len(node.args) == 1 and isinstance(name, str) and loader == "import_module":
                imports.add(name)
            else:
                computed.append(node.lineno)
    imports |= {f"{aliases[name]}.{attribute}" for name, attribute in attributes if name in aliases}
    tokens = hashlib.blake2b(ast.dump(tree).encode(), digest_size=16).hexdigest()
    return SourceText(tokens, frozenset(imports), tuple(computed))


def _is_docstring(statement: ast.stmt) -> bool:
    value = statement.value if isinstance(statement, ast.Expr) else None
    return isinstance(value, ast.Constant) and isinstance(value.value, str)


def _last_name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


# --- the text of a module ---------------------------------------------------------------------------------------------

# A loaded module counts with the code that was loaded, not with what its file has become since. Its file is read when the
# code is first asked for, and is refused if it was written after the import. Python does not record when that was (and
# the bytecode beside it may be of another process, which imported the file later), so it is noted here.


class _Clock:
    """First on sys.meta_path: notes when a module is imported or reloaded, and leaves the search to the others."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> None:
        _LOADED[name] = time.time_ns()


_LOADED: dict[str, int] = {}
_BEGAN = time.time_ns()  # modules without an entry were loaded earlier
sys.meta_path.insert(0, _Clock)  # type: ignore[arg-type]


def _stamp(name: str, file: str) -> tuple[Any, ...]:
    """Changes when a module that is loaded is loaded again, or when the file of another one is written."""
    module = sys.modules.get(name)
    return (None, *_written(file)) if module is None else (module, _LOADED.get(name, _BEGAN))


_TEXTS: dict[tuple[str, str], tuple[tuple[Any, ...], SourceText]] = {}


def read(name: str, file: str) -> SourceText:
    """The text of a module: of a loaded one as it was loaded, of another one as its file is now."""
    stamp = module, loaded, *_ = _stamp(name, file)
    known = _TEXTS.get((name, file))
    if known is not None and known[0] == stamp:
        return known[1]
    if module is not None and _written(file)[0] > loaded:
        raise UserError(f"{file} has changed since {name} was loaded: restart Python, or reload the module")
    package = getattr(module, "__package__", None) or (name if "__init__." in file else name.rpartition(".")[0])
    text = parse(Path(file).read_bytes(), package) if os.path.isfile(file) else SourceText("")
    _TEXTS[name, file] = stamp, text
    return text


def _written(file: str) -> tuple[int, ...]:
    """When a file was last written, and its size. Programs can set the time of modification, but not that of the inode."""
    try:
        status = os.stat(file)
    except OSError:
        return (0,)
    return (status.st_ctime_ns if os.name == "posix" else status.st_mtime_ns, status.st_size)


# --- where the code of classes begins ---------------------------------------------------------------------------------

MAIN = ("__main__", "__mp_main__")
_LABEL = "_dpbench_code"
_HEAP_TYPE = 1 << 9  # Py_TPFLAGS_HEAPTYPE: made by a class statement, whatever module it names
_WRAPPERS: dict[type, tuple[str, ...]] = {
    staticmethod: ("__func__",),
    classmethod: ("__func__",),
    property: ("fget", "fset"),
    functools.cached_property: ("func",),
    type(functools.cache(lambda: None)): ("__wrapped__",),
}


@dataclass
class Roots:
    """The modules that some classes, functions and instances are defined in, and all code that no import can reach.

    The latter is live code, of a script or notebook. Other processes do not have its source, so its identity is written on
    the class or function itself, as `_dpbench_code`, and travels with it.
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

    def add(self, thing: Any) -> None:
        """Add a class, a function, a module, or an instance with all that it holds."""
        if id(thing) in self.seen:
            return
        self.seen[id(thing)] = thing  # kept, because an id may be reused
        if isinstance(thing, type):
            for cls in (*thing.__mro__, type(thing)):
                self._define(cls, cls.__module__)
        elif isinstance(thing, FunctionType):
            for function in _functions(thing):
                self._define(function, function.__globals__.get("__name__"))
        elif isinstance(thing, BuiltinFunctionType | ModuleType):
            self.names.add((thing.__name__ if isinstance(thing, ModuleType) else thing.__module__) or "builtins")
        else:
            self._content(f"an object of {type(thing).__qualname__}", thing)

    def _define(self, thing: Any, home: Any) -> None:
        """Add a class or function by its module, with the functions that were put into the class from elsewhere."""
        made_by_python = isinstance(thing, FunctionType) or thing.__flags__ & _HEAP_TYPE
        if home in MAIN or home not in sys.modules or (home == "builtins" and made_by_python) or _has_no_source(thing):
            self._define_live(thing)
            return
        self.names.add(home)
        if self.inside and isinstance(thing, FunctionType):
            self._add_values(
                thing.__qualname__, _outer_variables(thing)
            )  # a library's decorator holds the user's function
        for function in _functions(thing):
            if function is not thing:
                self._define(function, function.__globals__.get("__name__"))

    def _define_live(self, thing: Any) -> None:
        main, label = vars(sys.modules["__main__"]), vars(thing).get(_LABEL)
        defined_here = main.get(thing.__name__) is thing or any(f.__globals__ is main for f in _functions(thing))
        if label is None or defined_here:
            alone = self if self.inside else Roots(inside=True, seen={id(thing): thing})
            alone._read_live(thing)
            if alone is self:
                return
            label = alone.names, alone.live, alone.reasons
            with contextlib.suppress(AttributeError, TypeError):
                setattr(thing, _LABEL, label)
        self.names |= label[0]
        self.live |= label[1]
        self.reasons += label[2]

    def _read_live(self, thing: Any) -> None:
        """A script counts by its whole file, a class of a notebook by its functions and by its other attributes."""
        if thing.__module__ not in MAIN or _has_no_source(thing):
            self.reasons.append(f"{thing.__module__}.{thing.__qualname__}: its source is not known")
            return
        if isinstance(thing, FunctionType):
            self._read_function(thing)
            return
        functions = list(_functions(thing))
        if not functions or not all(map(_in_script, functions)):
            fields = vars(thing).get("__dataclass_fields__", {})
            values = {name: (field.default, field.default_factory) for name, field in fields.items()}
            skipped = ("_abc_impl", _LABEL)
            values |= {n: value for n, value in vars(thing).items() if not n.startswith("__") and n not in skipped}
            self._add_values(thing.__qualname__, values)
        for function in functions:
            self.add(function)

    def _read_function(self, function: FunctionType) -> None:
        """A function of a notebook counts by its cell, and by the values of all variables that it may use."""
        file, scope = function.__code__.co_filename, function.__globals__
        script = _in_script(function)
        text = read("__main__", file) if script else parse("".join(linecache.getlines(file)).encode(), "")
        self.live["__main__" if script else f"__main__:{text.digest[:16]}"] = text.digest
        self.names |= text.imports
        self.reasons += _computed(file, text)
        if not script:
            used = _names(function.__code__)
            values = {name: scope[name] for name in used & scope.keys()}
            for module in (value for value in values.values() if isinstance(value, ModuleType)):
                self.names |= {f"{module.__name__}.{name}" for name in used}
            values["defaults"] = function.__defaults__, function.__kwdefaults__
            self._add_values(function.__qualname__, values | _outer_variables(function))

    def _add_values(self, owner: str, values: dict[str, Any]) -> None:
        contents = [f"{n} {self._content(f'variable {n!r} of the notebook', values[n])}" for n in sorted(values)]
        key = f"__main__:{owner}"
        contents.append(self.live.get(key, ""))  # a function and its decorated form have one name
        self.live[key] = hashlib.blake2b("\n".join(contents).encode(), digest_size=16).hexdigest()

    def _content(self, what: str, value: Any) -> str:
        """The hash of a value. All code in it is added."""
        content = _Content(self)
        try:
            content.dump(value)
        except Exception as error:  # of the user's classes, too
            self.reasons.append(f"{what}: its content is not known ({error})")
        return content.hash.hexdigest()


class _Content(pickle.Pickler):
    """Hashes what a value pickles to. Code is not pickled, but added to the roots."""

    def __init__(self, roots: Roots) -> None:
        self.roots, self.hash = roots, hashlib.blake2b(digest_size=16)
        target: Any = SimpleNamespace(write=self.hash.update)
        super().__init__(target, protocol=5, buffer_callback=lambda buffer: self.hash.update(buffer.raw()))

    def persistent_id(self, thing: Any) -> Any:
        if type(thing) in _WRAPPERS:
            return [getattr(thing, name) for name in _WRAPPERS[type(thing)]]
        if isinstance(thing, set | frozenset):
            return sorted(thing, key=repr)  # their order differs between processes
        if not callable(thing) and not isinstance(thing, ModuleType):
            return None
        if isinstance(thing, MethodType | functools.partial) or isinstance(type(thing).__call__, FunctionType):
            return None
        of_object = not isinstance(getattr(thing, "__self__", None), ModuleType | None)
        if of_object or not isinstance(thing, type | FunctionType | BuiltinFunctionType | ModuleType):
            raise TypeError(f"{type(thing).__name__}: it would be pickled as a name")
        self.roots.add(thing)
        return f"{getattr(thing, '__module__', '')}.{getattr(thing, '__qualname__', thing.__name__)}"


def _functions(thing: Any) -> Iterator[FunctionType]:
    """The functions of a class, or the function itself, without those that `dataclass` makes."""
    for value in vars(thing).values() if isinstance(thing, type) else (thing,):
        for function in [getattr(value, name) for name in _WRAPPERS.get(type(value), ())] or [value]:
            if isinstance(function, FunctionType) and not (
                function.__code__.co_filename == "<string>" and function.__code__.co_name.startswith("__")
            ):
                yield function


def _in_script(function: FunctionType) -> bool:
    return function.__code__.co_filename == getattr(sys.modules["__main__"], "__file__", None)


def _has_no_source(thing: Any) -> bool:
    """Whether a function is in no file and in no cell of a notebook."""
    file = thing.__code__.co_filename if isinstance(thing, FunctionType) else ""
    return bool(file) and not os.path.isfile(file) and not linecache.getlines(file, thing.__globals__)


def _outer_variables(function: FunctionType) -> dict[str, Any]:
    values = {}
    for name, variable in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        with contextlib.suppress(ValueError):  # not assigned yet
            values[f"outer {name}"] = variable.cell_contents
    return values


def _names(code: CodeType) -> set[str]:
    """The names of variables outside a function, and of attributes, that it and the functions inside it use."""
    return set(code.co_names).union(*(_names(inner) for inner in code.co_consts if isinstance(inner, CodeType)))


def _computed(file: str, text: SourceText) -> list[str]:
    return [f"{file}, line {line}: loads a module by a computed name" for line in text.computed]


# --- what can be reached from there by imports ------------------------------------------------------------------------

_INSTALLED = {"site-packages", "dist-packages"}
_STANDARD = os.path.dirname(os.__file__) + os.sep


class Reached:
    """The modules of ours and of the user that some names lead to, and the distributions of all others."""

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
        self._done: set[str] = set()
        waiting = [*names, *(name for pattern in patterns for name in self._count_ours(pattern))]
        while waiting:
            name = waiting.pop()
            if name in self._done:
                continue
            self._done.add(name)
            if name.partition(".")[0] != OURS:
                waiting += self._count_users(name)
            else:
                waiting += [other for pattern in _patterns(name) for other in self._count_ours(pattern)]

    def is_current(self) -> bool:
        return all(_stamp(*module) == stamp for module, stamp in self._stamps.items())

    def _count_ours(self, pattern: str) -> set[str]:
        """Count files of dpbench, and return the names of other packages that they import."""
        if pattern in self._done:
            return set()
        self._done.add(pattern)
        imports: set[str] = set().union(*(self._count(name, file).imports for name, file in _listed(pattern)))
        return {name for name in imports if name.partition(".")[0] != OURS}

    def _count_users(self, name: str) -> Iterator[str]:
        """Count the package of a name. Return what those of its modules import that are loaded or lead to the name."""
        top = name.partition(".")[0]
        if top not in self._files:
            self._files[top] = self._sources_of(top)
            for module, file in self._files[top].items():
                if not self._count(module, file).digest:
                    self.reasons.append(f"{module}: its source is not known")
        for module, file in self._files[top].items():
            if (module in sys.modules or f"{name}.".startswith(f"{module}.")) and f"in {module}" not in self._done:
                self._done.add(f"in {module}")
                text = read(module, file)
                self.reasons += _computed(file, text)
                yield from text.imports

    def _count(self, name: str, file: str) -> SourceText:
        text = read(name, file)
        self.modules[name], self._stamps[name, file] = text.digest, _TEXTS[name, file][0]
        return text

    def _sources_of(self, top: str) -> dict[str, str]:
        """The files of a top-level module by name, if it counts by its source. Otherwise notes its distributions."""
        file, folders = _location(top)
        anchor = file or next(iter(folders), "")
        if not anchor or (top in sys.stdlib_module_names and anchor.startswith(_STANDARD)):
            if not anchor and top not in sys.stdlib_module_names:
                if top in sys.modules:
                    self.reasons.append(f"{top}: its source is not known")
                self.missing = True
            return {}
        if _INSTALLED & set(Path(anchor).parts) and (owners := _distributions(top)):
            self.distributions |= set(owners)
            if top not in self._own and not any(map(_is_plugin, owners)):
                return {}
        return dict(_inside(top, folders)) if folders else {top: anchor}


def _patterns(name: str) -> Iterator[str]:
    """The files of dpbench that may run if a user's file uses this name, or a class of ours is in this module."""
    parts = name.split(".")[1:]
    if not parts or ".".join([OURS, parts[0]]) in EXEMPT:
        return
    yield from BUILDING if parts[0] in ("data", "sources", "numerics", "model") else CORE
    if parts[-1] in _LOOKUPS:
        yield from _FAMILIES
    elif parts[0] in ("mechanisms", "sources"):
        if len(parts) == 1 or (PACKAGE / parts[0] / parts[1]).is_dir():
            yield f"{parts[0]}/{parts[1] if len(parts) > 1 else '*'}/*.py"
    elif f"{parts[0]}/*.py" not in CORE and ((PACKAGE / parts[0]).is_dir() or (PACKAGE / f"{parts[0]}.py").is_file()):
        yield "**/*.py"


@functools.cache
def _listed(pattern: str) -> list[tuple[str, str]]:
    """The modules of dpbench whose files match a pattern."""
    modules = []
    for file in sorted(PACKAGE.glob(pattern)):
        parts = [OURS, *file.relative_to(PACKAGE).with_suffix("").parts]
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        modules += [(name, str(file))] if name not in EXEMPT else []
    if not modules:
        raise FileNotFoundError(f"{PACKAGE / pattern}: no such file")
    return modules


def _location(top: str) -> tuple[str | None, tuple[str, ...]]:
    """The file of a top-level module, and the folders of a package: of the loaded one, or of the one an import would load."""
    module = sys.modules.get(top)
    if module is not None:
        return getattr(module, "__file__", None), tuple(getattr(module, "__path__", None) or ())
    try:
        spec = importlib.util.find_spec(top)
    except (ImportError, ValueError, AttributeError):
        spec = None
    if spec is None:
        return None, ()
    return spec.origin if spec.has_location else None, tuple(spec.submodule_search_locations or ())


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
