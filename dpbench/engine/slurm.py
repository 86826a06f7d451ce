"""Workers as Slurm jobs, through dask-jobqueue: one worker with one thread per job. Imported by `cluster` only.

The scheduler runs in this process. A job that ends while there is work is replaced, whatever ended it. A chunk is not blamed
for what Slurm or a person did to its job.
"""

from __future__ import annotations

import contextlib
import logging
import math
import os
import shlex
import shutil
import subprocess
import sys
import time
from contextlib import ExitStack
from typing import Any

from dpbench.config.schema import RunnerConfig
from dpbench.engine.supply import Supply
from dpbench.errors import Failed, UserError, one_of

LOOK = 10.0  # seconds between two questions to Slurm, which serves many users
SILENCE = 300.0  # seconds without an answer of Slurm and without a worker before we give up
STILLBORN = 3  # consecutive jobs that end before their worker starts: then all of them have a problem
ROOM = 0.5  # GB per job beyond the limit of the computation, for Python and Dask
COMMANDS = ("sbatch", "scancel", "squeue")
# States of a job that has not ended.
ALIVE = frozenset({"PENDING", "CONFIGURING", "RUNNING", "SUSPENDED", "REQUEUED", "REQUEUE_HOLD", "RESIZING", "STOPPED"})
ENDING = "COMPLETING"  # Slurm does not know yet how it ended
# States of a job that was ended by what ran in it. All other ends are due to Slurm or a person.
GUILTY = frozenset({"FAILED", "OUT_OF_MEMORY", "COMPLETED", "RUNNING"})


def start(config: RunnerConfig, chunks: int, stack: ExitStack) -> Jobs:
    """Submit jobs for this many chunks; they end with `stack`."""
    try:
        import psutil
        from dask_jobqueue import SLURMCluster
    except ImportError:
        raise UserError(
            "runner=slurm needs dask-jobqueue, which is not installed: pip install 'dpbench-repro[slurm]'"
        ) from None
    if absent := [name for name in COMMANDS if shutil.which(name) is None]:
        raise UserError(f"runner=slurm needs a machine with Slurm: the command {absent[0]} is missing")
    if config.interface is not None:
        one_of("runner.interface", config.interface, psutil.net_if_addrs())
    os.makedirs(config.logs, exist_ok=True)
    try:
        cluster = SLURMCluster(
            queue=config.queue,
            walltime=config.walltime,
            cores=1,
            processes=1,
            # Dask's own memory limit would count the mapped data of a worker, so it is not set.
            memory="1GB",
            job_mem=f"{math.ceil(1024 * ((config.memory or 0) + ROOM))}M",
            job_directives_skip=[] if config.memory else ["--mem="],
            worker_extra_args=["--memory-limit", "0", "--no-dashboard"],
            interface=config.interface,
            job_extra_directives=list(config.directives),
            job_name="dpbench",
            python=shlex.quote(sys.executable),
            log_directory=shlex.quote(config.logs),
            scheduler_options={"dashboard_address": None, "dashboard": False},
            silence_logs=logging.ERROR,
        )
    except (OSError, RuntimeError, ValueError) as error:
        raise Failed(f"no Dask scheduler can be started on this machine: {error}") from None
    stack.enter_context(cluster)
    _try(cluster.job_script())
    return Jobs(cluster, min(config.jobs, chunks), config.logs)


def _try(script: str) -> None:
    """Raise if Slurm would reject such a job."""
    done = subprocess.run(["sbatch", "--test-only"], input=script, capture_output=True, text=True)
    if done.returncode:
        said = " ".join(line.removeprefix("sbatch: error: ") for line in done.stderr.splitlines() if line)
        raise Failed(f"Slurm rejects the jobs of this run: {said or done.stdout.strip()}")


class Jobs(Supply):
    """The jobs of one run."""

    def __init__(self, cluster: Any, count: int, logs: str) -> None:
        self.cluster, self.count, self.logs = cluster, count, logs
        self.born: dict[str, str] = {}
        """The job of every worker that ever connected, by its address."""
        self.states: dict[str, str] = {}
        """The states of our jobs at the last query."""
        self.stillborn = 0
        self.asked = self.answered = time.monotonic()
        cluster.scale(count)

    @property
    def expecting(self) -> bool:  # type: ignore[override]
        return self._waiting > 0

    @property
    def _waiting(self) -> int:
        """Jobs that are queued or starting, and have no worker yet."""
        arrived = set(self.born.values())
        jobs = self._jobs()
        submitting = self.count - len(jobs) if self.stillborn < STILLBORN else 0
        return max(0, submitting) + sum(
            job not in arrived and self.states.get(job, "PENDING") in ALIVE for job in jobs.values()
        )

    def summary(self) -> str:
        waiting = self._waiting
        return f"{waiting} job{'' if waiting == 1 else 's'} waiting" if waiting else ""

    def look(self) -> None:
        self._register()
        if time.monotonic() - self.asked < LOOK:
            return
        if self._ask():
            self._replace()
        elif time.monotonic() - self.answered > SILENCE and not self.cluster.scheduler_info["workers"]:
            raise Failed(
                f"Slurm has not answered for {SILENCE:.0f} s, and there is no worker; finished trials are stored, and the "
                "same command continues from there"
            )

    def excuse(self, worker: str) -> str:
        job = self.born.get(worker)
        if job is None or not self._ask():
            return ""
        state = self.states.get(job, "RUNNING")
        self.asked = min(self.asked, time.monotonic() - LOOK + 1)  # ask again soon: it may have to be replaced
        return "" if state in GUILTY else f"Slurm ended its job {job}{'' if state == ENDING else f': {state.lower()}'}"

    def _jobs(self) -> dict[str, str]:
        """The number of every job, by the name of its worker."""
        return {name: str(job.job_id) for name, job in dict(self.cluster.workers).items() if job.job_id}

    def _register(self) -> None:
        """Note which worker belongs to which job."""
        jobs = self._jobs()
        try:
            workers = {address: info["name"] for address, info in dict(self.cluster.scheduler_info["workers"]).items()}
        except RuntimeError:  # changed by the cluster's own thread in this moment
            return
        for address, name in workers.items():
            if name in jobs and address not in self.born:
                self.born[address] = jobs[name]
                self.stillborn = 0

    def _ask(self) -> bool:
        """Ask Slurm for the states of our jobs; False if it does not answer."""
        self.asked = time.monotonic()
        command = ["squeue", "--noheader", f"--user={os.getuid()}", "--states=all", "--format=%i %T"]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=LOOK)
        except (OSError, subprocess.TimeoutExpired):
            return False
        if done.returncode:
            return False
        self.answered = self.asked
        self.states = dict(line.split(maxsplit=1) for line in done.stdout.splitlines() if " " in line)
        return True

    def _replace(self) -> None:
        """Submit a job for each that has ended. Raises Failed if none of them ever starts a worker."""
        arrived = set(self.born.values())
        jobs = self._jobs()
        ended = {name: job for name, job in jobs.items() if self.states.get(job, "GONE") not in {*ALIVE, ENDING}}
        # A job that could not be submitted has no number.
        unborn = [name for name, job in dict(self.cluster.workers).items() if not job.job_id]
        self.stillborn += sum(job not in arrived for job in ended.values()) + len(unborn)
        if self.stillborn >= STILLBORN:
            if not self.cluster.scheduler_info["workers"]:
                last = max(ended.values(), key=int, default="")
                told = f"the last was job {last} ({self.states.get(last, 'gone').lower()})" if last else "sbatch failed"
                raise Failed(
                    f"{self.stillborn} Slurm jobs in a row ended before their worker started, {told}: see "
                    f"{self.logs}/; does runner.interface name the network that the nodes share?"
                )
            return
        if ended or unborn:
            with contextlib.suppress(
                OSError, RuntimeError, TimeoutError
            ):  # what is not submitted is noticed at the next check
                self.cluster.sync(self.cluster.scale_down, [*ended, *unborn])
            self.cluster.scale(self.count)
