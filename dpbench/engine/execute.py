"""Executes plans: one set of workers for all of them, each trial computed once, each plan finished as soon as it is done.

Only this process writes. Imports plan, worker, the two backends and the store; imported by everything that runs trials.
"""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from dpbench import identity
from dpbench.config.schema import RunnerConfig
from dpbench.engine.limits import Limits
from dpbench.engine.plan import Plan
from dpbench.engine.progress import Progress
from dpbench.engine.shards import trials_of
from dpbench.errors import Failed
from dpbench.model.run import Run
from dpbench.model.setting import Setting
from dpbench.model.trial import Chunk, Failure, Outcome
from dpbench.storage import failures as failure_files
from dpbench.storage.failures import Problem
from dpbench.storage.files import sweep
from dpbench.storage.store import PAIR_COLUMNS, Store

ChunkName = tuple[str, int]
"""The id of the setting, and the first trial."""


@dataclass
class Result:
    """What the execution of a plan did: trials found finished, trials computed, and the failures by setting."""

    plan: Plan
    found: int = 0
    computed: int = 0
    failures: dict[str, list[Failure]] = field(default_factory=dict)
    problem: str = ""
    """Why it is not done although no trial failed."""
    seconds: float = 0.0

    @property
    def run(self) -> Run:
        """The executed run, with its time."""
        return replace(self.plan.run, seconds=self.seconds)

    @property
    def failed(self) -> int:
        return sum(len(failures) for failures in self.failures.values())

    def require_done(self) -> None:
        """Raise Failed if finished trials are gone."""
        if self.problem:
            raise Failed(self.problem)

    def problems(self) -> list[Problem]:
        """The failures by kind and place, the most frequent first: one error in many settings is one problem."""
        alike: dict[tuple[str, str], list[tuple[str, Failure]]] = {}
        for setting, failures in self.failures.items():
            for failure in failures:
                alike.setdefault(failure.alike, []).append((setting, failure))
        problems = []
        for (kind, _), members in alike.items():
            trials: dict[str, list[int]] = {}
            for setting, failure in members:
                trials.setdefault(setting, []).append(failure.trial)
            first = members[0][1]
            numbers = {setting: tuple(sorted(several)) for setting, several in trials.items()}
            problems.append(Problem(first.error, kind, first.place, first.details, numbers))
        return sorted(problems, key=lambda problem: -problem.count)


def execute(plans: Sequence[Plan], progress: Progress | None = None) -> Iterator[Result]:
    """Compute what is missing of all plans, or of one shard of them. Each result is given back as soon as its plan is done,
    while the workers continue with the others.

    A run is saved before its first trial is stored, and again, with its time, when it is done. A trial that several plans
    want is computed for the first of them; for the others it counts as found finished.
    """
    progress = progress or Progress()
    if plans:
        progress.begin(plans)
    for _, alike in itertools.groupby(plans, key=lambda plan: (plan.config.runner, plan.run.results)):
        yield from _Execution([*alike], progress).results()


def todo(plan: Plan, done: Callable[[str], set[int]]) -> tuple[list[Chunk], int]:
    """The chunks still to be computed, and how many of the wanted trials are finished. `done`: those of a setting's id."""
    work: list[Chunk] = []
    finished_before = 0
    for setting, wanted in _wanted(plan).values():
        finished = done(setting.id)
        finished_before += len(finished.intersection(wanted))
        # Cut at multiples of the size of a chunk, which is even, so that pairs stay together.
        size = plan.chunk(setting)
        for _, part in itertools.groupby(missing_trials(finished, wanted), key=lambda trial: trial // size):
            work.append(Chunk(setting, plan.run.seed, tuple(part), session=identity.session()))
    return work, finished_before


def missing_trials(done: set[int], trials: range) -> list[int]:
    """The trials to compute, in order.

    If an even trial is missing and its odd partner is stored, the partner is computed again, because it could not be compared
    before. This holds even if the partner is beyond the trials of this run.
    """
    wanted = {trial for trial in trials if trial not in done}
    partners = {trial + 1 for trial in wanted if trial % 2 == 0 and (trial + 1 in trials or trial + 1 in done)}
    return sorted(wanted | partners)


def _wanted(plan: Plan) -> dict[str, tuple[Setting, range]]:
    """The built settings of a plan or of its shard, each once, and their trials; by id."""
    trials = trials_of(plan, plan.config.runner.part)
    return {setting.id: (setting, trials[setting.key]) for setting in plan.run.settings if setting.id}


@dataclass
class _Pending:
    """A plan that is being executed."""

    result: Result
    wanted: dict[str, range]
    """Its trials, by setting id."""
    waiting: set[ChunkName] = field(default_factory=set)
    """Chunks with trials of it that are not back yet, its own and those of the plans before it."""
    began: float | None = None
    saved: bool = False


class _Execution:
    """Plans with the same runner and the same results folder."""

    def __init__(self, plans: list[Plan], progress: Progress) -> None:
        self.progress = progress
        self.runner = plans[0].config.runner
        self.store = Store(plans[0].run.results, progress.say)
        sweep(self.store.results)
        self.stored: dict[str, set[int]] = {}
        """Trials that were stored before this execution, by setting id."""
        self.work: list[Chunk] = []
        self.sent: dict[str, list[Chunk]] = {}
        """The same chunks by setting id: no later plan requests them again."""
        self.owners: dict[ChunkName, _Pending] = {}
        self.sharing: dict[str, list[_Pending]] = {}
        """The plans with a setting, by its id."""
        self.pending = [self._planned(plan) for plan in plans]

    def _planned(self, plan: Plan) -> _Pending:
        """Add the chunks of a plan to those that are to be computed."""
        chunks, finished_before = todo(plan, self._known)
        pending = _Pending(Result(plan, finished_before), {id: trials for id, (_, trials) in _wanted(plan).items()})
        for setting, trials in pending.wanted.items():
            self.sharing.setdefault(setting, []).append(pending)
            for chunk in self.sent.get(setting, ()):
                if any(trial in trials and trial not in self.stored[setting] for trial in chunk.trials):
                    pending.waiting.add(chunk.name)
        for chunk in chunks:
            self.owners[chunk.name] = pending
            self.sent.setdefault(chunk.setting.id, []).append(chunk)
            pending.waiting.add(chunk.name)
        self.work += chunks
        self.progress.advance(plan, finished_before)
        return pending

    def _known(self, setting: str) -> set[int]:
        """The trials of a setting that are stored or will be."""
        if setting not in self.stored:
            self.stored[setting] = self.store.done(setting)
        return self.stored[setting].union(*(chunk.trials for chunk in self.sent.get(setting, ())))

    def results(self) -> Iterator[Result]:
        """Each plan's result, as soon as it is done."""
        self.pending[0].began = time.perf_counter()
        yield from (self._finish(pending) for pending in self.pending if not pending.waiting)
        for outcome in outcomes(self.work, self.runner, self.progress):
            chunk, name = outcome.chunk, outcome.chunk.name
            owner = self.owners[name]
            self._begin(owner)
            completed = keep(outcome, self.stored[chunk.setting.id], self.store, owner.result)
            self.progress.advance(owner.result.plan, completed)
            for pending in self.sharing[chunk.setting.id]:
                if name not in pending.waiting:
                    continue
                pending.waiting.remove(name)
                if pending is not owner:
                    _share(pending, owner.result, chunk)
                if not pending.waiting:
                    yield self._finish(pending)

    def _begin(self, pending: _Pending) -> None:
        """Save the run of a plan before its first trial is stored."""
        if not pending.saved:
            pending.saved = True
            # The workers take up the first plan at once, and a later one shortly before its first chunk is back.
            pending.began = pending.began or time.perf_counter()
            pending.result.plan.run.save()

    def _finish(self, pending: _Pending) -> Result:
        """Check what is stored of a plan, write its failures and save its run with the time that it took."""
        self._begin(pending)
        result, plan = pending.result, pending.result.plan
        try:
            failure_files.write(plan.run, result.problems(), self.store.named)
        except (OSError, Failed) as problem:
            self.progress.say(f"the tracebacks of failures are not written: {problem}")
        lost = 0  # somebody may have removed the folder or a part of it
        for setting, trials in pending.wanted.items():
            failed = {failure.trial for failure in result.failures.get(setting, ())}
            lost += len({*trials} - failed - self.store.named(setting))
        if lost:
            result.problem = (
                f"{lost} finished trials are gone from the results folder {self.store.results}, which was removed or "
                "changed during the run: run it again"
            )
        result.seconds = plan.seconds + time.perf_counter() - (pending.began or 0.0)
        if plan.config.runner.part is None and not lost:  # a shard's time is not the time of the run
            result.run.save()
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
    # A trial that was stored before and ran again with its partner may now have the values of the pair.
    rows = [row for row in outcome.rows if row["trial"] in fresh or any(row.get(n) is not None for n in PAIR_COLUMNS)]
    if rows:
        store.write(setting.id, rows, json.dumps({"key": setting.key, **setting.labels()}, default=str))
    if failures := [failure for failure in outcome.failures if failure.trial in fresh]:
        result.failures.setdefault(setting.id, []).extend(failures)
    result.computed += sum(row["trial"] in fresh for row in rows)
    return len(fresh)


def _share(pending: _Pending, computed: Result, chunk: Chunk) -> None:
    """Count what was computed for another plan: for this one it counts as found, or as failed too."""
    setting, trials = chunk.setting.id, pending.wanted[chunk.setting.id]
    failures = [f for f in computed.failures.get(setting, ()) if f.trial in chunk.trials and f.trial in trials]
    if failures:
        pending.result.failures.setdefault(setting, []).extend(failures)
        pending.result.found -= len(failures)


def outcomes(work: list[Chunk], config: RunnerConfig, progress: Progress) -> Iterator[Outcome]:
    """The outcome of every chunk, in any order."""
    if not work:
        return
    if config.backend in ("dask", "slurm"):
        from dpbench.engine.cluster import outcomes as cluster_outcomes

        yield from cluster_outcomes(work, config, progress.say, progress.status)
        return
    from dpbench.engine.local import outcomes as local_outcomes

    yield from local_outcomes(work, config.jobs, Limits(config.timeout, config.memory))
