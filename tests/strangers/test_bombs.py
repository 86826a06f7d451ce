"""Small files that would unpack to gigabytes, or keep a reader busy for ever: bounded by what a run can contain."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from support.hostile import Body, filled, forged, put, repeated_words
from support.paths import ROOT
from support.stores import name_of

Call = Callable[..., subprocess.CompletedProcess[str]]
LITTLE = 1 << 20  # kilobytes: enough for every verb, too little for a bomb
MOST = 6 << 30  # bytes of address space, so that a bomb ends the test and not the machine


MEASURED = """
import atexit, pathlib, runpy, sys
status = pathlib.Path("/proc/self/status")
atexit.register(lambda: pathlib.Path("peak").write_text(status.read_text().partition("VmHWM:")[2].split()[0]))
sys.argv = ["dpbench", *sys.argv[1:]]
runpy.run_module("dpbench", run_name="__main__", alter_sys=True)
"""


def little(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """The finished command, which needed little memory."""
    done = subprocess.run(
        [sys.executable, "-P", "-c", MEASURED, *words],
        cwd=cwd,
        env=os.environ | {"PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1", "COLUMNS": "200"},
        capture_output=True,
        text=True,
        timeout=300,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (MOST, MOST)),
    )
    assert "Traceback" not in done.stderr, done.stderr
    assert int((cwd / "peak").read_text()) < LITTLE
    return done


def test_a_word_that_is_repeated_by_its_encoding_is_not_unpacked(tmp_path: Path) -> None:
    """A file of a megabyte with more letters than the memory that a command may take has bytes."""
    results = tmp_path / "results"
    trials = 1200  # a million letters in each
    forged(results, lambda body: body["run"].update(repetitions=trials), settings=1)
    bomb = put(results, name_of(0), 0, trials - 1, repeated_words(trials))
    assert bomb.stat().st_size < 2 << 20
    done = little("figures", "gs/fig9", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert f"{bomb.name} is damaged or foreign" in done.stderr
    assert not bomb.exists()


def test_a_failure_lists_no_more_trials_than_the_run_has(tmp_path: Path) -> None:
    results = tmp_path / "results"
    most = 10_000_000

    def many(body: Body) -> None:
        body["run"]["repetitions"] = most

    forged(results, many, name="cross/leaderboard")
    ranges = ", ".join(f"{number * most}-{(number + 1) * most - 1}" for number in range(150))
    (results / "failures").mkdir()
    text = f"Failed in cross/leaderboard@smoke\n\n  {name_of(0)} lpa: trials {ranges}\n"
    (results / "failures" / "one.txt").write_text(text)
    done = little("report", "--output", "page.html", cwd=tmp_path)
    assert done.returncode == 0, done.stderr


YAML = {
    "aliases": "a: &a [x, x, x, x, x, x, x, x, x]\n"
    + "".join(f"{b}: &{b} [{', '.join([f'*{a}'] * 9)}]\n" for a, b in zip("abcdefgh", "bcdefghi", strict=True))
    + "gs-1: {says: *i}\n",
    "merged": "a: &a {x: 1}\n"
    + "".join(f"{b}: &{b} {{<<: [{', '.join([f'*{a}'] * 9)}]}}\n" for a, b in zip("abcdefgh", "bcdefghi", strict=True)),
    "itself": "gs-1: &a {says: [*a]}\n",
    "deep": "gs-1: " + "[" * 100_000 + "]" * 100_000 + "\n",
    "deep without brackets": "- " * 30_000 + "x\n",
}


@pytest.mark.parametrize("bomb", YAML)
def test_yaml_that_has_no_end(dpbench: Call, tmp_path: Path, bomb: str) -> None:
    (tmp_path / "conf" / "claims").mkdir(parents=True)
    (tmp_path / "conf" / "claims" / "mine.yaml").write_text(YAML[bomb])
    done = dpbench("claims", "mine", cwd=tmp_path, timeout=300)
    assert done.returncode == 2, done.stderr[-300:]
    assert "mine.yaml" in done.stderr
    assert done.stderr.count("\n") == 1


CELL = '{{"trials": {}, "data": {{}}, "cells": {{"a": {{"labels": {{"task": "t"}}, "task": "t", "values": {{"mae": {}}}}}}}}}'


@pytest.mark.parametrize(
    "content",
    [
        "[" * 200_000,
        '{"trials": 2, "data": {}, "cells": ' + '{"a":' * 50_000,
        "\x00",
        "",
        CELL.format(1, 10**400),
        CELL.format(2**63, 1),
        CELL.format(10**12, 1),
    ],
    ids=["lists", "objects", "zero", "empty", "number", "trials", "memory"],
)
def test_a_baseline_that_is_none(dpbench: Call, tmp_path: Path, content: str) -> None:
    path = tmp_path / "baselines" / "epicrec" / "example.json"
    path.parent.mkdir(parents=True)
    path.write_text(content)
    done = dpbench("check", "epicrec/example", "--baselines", "baselines", "--jobs", "1", cwd=tmp_path)
    assert done.returncode == 2
    assert "example.json is not a baseline" in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("depth", [500, 200_000])
def test_a_run_file_that_is_nested_deeply_is_set_aside(dpbench: Call, tmp_path: Path, depth: int) -> None:
    """Its seal is valid: `json` itself could not write it."""
    from dpbench.storage import seals

    results = tmp_path / "results"
    path = filled(results, 1).save()
    filled(results, 1, name="mine")
    text = '{\n "schema": 6,\n "run": ' + '{"a": ' * depth + "1" + "}" * depth + "\n}"
    sealed = f'{text[:-2]},\n "seal": "{seals.text_digest(text)}"\n}}\n'
    path.write_text(sealed)
    done = dpbench("figures", cwd=tmp_path)
    assert "Traceback" not in done.stderr
    assert "fig9@smoke.json is damaged" in done.stderr
    assert "mine.png" in done.stdout


@pytest.mark.parametrize("bomb", ["aliases", "merged", "itself", "deep", "deep without brackets"])
@pytest.mark.parametrize("group", ["mechanism", "experiment"])
def test_yaml_that_has_no_end_does_not_reach_hydra(dpbench: Call, tmp_path: Path, bomb: str, group: str) -> None:
    """A mechanism or an experiment that is chosen: Hydra, which composes them, reads without a limit."""
    (tmp_path / "conf" / group).mkdir(parents=True)
    (tmp_path / "conf" / group / "mine.yaml").write_text(YAML[bomb].replace("gs-1", "mine"))
    chosen = "mechanism=[mine]" if group == "mechanism" else "experiment=mine"
    done = dpbench("run", "scale=smoke", "dataset=[trajectory]", chosen, "dry=true", cwd=tmp_path, timeout=300)
    assert done.returncode == 2, done.stderr[-300:]
    assert "mine.yaml" in done.stderr
    assert done.stderr.count("\n") == 1
