"""The installed package: conf/, experiments/ and cards travel in the wheel, and it runs from any folder."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from support.paths import ROOT

# In one process: a Python for each takes a second. Templates, scripts and style travel in the wheel, too.
IN_TURN = """
import dpbench
from dpbench.cli import main
print(dpbench.__file__)
check = ["check", "epicrec/example"]
for words in (["new", "experiment", "mine/sweep"], ["completion", "zsh"], ["report"], [*check, "--strict"],
              [*check, "--update"], [*check, "--strict"]):
    print("status", main(words))
"""


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

    def call(*command: str) -> str:
        words = [sys.executable, *command]
        done = subprocess.run(words, cwd=home, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    own = site / "dpbench" / "baselines" / "epicrec" / "example.json"
    before = own.stat().st_mtime_ns
    quick = ("scale=smoke", "dataset=[trajectory]", "mechanism=[lpa]", "tracking=none")
    call("-m", "dpbench", "run", "experiment=gs/fig9", *quick)
    assert (home / "results" / "figures" / "gs" / "fig9.png").is_file()
    told = call("-c", IN_TURN)
    assert str(site) in told
    assert told.count("status 0") == 6, told
    assert "experiment=mine/sweep" in (home / "conf" / "experiment" / "mine" / "sweep.yaml").read_text()
    assert "<table" in (home / "results" / "report.html").read_text()
    assert own.stat().st_mtime_ns == before
    assert (home / "results" / "baselines" / "epicrec" / "example.json").read_text() == own.read_text()
