"""Which chunk goes to which worker: refusals, deaths, and that the guilty chunk takes no innocent one with it."""

from __future__ import annotations

import numpy as np
import pytest

from dpbench.engine.dispatch import AHEAD, EXCUSES, TRIES, Dispatch, Job
from dpbench.engine.worker import Chunk, Outcome
from dpbench.results.setting import DatasetUse, Setting, Variant


def chunks(count: int, mechanism: str = "lpa") -> list[Chunk]:
    dataset = DatasetUse("small", "incidence", "visits", fingerprint="f")
    setting = Setting(dataset, Variant(mechanism, mechanism), 1.0, Variant("counts", "counts"), key="0", id=mechanism)
    return [Chunk(setting, 0, (2 * i, 2 * i + 1)) for i in range(count)]


def number(chunk: Chunk) -> int:
    return chunk.trials[0] // 2


def simulate(
    work: list[Chunk], deadly: set[int], workers: dict[str, int], nannies: bool, seed: int = 0
) -> tuple[list[Outcome], set[int], int]:
    """Outcomes of failures, what was finished, and how many workers died: a simulated cluster."""
    rng = np.random.default_rng(seed)
    dispatch, failed, done, deaths = Dispatch(work), [], set(), 0
    dispatch.workers = dict(workers)
    while not dispatch.over:
        list(dispatch.assign())
        busy = sorted(worker for worker, jobs in dispatch.flying.items() if jobs)
        if not busy:
            failed += dispatch.give_up()
            break
        worker = busy[rng.integers(len(busy))]
        threads = dispatch.workers[worker]
        running = dispatch.flying[worker][:threads]
        job = running[rng.integers(len(running))]
        if number(job.chunk) in deadly:
            deaths += 1
            _, guilty = dispatch.gone(worker)
            failed += guilty
            if nannies:
                dispatch.workers[f"{worker}'"] = threads
        else:
            dispatch.finished(worker, job)
            done.add(number(job.chunk))
    return failed, done, deaths


def test_every_thread_has_work_ahead() -> None:
    dispatch = Dispatch(chunks(100))
    dispatch.workers = {"a": 1, "b": 4}
    sent = [worker for worker, _ in dispatch.assign()]
    assert (sent.count("a"), sent.count("b")) == (AHEAD, 4 * AHEAD)
    assert not list(dispatch.assign())


@pytest.mark.parametrize("threads", [1, 4, 32])
@pytest.mark.parametrize("seed", range(20))
def test_only_guilty_chunks_fail(threads: int, seed: int) -> None:
    work = chunks(200)
    deadly = {3, 77, 199}
    failed, done, deaths = simulate(work, deadly, {"a": threads, "b": threads}, nannies=True, seed=seed)
    assert {number(outcome.chunk) for outcome in failed} == deadly
    assert done == set(range(200)) - deadly
    assert deaths <= 12 * len(deadly)
    assert all("died" in failure.error for outcome in failed for failure in outcome.failures)


@pytest.mark.parametrize("seed", range(20))
def test_without_nannies_innocent_chunks_come_first(seed: int) -> None:
    """Each death costs a worker for good. All innocent chunks are done before the last one falls."""
    work = chunks(50)
    failed, done, deaths = simulate(work, {10}, {"a": 1, "b": 1}, nannies=False, seed=seed)
    assert done == set(range(50)) - {10}
    assert [number(outcome.chunk) for outcome in failed] == [10]
    assert deaths <= 2


def test_a_chunk_fails_only_after_it_was_alone() -> None:
    dispatch = Dispatch(chunks(2))
    tries = 0
    while not dispatch.over:
        dispatch.workers = {f"w{tries}": 1}
        sent = list(dispatch.assign())
        assert len(sent) == (2 if tries == 0 else 1), "suspects go out alone"
        _, guilty = dispatch.gone(f"w{tries}")
        tries += 1
    assert tries == 1 + 2 * TRIES
    assert len(guilty) == 1


def test_a_chunk_is_excused_a_few_times_and_then_blamed() -> None:
    """It may take longer than any worker lives: it must not be resent forever."""
    dispatch = Dispatch(chunks(1))
    deaths, guilty = 0, []
    while not dispatch.over:
        deaths += 1
        dispatch.workers = {"w": 1}
        (_,) = dispatch.assign()
        _, guilty = dispatch.gone("w", excused=deaths != 2)
    assert deaths == EXCUSES + TRIES
    assert len(guilty) == 1


def test_a_refusal_holds_for_its_mechanism_only() -> None:
    dispatch = Dispatch([*chunks(3, "mine.Rounded"), *chunks(3, "lpa")])
    dispatch.workers = {"a": 4}
    sent = list(dispatch.assign())
    news = [
        dispatch.refuse("a", job, "no module") for _, job in sent if job.chunk.setting.mechanism.name == "mine.Rounded"
    ]
    assert news == [True, False, False], "each reason is told once"
    for worker, job in sent:
        if job.chunk.setting.mechanism.name == "lpa":
            dispatch.finished(worker, job)
    assert not list(dispatch.assign())
    dispatch.workers["late"] = 1
    assert [worker for worker, _ in dispatch.assign()] == ["late"] * AHEAD
    dispatch.gone("late")
    assert {outcome.refused for outcome in dispatch.give_up()} == {"no module"}
    assert dispatch.over


def test_a_barred_worker_gets_nothing() -> None:
    dispatch = Dispatch(chunks(2))
    dispatch.workers = {"a": 1}
    (_, one), (_, two) = dispatch.assign()
    assert dispatch.bar("a", one, "no dpbench")
    assert not dispatch.bar("a", two, "no dpbench, again")
    assert not list(dispatch.assign())
    assert {(outcome.worker, outcome.refused) for outcome in dispatch.give_up()} == {("a", "no dpbench")}


def test_parameters_are_part_of_what_is_refused() -> None:
    """A mechanism may read a file that a parameter names."""
    one, two = chunks(1)[0], chunks(1)[0]
    other = Chunk(
        Setting(two.setting.dataset, Variant("lpa", "lpa", {"path": "x"}), 1.0, two.setting.task, key="1", id="2"),
        0,
        (0,),
    )
    assert Job.of(one).ground == Job.of(two).ground != Job.of(other).ground
