"""Packages that can be called: `dpbench.audit(mechanism)` works although `dpbench.audit` is also a package.

A leaf, imported by such packages; what is behind the door is imported when it is opened.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import Any


class Door(ModuleType):
    """A package that stands for one of its functions when it is called."""

    _behind: tuple[str, str]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        module, function = self._behind
        return getattr(importlib.import_module(module), function)(*args, **kwargs)


def opens(package: str, module: str, function: str) -> None:
    """Let calls of a package be calls of a function."""
    door = sys.modules[package]
    door.__class__ = Door
    door._behind = (module, function)  # type: ignore[attr-defined]
