"""Faults planted in what is released, and what `audit` says of them with its defaults or with --thorough.

A `Planted` is found if the verdict is "violated"; one of `said` is found if the verdict is at least not a plain "holds", because
the audit says what it could not follow.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from dpbench import Incidence
from dpbench.auditing.judge import EPSILONS, AuditedVariant, Options, findings, with_further
from dpbench.model.finding import Finding

SECONDS = 3600.0
"""No test depends on the time."""

Plant = Callable[[pytest.MonkeyPatch], Any]


Way = Callable[[Incidence, float, np.random.Generator], Any]


@dataclass(frozen=True)
class Own:
    """A stranger, which knows nothing of `Noise`: rows of up to three columns."""

    way: Way
    bound: int = 3

    def release(self, data: Incidence, epsilon: float, rng: np.random.Generator) -> Any:
        return self.way(data, epsilon, rng)


@dataclass(frozen=True)
class Planted:
    name: str
    plant: Plant
    said: str = ""
    """What the reason must contain, if the verdict is not "violated"."""
    quick: bool = False
    thorough: bool = False
    """Whether only --thorough is expected to find it; the page on the audit explains each."""
    further: bool = False
    """Whether further choices of parameters are audited, too."""
    missed: str = ""
    """Why even --thorough does not find it."""


def verdicts(mechanism: Any, *, thorough: bool = False, further: bool = False) -> list[Finding]:
    """All findings about a mechanism, as the verb makes them, without the cache."""
    subjects = [AuditedVariant(type(mechanism).__name__, mechanism)]
    subjects = with_further(subjects) if further else subjects
    return list(findings(subjects, Options(epsilons=EPSILONS, thorough=thorough, seconds=SECONDS)))


def must_be_found(fault: Planted, patch: pytest.MonkeyPatch) -> None:
    found = verdicts(fault.plant(patch), thorough=fault.thorough, further=fault.further)
    told = [f"{one.verdict} | {one.method} | {one.loss:.4g} | {one.step} | {one.reason}" for one in found]
    print(f"{fault.name}: {told[0]}")
    if fault.missed:
        pytest.xfail(fault.missed)
    if fault.said:
        assert not any(one.verdict == "holds" for one in found), told
        assert any(fault.said in one.reason for one in found), told
    else:
        assert any(one.verdict == "violated" for one in found), told


def cases(table: Sequence[Planted]) -> list[Any]:
    assert len({one.name for one in table}) == len(table)
    return [pytest.param(one, id=one.name, marks=[] if one.quick else [pytest.mark.slow]) for one in table]
