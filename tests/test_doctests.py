"""The examples in the docstrings of the public API are true."""

from __future__ import annotations

import doctest
import importlib

import pytest

MODULES = (
    "dpbench.api.compare",
    "dpbench.api.run",
    "dpbench.api.lookup",
    "dpbench.data.catalogue",
    "dpbench.data.contingency",
    "dpbench.data.incidence",
    "dpbench.data.records",
    "dpbench.mechanisms.base",
    "dpbench.privacy.budget",
    "dpbench.model.run",
)
OPTIONS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str) -> None:
    module = importlib.import_module(name)
    assert doctest.testmod(module, optionflags=OPTIONS).failed == 0
