"""Accidents: kills, damage, failing disks, crowds. Each function does one to a world and raises Bad if it is not survived.

Imported by the list of kinds.
"""

from __future__ import annotations

import errno
import os
import shutil
import signal
import struct
import subprocess
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from dpbench.storage.store import PLAIN

from campaign.world import WORDS, NotTried, World
from support.damage import harm
from support.hostile import put

FAKETIME = next(iter(sorted(Path("/usr/lib").glob("*/faketime/libfaketime.so.1"))), None)
DISK_ERRORS = ("EIO", "EIO", "ENOSPC", "EDQUOT", "EROFS", "EACCES")
SENTINEL = 0x0123456789ABCDEF


def damaged_results(world: World) -> None:
    results = world.copy()
    for _ in range(world.dice.choice([1, 1, 2, 3])):
        harm(world.dice, [p for p in results.rglob("*") if p.is_file() and {"trials", "runs"} & {*p.parts}])
    world.settle(results)


def damaged_cache(world: World) -> None:
    files = [p for p in (world.home / "cache" / "data").rglob("*") if p.is_file() and "/." not in str(p)]
    harm(world.dice, [p for p in files if p.suffix in (".npy", ".json")])
    results = world.copy()
    shutil.rmtree(results / "trials")
    world.settle(results)


def killed(world: World) -> None:
    """SIGKILL at any moment, of a run in one process or of the parent of two."""
    results = world.new()
    jobs = world.dice.choice([1, 1, 2])
    process = world.python(words=(*WORDS, f"runner.jobs={jobs}", f"results={results.name}"))
    time.sleep(world.dice.random() * 5)
    process.kill()
    process.communicate()
    world.settle(results)


def stopped(world: World) -> None:
    """SIGSTOP for seconds, or once for two minutes if there is time, and another process goes on meanwhile."""
    results = world.new()
    process = world.python(words=(*WORDS, f"results={results.name}"))
    time.sleep(world.dice.random() * 4)
    process.send_signal(signal.SIGSTOP)
    try:
        world.call(*WORDS, f"results={results.name}", status=(0,))
        time.sleep(120 if world.once("stopped for minutes") else 2)
    finally:
        process.send_signal(signal.SIGCONT)
    world.finished(process, status=(0,))
    world.settle(results)


def failing_disk(world: World) -> None:
    """A call that touches the results or the cache ends with an error of the disk: one of them, or all from then on."""
    library = world.home / "disk.so"
    if not library.exists():
        compiler = shutil.which("cc")
        if compiler is None:
            raise NotTried("needs a C compiler")
        source = Path(__file__).with_name("disk.c")
        subprocess.run([compiler, "-shared", "-fPIC", "-o", str(library), str(source), "-ldl"], check=True)
    results, dice = world.new(), world.dice
    environment = {"LD_PRELOAD": str(library), "FAULT_BELOW": str(world.home)}
    environment |= {"FAULT_AT": str(int(dice.expovariate(1 / 40)) + 1)}
    environment |= {"FAULT_ERRNO": str(getattr(errno, dice.choice(DISK_ERRORS)))}
    environment |= {name: "1" for name in ("FAULT_STAYS", "FAULT_READS") if dice.random() < 0.4}
    if dice.random() < 0.3:
        shutil.rmtree(world.home / "cache" / "data")
    world.finished(world.python(words=(*WORDS, f"results={results.name}"), env=environment))
    world.settle(results)


def full_disk(world: World) -> None:
    """Of the results, or of the cache."""
    results = world.new()
    place = world.dice.choice([results, results, world.home / f"{results.name}-cache"])
    place.mkdir()
    size = f"size={world.dice.randrange(4, 60)}k"
    if subprocess.run(["mount", "-t", "tmpfs", "-o", size, "none", str(place)], capture_output=True).returncode:
        raise NotTried("mount is not allowed")
    try:
        env = {} if place == results else {"DPBENCH_CACHE": str(place)}
        world.call(*WORDS, f"results={results.name}", env=env)
        if place == results:
            subprocess.run(["mount", "-o", "remount,size=50m", str(place)], check=True)
        world.settle(results)
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


def out_of_memory(world: World) -> None:
    """The kernel ends a process that needs more than its group has."""
    group = Path("/sys/fs/cgroup/memory") / f"dpbench-{os.getpid()}"
    try:
        group.mkdir()
        (group / "memory.limit_in_bytes").write_text(str(world.dice.randrange(60, 250) << 20))
    except OSError as error:
        raise NotTried(f"no memory group can be made ({error.strerror})") from None
    results = world.new()
    try:
        code = f"import os, pathlib\npathlib.Path({str(group / 'cgroup.procs')!r}).write_text(str(os.getpid()))"
        process = world.python(code=code, words=(*WORDS, f"results={results.name}"))
        world.finished(process, status=(0, 1, 2, -signal.SIGKILL))
    finally:
        group.rmdir()
    world.settle(results)


def clock_jumps(world: World) -> None:
    """The clock goes forth and back by up to thirty years, during the run."""
    if FAKETIME is None:
        raise NotTried("needs libfaketime (Debian: libfaketime)")
    results, clock = world.new(), world.home / "clock"
    clock.write_text("+0")
    environment = {"LD_PRELOAD": str(FAKETIME), "FAKETIME_TIMESTAMP_FILE": str(clock), "FAKETIME_NO_CACHE": "1"}
    # The time since the start and the times of files do not jump with a clock.
    environment |= {"FAKETIME_DONT_FAKE_MONOTONIC": "1", "DONT_FAKE_MONOTONIC": "1", "NO_FAKE_STAT": "1"}
    process = world.python(words=(*WORDS, f"results={results.name}"), env=environment)
    while process.poll() is None and process.args:
        clock.write_text(world.dice.choice(["+0", "+1h", "-1h", "+10d", "-10d", "+9000d", "-9000d"]))
        try:
            process.wait(0.2)
        except subprocess.TimeoutExpired:
            continue
    world.finished(process, status=(0,))
    world.settle(results)


def other_user(world: World) -> None:
    """The folder belongs to somebody else, who allows little; root gives up the right to pass over that."""
    allowed = ("setpriv", "--bounding-set", "-dac_override,-dac_read_search,-fowner")
    if (
        os.getuid()
        or shutil.which("setpriv") is None
        or subprocess.run([*allowed, "true"], capture_output=True).returncode
    ):
        raise NotTried("needs root and setpriv")
    results = world.copy()
    for path in [results, *results.rglob("*")]:
        os.chown(path, 65534, 65534)
        path.chmod(world.dice.choice([0o700, 0o744, 0o755]))
    world.finished(world.python(*allowed, words=(*WORDS, f"results={results.name}")))
    for path in [results, *results.rglob("*")]:
        os.chown(path, 0, 0)
        path.chmod(0o755)
    world.settle(results)


def crowd(world: World) -> None:
    """Several processes in one folder, some with a part of the plan, with the data not built yet; others read meanwhile."""
    results = world.new()
    for folder in (world.home / "cache" / "data").iterdir():
        shutil.rmtree(folder)
    parts = world.dice.choice([((), (), ()), (("runner.shard=1/2",), ("runner.shard=2/2",), ())])
    started = [world.python(words=(*WORDS, *part, f"results={results.name}")) for part in parts]
    while started[0].poll() is None and results.is_dir():
        world.call(*world.dice.choice([("figures", "whole"), ("claims", "gs")]), "--results", results.name)
    for process in started:
        world.finished(process, status=(0,))
    world.settle(results)


def containers(world: World) -> None:
    """Two process namespaces in one folder, in which both processes may have the same number."""
    both = ("unshare", "-p", "-f")
    if shutil.which("unshare") is None or subprocess.run([*both, "true"], capture_output=True).returncode:
        raise NotTried("namespaces are not allowed")
    results = world.new()
    before = ((both, both), (both, ()))[world.dice.randrange(2)]
    for process in [world.python(*words, words=(*WORDS, f"results={results.name}")) for words in before]:
        world.finished(process, status=(0,))
    world.settle(results)


def many_files(world: World) -> None:
    """200,000 files with one trial each, once if there is time; otherwise a hundredth of it."""
    results = world.copy()
    file = next(results.rglob("*.parquet"))
    table = pq.read_table(file).slice(0, 1)
    table = table.set_column(table.schema.get_field_index("trial"), "trial", pa.array([SENTINEL], pa.int64()))
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, **PLAIN)
    content, mark = sink.getvalue().to_pybytes(), struct.pack("<q", SENTINEL)
    for number in range(1000, 1000 + (200_000 if world.once("200,000 files") else 2000)):
        put(results, file.parent.name, number, number, content.replace(mark, struct.pack("<q", number)))
    world.settle(results)
