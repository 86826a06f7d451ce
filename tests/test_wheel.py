"""The installed package: conf/, experiments/ and cards travel in the wheel, and it runs from any folder."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from support.paths import ROOT


def test_the_wheel_runs_from_another_folder(tmp_path: Path, data_cache: Path) -> None:
    """Runs, draws, and checks against the baselines that came with it, which `check --update` leaves alone."""
    pytest.importorskip("hatchling", reason="builds a wheel")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("dpbench_repro-*.whl")
    site, home = tmp_path / "site", tmp_path / "home"
    zipfile.ZipFile(wheel).extractall(site)
    home.mkdir()
    environment = os.environ | {"PYTHONPATH": str(site)}

    def call(*words: str) -> None:
        command = [sys.executable, "-m", "dpbench", *words]
        done = subprocess.run(command, cwd=home, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr

    call("run", "experiment=gs/fig9", "scale=smoke", "dataset=[trajectory]", "mechanism=[lpa]", "tracking=none")
    assert (home / "results" / "figures" / "gs" / "fig9.png").is_file()
    call("new", "experiment", "mine/sweep")
    assert "experiment=mine/sweep" in (home / "conf" / "experiment" / "mine" / "sweep.yaml").read_text()
    call("completion", "zsh")  # its script travels like the templates of `new`
    call("report")  # its templates, style and script travel too
    assert "<table" in (home / "results" / "report.html").read_text()
    where = [sys.executable, "-c", "import dpbench; print(dpbench.__file__)"]
    assert str(site) in subprocess.run(where, cwd=home, env=environment, capture_output=True, text=True).stdout
    own = site / "dpbench" / "baselines" / "epicrec" / "example.json"
    before = own.stat().st_mtime_ns
    call("check", "epicrec/example", "--strict")
    call("check", "epicrec/example", "--update")
    assert own.stat().st_mtime_ns == before
    assert (home / "results" / "baselines" / "epicrec" / "example.json").read_text() == own.read_text()
    call("check", "epicrec/example", "--strict")
