"""Working inside a folder that somebody else filled: none of its code is run, and nothing in it replaces a module."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from support import door
from support.hostile import filled, shadow, trap

Call = Callable[..., subprocess.CompletedProcess[str]]

INSIDE = {
    "list mechanisms": 0,
    "list tasks": 0,
    "list datasets": 0,
    "completion words": 0,
    "figures a --results .": 0,
    "claims gs --results .": 0,
    "report --results .": 0,
    "data list": 0,
    "run scale=smoke dataset=[trajectory] mechanism=[lpa] tracking=none dry=true": 0,
    "run scale=smoke dataset=[trajectory] mechanism=[evil] tracking=none dry=true": 2,
    "run scale=smoke dataset=[trajectory] mechanism=[evil.Evil] tracking=none dry=true": 2,
    "list mechanisms --config-dir conf": 2,
}


@pytest.fixture
def theirs(tmp_path: Path) -> Path:
    folder = tmp_path / "theirs"
    filled(folder, 2, name="a")
    trap(folder, tmp_path / "touched")
    return folder


@pytest.mark.parametrize("line", INSIDE)
def test_a_results_folder_gives_no_code(dpbench: Call, theirs: Path, line: str) -> None:
    words = [*line.split(), *(["dpbench run mechanism.evil."] if line == "completion words" else [])]
    done = dpbench(*words, cwd=theirs)
    assert not (theirs.parent / "touched").exists()
    assert "Traceback" not in done.stderr
    assert done.returncode == INSIDE[line], done.stderr
    if line.startswith("list mechanisms") and not done.returncode:
        assert "conf is not used: it is in the results folder" in done.stderr
        assert "evil" not in done.stdout


def test_a_folder_below_a_results_folder_gives_none_either(dpbench: Call, theirs: Path) -> None:
    below = theirs / "runs" / "deep"
    trap(below, theirs.parent / "touched")
    done = dpbench("figures", "a", "--results", "../..", cwd=below)
    assert done.returncode == 0, done.stderr
    assert not (theirs.parent / "touched").exists()


def test_elsewhere_list_and_completion_show_classes_from_their_text(dpbench: Call, tmp_path: Path) -> None:
    """Outside of results folders: the user's own entries are listed without importing them, and `figures` runs their scripts."""
    marker = tmp_path / "touched"
    trap(tmp_path, marker)
    listed = dpbench("list", "mechanisms", cwd=tmp_path)
    assert "your class evil.Evil" in " ".join(listed.stdout.split())
    assert "strength=3" in listed.stdout
    assert "your class evil.Evil" in " ".join(dpbench("list", "tasks", cwd=tmp_path).stdout.split())
    offered = dpbench("completion", "words", "dpbench run mechanism.evil.", cwd=tmp_path).stdout
    assert offered == "mechanism.evil.strength=\n"
    assert "worse" not in listed.stdout, "a plugin is what is installed"
    assert not marker.exists()
    filled(tmp_path / "results", 2, name="a")
    dpbench("figures", "a", cwd=tmp_path)
    assert marker.exists()


def test_no_file_of_the_current_folder_replaces_a_module(tmp_path: Path) -> None:
    """Also without -P, with which Python itself leaves the folder out."""
    shadow(tmp_path, tmp_path / "touched")
    done = door.cold("list", "experiments", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    done = door.cold("run", "scale=smoke", "dataset=[trajectory]", "mechanism=[lpa]", "dry=true", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert not (tmp_path / "touched").exists()


@pytest.mark.parametrize("name", ["statistics", "rich", "time"])
def test_a_name_that_is_taken_is_told(dpbench: Call, tmp_path: Path, name: str) -> None:
    (tmp_path / f"{name}.py").write_text("class Mine:\n    def release(self): pass\n")
    done = dpbench("run", "scale=smoke", "dataset=[trajectory]", f"mechanism=[{name}.Mine]", cwd=tmp_path)
    assert done.returncode == 2
    assert f"{tmp_path / name}.py has the name of another module" in done.stderr
    assert "rename your file" in done.stderr


@pytest.mark.parametrize("results", ["conf", "conf/results", ".", ".."])
def test_results_and_configuration_stay_apart(dpbench: Call, tmp_path: Path, results: str) -> None:
    """Results in a configuration become groups of options; a configuration among results is never read."""
    home = tmp_path / "home"
    (home / "conf" / "dataset").mkdir(parents=True)
    words = (
        "run",
        "scale=smoke",
        "dataset=[trajectory]",
        "mechanism=[lpa]",
        "trials=2",
        "tracking=none",
        "figure=false",
    )
    done = dpbench(*words, f"results={results}", cwd=home)
    assert done.returncode == 2, done.stderr
    assert f"results={results} is not valid" in done.stderr
    assert [path.name for path in home.iterdir()] == ["conf"]
    assert dpbench(*words, cwd=home).returncode == 0


@pytest.mark.parametrize("results", [".", ".."])
def test_results_and_scripts_stay_apart(dpbench: Call, tmp_path: Path, results: str) -> None:
    (tmp_path / "experiments").mkdir()
    (tmp_path / "experiments" / "mine.py").write_text("")
    done = dpbench("run", "scale=smoke", "dataset=[trajectory]", "mechanism=[lpa]", f"results={results}", cwd=tmp_path)
    assert done.returncode == 2
    assert "no script is ever run that is in a results folder" in done.stderr
