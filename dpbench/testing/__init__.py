"""Assertions for the tests of your own mechanisms: `assert_private` and `assert_utility`. The pytest plugin is `plugin`.

On the same level as the verbs: it may import every package, and none imports it.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dpbench.testing.privacy import assert_private
    from dpbench.testing.utility import assert_utility

__all__ = ["assert_private", "assert_utility"]

_LAZY = {
    "assert_private": "privacy",
    "assert_utility": "utility",
}  # every pytest loads the plugin, few tests need these


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module 'dpbench.testing' has no attribute {name!r}")
    return getattr(importlib.import_module(f"dpbench.testing.{_LAZY[name]}"), name)
