"""Executes several plans as one: the same workers, one stream of chunks, and each trial computed once for all of them.

Each plan keeps its own account, as if it had run after those before it. Imports the runner; imported by the `run` verb and
the suite.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from dpbench.engine.plan import Plan
from dpbench.engine.runner import Result, Say, check_stored, keep, outcomes, todo, write_failures
from dpbench.engine.worker import Chunk
from dpbench.errors import Failed
from dpbench.results.folder import sweep
from dpbench.results.store import Store

Advance = Callable[[Plan, int], None]


@dataclass
class Account:
    """One of the plans, its results, and what it still waits for."""

    plan: Plan
    result: Result = field(default_factory=Result)
    problem: str = ""
    """Why it is not done although no trial failed."""
    waiting: set[tuple[str, int]] = field(default_factory=set)
    """Chunks of its settings that are not back yet, its own and those of the plans before it."""


def execute_all(
    plans: Sequence[Plan],
    say: Say = lambda _: None,
    *,
    begin: Callable[[Plan], object] = lambda _: None,
    advance: Advance = lambda _plan, _trials: None,
    status: Say = lambda _: None,
) -> Iterator[Account]:
    """Compute what is missing of all plans. Each is returned as soon as it is done, while the workers continue.

    `begin` is called for each plan before its first trial is stored; `advance` with a plan and the number of its trials that
    are done, stored ones first.
    """
    for _, alike in itertools.groupby(plans, key=lambda plan: (plan.config.runner, plan.run.results)):
        yield from _execute([*alike], say, begin, advance, status)


def _execute(
    plans: list[Plan], say: Say, begin: Callable[[Plan], object], advance: Advance, status: Say
) -> Iterator[Account]:
    store = _Ahead(plans[0].run.results, say)
    sweep(store.results)
    accounts = [Account(plan) for plan in plans]
    work: list[Chunk] = []
    owners: dict[tuple[str, int], Account] = {}
    sharing: dict[str, list[Account]] = {}
    for account in accounts:
        chunks, account.result.found = todo(account.plan, store)
        advance(account.plan, account.result.found)
        for setting, repetitions in account.plan.run.repetitions_by_id().items():
            sharing.setdefault(setting, []).append(account)
            account.waiting |= store.awaited(setting, repetitions)
        for chunk in chunks:
            owners[_name(chunk)] = account
            account.waiting.add(_name(chunk))
            store.send(chunk)
        work += chunks
    begun = {id(account): False for account in accounts}

    def over(account: Account) -> Account:
        if not begun[id(account)]:
            begin(account.plan)
        write_failures(account.plan, Store(store.results), account.result, say)
        try:
            check_stored(account.plan, Store(store.results), account.result)
        except Failed as problem:
            account.problem = str(problem)
        return account

    yield from (over(account) for account in accounts if not account.waiting)
    for outcome in outcomes(work, plans[0].config.runner, say, status):
        name = _name(outcome.chunk)
        owner = owners[name]
        if not begun[id(owner)]:
            begun[id(owner)] = True
            begin(owner.plan)
        setting = outcome.chunk.setting.id
        fresh = keep(outcome, store.stored[setting], store, owner.result)
        advance(owner.plan, fresh)
        for account in sharing[setting]:
            if name not in account.waiting:
                continue
            account.waiting.discard(name)
            if account is not owner:
                _share(account, owner.result, setting, outcome.chunk.trials)
            if not account.waiting:
                yield over(account)


def _share(account: Account, computed: Result, setting: str, trials: Sequence[int]) -> None:
    """Count what another plan computed: for this plan it counts as found, or as failed too."""
    repetitions = account.plan.run.repetitions_by_id()[setting]
    own = [f for f in computed.failures.get(setting, ()) if f.trial in trials and f.trial < repetitions]
    if own:
        account.result.failures.setdefault(setting, []).extend(own)
        account.result.found -= len(own)


def _name(chunk: Chunk) -> tuple[str, int]:
    return chunk.setting.id, chunk.trials[0]


class _Ahead(Store):
    """The trials of a folder, and those being computed: no later plan requests them again."""

    def __init__(self, results: Path, say: Say) -> None:
        super().__init__(results, say)
        self.stored: dict[str, set[int]] = {}
        self.coming: dict[str, set[int]] = {}
        self.sent: dict[str, list[Chunk]] = {}

    def done(self, setting: str) -> set[int]:
        if setting not in self.stored:
            self.stored[setting] = super().done(setting)
        coming = self.coming.get(setting)
        return self.stored[setting] | coming if coming else self.stored[setting]

    def send(self, chunk: Chunk) -> None:
        self.coming.setdefault(chunk.setting.id, set()).update(chunk.trials)
        self.sent.setdefault(chunk.setting.id, []).append(chunk)

    def awaited(self, setting: str, repetitions: int) -> set[tuple[str, int]]:
        """The chunks being computed that hold new ones among the first trials of a setting."""
        known = self.stored.get(setting, set())
        chunks = self.sent.get(setting, ())
        return {_name(c) for c in chunks if any(trial < repetitions and trial not in known for trial in c.trials)}
