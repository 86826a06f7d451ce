"""Names of things: one spelling of a value, and ids that name everything that decides a result."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpbench import identity
from dpbench.identity import Code, code_of, setting_code, setting_id
from dpbench.mechanisms.base import MECHANISMS
from dpbench.sources.base import SOURCES
from dpbench.tasks.base import TASKS


def test_one_value_has_one_digest() -> None:
    assert identity.digest({"a": 1, "b": (2.0, np.int64(3))}) == identity.digest({"b": [2, 3], "a": 1.0})
    assert identity.digest({"a": 1}) != identity.digest({"a": "1"})
    assert identity.digest([0.1]) != identity.digest([0.1 + 1e-16 * 2])
    assert identity.digest({"a": True}) != identity.digest({"a": 1})


def test_digests_are_the_same_on_every_machine() -> None:
    """A golden value: stored results are named by it."""
    assert identity.digest({"epsilon": 0.5, "class": "lpa"}, size=8) == "8160aa2d3703ec6b"


@dataclass(frozen=True, kw_only=True)
class Sample:
    a: int = 1
    b: str = "x"


def test_parameters_leave_out_defaults() -> None:
    assert identity.parameters(Sample()) == {}
    assert identity.parameters(Sample(a=1, b="y")) == {"b": "y"}


def test_an_id_names_everything_that_decides_a_result() -> None:
    code = Code("1", {}, {}, True)
    first = ("ab", 0, "data", code, 2)
    others = [
        ("ac", 0, "data", code, 2),
        ("ab", 1, "data", code, 2),
        ("ab", 0, "other", code, 2),
        ("ab", 0, "data", Code("2", {}, {}, True), 2),
        ("ab", 0, "data", code, 3),
    ]
    assert len({setting_id(*given) for given in [first, first, *others]}) == 6


def test_the_code_of_a_setting_is_that_of_its_parts_and_of_the_worker() -> None:
    parts = SOURCES.get("incidence"), MECHANISMS.get("lpa"), TASKS.get("column_counts")
    code = setting_code(*parts)
    for part in parts:
        assert code_of(part).modules.items() <= code.modules.items()
    assert {"dpbench.engine.worker", "dpbench.sources.cache", "dpbench.tasks.base"} <= set(code.modules)
    assert code.digest != setting_code(SOURCES.get("table"), *parts[1:]).digest
    assert code.digest != setting_code(parts[0], MECHANISMS.get("gs"), parts[2]).digest
    assert code.digest == setting_code(parts[0], parts[1](bound=7), parts[2]()).digest
