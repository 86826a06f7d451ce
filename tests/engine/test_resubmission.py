"""What is submitted to Dask again, where and how often: refusals, deaths, lost connections. Without a cluster."""

from __future__ import annotations

import json
from asyncio import CancelledError
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import cloudpickle
import pytest

from dpbench.engine import cluster
from dpbench.engine.cluster import AHEAD, DEATHS, LEAST_AHEAD, NO_WORKER, UNWILLING, _Lost, _Submission, work_key
from dpbench.engine.limits import Limits
from dpbench.model.setting import Dataset, Setting, Variant
from dpbench.model.trial import Chunk, Outcome

distributed = pytest.importorskip("distributed", reason="Dask is not installed")


def chunks(count: int, mechanism: str = "lpa", **params: Any) -> list[Chunk]:
    dataset = Dataset("small", "visits", kind="incidence", fingerprint="f")
    variant = Variant(mechanism, mechanism, params)
    setting = Setting(dataset, variant, 1.0, Variant("counts", "counts"), key="0", id=mechanism)
    return [Chunk(setting, 0, (2 * i, 2 * i + 1)) for i in range(count)]


@dataclass(eq=False)
class Task:
    """What was submitted: a future of Dask's."""

    key: str
    chunk: Chunk
    guarded: bool
    workers: list[str] | None
    lost: bool = False

    def cancelled(self) -> bool:
        return self.lost


@dataclass
class Fake:
    """A client, its scheduler and `as_completed`. `decide` says what becomes of a task; None: nothing yet."""

    workers: dict[str, int]
    decide: Callable[[Task], Any]
    status: str = "running"
    loop: None = None
    now: float = 1.0
    tasks: list[Task] = field(default_factory=list)
    history: list[Task] = field(default_factory=list)
    most: int = 0

    def nthreads(self) -> dict[str, int]:
        return self.workers

    def submit(self, _function: Any, _call: str, scope: Any, *, workers: list[str] | None, pure: bool) -> Task:
        assert not pure
        given = scope["scope"]["given"]
        task = Task(str(len(self.history)), cloudpickle.loads(given["work"]), given["guarded"], workers)
        self.history.append(task)
        return task

    def cancel(self, tasks: list[Task], force: bool) -> None:
        self.tasks = [task for task in self.tasks if task not in tasks]

    def add(self, task: Task) -> None:
        self.tasks.append(task)
        self.most = max(self.most, len(self.tasks))

    def has_ready(self) -> bool:
        return True

    def next_batch(self, block: bool) -> Iterator[tuple[Task, Any]]:
        self.now += 1.0
        for task in list(self.tasks):
            able = [w for w in self.workers if task.workers is None or w in task.workers]
            result = self.decide(task) if able else None
            if result is not None:
                self.tasks.remove(task)
                yield task, result


def done(task: Task, worker: str = "a") -> str:
    rows = [{"trial": trial} for trial in task.chunk.trials]
    return json.dumps({"rows": rows, "failures": [], "setting": task.chunk.setting.id, "worker": worker})


def refusal(worker: str, reason: str = "no module") -> str:
    return json.dumps({"refused": reason, "worker": worker})


def killed(_: Task) -> tuple[type, BaseException, None]:
    error = distributed.KilledWorker("task", SimpleNamespace(address="tcp://a"), 0)
    return type(error), error, None


Make = Callable[..., tuple[_Submission, Fake, list[str]]]


@pytest.fixture
def make(monkeypatch: pytest.MonkeyPatch) -> Make:
    def submission(
        work: list[Chunk], workers: dict[str, int], decide: Callable[[Task], Any]
    ) -> tuple[_Submission, Fake, list[str]]:
        fake, said = Fake(workers, decide), []
        monkeypatch.setattr(distributed, "as_completed", lambda **_: fake)
        sleep = SimpleNamespace(monotonic=lambda: fake.now, sleep=lambda _: None)
        monkeypatch.setattr(cluster, "time", sleep)
        return _Submission(fake, work, Limits(), said.append, lambda _: None), fake, said

    return submission


def trials(outcomes: list[Outcome]) -> list[int]:
    return sorted(row["trial"] for outcome in outcomes for row in outcome.rows)


def test_few_chunks_are_submitted_at_a_time(make: Make) -> None:
    submission, fake, said = make(chunks(300), {"a": 1, "b": 4}, done)
    assert trials(list(submission.outcomes())) == list(range(600))
    assert LEAST_AHEAD < fake.most <= 5 * AHEAD
    assert all(task.workers is None and not task.guarded for task in fake.history), "Dask chooses the worker"
    assert not said


def test_a_refusal_holds_for_its_work_only(make: Make) -> None:
    """The worker `a` has another file of the user's. What it refuses goes to `b`; the rest goes anywhere."""
    mine = "mine.Rounded"

    def decide(task: Task) -> str:
        foreign = task.chunk.setting.mechanism.name == mine and task.workers != ["b"]
        return refusal("a") if foreign else done(task)

    submission, fake, said = make([*chunks(30, mine), *chunks(30)], {"a": 1, "b": 1}, decide)
    assert trials(list(submission.outcomes())) == sorted([*range(60), *range(60)])
    assert said == ["worker a refuses work: no module"], "each reason is told once"
    assert {str(task.workers) for task in fake.history if task.chunk.setting.mechanism.name == "lpa"} == {"None"}


def test_a_worker_that_comes_late_takes_what_the_others_refuse(make: Make) -> None:
    def decide(task: Task) -> str:
        fake.workers = {"a": 1, "late": 1}
        return done(task) if task.workers == ["late"] else refusal("a")

    submission, fake, _ = make(chunks(1), {"a": 1}, decide)
    assert trials(list(submission.outcomes())) == [0, 1]
    assert [task.workers for task in fake.history] == [None, ["late"]]


def test_what_all_workers_refuse_fails_for_that_reason(make: Make) -> None:
    submission, fake, _ = make(chunks(3), {"a": 1}, lambda _: refusal("a"))
    outcomes = list(submission.outcomes())
    assert {(outcome.worker, outcome.refused) for outcome in outcomes} == {("a", "no module")}
    assert len(outcomes) == 3
    assert UNWILLING < fake.now < NO_WORKER


def test_a_chunk_for_workers_that_are_gone_is_taken_back(make: Make) -> None:
    """`a` refuses, `b` dies: Dask would wait for `b` forever."""

    def decide(task: Task) -> str | None:
        if task.workers is None:
            return refusal("a")
        fake.workers = {"a": 1, "c": 1}
        return done(task) if task.workers == ["c"] else None

    submission, fake, said = make(chunks(1), {"a": 1, "b": 1}, decide)
    assert trials(list(submission.outcomes())) == [0, 1]
    assert [task.workers for task in fake.history] == [None, ["b"], ["c"]]
    assert said[-1] == "worker b is gone; its chunks are sent again"


def test_a_chunk_whose_worker_died_is_sent_under_guard(make: Make) -> None:
    submission, fake, _ = make(chunks(2), {"a": 1}, lambda task: done(task) if task.guarded else killed(task))
    assert trials(list(submission.outcomes())) == [0, 1, 2, 3]
    assert [task.guarded for task in fake.history] == [False, False, True, True]


def test_a_chunk_is_not_sent_forever(make: Make) -> None:
    """It may take longer than any worker lives."""
    submission, fake, _ = make(chunks(1), {"a": 1}, killed)
    (outcome,) = submission.outcomes()
    assert [failure.trial for failure in outcome.failures] == [0, 1]
    assert "the worker process died" in outcome.failures[0].error
    assert len(fake.history) == 1 + DEATHS


def test_without_workers_the_run_waits_and_gives_up(make: Make) -> None:
    submission, fake, said = make(chunks(2), {}, done)
    assert {f.error for outcome in submission.outcomes() for f in outcome.failures} == {"the cluster has no worker"}
    assert said == ["there is no worker: waiting 30 s for one"]
    assert fake.now > NO_WORKER


def test_a_connection_that_is_restored_costs_nothing(make: Make) -> None:
    """All futures are cancelled. It takes longer to restore than we wait for a worker."""

    def decide(task: Task) -> Any:
        if task.key == "0":
            fake.status = "connecting"
            return CancelledError()
        return done(task)

    submission, fake, said = make(chunks(1), {"a": 1}, decide)
    whole = fake.next_batch

    def next_batch(block: bool) -> Iterator[tuple[Task, Any]]:
        if fake.status == "connecting" and fake.now > NO_WORKER:
            fake.status = "running"
        return whole(block)

    fake.next_batch = next_batch  # type: ignore[method-assign]
    assert trials(list(submission.outcomes())) == [0, 1]
    assert not said


def test_a_cancelled_chunk_that_does_not_come_back_is_taken_back(make: Make) -> None:
    """Dask returns nothing if the connection is lost while it fetches an answer."""

    def decide(task: Task) -> Any:
        task.lost = task.key == "0"
        return None if task.lost else done(task)

    submission, fake, _ = make(chunks(1), {"a": 1}, decide)
    assert trials(list(submission.outcomes())) == [0, 1]
    assert len(fake.history) == 2


def test_a_client_that_closed_itself_has_lost_the_scheduler(make: Make) -> None:
    submission, fake, _ = make(chunks(1), {"a": 1}, lambda _: setattr(fake, "status", "closed"))
    with pytest.raises(_Lost):
        list(submission.outcomes())


def test_parameters_are_part_of_what_is_refused() -> None:
    """A mechanism may read a file that a parameter names."""
    (one,), (two,), (other,) = chunks(1), chunks(1), chunks(1, path="x")
    assert work_key(one) == work_key(two) != work_key(other)
