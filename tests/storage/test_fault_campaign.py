"""A fault campaign: more than 10,000 random damages to all kinds of stored files, and more than 100 random kills.

After each, what is read is what was computed, or the damage is named and the same command computes it again. The dice are
fixed, the moments of the kills are not.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dpbench.errors import Damaged
from dpbench.model.run import Run
from dpbench.storage.files import sweep
from dpbench.storage.store import Store

from support.damage import Tree, harm
from support.homes import RUN, make_home, trials
from support.paths import ROOT
from support.stores import filled, name_of, rows

pytestmark = pytest.mark.slow

TRIAL_FILES, RUN_FILES, CACHE_FILES, COMMANDS, KILLS = 5000, 3000, 2500, 200, 110
SETTINGS, TRIALS = 3, 12


def numbers(frame: pd.DataFrame) -> dict[tuple[str, int], tuple[object, ...]]:
    """Every number but the times, by setting and trial; as text, so that nothing is equal by rounding.

    A column that only another setting has is empty where that one is stored too, and is not there where it is not.
    """
    kept = frame.drop(columns="seconds", errors="ignore").sort_index(axis=1)
    return {
        (r["setting"], r["trial"]): tuple((name, repr(value)) for name, value in r.items() if not pd.isna(value))
        for r in kept.to_dict("records")
    }


@pytest.fixture
def no_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """The disk is not waited for: no test here cuts the power."""
    monkeypatch.setattr(os, "fsync", lambda _: None)


@pytest.mark.usefixtures("no_wait")
def test_damaged_trial_files(tmp_path: Path) -> None:
    """Read, then computed again, then read: nothing but the stored numbers, or less and a word about it."""
    made = filled(tmp_path, SETTINGS, repetitions=TRIALS, chunk=4)
    tree, whole = Tree.of(tmp_path), numbers(made.trials())
    files = sorted((tmp_path / "trials").rglob("*.parquet"))
    dice, kinds = random.Random(1), Counter[str]()
    for round_ in range(TRIAL_FILES):
        kind, harmed = harm(dice, files)
        kinds[kind] += 1
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            found = numbers(made.trials())
        told = " ".join(str(w.message) for w in caught)
        assert found.items() <= whole.items(), (round_, kind)
        lost = len(whole) - len(found)
        hidden = kind == "rename" and not any(name in told for name in (p.name for p in harmed))
        if lost and kind != "delete" and not hidden:
            assert any(issubclass(w.category, Damaged) for w in caught), (round_, kind)
        if lost:
            assert any(f"{len(found)} of {len(whole)} trials" in text for text in made.remarks()), (round_, kind)
        store = Store(tmp_path)
        for number in range(SETTINGS):
            missing = {*range(TRIALS)} - store.done(name_of(number))
            store.write(name_of(number), rows(missing, number, seconds=9.0), "again")
        assert numbers(made.trials()) == whole, (round_, kind)
        tree.restore()
    print(f"trial files: {TRIAL_FILES} damages, none silent: {dict(kinds)}")
    assert min(kinds.values()) > 100


def test_damaged_run_files(tmp_path: Path) -> None:
    runs = [filled(tmp_path, SETTINGS, name=name) for name in ("gs/fig9", "gs/fig7", "mine")]
    runs.append(filled(tmp_path, SETTINGS, name="mine", scale="paper", written="2024-06-01"))
    tree, whole = Tree.of(tmp_path / "runs"), {(run.name, run.scale): run for run in runs}
    files = sorted(tree.files)
    dice, lost = random.Random(2), 0
    for round_ in range(RUN_FILES):
        kind, harmed = harm(dice, files)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            found = {
                (run.name, run.scale): run for scale in ("smoke", "paper") for run in Run.all(tmp_path, scale).values()
            }
        assert found.items() <= whole.items(), (round_, kind)
        lost += len(found) < len(whole)
        # What is renamed to something that is no run file is gone; a command says that there is no such run.
        if len(found) < len(whole) and kind not in ("delete", "rename"):
            assert {str(path) for path in harmed} & {str(w.message).split(" is damaged")[0] for w in caught}, (
                round_,
                kind,
            )
        shutil.rmtree(tmp_path / "damaged", ignore_errors=True)
        tree.restore()
    print(f"run files: {RUN_FILES} damages, none silent; after {lost} of them a run was missing")
    assert {(run.name, run.scale) for run in Run.all(tmp_path, "smoke").values()} < set(whole)


def test_damaged_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """meta.json and every array: what is opened is the data that was built, whatever happened to the files."""
    from dpbench.model.setting import Dataset
    from dpbench.sources import cache, stored

    monkeypatch.setenv("DPBENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.syspath_prepend(make_home(tmp_path))
    specs = [Dataset("small", "strangers.Small", {"rows": size}, seed=3) for size in (8, 9)]
    opened = [cache.open_dataset(spec) for spec in specs]
    whole = [{name: np.array(array) for name, array in stored.arrays_of(one.data).items()} for one in opened]
    tree = Tree.of(tmp_path / "cache" / "data")
    files = sorted(tree.files)
    assert {path.suffix for path in files} == {".json", ".npy"}
    dice = random.Random(3)
    for round_ in range(CACHE_FILES):
        kind, harmed = harm(dice, files)
        stored._verified.clear()  # as in another process
        said: list[str] = []
        for spec, before, arrays in zip(specs, opened, whole, strict=True):
            after = cache.open_dataset(spec, say=said.append)
            assert (after.fingerprint, after.statistics) == (before.fingerprint, before.statistics), (round_, kind)
            for name, array in stored.arrays_of(after.data).items():
                assert np.array_equal(array, arrays[name]), (round_, kind, name)
                assert array.dtype == arrays[name].dtype
        changed = any(path.is_file() and path.read_bytes() != tree.files[path] for path in harmed)
        assert not changed, "what was damaged was built again"
        for path in (tmp_path / "cache" / "data").iterdir():
            if path not in {file.parent for file in files}:
                shutil.rmtree(path)
        tree.restore()
    print(f"cached data: {CACHE_FILES} damages, none silent")


class Front:
    """The command in a process of its own, in a user's folder."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.words = (*RUN, "mechanism=[slow,lpa]", "epsilon=[1]", "trials=40")

    def start(self, *words: str) -> subprocess.Popen[str]:
        environment = os.environ | {"PYTHONPATH": str(ROOT), "COLUMNS": "200"}
        command = [sys.executable, "-m", "dpbench", *self.words, *words]
        pipe = subprocess.PIPE
        return subprocess.Popen(command, cwd=self.home, env=environment, stdout=pipe, stderr=pipe, text=True)

    def finish(self, *words: str) -> str:
        process = self.start(*words)
        output, problems = process.communicate(timeout=300)
        assert process.returncode == 0, problems
        assert "Traceback" not in problems
        return output + problems


def test_damage_and_the_same_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Several damages at once, of trials, runs and data, then the command: it ends well and the numbers are the same."""
    from dpbench.cli.dispatch import main
    from dpbench.sources import stored

    home = make_home(tmp_path)
    monkeypatch.setenv("DPBENCH_CACHE", str(home / "cache"))
    monkeypatch.chdir(home)
    monkeypatch.syspath_prepend(home)
    words = [*RUN, "mechanism=[noisy,lpa]", "epsilon=[1]", "trials=12", "runner.jobs=1", "runner.chunk=4"]
    assert main([*words, "results=results"]) == 0
    whole, results = numbers(trials(home / "results")), home / "results"
    trees = [Tree.of(results), Tree.of(home / "cache" / "data")]
    dice, count = random.Random(4), 0
    for round_ in range(COMMANDS):
        done = []
        for _ in range(dice.choice([1, 1, 2, 3])):
            files = sorted({path for tree in trees for path in tree.files if path.is_file()})
            # Results stay among results: a file of another kind in its place is a rare thing.
            part = dice.choice([results / "trials", results / "runs", home / "cache"])
            done.append(harm(dice, [path for path in files if part in path.parents] or files)[0])
        count += len(done)
        stored._verified.clear()
        capsys.readouterr()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Damaged)
            assert main(words) == 0, (round_, done, capsys.readouterr())
            assert numbers(trials(results)) == whole, (round_, done)
            capsys.readouterr()
            assert main(words) == 0
            assert "0 trials computed, 24 found finished, 0 failed" in capsys.readouterr().out, (round_, done)
        shutil.rmtree(results / "damaged", ignore_errors=True)
        for tree in trees:
            tree.restore()
        for path in (home / "cache" / "data").iterdir():
            if not any(path in file.parents for file in trees[1].files):
                shutil.rmtree(path)
    with capsys.disabled():
        print(f"commands: {COMMANDS} after {count} damages, none silent")


def test_random_kills(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """SIGKILL at any time of runs with one and two workers, and of two runs that share a folder."""
    front, dice = Front(make_home(tmp_path)), random.Random(5)
    monkeypatch.syspath_prepend(tmp_path)
    front.finish("runner.jobs=1", "results=undisturbed")
    whole = numbers(trials(tmp_path / "undisturbed"))
    kills = folders = 0
    while kills < KILLS:
        folders += 1
        results = tmp_path / f"killed{folders}"
        for _ in range(dice.randrange(3, 8)):
            count = dice.choice([1, 1, 2])
            words = [
                (f"runner.jobs={dice.choice([1, 1, 2])}", f"runner.chunk={dice.choice([2, 4, 10])}")
                for _ in range(count)
            ]
            started = [front.start(*each, f"results={results.name}") for each in words]
            kills += _kill(dice, started, results)
            if results.is_dir():
                _look(results, whole)
        front.finish("runner.jobs=1", f"results={results.name}")
        assert numbers(trials(results)) == whole
        for path in results.rglob(".tmp-*"):
            os.utime(path, (0, 0))  # nothing young is removed
        sweep(results)
        left = [path for path in results.rglob("*") if path.name.startswith(".") or path.name == "damaged"]
        assert left == [], "no leftovers, and nothing taken for damaged"
    print(f"{kills} kills in {folders} folders: the same {len(whole)} trials in each")
    assert kills >= 100


def _kill(dice: random.Random, started: list[subprocess.Popen[str]], results: Path) -> int:
    """Kill each at a moment of its own: at any time, or while it stores. Returns how many were still running."""
    if dice.random() < 0.8:
        until = time.monotonic() + 30
        before = len(list(results.glob("trials/**/*.parquet")))
        while time.monotonic() < until and any(process.poll() is None for process in started):
            if len(list(results.glob("trials/**/*.parquet"))) > before:
                break
            time.sleep(0.005)
    killed = 0
    for process in started:
        time.sleep(dice.random() * 0.4)
        killed += process.poll() is None
        process.send_signal(signal.SIGKILL)
        process.communicate()
    return killed


def _look(results: Path, whole: dict[tuple[str, int], tuple[object, ...]]) -> None:
    """What is there now is right, and nothing of it is damaged."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", Damaged)
        for run in Run.all(results).values():
            frame = run.trials()
            assert frame.empty or numbers(frame).items() <= whole.items()
