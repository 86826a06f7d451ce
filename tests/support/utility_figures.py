"""Faults in what figures show: the trials are right, the numbers made of them are not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pandas as pd

from support.utility_planting import Plant, at


@dataclass(frozen=True)
class FigureFault:
    """A careless change of a script or of what all scripts use."""

    name: str
    plant: Plant
    experiment: str


def summarised(change: Callable[[pd.DataFrame], pd.DataFrame]) -> Plant:
    return at("storage.frame:summarise", lambda right, *given: change(right(*given)))


def scripted(change: Callable[[pd.DataFrame], pd.DataFrame]) -> Plant:
    def load(right: Any, path: Any) -> SimpleNamespace:
        script = right(path)
        return SimpleNamespace(numbers=lambda trials: change(script.numbers(trials)))

    return at("figures.draw:load_script", load)


def given(change: Callable[[pd.DataFrame], pd.DataFrame]) -> Plant:
    """Changes the trials that a script sees."""

    def load(right: Any, path: Any) -> SimpleNamespace:
        script = right(path)
        return SimpleNamespace(numbers=lambda trials: script.numbers(change(trials)))

    return at("figures.draw:load_script", load)


def _errors_scaled(table: pd.DataFrame) -> pd.DataFrame:
    return table.assign(**{name: table[name] * (6 / 5) ** 0.5 for name in table if str(name).endswith("_se")})


FIGURE_FAULTS = [
    FigureFault("standard errors divide by n - 1 twice", summarised(_errors_scaled), "gs/fig9"),
    FigureFault("variance is the mean squared error", summarised(lambda t: t.assign(variance=t["mse"])), "gs/fig9"),
    FigureFault("the last trial is left out", given(lambda t: t[t["trial"] < 5]), "epicrec/error"),
    FigureFault("percent instead of shares", scripted(lambda t: t.assign(mse=100 * t["mse"])), "analytics/fig6"),
    FigureFault("a row is lost", scripted(lambda t: t.iloc[1:]), "sparse/table1"),
    FigureFault("a column is lost", scripted(lambda t: t.drop(columns=t.columns[-1])), "sensitivity/quality"),
    FigureFault("rates of another time", given(lambda t: t.assign(seconds=t["seconds"] * 2)), "sparse/throughput"),
]
