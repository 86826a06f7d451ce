"""Packages that can be called: `dpbench.audit(mechanism)` works although `dpbench.audit` is also a package.

This module imports nothing of ours. The function behind the call is imported at the first call, not before.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import Any


class Door(ModuleType):
    """A package that, when called, calls one of its functions."""

    _behind: tuple[str, str]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        module, function = self._behind
        return getattr(importlib.import_module(module), function)(*args, **kwargs)


def opens(package: str, module: str, function: str) -> None:
    """Make calls of a package calls of a function."""
    door = sys.modules[package]
    door.__class__ = Door
    door._behind = (module, function)  # type: ignore[attr-defined]
