"""Workers as Slurm jobs, through dask-jobqueue: one worker with one thread per job. Imported by `connect` and `cluster`.

The scheduler runs in this process. Dask notices when a worker is gone, but not when a job ends before its worker starts. So
Slurm is asked for the jobs, and one that ended is replaced, whatever ended it. Workers are not told their walltime
(`--lifetime`): a chunk that takes longer than a job lives would be sent again forever, because Dask does not count workers that
leave on their own.
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
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from typing import Any

from dpbench.config.schema import RunnerConfig
from dpbench.errors import Failed, UserError, one_of

LOOK = 10.0  # seconds between two questions to Slurm, which serves many users
SILENCE = 300.0  # seconds without an answer of Slurm and without a worker before we give up
FALSE_STARTS = 3  # consecutive jobs that end before their worker starts: then all of them have a problem
ROOM = 0.5  # GB per job beyond the limit of the computation, for Python and Dask
COMMANDS = ("sbatch", "scancel", "squeue")
ENDED = frozenset(
    {"BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE", "FAILED", "NODE_FAIL", "OUT_OF_MEMORY", "PREEMPTED", "TIMEOUT"}
)


def start(config: RunnerConfig, chunks: int, say: Callable[[str], None], stack: ExitStack) -> Jobs:
    """Submit jobs for this many chunks; they end with `stack`."""
    try:
        import psutil
        from dask_jobqueue import SLURMCluster
        from distributed.security import Security
    except ImportError:
        raise UserError(
            "runner=slurm needs dask-jobqueue, which is not installed: pip install 'dpbench-repro[slurm]'"
        ) from None
    if absent := [name for name in COMMANDS if shutil.which(name) is None]:
        raise UserError(f"runner=slurm needs a machine with Slurm: the command {absent[0]} is missing")
    if config.interface is not None:
        one_of("runner.interface", config.interface, psutil.net_if_addrs())
    # Dask sends pickles: whoever reaches the scheduler runs code as this user. So it listens only where it is asked to.
    interface = config.interface or _loopback(psutil.net_if_addrs())
    tls = with_tls()
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
            interface=interface,
            protocol="tls://" if tls else "tcp://",
            security=Security() if tls else None,
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
    tried = subprocess.run(["sbatch", "--test-only"], input=cluster.job_script(), capture_output=True, text=True)
    if tried.returncode:
        reason = " ".join(line.removeprefix("sbatch: error: ") for line in tried.stderr.splitlines() if line)
        raise Failed(f"Slurm rejects the jobs of this run: {reason or tried.stdout.strip()}")
    jobs = Jobs(cluster, min(config.jobs, chunks), config.logs)
    what = "1 job is" if jobs.count == 1 else f"{jobs.count} jobs are"
    say(f"{what} submitted to Slurm; their output goes to {config.logs}/")
    if not tls and config.interface is not None:
        say(
            f"the scheduler listens on {interface} without TLS: whoever reaches it can run code as you (docs: threat model)"
        )
    return jobs


def with_tls() -> bool:
    """Whether Dask's settings (`distributed.comm.tls`) name the certificates of a scheduler."""
    from distributed.security import Security

    return Security().get_connection_args("scheduler").get("ssl_context") is not None


def _loopback(interfaces: Mapping[str, Sequence[Any]]) -> str | None:
    """The network interface that only this machine reaches."""
    local = (name for name, addresses in interfaces.items() if any(a.address == "127.0.0.1" for a in addresses))
    return next(local, None)


class Jobs:
    """The jobs of one run."""

    def __init__(self, cluster: Any, count: int, logs: str) -> None:
        self.cluster, self.count, self.logs = cluster, count, logs
        self.arrived: dict[str, str] = {}
        """The job of every worker that ever connected, by its address."""
        self.false_starts = 0
        self.asked = self.answered = time.monotonic()
        cluster.scale(count)

    @property
    def expecting(self) -> bool:
        """Whether workers are expected, so that it is not an error if there is none yet."""
        return self._missing > 0 and self.false_starts < FALSE_STARTS

    @property
    def _missing(self) -> int:
        """Jobs that are queued or starting, and have no worker yet."""
        return max(0, self.count - len(self.cluster.scheduler_info["workers"]))

    def summary(self) -> str:
        """How many jobs have no worker yet; empty if none."""
        return f"{self._missing} job{'' if self._missing == 1 else 's'} waiting" if self._missing else ""

    def job_of(self, worker: str) -> str:
        """The job of a worker, also of one that is gone; empty if it is unknown."""
        return self.arrived.get(worker, "")

    def look(self) -> None:
        """Called twice a second: replace jobs that have ended. Raises Failed if no worker can be started."""
        jobs = {name: str(job.job_id) for name, job in dict(self.cluster.workers).items() if job.job_id}
        with contextlib.suppress(RuntimeError):  # changed by the cluster's own thread in this moment
            for address, worker in dict(self.cluster.scheduler_info["workers"]).items():
                if worker["name"] in jobs and address not in self.arrived:
                    self.arrived[address] = jobs[worker["name"]]
                    self.false_starts = 0
        if time.monotonic() - self.asked < LOOK:
            return
        self.asked = time.monotonic()
        states = _states()
        if states is not None:
            self.answered = self.asked
            self._replace(jobs, states)
        elif self.asked - self.answered > SILENCE and not self.cluster.scheduler_info["workers"]:
            raise Failed(
                f"Slurm has not answered for {SILENCE:.0f} s, and there is no worker; finished trials are stored, and the "
                "same command continues from there"
            )

    def _replace(self, jobs: dict[str, str], states: dict[str, str]) -> None:
        """Submit a job for each that has ended. Raises Failed if none of them ever starts a worker."""
        arrived = set(self.arrived.values())
        ended = {name: job for name, job in jobs.items() if states.get(job, "gone") in {*ENDED, "gone"}}
        unsubmitted = [name for name, job in dict(self.cluster.workers).items() if not job.job_id]
        self.false_starts += sum(job not in arrived for job in ended.values()) + len(unsubmitted)
        if self.false_starts >= FALSE_STARTS:
            if not self.cluster.scheduler_info["workers"]:
                last = max(ended.values(), key=int, default="")
                which = f"the last was job {last} ({states.get(last, 'gone').lower()})" if last else "sbatch failed"
                raise Failed(
                    f"{self.false_starts} Slurm jobs in a row ended before their worker started, {which}: see "
                    f"{self.logs}/; does runner.interface name the network that the nodes share?"
                )
            return
        with contextlib.suppress(OSError, RuntimeError, TimeoutError):  # the next check notices what is not submitted
            if ended or unsubmitted:
                self.cluster.sync(self.cluster.scale_down, [*ended, *unsubmitted])
            self.cluster.scale(self.count)


def _states() -> dict[str, str] | None:
    """The state of each job of this user; None if Slurm does not answer."""
    command = ["squeue", "--noheader", f"--user={os.getuid()}", "--states=all", "--format=%i %T"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LOOK)
    except (OSError, subprocess.TimeoutExpired):
        return None
    if done.returncode:
        return None
    return dict(line.split(maxsplit=1) for line in done.stdout.splitlines() if " " in line)
