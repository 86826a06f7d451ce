"""What can go wrong around a run, on the command line: other histories, damage, folders that vanish, kills."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pandas as pd
import pytest

from dpbench.storage.files import temporary

from support.cluster import until
from support.homes import RUN, trials
from support.paths import ROOT

Call = Callable[..., "subprocess.CompletedProcess[str]"]
Start = Callable[..., "subprocess.Popen[str]"]
NOISY = (*RUN, "mechanism=[noisy]", "epsilon=[1]", "runner.jobs=1")
SLOW = (*RUN, "mechanism=[slow]", "epsilon=[1]", "runner.chunk=2")


@pytest.fixture
def start(home: Path) -> Iterator[Start]:
    """A command that runs beside the test, and is ended with it."""
    begun: list[subprocess.Popen[str]] = []

    def call(*words: str) -> subprocess.Popen[str]:
        environment = os.environ | {"PYTHONPATH": str(ROOT), "COLUMNS": "200"}
        command = [sys.executable, "-m", "dpbench", *words]
        process = subprocess.Popen(
            command, cwd=home, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        begun.append(process)
        return process

    yield call
    for process in begun:
        process.kill()
        process.communicate()


def files(results: Path) -> list[Path]:
    return sorted(results.glob("trials/**/*.parquet"))


def wait_for_files(results: Path, count: int) -> None:
    until(lambda: len(files(results)) >= count, f"{count} files")


def told_trials(output: str) -> int:
    """The number in the column of trials, of the one row of the table."""
    (row,) = re.findall(r"│ *small *│.*", output)
    return int(row.split("│")[4])


def test_other_chunks_count_no_trial_twice(dpbench: Call, home: Path) -> None:
    dpbench(*NOISY, "trials=20", "runner.chunk=15")
    again = dpbench(*NOISY, "trials=20", "runner.chunk=8")
    assert "0 trials computed, 20 found finished" in again.stdout
    assert told_trials(again.stdout) == 20
    assert len(trials(home / "results")) == 20


def test_a_slow_run_outlived_by_a_faster_one_counts_no_trial_twice(dpbench: Call, start: Start, home: Path) -> None:
    slow = start(*SLOW, "trials=10", "runner.jobs=1")
    wait_for_files(home / "results", 1)
    slow.send_signal(signal.SIGSTOP)
    fast = dpbench(*SLOW, "trials=20", "runner.jobs=1", "runner.chunk=20")
    assert told_trials(fast.stdout) == 20
    slow.send_signal(signal.SIGCONT)
    output, problems = slow.communicate(timeout=300)
    assert slow.returncode == 0, problems
    assert told_trials(output) == 10
    again = dpbench(*SLOW, "trials=20", "runner.jobs=1")
    assert "0 trials computed, 20 found finished" in again.stdout
    assert told_trials(again.stdout) == 20
    dpbench(*SLOW, "trials=20", "runner.jobs=1", "results=alone")
    pd.testing.assert_frame_equal(trials(home / "results"), trials(home / "alone"), check_exact=True)


def test_a_trial_file_with_one_bit_changed_is_computed_again(dpbench: Call, home: Path) -> None:
    """In the numbers, in the footer (a column's name) and at the end; the next run finds nothing wrong."""
    dpbench(*NOISY, "trials=6", "runner.chunk=2")
    before = trials(home / "results")
    first, second, third = files(home / "results")
    for path, place in ((first, first.read_bytes().index(b"metric.mae")), (second, 60), (third, -1)):
        content = bytearray(path.read_bytes())
        content[place] ^= 4
        path.write_bytes(content)
    again = dpbench(*NOISY, "trials=6", "runner.chunk=2")
    assert again.returncode == 0
    assert "Traceback" not in again.stderr
    for path in (first, second, third):
        assert f"{path.name} is damaged" in again.stderr.replace("\n", "")
    assert "6 trials computed, 0 found finished, 0 failed" in again.stdout
    pd.testing.assert_frame_equal(before, trials(home / "results"), check_exact=True)
    quiet = dpbench(*NOISY, "trials=6")
    assert "damaged" not in quiet.stderr
    assert "0 trials computed, 6 found finished" in quiet.stdout


def test_a_run_file_with_one_digit_changed_is_named_and_written_again(dpbench: Call, home: Path) -> None:
    words = (*NOISY, "experiment=gs/table2", "trials=4")
    dpbench(*words)
    path = home / "results" / "runs" / "gs" / "table2@smoke.json"
    content = path.read_text()
    assert content.count('"epsilon": 1.0') == 1
    path.write_text(content.replace('"epsilon": 1.0', '"epsilon": 2.0'))
    for command in (("figures",), ("claims", "gs/checkin-size")):
        shutil.copy(path, home / "damaged.json")
        found = dpbench(*command)
        assert "table2@smoke.json is damaged" in found.stderr
        assert "Traceback" not in found.stderr
        shutil.copy(home / "damaged.json", path)
    again = dpbench(*words)
    assert "0 trials computed, 4 found finished" in again.stdout
    assert "damaged" not in dpbench("figures").stderr
    assert '"epsilon": 1.0' in path.read_text()


def test_a_results_folder_that_vanishes_is_not_success(start: Start, home: Path) -> None:
    """Removed in the middle, and made again by the next chunk: the first trials are lost, and the run says so."""
    for jobs in (1, 2):
        results = home / f"r{jobs}"
        process = start(
            *RUN,
            "mechanism=[held]",
            "epsilon=[1]",
            "runner.chunk=2",
            "trials=60",
            f"runner.jobs={jobs}",
            f"results=r{jobs}",
        )
        wait_for_files(results, 5 * jobs)  # then the workers wait
        os.rename(results, home / f"gone{jobs}")
        (home / "go").touch()
        output, problems = process.communicate(timeout=300)
        assert process.returncode == 1, output
        assert "finished trials are gone" in problems
        assert "Traceback" not in problems
        assert "computed" not in output
        (home / "go").unlink()


@pytest.mark.parametrize("place", ["taken", "taken/results"])
def test_a_file_is_no_results_folder(dpbench: Call, home: Path, place: str) -> None:
    (home / "taken").write_text("mine")
    done = dpbench(*NOISY, "trials=2", f"results={place}")
    assert done.returncode == 2
    assert "a file" in done.stderr
    assert (home / "taken").read_text() == "mine"


def descendants(pid: int) -> set[int]:
    """The processes that a process started, and theirs."""
    parents: dict[int, int] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parents[int(folder.name)] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
        except (OSError, IndexError):
            continue
    found: set[int] = set()
    while more := {child for child, parent in parents.items() if parent in found | {pid}} - found:
        found |= more
    return found


def alive(pids: set[int]) -> set[int]:
    running = set()
    for pid in pids:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            continue
        if state not in "ZX":
            running.add(pid)
    return running


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks at processes in /proc")
def test_a_killed_parent_leaves_no_worker_and_no_leftovers(dpbench: Call, start: Start, home: Path) -> None:
    words = (*SLOW, "trials=400", "runner.jobs=2")
    process = start(*words)
    wait_for_files(home / "results", 2)
    workers = descendants(process.pid)
    assert len(workers) >= 2
    process.send_signal(signal.SIGKILL)  # not waited for: the parent stays a zombie
    until(lambda: not alive(workers), "the end of the workers")
    leftover = Path(str(temporary(files(home / "results")[0].parent)).replace(f"-{os.getpid()}-", "-4999999-"))
    leftover.write_text("half a fi")
    for path in (home / "results").rglob(".tmp-*"):
        os.utime(path, (0, 0))  # nothing young is removed
    again = dpbench(*SLOW, "trials=60", "runner.jobs=1")
    assert again.returncode == 0
    assert [p.name for p in (home / "results").rglob(".*")] == []
