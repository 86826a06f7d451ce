"""What was run, as the report shows it: texts and numbers of a `Run`, cleaned for the page. Imported by `gather`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dpbench.results.run import UNSTATED, DatasetUse, Run, Value


@dataclass(frozen=True)
class MechanismUse:
    """A mechanism with the parameters that one run gave it."""

    name: str
    params: Mapping[str, Value]
    guarantee: str
    """`ε`, `(ε, δ)` or `not stated`."""
    not_private: str
    """Why it is not private as run; empty if it is."""


@dataclass(frozen=True)
class RunFacts:
    """One experiment as it was run."""

    experiment: str
    title: str
    scale: str
    trials: str
    """How many trials a setting has: "200", or "10 to 200"."""
    trials_told: str
    """The same in words."""
    seed: int
    settings: int
    written: str
    datasets: tuple[DatasetUse, ...]
    mechanisms: tuple[MechanismUse, ...]
    left_out: tuple[tuple[str, str], ...]
    """Settings that were not run, with the reason."""


def run_facts(run: Run) -> RunFacts:
    """The facts of one run."""
    return RunFacts(
        experiment=run.name,
        title=text(run.title),
        scale=text(run.scale),
        trials=run.trial_range(),
        trials_told=run.trials_told(),
        seed=run.seed,
        settings=len(run.settings),
        written=text(run.written)[:16].replace("T", " "),
        datasets=tuple({str(s.dataset): s.dataset for s in run.settings}.values()),
        mechanisms=tuple(_mechanisms(run)),
        left_out=tuple((text(setting), text(reason)) for setting, reason in run.left_out),
    )


def text(value: object) -> str:
    """A stored text on one line without control characters, which could affect the user's terminal."""
    return "".join(c if c.isprintable() else " " for c in str(value))


def _mechanisms(run: Run) -> list[MechanismUse]:
    """Each mechanism once per choice of its parameters."""
    found: dict[str, MechanismUse] = {}
    for setting in run.settings:
        variant = setting.mechanism
        guarantee = UNSTATED if setting.guarantee == "none" else text(setting.guarantee)
        use = MechanismUse(text(variant.name), variant.params, guarantee, text(setting.not_private))
        found.setdefault(f"{use.name} {use.params} {use.not_private}", use)
    return list(found.values())


def default_caveat(cls: type[Any]) -> str:
    """Why an installed mechanism is not private with its default parameters; empty if it is, or if it has no defaults."""
    try:
        return str(cls().not_private())
    except TypeError:  # it has parameters without a default
        return ""
