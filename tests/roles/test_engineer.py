"""The path of an engineer with a CI: the tutorial "Guard your mechanism in CI", and the workflow file that it offers."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from support.paths import ROOT
from support.tutorials import DOCS, follow

pytestmark = pytest.mark.slow


def steps() -> list[dict[str, Any]]:
    """The steps of the workflow."""
    text = (DOCS / "ci" / "utility.yml").read_text(encoding="utf-8")
    (job,) = yaml.safe_load(text)["jobs"].values()
    return list(job["steps"])


def build(folder: Path) -> list[int]:
    """The exit status of each command of the workflow, in a folder of the user's; the installation is not repeated."""
    environment = os.environ | {
        "PYTHONPATH": str(ROOT),
        "GITHUB_STEP_SUMMARY": str(folder / "job-summary.md"),
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
    }
    commands = [step["run"] for step in steps() if "run" in step]
    assert commands[0].startswith("pip install ")
    return [subprocess.run(["bash", "-e", "-c", c], cwd=folder, env=environment).returncode for c in commands[1:]]


def test_the_tutorial_and_its_workflow(tmp_path: Path) -> None:
    told = follow("guard", tmp_path)
    assert "first numbers of mine/guard" in told.output("--update")
    assert "The check passes." in told.output("check --strict")
    fault = told.output("* 1.3 / epsilon")
    assert "exit status 1" in fault
    assert "**worse** | rounded | mine/guard | " in fault
    assert "mine.py:" in fault
    leak = told.output("/ 1.3 / epsilon|' mine.py\n!python -m dpbench audit")
    assert "VIOLATED" in leak
    assert "exit status 1" in leak
    assert "The check passes." in told.cells[-1].output

    assert build(tmp_path) == [0, 0], "the build is green"
    assert "Passed" in (tmp_path / "job-summary.md").read_text()
    mine = tmp_path / "mine.py"
    text = mine.read_text()
    mine.write_text(text.replace("/ epsilon", "/ 2 / epsilon"))
    assert build(tmp_path) == [1, 1], "half the noise: the numbers moved, and it is not private"
    assert "Failed" in (tmp_path / "job-summary.md").read_text()
    uploaded = next(step["with"]["path"] for step in steps() if "upload" in step.get("uses", ""))
    for file in uploaded.split():
        assert (tmp_path / file).is_file()


def test_the_workflow_installs_this_package() -> None:
    name = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["name"]
    assert steps()[2]["run"] == f"pip install {name}"


def test_the_files_of_new_are_guarded_alike(dpbench: Any, tmp_path: Path) -> None:
    """`new` writes what the tutorial writes by hand."""
    assert dpbench("new", "mechanism", "rounded").returncode == 0
    assert dpbench("new", "dataset", "walks").returncode == 0
    assert dpbench("new", "experiment", "mine/sweep").returncode == 0
    experiment = tmp_path / "conf/experiment/mine/sweep.yaml"
    experiment.write_text(
        experiment.read_text().replace("[trajectory]", "[walks]").replace("[lpa, gs]", "[rounded]")
        + "mechanism: {rounded: {bound: 10, step: 1}}\n"
    )
    first = dpbench("check", "mine/sweep", "--update")
    assert first.returncode == 0, first.stdout + first.stderr
    source = tmp_path / "rounded.py"
    text = source.read_text()
    source.write_text(text.replace("self.bound / epsilon", "3 * self.bound / epsilon"))
    worse = dpbench("check", "mine/sweep")
    assert worse.returncode == 1, "three times the noise is worse\n" + worse.stdout
