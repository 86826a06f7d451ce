"""Named plugins: mechanisms, tasks and sources are found by name, by entry point or by dotted path.

Imported by the base modules of the three families and by the engine; knows none of them by name. Each family names the
method that its classes must have (`release`, `score`, `build`). Nothing else is ever called, whatever a YAML file says.
Figures may not import a family; they look up the labels of installed classes with `registry_of`.
"""

from __future__ import annotations

import dataclasses
import importlib
import importlib.util
import inspect
import pkgutil
import re
import sys
import threading
import traceback
import warnings
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, Generic, TypeVar

from dpbench.errors import UserError, nearest, no_parameter, unknown

C = TypeVar("C", bound=type)
MOST_SHARED = 10_000  # largest number of instances kept


class Unusable(UserWarning):
    """An installed plugin that cannot be used. Everything else works without it."""


_REGISTRIES: dict[str, Registry[Any]] = {}
"""The registry of each package."""

_own: list[Path] = []


def search(folder: Path) -> None:
    """Find the user's modules in a folder, once one is named. Until then nothing in it can be imported: Hydra, for example,
    looks for plugins wherever Python looks for modules."""
    if folder.resolve() not in _own:
        _own.append(folder.resolve())


def make_importable() -> None:
    """Let Python find the user's modules. Their folders come last: a file there replaces no module of Python or installed one."""
    sys.path += [str(folder) for folder in _own if str(folder) not in sys.path]


def _refuse_namesake(what: str, path: str) -> None:
    """UserError if the user has a module of this name, and Python would take another one."""
    name = path.partition(".")[0]
    for own in (file for folder in _own for file in (folder / f"{name}.py", folder / name / "__init__.py")):
        if own.is_file():
            loaded = sys.modules.get(name) or importlib.util.find_spec(name)
            taken = Path(getattr(loaded, "origin", None) or getattr(loaded, "__file__", None) or "a part of Python")
            ours = taken.is_file() and any(taken.resolve().is_relative_to(folder) for folder in _own)
            if not ours and not (taken.is_file() and own.read_bytes() == taken.read_bytes()):
                raise UserError(f"{what} {path!r}: {own} has the name of another module, {taken}: rename your file")


class Registry(Generic[C]):
    """Classes by name. The modules of `package` are imported at the first lookup, not before. Thread-safe."""

    def __init__(self, what: str, package: str, *, method: str) -> None:
        self.what, self.package, self.method = what, package, method
        self._classes: dict[str, C] = {}
        self._unlisted: set[str] = set()
        self._shared: dict[tuple[type, str], Any] = {}
        self._loaded = False
        self._loading = threading.RLock()
        # A second lock: while one thread loads, another thread that imports a module must be able to register a class.
        self._adding = threading.Lock()
        _REGISTRIES.setdefault(package, self)

    def add(self, name: str, cls: C, *, listed: bool = True) -> None:
        """Register a class under a name. What is not listed, such as an adapter of another library, is only found by `get`."""
        self._require(name, cls)
        with self._adding:
            known = self._classes.get(name)
            # Loading a module twice defines the same class again, which is fine. A different class needs another name.
            if known is not None and (known.__module__, known.__qualname__) != (cls.__module__, cls.__qualname__):
                raise UserError(f"{self.what} {name!r} is taken by {known.__module__}.{known.__qualname__}")
            self._classes[name] = cls
            if not listed:
                self._unlisted.add(name)

    def _load(self) -> None:
        if self._loaded:
            return
        with self._loading:
            if self._loaded:
                return
            package = importlib.import_module(self.package)
            for module in pkgutil.walk_packages(package.__path__, self.package + "."):
                importlib.import_module(module.name)
            for point in entry_points(group=self.package):
                try:
                    self.add(point.name, point.load())
                except Exception as error:  # a broken package must not break every verb
                    warnings.warn(f"the plugin {point.value!r} is left out: {error}", Unusable, stacklevel=2)
            self._loaded = True  # set last: a thread that sees it finds everything loaded

    def names(self) -> list[str]:
        """All listed names, in order."""
        return [name for name, _ in self.items()]

    def items(self) -> list[tuple[str, C]]:
        """All listed names with their classes, in order."""
        self._load()
        return sorted((name, cls) for name, cls in self._classes.items() if name not in self._unlisted)

    def installed(self, name: str) -> C | None:
        """The class registered under a name, listed or not; None if there is none. A dotted path is never imported."""
        self._load()
        return self._classes.get(name)

    def get(self, name: str) -> C:
        """The class behind a registered name or a dotted path `package.module.Class`."""
        if not isinstance(name, str) or not name:
            raise UserError(f"{self.what} {name!r} is not valid: expected a name or a dotted path")
        if "." in name:
            return self._require(name, self._import(name))
        self._load()
        if name not in self._classes:
            raise unknown(self.what, name, self._classes)
        return self._classes[name]

    def _require(self, name: str, found: Any) -> Any:
        """Return what was found if it is a class of this family. Anything else is refused before it can be called."""
        if not isinstance(found, type):
            raise UserError(f"{self.what} {name!r} is a {type(found).__name__}, expected a class with `{self.method}`")
        if not callable(getattr(found, self.method, None)):
            raise UserError(f"{self.what} {name!r} is not a {self.what}: the class has no method `{self.method}`")
        return found

    def _import(self, path: str) -> Any:
        module_name, _, class_name = path.rpartition(".")
        make_importable()
        try:
            _refuse_namesake(self.what, path)
            module = importlib.import_module(module_name)
        except ModuleNotFoundError as error:
            if error.name and f"{module_name}.".startswith(f"{error.name}."):
                if self.what == "source" and re.search(r"(csv|tsv|parquet|gz|txt|dat)$", path):
                    table = (
                        f"dataset=table dataset.table.path={path} dataset.table.user=COLUMN dataset.table.item=COLUMN"
                    )
                    raise UserError(f"dataset {path!r} looks like a file: expected {table}") from None
                raise UserError(f"{self.what} {path!r}: no module {error.name!r} in this folder or installed") from None
            raise UserError(f"{self.what} {path!r}: {_import_problem(error)}") from error
        except UserError:
            raise
        except Exception as error:  # anything can go wrong when a user's file is imported
            raise UserError(f"{self.what} {path!r}: {_import_problem(error)}") from error
        if not hasattr(module, class_name):
            classes = [key for key, value in vars(module).items() if isinstance(value, type)]
            hint = nearest(class_name, classes) if classes else "it defines no class"
            raise UserError(f"{self.what} {path!r}: {module_name} has no {class_name!r}: {hint}")
        return getattr(module, class_name)

    def known(self, name: str) -> bool:
        """Whether a name or a dotted path is that of an installed class. Nothing is imported for it but what is installed."""
        self._load()
        return name in self._classes or name.startswith("dpbench.")

    def parameters(self, name: str) -> list[str] | None:
        """The names of the parameters a class takes; None when it takes any (`**kwargs`) or has no readable signature."""
        cls = self.get(name)
        if dataclasses.is_dataclass(cls):
            return [f.name for f in dataclasses.fields(cls) if f.init]
        try:
            signature = inspect.signature(cls)
        except (TypeError, ValueError):
            return None
        kinds = [p.kind for p in signature.parameters.values()]
        if inspect.Parameter.VAR_KEYWORD in kinds:
            return None
        by_name = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
        return [p.name for p in signature.parameters.values() if p.kind in by_name]

    def make(self, name: str, **parameters: Any) -> Any:
        """An instance, with the parameters checked by name against its fields or its signature."""
        cls = self.get(name)
        valid = self.parameters(name)
        for key in parameters:
            if valid is not None and key not in valid:
                raise no_parameter(f"{self.what} {name!r}", key, valid)
        try:
            return cls(**parameters)
        except UserError:
            raise
        except (TypeError, ValueError, ArithmeticError, LookupError, AttributeError) as error:
            raise UserError(f"{self.what} {name!r}: {str(error) or type(error).__name__}") from error

    def shared(self, name: str, **parameters: Any) -> Any:
        """An instance shared by all callers that ask for the same parameters. Used to check and plan a configuration.

        Only a frozen dataclass with plain parameters is shared, because it cannot be changed. Anything else is made anew.
        """
        cls = self.get(name)
        told = cls.__dict__.get("__dataclass_params__")
        plain = all(value is None or isinstance(value, str | int | float) for value in parameters.values())
        if not (plain and told is not None and told.frozen):
            return self.make(name, **parameters)
        key = cls, repr(sorted(parameters.items()))  # by spelling: 1, 1.0 and True are equal but not the same
        made = self._shared.get(key)
        if made is None:
            made = self.make(name, **parameters)
            if len(self._shared) >= MOST_SHARED:
                self._shared.clear()
            self._shared[key] = made
        return made


def registry_of(package: str) -> Registry[Any]:
    """The registry of a package such as `dpbench.mechanisms`, for modules that may not import the package itself."""
    importlib.import_module(f"{package}.base")
    return _REGISTRIES[package]


def _import_problem(error: Exception) -> str:
    """What went wrong in a user's module, with file and line, and how to fix the most common mistake."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if not f.filename.startswith("<frozen")]
    own = [f for f in frames if f.filename not in (__file__, importlib.__file__, dataclasses.__file__)]
    place = f"{own[-1].filename}, line {own[-1].lineno}: " if own else ""
    hint = ""
    if isinstance(error, TypeError) and "non-frozen dataclass" in str(error):
        hint = ": write @dataclass(frozen=True, kw_only=True), as the classes of dpbench are"
    return f"{place}{type(error).__name__}: {error}{hint}"
