"""Named plugins: mechanisms, tasks and sources are found by name, by entry point or by dotted path.

Imported by the three families' base modules and by the engine; knows none of them by name.
"""

from __future__ import annotations

import dataclasses
import importlib
import pkgutil
from importlib.metadata import entry_points
from typing import Any, Generic, TypeVar

from dpbench.errors import UserError, nearest

C = TypeVar("C", bound=type)


class Registry(Generic[C]):
    """Classes by name. The modules of `package` are imported at the first look, not before."""

    def __init__(self, what: str, package: str) -> None:
        self.what, self.package = what, package
        self._classes: dict[str, C] = {}
        self._loaded = False

    def add(self, name: str, cls: C) -> None:
        known = self._classes.get(name)
        # The same class is defined anew when its module is loaded twice; another one must choose another name.
        if known is not None and (known.__module__, known.__qualname__) != (cls.__module__, cls.__qualname__):
            raise UserError(f"{self.what} {name!r} is taken by {known.__module__}.{known.__qualname__}")
        self._classes[name] = cls

    def _load(self) -> None:
        if self._loaded:
            return
        self._loaded = True
        package = importlib.import_module(self.package)
        for module in pkgutil.walk_packages(package.__path__, self.package + "."):
            importlib.import_module(module.name)
        for point in entry_points(group=self.package):
            self.add(point.name, point.load())

    def names(self) -> list[str]:
        self._load()
        return sorted(self._classes)

    def items(self) -> list[tuple[str, C]]:
        self._load()
        return sorted(self._classes.items())

    def get(self, name: str) -> C:
        """The class behind a registered name or a dotted path `package.module.Class`."""
        if not isinstance(name, str) or not name:
            raise UserError(f"{self.what} {name!r}: expected a name or a dotted path")
        if "." in name:
            return self._import(name)
        self._load()
        if name not in self._classes:
            raise UserError(f"unknown {self.what} {name!r}: {nearest(name, self._classes)}")
        return self._classes[name]

    def _import(self, path: str) -> C:
        module_name, _, class_name = path.rpartition(".")
        try:
            module = importlib.import_module(module_name)
        except ModuleNotFoundError as error:
            if error.name and module_name.startswith(error.name):
                raise UserError(f"{self.what} {path!r}: there is no module {error.name!r} here or installed") from None
            raise
        if not hasattr(module, class_name):
            classes = [key for key, value in vars(module).items() if isinstance(value, type)]
            raise UserError(
                f"{self.what} {path!r}: {module_name} has no {class_name!r}: {nearest(class_name, classes)}"
            )
        return getattr(module, class_name)

    def make(self, name: str, **parameters: Any) -> Any:
        """An instance, with the parameters checked by name against its dataclass fields."""
        cls = self.get(name)
        valid = [f.name for f in dataclasses.fields(cls) if f.init] if dataclasses.is_dataclass(cls) else None
        for key in parameters:
            if valid is not None and key not in valid:
                hint = nearest(key, valid) if valid else "it takes none"
                raise UserError(f"{self.what} {name!r} has no parameter {key!r}: {hint}")
        try:
            return cls(**parameters)
        except TypeError as error:
            raise UserError(f"{self.what} {name!r}: {error}") from None
