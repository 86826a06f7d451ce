"""A real Slurm of one node on loopback, as the user who runs the tests: munged, slurmctld and slurmd with all their files in
a temporary folder. `missing` says why a machine has none."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "scancel", "squeue", "scontrol", "sinfo")
PATH = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
CPUS = 4  # jobs at a time, whatever the machine has

CONFIG = """
ClusterName=dpbench
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={control}
SlurmdPort={node}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
PropagateResourceLimits=NONE
SlurmdParameters=config_overrides
SchedulerParameters=batch_sched_delay=0,sched_interval=1,sched_min_interval=0
ReturnToService=2
KillWait=2
NodeName={host} NodeAddr=127.0.0.1 CPUs={cpus} RealMemory=8000 State=UNKNOWN
PartitionName=short Nodes={host} Default=YES MaxTime=INFINITE State=UP
PartitionName=other Nodes={host} MaxTime=INFINITE State=UP
"""


def missing() -> str:
    """Why there can be no Slurm here; empty when there can."""
    absent = [name for name in PROGRAMS if shutil.which(name, path=PATH) is None]
    if absent:
        return f"Slurm is not installed: no {', '.join(absent)} (Debian: slurm-wlm, munge)"
    if os.getuid() != 0:
        return "slurmd needs root to start jobs"
    return ""


class Slurm:
    """Running until `close`. Commands find it through `environment`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.processes: list[subprocess.Popen[bytes]] = []
        for name in ("state", "spool", "munge"):
            (folder / name).mkdir(parents=True)
        folder.chmod(0o755)
        self.host = socket.gethostname().partition(".")[0]
        text = CONFIG.format(
            folder=folder, host=self.host, user="root", cpus=CPUS, control=_free_port(), node=_free_port()
        )
        (folder / "slurm.conf").write_text(text)
        plugin = "disabled" if _version() >= 24 else "cgroup/v1"  # older ones cannot do without, and use none of it
        (folder / "cgroup.conf").write_text(f"CgroupPlugin={plugin}\n")
        self.environment = {"SLURM_CONF": str(folder / "slurm.conf"), "PATH": PATH}
        try:
            self._munge()
            self._start("slurmctld", "slurmctld", "-D", "-i")
            self._start("slurmd", "slurmd", "-D")
            self._until_idle()
        except BaseException:
            self.close()
            raise

    def _munge(self) -> None:
        key = self.folder / "munge" / "key"
        key.touch(mode=0o600)
        key.write_bytes(secrets.token_bytes(128))
        places = {name: self.folder / "munge" / name for name in ("pid-file", "log-file", "seed-file")}
        options = [f"--{name}={path}" for name, path in places.items()]
        sockets = f"--socket={self.folder}/munge.socket"
        self._start("munged", "munged", "--foreground", "--force", f"--key-file={key}", sockets, *options)
        end = time.monotonic() + 120
        while not (self.folder / "munge.socket").exists():
            assert time.monotonic() < end, self.logs()
            time.sleep(0.05)

    def _until_idle(self) -> None:
        end = time.monotonic() + 120
        while "idle" not in self.call("sinfo", "--noheader", "--format=%t", check=False):
            assert time.monotonic() < end, self.logs()
            time.sleep(0.2)

    def _start(self, name: str, *command: str) -> None:
        log = (self.folder / f"{name}.out").open("wb")
        process = subprocess.Popen(
            command, env=os.environ | self.environment, stdout=log, stderr=log, start_new_session=True
        )
        self.processes.append(process)

    def call(self, *command: str, cwd: Path | None = None, check: bool = True, **environment: str) -> str:
        """What a command of Slurm's prints."""
        everything = os.environ | self.environment | environment
        done = subprocess.run(command, cwd=cwd, env=everything, capture_output=True, text=True, timeout=300)
        assert not check or done.returncode == 0, f"{command}: {done.stderr}"
        return done.stdout

    def jobs(self) -> dict[str, str]:
        """The state of every job that is queued or runs, by number (of an array: JOB_TASK)."""
        lines = self.call("squeue", "--noheader", "--array", "--format=%i %T").splitlines()
        return dict(line.split() for line in lines)

    def until_over(self, seconds: float = 300) -> None:
        """Wait until the queue is empty."""
        end = time.monotonic() + seconds
        while self.jobs():
            assert time.monotonic() < end, f"{self.jobs()}\n{self.logs()}"
            time.sleep(0.3)

    def logs(self) -> str:
        files = sorted([*self.folder.glob("*.log"), *self.folder.glob("*.out"), *self.folder.glob("munge/log-file")])
        return "\n".join(f"== {path.name}\n{path.read_text(errors='replace')[-3000:]}" for path in files)

    def close(self) -> None:
        with contextlib.suppress(Exception):
            self.call("scancel", "--me", check=False)
            self.until_over(20)
        for process in reversed(self.processes):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


def _version() -> int:
    """The year of the installed Slurm: 22 of `slurm 22.05.8`."""
    told = subprocess.run(["slurmd", "-V"], env={"PATH": PATH}, capture_output=True, text=True).stdout
    return int(told.split()[-1].partition(".")[0])


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])
