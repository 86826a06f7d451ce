"""The verb `check` in a user's own folder: the user's own experiment with the mechanisms of strangers.py."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import psutil
import pytest

from dpbench.cli import dispatch as cli
from dpbench.gate.entries import BETTER, CHANGED, GONE, NEW, WORSE, metrics_of_tasks
from dpbench.gate.outcome import failing

from support.cluster import until
from support.paths import ROOT

EXPERIMENT = """# @package _global_
defaults:
  - override /dataset: [small]
  - override /mechanism: [noisy, lpa]
  - override /task: [column_counts]
epsilon: [0.5, 1]
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    entries = {
        "dataset/small": "small: {kind: incidence, source: generator, generator: strangers.Small}\n",
        "mechanism/noisy": "noisy: {class: strangers.Noisy}\n",
        "experiment/mine/sweep": EXPERIMENT,
    }
    for name, text in entries.items():
        path = tmp_path / "mine" / f"{name}.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    shutil.copy(ROOT / "tests" / "strangers.py", tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def check(*words: str) -> int:
    return cli.main(["check", "mine/sweep", "--config-dir", "mine", "--baselines", "base", "--jobs", "1", *words])


def louder(monkeypatch: pytest.MonkeyPatch, factor: float) -> None:
    import strangers

    publish = strangers.Noisy.publish
    monkeypatch.setattr(
        strangers.Noisy, "publish", lambda self, data, epsilon, noise: publish(self, data, epsilon / factor, noise)
    )


def test_the_verb(home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert check() == 2
    advice = "python -m dpbench check mine/sweep --config-dir mine --baselines base --update makes them"
    assert f"there are no baselines of mine/sweep in base: {advice}" in capsys.readouterr().err
    assert check("--update") == 0
    assert "first numbers of mine/sweep" in capsys.readouterr().out
    assert check("--strict") == 0
    assert "The check passes." in capsys.readouterr().out
    assert check("--fresh", "7") == 0
    assert "Fresh seed 7" in capsys.readouterr().out

    louder(monkeypatch, 2)
    assert check("--junit", "junit.xml", "--json", "check.json", "--summary", "out/check.md") == 1
    shown = capsys.readouterr().out
    advice = "python -m dpbench check mine/sweep --config-dir mine --baselines base --update, and say why"
    assert advice in shown
    assert "worse" in shown
    assert "noisy" in shown
    assert shown.count("worse │") == 1, "one row per cause"
    assert "strangers.py:" in shown
    assert "The check fails: worse" in shown
    cases = ET.parse(home / "junit.xml").getroot().findall("testsuite/testcase")
    failed = [c.get("name") for c in cases if c.find("failure") is not None]
    assert len([c for c in cases if "mechanism=" in str(c.get("name"))]) == 4
    assert failed
    assert all("noisy" in str(name) or "figure" in str(name) for name in failed)
    assert all(float(str(c.get("time"))) >= 0 for c in cases)
    assert any(float(str(c.get("time"))) > 0 for c in cases)
    told = json.loads((home / "check.json").read_text())
    assert (told["passes"], told["seed"], told["columns"]["gone"]) == (False, None, 0)
    assert {entry["mechanism"] for entry in told["moved"]} == {"noisy", "figure"}
    page = (home / "out" / "check.md").read_text()
    assert page.startswith("## Failed: The check fails: worse")
    (row,) = [line for line in page.splitlines() if line.startswith("| **")]
    assert row.startswith("| **worse** | noisy | mine/sweep | ")
    worst = max((entry for entry in told["cells"] if entry["mechanism"] == "noisy"), key=lambda e: abs(e["effect"]))
    assert f"epsilon={worst['labels']['epsilon']}" in row
    assert f"| {worst['old']:.5g} | {worst['new']:.5g} |" in row
    assert check("--fresh", "7", "--trials", "20") == 1

    louder(monkeypatch, 1 / 4)  # on top of the doubling: half of the noise there should be
    assert check("--allow-better") == 0
    assert "is the noise still what the privacy budget requires?" in capsys.readouterr().out
    assert check() == 1
    assert "--allow-better lets it pass once." in capsys.readouterr().out
    assert check("--update") == 0
    assert "mine/sweep: noisy mae" in capsys.readouterr().out
    assert check("--strict") == 0


def test_words_that_do_not_go_together(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert check("--update", "--fresh", "3") == 2
    assert "--update does not go with --fresh" in capsys.readouterr().err
    assert check("--trials", "50") == 2
    assert "--trials goes with --fresh only" in capsys.readouterr().err
    assert check("--update") == 0
    assert check("--strict", "--allow-better") == 2
    assert "--strict and --allow-better contradict each other" in capsys.readouterr().err
    assert check("--fresh", "3", "--trials", "0") == 2
    assert "trials=0" in capsys.readouterr().err


DAMAGES = (
    ('"cells": {', '"cells": {{'),
    ('"labels": {', '"labels": [], "x": {'),
    ('"values": {', '"values": {}, "x": {'),
    ('"mae": [', '"mae": [], "x": ['),
    ('"mae": [', '"mae": [null, '),
    ('"mae": [', '"mae": ["1", '),
    ('"mae": [', '"mae": null, "x": ['),
    ('{"trials": 6', '{"trials": 5'),
    ('{"trials": 6', '{"trials": "6"'),
    (' "data": {', ' "data": [], "x": {'),
)


def test_a_damaged_baseline_is_named_and_can_be_made_anew(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert check("--update") == 0
    path = home / "base" / "mine" / "sweep.json"
    whole = path.read_text()
    (home / "base" / "other.json").write_text("nonsense of an experiment that is not asked for")
    for old, new in DAMAGES:
        assert old in whole
        path.write_text(whole.replace(old, new, 1))
        for words in ((), ("--fresh", "3")):
            assert check(*words) == 2
            assert "sweep.json is not a baseline" in capsys.readouterr().err
    assert check("--update") == 0
    assert path.read_text() == whole
    assert check() == 0


def test_an_output_that_cannot_be_is_known_before_the_work(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (home / "file").touch()
    for option in ("--junit", "--json", "--summary"):
        for place, problem in (("mine", "is a folder"), ("file/x.xml", "is a file")):
            assert check(option, place) == 2
            assert problem in capsys.readouterr().err


def _listening() -> None:
    """Ctrl-C reaches the process, even if the tests run in the background of a shell, which ignores it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def _workers(parent: int) -> list[psutil.Process]:
    workers = []
    for child in psutil.Process(parent).children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):
            if "Loky" in " ".join(child.cmdline()):
                workers.append(child)
    return workers


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupted_check_leaves_nothing_behind(number: int, status: int, tmp_path: Path) -> None:
    """It leaves neither its folder nor its workers."""
    command = [
        sys.executable,
        "-m",
        "dpbench",
        "check",
        "gs/fig9",
        "analytics/fig7",
        "--fresh",
        "1",
        "--trials",
        "5000",
    ]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "TMPDIR": str(tmp_path), "LOKY_MAX_CPU_COUNT": "2"}
    with subprocess.Popen(
        command, cwd=tmp_path, env=environment, stderr=subprocess.PIPE, text=True, preexec_fn=_listening
    ) as process:
        until(lambda: list(tmp_path.glob("dpbench-check-*/trials/*/*/*.parquet")), "a first result")
        until(lambda: _workers(process.pid), "a worker")  # the first trials run in the process itself
        workers = _workers(process.pid)
        process.send_signal(number)
        assert process.wait(240) == status
        assert process.stderr is not None
        assert "nothing was compared; --results FOLDER keeps finished trials" in process.stderr.read()
    assert not list(tmp_path.glob("dpbench-check-*"))
    assert not psutil.wait_procs(workers, timeout=300)[1]


def test_an_experiment_without_baseline_is_left_out(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = home / "mine" / "experiment" / "mine" / "sweep.yaml"
    path.write_text(f"{EXPERIMENT}baseline: false\n")
    assert check() == 2
    assert "mine/sweep is not guarded by `check`: its YAML says `baseline: false`" in capsys.readouterr().err


def test_gone_and_nothing_measured_fail(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert check("--update") == 0
    path = home / "mine" / "experiment" / "mine" / "sweep.yaml"
    path.write_text(EXPERIMENT.replace("[noisy, lpa]", "[lpa]"))
    assert check() == 1
    assert "gone: mine/sweep: dataset=small, epsilon=0.5, mechanism=noisy" in capsys.readouterr().out
    path.write_text(EXPERIMENT.replace("epsilon: [0.5, 1]", "epsilon: [3]"))
    assert check() == 1
    assert "Nothing was measured" in capsys.readouterr().out


def test_a_mechanism_that_raises_fails_and_keeps_the_baselines(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    import strangers

    assert check("--update") == 0
    before = (home / "base" / "mine" / "sweep.json").read_text()

    def publish(*_: object) -> None:
        raise RuntimeError("broken today")

    monkeypatch.setattr(strangers.Noisy, "publish", publish)
    assert check() == 1
    assert "RuntimeError: broken today" in capsys.readouterr().out
    assert check("--update") == 2
    assert "the baselines stay as they are" in capsys.readouterr().err
    assert (home / "base" / "mine" / "sweep.json").read_text() == before


def test_strictness() -> None:
    assert failing(strict=False, allow_better=True) == {WORSE, GONE}
    assert failing(strict=False, allow_better=False) == {WORSE, GONE, BETTER, CHANGED}
    assert failing(strict=True, allow_better=False) == {WORSE, GONE, BETTER, CHANGED, NEW}
    asked = {"column_counts": "mae", "record_analytics": "edge_precision_at_10", "category_noise": "noise"}
    found = [metrics_of_tasks()(task, metric) for task, metric in asked.items()]
    assert [(m.better, m.noiseless) for m in found] == [("lower", False), ("higher", False), ("lower", True)]
    assert metrics_of_tasks()("column_counts", "signed").direction == 0
    assert metrics_of_tasks()("column_counts", "nosuch") is None


def test_in_a_users_folder_only_the_users_experiments_count(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def plain(*words: str) -> int:
        return cli.main(["check", "--config-dir", "mine", "--jobs", "1", *words])

    assert plain() == 2
    assert "there are no baselines in results/baselines: python -m dpbench check" in capsys.readouterr().err
    assert plain("--update") == 0
    assert "Wrote the baselines of mine/sweep to results/baselines" in capsys.readouterr().out
    assert plain("--strict") == 0
    (home / "mine" / "experiment" / "mine" / "sweep.yaml").unlink()
    for words in ((), ("--update",)):
        assert plain(*words) == 2
        assert "are of experiments that are gone: mine/sweep" in capsys.readouterr().err
    shutil.rmtree(home / "results")
    assert plain() == 2
    assert "no experiments of your own: name experiments of dpbench" in capsys.readouterr().err


def test_speed_and_history(home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Both are off unless asked for. The times are the test's own: no test depends on the machine."""
    from dpbench.gate import speed

    times = {"noisy": 2.0, "lpa": 3.0}
    monkeypatch.setattr(
        speed, "measured", lambda setting: speed.ReleaseTime(str(setting), *[times[setting.mechanism.name]] * 3)
    )
    assert check("--update") == 0
    assert check("--speed") == 2
    assert "check --speed --update` writes them" in capsys.readouterr().err
    assert check("--speed", "--update") == 0
    times["noisy"] = 2.9
    assert check("--speed") == 0
    assert "No release is slower." in capsys.readouterr().out
    times["noisy"] = 3.1
    assert check("--speed") == 1
    assert "slower: mine/sweep noisy (noisy on small" in (shown := capsys.readouterr().out)
    assert "1.55 times as long as in the baseline" in shown
    assert check("--fresh", "1", "--history") == 2
    monkeypatch.setattr("dpbench.gate.history.here", lambda: ("abc1234", "2026-01-01"))
    assert check("--history") == 0
    assert (home / "base/history.tsv").read_text().count("abc1234") == 2
    assert (home / "results/figures/history.png").is_file()
