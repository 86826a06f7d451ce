"""Names of things: one spelling a value, and code versions that follow the code and nothing else."""

from __future__ import annotations

import importlib
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from dpbench import fingerprints


def test_one_value_has_one_digest() -> None:
    assert fingerprints.digest({"a": 1, "b": (2.0, np.int64(3))}) == fingerprints.digest({"b": [2, 3], "a": 1.0})
    assert fingerprints.digest({"a": 1}) != fingerprints.digest({"a": "1"})
    assert fingerprints.digest([0.1]) != fingerprints.digest([0.1 + 1e-16 * 2])
    assert fingerprints.digest({"a": True}) != fingerprints.digest({"a": 1})


def test_digests_are_the_same_on_every_machine() -> None:
    """A golden value: stored results are named by it."""
    assert fingerprints.digest({"epsilon": 0.5, "class": "lpa"}, size=8) == "8160aa2d3703ec6b"


@dataclass(frozen=True, kw_only=True)
class Sample:
    a: int = 1
    b: str = "x"


def test_parameters_leave_out_defaults() -> None:
    assert fingerprints.parameters(Sample()) == {}
    assert fingerprints.parameters(Sample(a=1, b="y")) == {"b": "y"}


@pytest.mark.parametrize(
    ("file", "before", "after", "same"),
    [
        ("outer", '"""doc"""', '"""other words"""  # a comment', True),
        ("outer", "return 1", "return 2", False),
        ("inner", "return 3", "return 4", False),
        ("apart", "return 5", "return 6", True),
    ],
)
def test_code_version_follows_own_imports(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str, before: str, after: str, same: bool
) -> None:
    package = tmp_path / "pkg_under_test"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "outer.py").write_text(
        '"""doc"""\nfrom pkg_under_test import inner\nclass A:\n    def f(self):\n        return 1\n    g = inner.g\n'
    )
    (package / "inner.py").write_text("def g():\n    return 3\n")
    (package / "apart.py").write_text("def h():\n    return 5\n")
    monkeypatch.syspath_prepend(tmp_path)
    for name in [n for n in sys.modules if n.startswith("pkg_under_test")]:
        del sys.modules[name]
    cls = importlib.import_module("pkg_under_test.outer").A
    first = fingerprints.code_version(cls)
    path = package / f"{file}.py"
    path.write_text(path.read_text().replace(before, after))
    assert (fingerprints.code_version(cls) == first) is same
