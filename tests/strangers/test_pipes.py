"""Pipes among files that somebody sent: a reader would wait for ever for somebody who writes."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

from support import door
from support.hostile import filled
from support.paths import ROOT

Call = Callable[..., subprocess.CompletedProcess[str]]


def pipe(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    os.mkfifo(path)


def test_in_baselines(dpbench: Call, tmp_path: Path) -> None:
    pipe(tmp_path / "baselines" / "epicrec" / "example.json")
    words = ("check", "epicrec/example", "--baselines", "baselines", "--jobs", "1")
    done = dpbench(*words, cwd=tmp_path, timeout=300)
    assert done.returncode == 2
    assert "example.json is not a baseline (ValueError: it is not a file)" in done.stderr


def test_in_a_record(tmp_path: Path) -> None:
    folder = tmp_path / "record" / "epicrec"
    pipe(folder / "error.json")
    pipe(folder / "example.csv")
    source = ROOT / "results" / "record" / "epicrec" / "example.json"
    (folder / "example.json").write_bytes(source.read_bytes())
    env = door.environment(DPBENCH_RECORD=str(tmp_path / "record"))
    done = door.dpbench("figures", "epicrec", cwd=tmp_path, env=env, timeout=300)
    assert done.returncode == 1
    assert "example.csv is not what `reproduce --record` wrote (it is not a file)" in done.stderr
    assert "Traceback" not in done.stderr


def test_in_a_configuration(dpbench: Call, tmp_path: Path) -> None:
    for name in ("mechanism/odd", "experiment/odd", "claims/odd"):
        pipe(tmp_path / "conf" / f"{name}.yaml")
    small = ("run", "scale=smoke", "dataset=[trajectory]", "dry=true")
    assert dpbench(*small, "mechanism=[lpa]", cwd=tmp_path, timeout=300).returncode == 0
    for words in ((*small, "mechanism=[odd]"), ("run", "experiment=odd", "dry=true"), ("claims", "odd")):
        done = dpbench(*words, cwd=tmp_path, timeout=300)
        assert done.returncode == 2, words
        assert "odd" in done.stderr


def test_in_results(dpbench: Call, tmp_path: Path) -> None:
    filled(tmp_path / "results", 1, name="mine")
    for name in ("runs/other@smoke.json", "failures/other.txt", "audit.json", "mlflow.db"):
        pipe(tmp_path / "results" / name)
    for words in (("figures",), ("report", "--output", "page.html"), ("track",)):
        done = dpbench(*words, cwd=tmp_path, timeout=300)
        assert "Traceback" not in done.stderr, words
    assert "mine" in (tmp_path / "page.html").read_text()
