"""Made-up results for tests of whatever reads them: settings, runs and stored trials that no mechanism computed."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from dpbench.model.environment import Environment
from dpbench.model.run import Dataset, Run, Setting, Variant
from dpbench.storage.store import Store


def name_of(number: int) -> str:
    """The id of a made-up setting."""
    return hashlib.blake2b(str(number).encode(), digest_size=16).hexdigest()


def row(
    trial: int, number: int = 0, *, pair: bool = True, seconds: float = 0.25
) -> dict[str, float | int | str | None]:
    """One trial of a made-up setting: a function of the two numbers alone, but for its time."""
    rng = np.random.default_rng([number, trial])
    mae, variance, bias = (float(v) for v in rng.random(3))
    paired = pair and trial % 2 == 1
    return {
        "trial": trial,
        "seconds": seconds,
        "metric.mae": mae,
        "metric.mse": mae**2,
        "chosen.scale": 2.0,
        "metric.pair_variance": variance if paired else None,
        "metric.pair_bias2": bias if paired else None,
    }


def rows(trials: Iterable[int], number: int = 0, *, seconds: float = 0.25) -> list[dict[str, float | int | str | None]]:
    return [row(trial, number, seconds=seconds) for trial in trials]


def setting(number: int = 0, *, original: bool = False, dataset: str = "small", mechanism: str = "lpa") -> Setting:
    use = Dataset(
        name=dataset,
        kind="incidence",
        source="zipf",
        params={"rows": 60, "columns": 25},
        seed=3,
        given=("rows",),
        original=original,
        fingerprint="f" * 32,
        statistics={"rows": 60, "largest row": 11},
    )
    task = Variant("column_counts", "column_counts")
    return Setting(
        use, Variant(mechanism, "lpa", {"number": number}), 0.5, task, name_of(-number), name_of(number), "ε"
    )


def run(
    results: Path,
    settings: Iterable[Setting] | int = 1,
    *,
    name: str = "gs/fig9",
    scale: str = "smoke",
    repetitions: int = 6,
    written: str = "2024-05-01T10:00:00.000000+00:00",
) -> Run:
    """A made-up run; not saved yet."""
    chosen = tuple(setting(i) for i in range(settings)) if isinstance(settings, int) else tuple(settings)
    return Run(
        name=name,
        experiment=name,
        scale=scale,
        repetitions=repetitions,
        seed=7,
        settings=chosen,
        title="A title",
        metrics=("mae",),
        left_out=(("gs on kos", "too small"),),
        changes=("trials=6",),
        altered=("trials=6",),
        environment=Environment(python="3.11", cores=2, commit="abc", versions={"numpy": "2.0"}),
        written=written,
        seconds=1.5,
        results=results,
    )


def filled(results: Path, settings: int = 1, *, repetitions: int = 6, chunk: int = 20, **more: str) -> Run:
    """A made-up run that is saved, with all its trials."""
    made = run(results, settings, repetitions=repetitions, **more)
    made.save()
    store = Store(results)
    for number in range(settings):
        for first in range(0, repetitions, chunk):
            store.write(name_of(number), rows(range(first, min(first + chunk, repetitions)), number), "{}")
    return made
