"""`merge`: shards of folders that do not know each other give the run that one folder would hold."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

import dpbench as package
from dpbench.errors import Failed, UserError
from dpbench.model.run import Run
from dpbench.storage.store import Store

from support.stores import rows

Call = Callable[..., subprocess.CompletedProcess[str]]
SMALL = ["dataset=[trajectory]", "mechanism=[lpa,zero]", "epsilon=[1,2]", "trials=6", "scale=smoke", "tracking=none"]
SMALL += ["figure=false", "name=parts"]


@pytest.fixture
def parts(dpbench: Call, tmp_path: Path) -> list[Path]:
    """Two shards, each in a folder of its own."""
    for number in (1, 2):
        done = dpbench("run", *SMALL, f"results=part{number}", f"runner.shard={number}/2")
        assert done.returncode == 0, done.stderr
    return [tmp_path / "part1", tmp_path / "part2"]


def trials(results: Path) -> pd.DataFrame:
    frame = Run.load(results, "parts").trials().drop(columns="seconds")
    return frame.sort_values(["setting", "trial"], ignore_index=True)


def test_the_union_is_what_one_folder_holds(dpbench: Call, parts: list[Path], tmp_path: Path) -> None:
    assert dpbench("run", *SMALL, "results=whole").returncode == 0
    shutil.copytree(parts[0], tmp_path / "again")  # trials that several folders hold count once
    done = dpbench("merge", "part1", "part2", "again", "-o", "all")
    assert done.returncode == 0, done.stderr
    assert "parts@smoke: 24 of 24 trials" in done.stdout
    pd.testing.assert_frame_equal(trials(tmp_path / "all"), trials(tmp_path / "whole"))
    resumed = dpbench("run", *SMALL, "results=all")
    assert "0 trials computed, 24 found finished" in resumed.stdout


def test_a_damaged_file_is_named_and_left_out(dpbench: Call, parts: list[Path], tmp_path: Path) -> None:
    victim = next(parts[1].glob("trials/*/*/*.parquet"))
    lost = int(victim.name[7:13]) - int(victim.name[:6]) + 1
    content = bytearray(victim.read_bytes())
    content[len(content) // 2] ^= 1
    victim.write_bytes(content)
    done = dpbench("merge", "part1", "part2", "-o", "all")
    assert done.returncode == 1
    assert victim.name in done.stderr
    assert f"parts@smoke: {24 - lost} of 24 trials" in done.stdout
    assert not [*(tmp_path / "all").glob(f"**/{victim.name}")]


def test_copies_that_differ_are_an_error(parts: list[Path], tmp_path: Path) -> None:
    (setting, *_) = Run.load(parts[0], "parts").settings
    for number, folder in enumerate(parts):  # the same trial, with other numbers: each file is whole
        forged = [{**row, "metric.mae": float(number)} for row in rows([40])]
        Store(folder).write(setting.id, forged, "{}")
    with pytest.raises(Failed, match=r"trial 40 has metric\.mae"):
        package.merge(parts, tmp_path / "all")
    assert not (tmp_path / "all").exists()
    assert not [*tmp_path.glob(".tmp*")]


def test_results_of_different_code_are_refused_unless_asked_for(parts: list[Path], tmp_path: Path) -> None:
    run = Run.load(parts[1], "parts")
    other = replace(run, settings=tuple(replace(s, id=s.id[::-1]) for s in run.settings), written="9999")
    other.save()
    with pytest.raises(UserError, match=r"comes from other code in .* than in .*--mixed"):
        package.merge(parts, tmp_path / "all")
    merged = package.merge(parts, tmp_path / "all", mixed=True)
    assert [s.id for s in merged.runs[0].settings] == [s.id for s in other.settings]
    assert merged.trials == 24  # those of the other code are kept


def test_wrong_use(dpbench: Call, parts: list[Path], tmp_path: Path) -> None:
    for words, told in (
        (["part1", "-o", "all"], "expected at least two results folders"),
        (["part1", "nowhere", "-o", "all"], "nowhere is not a results folder"),
        (["part1", "part2", "-o", "part1"], "part1 exists and is not empty"),
    ):
        done = dpbench("merge", *words)
        assert (done.returncode, told in done.stderr) == (2, True), done.stderr
    elsewhere = tmp_path / "elsewhere"
    shutil.move(parts[1] / "trials", elsewhere)
    (parts[1] / "trials").symlink_to(elsewhere)
    assert "links in a results folder are not followed" in dpbench("merge", "part1", "part2", "-o", "all").stderr
