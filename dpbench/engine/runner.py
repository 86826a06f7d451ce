"""Carries out a plan: sends chunks to workers, stores what comes back, survives what goes wrong.

Only this process writes. Imports plan, worker, the two backends and the store; the `run` verb and the suite import it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from dpbench.config.schema import RunnerConfig
from dpbench.engine.plan import Plan
from dpbench.engine.worker import Chunk, Failure, Outcome
from dpbench.errors import Failed
from dpbench.results.setting import Setting
from dpbench.results.store import Store

Say = Callable[[str], None]


@dataclass
class Result:
    """What a run did: trials found finished, trials computed, and the failures by setting."""

    found: int = 0
    computed: int = 0
    failures: dict[str, list[Failure]] = field(default_factory=dict)

    @property
    def failed(self) -> int:
        return sum(len(failures) for failures in self.failures.values())


def todo(plan: Plan, store: Store) -> tuple[list[Chunk], int]:
    """The chunks still to be computed, and the number of trials that are finished already."""
    work: list[Chunk] = []
    found = 0
    for setting in {s.id: s for s in plan.run.settings if s.id}.values():
        missing, known = missing_trials(store.done(setting.id), plan.run.repetitions)
        found += known
        work += _chunks(setting, plan.run.seed, missing, plan.chunk(setting))
    return work, found


def missing_trials(done: set[int], repetitions: int) -> tuple[list[int], int]:
    """The trials to compute, in order, and how many are there already.

    An even trial that comes late takes its partner along, which could not be compared with it before.
    """
    wanted = [trial for trial in range(repetitions) if trial not in done]
    partners = {trial + 1 for trial in wanted if trial % 2 == 0 and trial + 1 < repetitions}
    return sorted({*wanted, *partners}), repetitions - len(wanted)


def _chunks(setting: Setting, seed: int, trials: list[int], size: int) -> Iterator[Chunk]:
    """The trials cut at multiples of `size`, which is even, so that pairs stay together."""
    parts: dict[int, list[int]] = {}
    for trial in trials:
        parts.setdefault(trial // size, []).append(trial)
    for part in parts.values():
        yield Chunk(setting, seed, tuple(part))


def execute(
    plan: Plan, store: Store, advance: Callable[[int], None] = lambda _: None, say: Say = lambda _: None
) -> Result:
    """Compute what is missing of a plan. `advance` hears of each number of trials that is over, found ones first."""
    store.sweep({setting.id for setting in plan.run.settings if setting.id})
    work, found = todo(plan, store)
    result = Result(found=found)
    advance(found)
    done = {setting.id: store.done(setting.id) for setting in {c.setting.id: c.setting for c in work}.values()}
    for outcome in _outcomes(work, plan.config.runner, say):
        setting, fresh = (
            outcome.chunk.setting,
            [t for t in outcome.chunk.trials if t not in done[outcome.chunk.setting.id]],
        )
        if outcome.refused:
            outcome.failures.extend(
                Failure(trial, f"refused by {outcome.worker}: {outcome.refused}") for trial in fresh
            )
        if outcome.rows:
            store.write(setting.id, outcome.rows, json.dumps({"key": setting.key, **setting.labels()}, default=str))
        if outcome.failures:
            result.failures.setdefault(setting.id, []).extend(f for f in outcome.failures if f.trial in fresh)
        result.computed += sum(row["trial"] in fresh for row in outcome.rows)
        advance(len(fresh))
    if not store.root.is_dir() and result.computed:
        raise Failed(
            f"the results folder {store.results} was removed during the run: its trials are lost, run it again"
        )
    return result


def _outcomes(work: list[Chunk], config: RunnerConfig, say: Say) -> Iterator[Outcome]:
    """The outcome of every chunk, in any order."""
    if not work:
        return
    if config.backend == "dask":
        from dpbench.engine.cluster import outcomes

        yield from outcomes(work, config, say)
        return
    from dpbench.engine.local import outcomes as local_outcomes

    yield from local_outcomes(work, config.jobs)
