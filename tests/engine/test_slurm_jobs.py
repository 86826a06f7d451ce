"""Workers that are Slurm jobs, without Slurm: settings, what is missing, and jobs that end."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from types import SimpleNamespace
from typing import Any

import pytest

from dpbench.config.compose import compose
from dpbench.config.schema import RunnerConfig
from dpbench.engine import slurm
from dpbench.engine.slurm import FALSE_STARTS, LOOK, Jobs
from dpbench.errors import Failed, UserError


def test_settings_of_the_jobs() -> None:
    words = ["runner=slurm", "runner.queue=long", "runner.walltime=2-12:00:00", "runner.memory=3.5", "runner.jobs=7"]
    runner = compose("gs/fig9", "smoke", [*words, "runner.interface=ib0", 'runner.directives=["--account=me"]']).runner
    assert (runner.backend, runner.queue, runner.walltime, runner.memory) == ("slurm", "long", "2-12:00:00", 3.5)
    assert (runner.jobs, runner.interface, runner.directives) == (7, "ib0", ("--account=me",))


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("queue", 3),
        ("walltime", 30),
        ("walltime", "an hour"),
        ("memory", 0),
        ("memory", "4GB"),
        ("interface", True),
        ("directives", ["account=me"]),
        ("directives", ["--account=me\nrm -rf x"]),
        ("directives", 3),
        ("logs", None),
        ("jobs", -1),
    ],
)
def test_a_wrong_setting_is_named(setting: str, value: Any) -> None:
    with pytest.raises(UserError, match=rf"^runner\.{setting}=.* is not valid.*: expected "):
        RunnerConfig(**{"backend": "slurm", "jobs": 2, setting: value})


@pytest.mark.parametrize(
    "word", ["queue=long", "walltime=01:00:00", "interface=lo", 'directives=["--x"]', "logs=there"]
)
def test_without_slurm_they_have_no_effect(word: str) -> None:
    for runner in ("local", "dask"):
        with pytest.raises(UserError, match=r"^runner\.\w+ has no effect without runner=slurm$"):
            compose("gs/fig9", "smoke", [f"runner={runner}", f"runner.{word}"])
    with pytest.raises(UserError, match=r"^runner.address has no effect without runner=dask$"):
        compose("gs/fig9", "smoke", ["runner=slurm", "runner.address=tcp://host:8786"])


def test_what_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    config = RunnerConfig(backend="slurm", jobs=2)
    pytest.importorskip("dask_jobqueue", reason="dask-jobqueue is not installed")
    monkeypatch.setenv("PATH", "/nowhere")
    with (
        ExitStack() as stack,
        pytest.raises(UserError, match="needs a machine with Slurm: the command sbatch is missing"),
    ):
        slurm.start(config, 10, print, stack)
    monkeypatch.setitem(sys.modules, "dask_jobqueue", None)
    with ExitStack() as stack, pytest.raises(UserError, match=r"pip install 'dpbench-repro\[slurm\]'"):
        slurm.start(config, 10, print, stack)


class Queue:
    """A simulated cluster of jobs and its Slurm: `states` is what Slurm reports."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.workers: dict[str, Any] = {}
        self.scheduler_info: dict[str, Any] = {"workers": {}}
        self.states: dict[str, str] = {}
        self.submitted = 0
        self.now = 0.0
        monkeypatch.setattr(slurm, "time", SimpleNamespace(monotonic=lambda: self.now))
        monkeypatch.setattr(slurm, "subprocess", SimpleNamespace(run=self._squeue, TimeoutExpired=TimeoutError))

    def _squeue(self, *_: Any, **__: Any) -> Any:
        return SimpleNamespace(returncode=0, stdout="".join(f"{job} {state}\n" for job, state in self.states.items()))

    def scale(self, count: int) -> None:
        while len(self.workers) < count:
            self.submitted += 1
            self.workers[f"w{self.submitted}"] = SimpleNamespace(job_id=str(self.submitted))
            self.states[str(self.submitted)] = "PENDING"

    def scale_down(self, names: list[str]) -> None:
        for name in names:
            del self.workers[name]

    def sync(self, call: Any, *args: Any) -> None:
        call(*args)

    def arrive(self, job: int) -> str:
        address = f"tcp://{job}"
        self.scheduler_info["workers"][address] = {"name": f"w{job}"}
        self.states[str(job)] = "RUNNING"
        return address

    def end(self, job: int, state: str) -> None:
        self.states[str(job)] = state
        self.scheduler_info["workers"].pop(f"tcp://{job}", None)

    def look(self, jobs: Jobs) -> None:
        self.now += LOOK
        jobs.look()


def test_a_job_that_ends_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    queue = Queue(monkeypatch)
    jobs = Jobs(queue, 2, "logs")
    assert (jobs.summary(), jobs.expecting) == ("2 jobs waiting", True)
    first, second = queue.arrive(1), queue.arrive(2)
    queue.look(jobs)
    assert (jobs.summary(), jobs.expecting) == ("", False)
    assert [jobs.job_of(worker) for worker in (first, second, "tcp://unknown")] == ["1", "2", ""]
    queue.end(1, "CANCELLED")
    queue.look(jobs)
    assert queue.submitted == 3
    assert jobs.summary() == "1 job waiting"
    queue.end(2, "OUT_OF_MEMORY")
    queue.look(jobs)
    assert sorted(queue.workers) == ["w3", "w4"]
    assert jobs.job_of(first) == "1", "also when it is gone"
    for _ in range(1000):  # they may wait in the queue for as long as it takes
        queue.look(jobs)
    assert jobs.expecting


def test_a_job_that_dask_has_dropped_is_submitted_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Dask forgets a worker some time after it is gone, before or after Slurm says that its job has ended."""
    queue = Queue(monkeypatch)
    jobs = Jobs(queue, 2, "logs")
    queue.arrive(1), queue.arrive(2)
    queue.look(jobs)
    queue.end(1, "COMPLETING")
    del queue.workers["w1"]
    queue.look(jobs)
    assert sorted(queue.workers) == ["w2", "w3"]


def test_jobs_that_never_bring_a_worker_end_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    queue = Queue(monkeypatch)
    jobs = Jobs(queue, 1, "logs")
    for _ in range(FALSE_STARTS - 1):
        queue.end(queue.submitted, "FAILED")
        queue.look(jobs)
    queue.end(queue.submitted, "FAILED")
    with pytest.raises(
        Failed, match=rf"^{FALSE_STARTS} Slurm jobs in a row .* the last was job 3 \(failed\): see logs/"
    ):
        queue.look(jobs)
    assert queue.submitted == FALSE_STARTS


def test_a_slurm_that_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """It changes nothing while there are workers. Without any, the run does not wait forever."""
    queue = Queue(monkeypatch)
    jobs = Jobs(queue, 2, "logs")
    queue.arrive(1)
    queue.look(jobs)
    slurm.subprocess.run = lambda *_, **__: SimpleNamespace(returncode=1, stdout="")  # type: ignore[assignment]
    for _ in range(1000):
        queue.look(jobs)
    assert queue.submitted == 2
    queue.scheduler_info["workers"].clear()
    with pytest.raises(
        Failed, match=r"^Slurm has not answered for 300 s, and there is no worker; finished trials are stored"
    ):
        queue.look(jobs)
