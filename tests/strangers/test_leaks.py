"""What can be sent to others: no path of the user's folders, no password and no variable of the environment is in it."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

from support import door

Call = Callable[..., subprocess.CompletedProcess[str]]
RUN = ("scale=smoke", "trials=2", "runner.jobs=1")


def holding(folder: Path, word: str) -> list[str]:
    """The files in which a word occurs."""
    return [path.name for path in sorted(folder.rglob("*")) if path.is_file() and word.encode() in path.read_bytes()]


def test_only_the_name_of_an_own_file_is_stored(dpbench: Call, tmp_path: Path) -> None:
    place = tmp_path / "confidential" / "visits.csv"
    place.parent.mkdir()
    place.write_text("who,place\na,x\na,y\nb,x\nc,z\n")
    table = ("dataset=table", f"dataset.table.path={place}", "dataset.table.user=who", "dataset.table.item=place")
    done = dpbench("run", *table, "mechanism=[lpa]", "name=mine", "tracking=none", *RUN, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert len(holding(tmp_path / "results", "visits.csv")) >= 3
    assert holding(tmp_path / "results", "confidential") == []
    again = dpbench("run", *table, "mechanism=[lpa]", "name=mine", "tracking=none", *RUN, cwd=tmp_path)
    assert "0 trials computed, " in again.stdout


def test_passwords_of_a_tracking_server_are_masked(dpbench: Call, tmp_path: Path) -> None:
    uri = "http://user:SECRET@127.0.0.1:9/"
    words = ("dataset=[trajectory]", "mechanism=[lpa]", "figure=false", "name=mine", *RUN)
    shown = [dpbench("run", *words, f"tracking.uri={uri}", cwd=tmp_path), dpbench("track", "--uri", uri, cwd=tmp_path)]
    assert all("MLflow did not accept" in done.stderr for done in shown), shown
    assert all("SECRET" not in done.stdout + done.stderr for done in shown)
    assert holding(tmp_path / "results", "SECRET") == []


def test_no_variable_of_the_environment_gets_into_results(tmp_path: Path) -> None:
    folder = tmp_path / "conf" / "experiment"
    folder.mkdir(parents=True)
    text = "# @package _global_\ndefaults:\n  - override /dataset: [trajectory]\n  - override /mechanism: [lpa]\n"
    text += "  - override /task: [column_counts]\nhow: oc.env\nepsilon: [1.0]\n"
    for title in ("${oc.env:SECRET}", "${oc.env:SECRET,x}", "${oc.decode:${oc.env:SECRET}}"):
        (folder / "leak.yaml").write_text(f"{text.replace('how: oc.env', '')}title: {title}\n")
        done = door.dpbench("run", "experiment=leak", *RUN, cwd=tmp_path, env=door.environment(SECRET="hunter2"))
        assert done.returncode == 2, done.stdout
        assert "oc.env:SECRET" in done.stderr
        assert "hunter2" not in done.stdout + done.stderr
    assert not (tmp_path / "results").exists()
