"""Computes trials of a board again, and compares them with what a results folder or an entry has. Imported by `verification`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pandas as pd

from dpbench.engine.worker import run_chunk
from dpbench.errors import Failed
from dpbench.model.run import Run
from dpbench.model.setting import Setting
from dpbench.model.trial import Chunk, TrialRow
from dpbench.ranking.boards import LABELS
from dpbench.ranking.condensed import parse
from dpbench.ranking.submission import Entry
from dpbench.storage import columns
from dpbench.storage.store import SECONDS, TRIAL, Store


def rerun(run: Run, settings: Sequence[Setting], count: int, seed: int, say: Callable[[str], None]) -> tuple[bool, int]:
    """Compute a seeded random sample of stored trials again: whether they are equal bit for bit, and how many they are.
    Failed if one differs by more than the last digits, as those of another processor do."""
    store, wanted = Store(run.results), run.repetitions_by_id()
    there = [(s, trial) for s in settings for trial in sorted(store.done(s.id)) if trial < wanted[s.id]]
    picked = np.random.default_rng(seed).permutation(len(there))[:count]
    chosen: dict[str, list[int]] = {}
    for at in picked:
        chosen.setdefault(there[at][0].id, []).append(there[at][1])
    exact, done = True, 0
    for setting in (s for s in settings if s.id in chosen):
        table = store.read(setting.id)
        assert table is not None
        stored = {int(row[TRIAL]): row for row in table.to_pylist()}
        for row in computed(run, setting, tuple(sorted(chosen[setting.id]))):
            exact &= _same(setting, stored[int(row[TRIAL] or 0)], row)
            done += 1
    say(
        f"{done} of {len(there)} trials computed again: {'equal, bit for bit' if exact else 'equal up to the last digits'}"
    )
    return exact, done


def computed(run: Run, setting: Setting, trials: tuple[int, ...]) -> list[TrialRow]:
    """These trials of a setting, computed in this process. Failed if one of them fails."""
    outcome = run_chunk(Chunk(setting, run.seed, trials))
    if outcome.refused or outcome.failures:
        raise Failed(f"{setting}: {outcome.refused or outcome.failures[0].error}")
    return outcome.rows


def _same(setting: Setting, stored: Mapping[str, object], again: TrialRow) -> bool:
    """Whether a trial is the stored one. Values of pairs need both trials of a pair to be stored, and may be missing."""
    exact = True
    for name in sorted({*stored, *again} - {SECONDS}):
        a, b = stored.get(name), again.get(name)
        if columns.same(a, b) or (name.startswith("metric.pair_") and (a is None or b is None)):  # type: ignore[arg-type]
            continue
        numbers = isinstance(a, float | int) and isinstance(b, float | int)
        if not numbers or not np.isclose(float(a), float(b), rtol=1e-9, atol=0):  # type: ignore[arg-type]
            what = f"{name} is {b} and not {a}"
            raise Failed(
                f"trial {again[TRIAL]} of {setting} is not what this class computes: {what}; nothing is entered"
            )
        exact = False
    return exact


def require_same_numbers(entry: Entry, told: pd.DataFrame, again: pd.DataFrame) -> None:
    """Failed unless the statistics of each computed setting are those that the entry has, on the draw that was computed."""
    keys = [key for key in LABELS if key in told and key in again]
    for row in again.to_dict("records"):
        same = np.logical_and.reduce([_alike(told[key], row[key]) for key in keys])
        ((seed, now),) = parse(row["samples"]).items()
        texts = told.loc[same, "samples"]
        then = parse(texts.iloc[0]).get(seed) if len(texts) == 1 and texts.iloc[0] else None
        if then is None or now.trials < then.trials:
            raise Failed(f"{entry.name}: it lacks a setting that its board has: {row}")
        if now.trials > then.trials:
            continue  # it stopped at the first look
        for name in ("mean", "variance", "around"):
            a, b = getattr(then.sampled, name), getattr(now.sampled, name)
            if not np.isclose(a, b, rtol=1e-9, atol=1e-12):
                where = ", ".join(str(row[key]) for key in keys)
                raise Failed(
                    f"{entry.name}: its numbers are not what its class computes: {name} of {where} is {b:.9g}, not {a:.9g}"
                )


def _alike(column: pd.Series, value: object) -> np.ndarray:
    if isinstance(value, float):
        return np.isclose(column.astype(float), value, rtol=1e-8)
    same = column.fillna("").astype(str) == str(value) if column.dtype == object else column == value
    return same.to_numpy()
