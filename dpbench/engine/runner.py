"""Executes a plan: sends chunks to workers, stores the results, and handles failures.

Only this process writes. Imports plan, worker, the two backends and the store; imported by the `run` verb and the suite.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from dpbench.config.schema import RunnerConfig
from dpbench.engine import identity
from dpbench.engine.failures import Failure
from dpbench.engine.limits import Limits
from dpbench.engine.plan import Plan
from dpbench.engine.shards import trials_of
from dpbench.engine.worker import Chunk, Outcome, Row
from dpbench.errors import Failed
from dpbench.results import failures as failure_files
from dpbench.results.failures import Problem
from dpbench.results.folder import sweep
from dpbench.results.setting import Setting
from dpbench.results.store import PAIR_COLUMNS, Store

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

    def problems(self) -> list[Problem]:
        """The failures by kind and place, the most frequent first: one error in many settings is one problem."""
        alike: dict[tuple[str, str], list[tuple[str, Failure]]] = {}
        for setting, failures in self.failures.items():
            for failure in failures:
                alike.setdefault(failure.alike, []).append((setting, failure))
        found = []
        for (kind, _), members in alike.items():
            trials: dict[str, list[int]] = {}
            for setting, failure in members:
                trials.setdefault(setting, []).append(failure.trial)
            first = members[0][1]
            numbers = {setting: tuple(sorted(several)) for setting, several in trials.items()}
            found.append(Problem(first.error, kind, first.place, first.details, numbers))
        return sorted(found, key=lambda problem: -problem.count)


def todo(plan: Plan, store: Store) -> tuple[list[Chunk], int]:
    """The chunks still to be computed, and the number of trials that are already finished."""
    work, _, found = _survey(plan, store)
    return work, found


def _survey(plan: Plan, store: Store) -> tuple[list[Chunk], dict[str, set[int]], int]:
    """The chunks still to be computed, which trials of each setting are stored, and how many of the wanted trials that are."""
    work: list[Chunk] = []
    done: dict[str, set[int]] = {}
    wanted, found = trials_of(plan, plan.config.runner.part), 0
    for setting in {s.id: s for s in plan.run.settings if s.id}.values():
        done[setting.id] = store.done(setting.id)
        found += len(done[setting.id].intersection(wanted[setting.key]))
        missing = missing_trials(done[setting.id], wanted[setting.key])
        work += _chunks(setting, plan.run.seed, missing, plan.chunk(setting))
    return work, done, found


def missing_trials(done: set[int], trials: range) -> list[int]:
    """The trials to compute, in order.

    If an even trial is missing and its odd partner is stored, the partner is computed again, because it could not be compared
    before. This holds even if the partner is beyond the trials of this run.
    """
    wanted = {trial for trial in trials if trial not in done}
    partners = {trial + 1 for trial in wanted if trial % 2 == 0 and (trial + 1 in trials or trial + 1 in done)}
    return sorted(wanted | partners)


def _chunks(setting: Setting, seed: int, trials: list[int], size: int) -> Iterator[Chunk]:
    """The trials cut at multiples of `size`, which is even, so that pairs stay together."""
    parts: dict[int, list[int]] = {}
    for trial in trials:
        parts.setdefault(trial // size, []).append(trial)
    for part in parts.values():
        yield Chunk(setting, seed, tuple(part), session=identity.session())


def execute(
    plan: Plan,
    store: Store,
    advance: Callable[[int], None] = lambda _: None,
    say: Say = lambda _: None,
    status: Say = lambda _: None,
) -> Result:
    """Compute the missing trials of a plan, or of one shard of it.

    `advance` is called with numbers of completed trials, stored ones first; `say` with messages for the user; `status`, on
    a cluster, with which workers are at work.
    """
    sweep(store.results)
    work, done, found = _survey(plan, store)
    result = Result(found=found)
    advance(result.found)
    for outcome in outcomes(work, plan.config.runner, say, status):
        advance(keep(outcome, done[outcome.chunk.setting.id], store, result))
    write_failures(plan, store, result, say)
    check_stored(plan, store, result)
    return result


def keep(outcome: Outcome, known: set[int], store: Store, result: Result) -> int:
    """Store the results of a chunk and count them; `known`: the trials stored before. Returns how many are completed."""
    setting = outcome.chunk.setting
    fresh = {*outcome.chunk.trials} - known
    if outcome.refused:
        outcome.failures.extend(
            Failure(trial, f"refused by {outcome.worker}: {outcome.refused}", kind=outcome.refused)
            for trial in sorted(fresh)
        )
    rows = [row for row in outcome.rows if row["trial"] in fresh or _tells_more(row)]
    if rows:
        store.write(setting.id, rows, json.dumps({"key": setting.key, **setting.labels()}, default=str))
    if failures := [failure for failure in outcome.failures if failure.trial in fresh]:
        result.failures.setdefault(setting.id, []).extend(failures)
    result.computed += sum(row["trial"] in fresh for row in rows)
    return len(fresh)


def write_failures(plan: Plan, store: Store, result: Result, say: Say) -> None:
    """Write the traceback of each distinct failure of a plan, and remove earlier ones that no longer occur."""
    try:
        failure_files.write(plan.run, result.problems(), store.named)
    except (OSError, Failed) as problem:
        say(f"the tracebacks of failures are not written: {problem}")


def _tells_more(row: Row) -> bool:
    """Whether a trial that was stored before and ran again with its partner now has the values of the pair."""
    return any(row.get(name) is not None for name in PAIR_COLUMNS)


def check_stored(plan: Plan, store: Store, result: Result) -> None:
    """Check that all stored trials are still there: somebody may have removed the folder or a part of it."""
    lost, wanted = 0, trials_of(plan, plan.config.runner.part)
    for setting, key in {s.id: s.key for s in plan.run.settings}.items():
        failed = {failure.trial for failure in result.failures.get(setting, ())}
        lost += len({*wanted[key]} - failed - store.named(setting))
    if lost:
        raise Failed(
            f"{lost} finished trials are gone from the results folder {store.results}, which was removed or changed "
            "during the run: run it again"
        )


def outcomes(work: list[Chunk], config: RunnerConfig, say: Say, status: Say) -> Iterator[Outcome]:
    """The outcome of every chunk, in any order."""
    if not work:
        return
    if config.backend in ("dask", "slurm"):
        from dpbench.engine.cluster import outcomes as cluster_outcomes

        yield from cluster_outcomes(work, config, say, status)
        return
    from dpbench.engine.local import outcomes as local_outcomes

    yield from local_outcomes(work, config.jobs, Limits(config.timeout, config.memory))
