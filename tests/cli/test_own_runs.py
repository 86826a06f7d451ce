"""A user's own runs (ad-hoc and named ones) and several experiments at once, on the command line."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

import dpbench as package
from dpbench.cli import main
from dpbench.config.compose import compose
from dpbench.config.selection import USUAL_TASKS, adhoc_name, each_run
from dpbench.errors import UserError
from dpbench.model.run import Run
from dpbench.paths import CONF
from dpbench.storage.commands import own_command

Call = Callable[..., "subprocess.CompletedProcess[str]"]
NUMBER = len(list((CONF / "experiment").glob("*/*.yaml")))
QUICK = ("scale=smoke", "tracking=none", "trials=2", "runner.jobs=1")


@dataclass
class Done:
    returncode: int
    stdout: str
    stderr: str


@pytest.fixture
def door(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Done]:
    """The front door in this process, which is quicker."""
    monkeypatch.chdir(tmp_path)

    def call(*words: str) -> Done:
        status = main([*words])
        return Done(status, *capsys.readouterr())

    return call


def test_which_runs_are_meant() -> None:
    assert each_run(["scale=smoke"], ()) == [["experiment=gs/fig9", "scale=smoke"]]
    assert each_run(["dataset=[netflix]", "trials=2"], ()) == [["dataset=[netflix]", "trials=2"]]
    assert each_run(["dataset.netflix.path=x"], ())[0][0] == "experiment=gs/fig9"
    for word in (
        "experiment=gs/fig7,gs/fig9",
        "experiment=[gs/fig7, gs/fig9]",
        "experiment=['gs/fig7',gs/fig9,gs/fig7]",
    ):
        assert each_run([word, "x=1"], ()) == [["experiment=gs/fig7", "x=1"], ["experiment=gs/fig9", "x=1"]]
    everything = each_run(["experiment=all"], ())
    assert len(everything) == NUMBER
    assert [run for run in everything if run[0].startswith("experiment=epicrec/")] == each_run(
        ["experiment=epicrec"], ()
    )


def test_names_titles_and_tasks() -> None:
    own = compose(overrides={"dataset": ["netflix", "gowalla"], "mechanism": ["lpa"]})
    assert (own.name, own.experiment) == ("adhoc/lpa-on-netflix-gowalla", "")
    assert own.title == "Ad-hoc run: lpa on netflix, gowalla"
    assert [task.name for task in own.tasks] == ["column_counts", "record_analytics"]
    assert len(own.epsilon) == 3
    variation = compose("gs/fig9", overrides={"trials": 3, "name": "three"})
    assert (variation.name, variation.experiment) == ("three", "gs/fig9")
    assert variation.title.startswith("three, a variation of gs/fig9: Figure 9")
    assert compose("gs/fig9", overrides={"name": "x", "title": "Mine"}).title == "Mine"
    assert {*USUAL_TASKS} == {"incidence", "records", "contingency", "catalogue"}
    many = [f"m{i}" for i in range(30)]
    assert adhoc_name(many, ["d"]) != adhoc_name([*many[:-1], "other"], ["d"])
    assert len(adhoc_name([name * 20 for name in many], many)) < 100


WRONG = {
    "name=a/b": "name=a/b is not valid: expected letters",
    "name=../x": "name=../x is not valid",
    "name=gs/fig9": "is not valid",
    "name=gs": "gs stands for experiments",
    "name=all": "all stands for experiments",
    "name=.hidden": "is not valid",
    "name=[x]": "is not valid: expected letters",
    "experiment=[gs/fig9,gs/fig77]": "unknown experiment 'gs/fig77': did you mean 'gs/fig7'?",
    "experiment=alll": "unknown experiment 'alll': did you mean 'all'?",
    "experiment=[]": "expected at least one experiment",
    "experiment=gs name=x": "name=x names one run, and 8 experiments are chosen",
    "experiment=gs trails=3": "unknown setting 'trails'",
    "dataset=[netflix]": "no mechanism is chosen: give mechanism=[NAME,...], or experiment=NAME, such as experiment=gs/fig9",
    "mechanism=[lpa]": "no dataset is chosen",
}


@pytest.mark.parametrize("words", WRONG)
def test_wrong_use(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", *words.split(), "dry=true"]) == 2
    shown = capsys.readouterr()
    assert WRONG[words] in shown.err
    assert shown.err.count("\n") == 1


def test_a_run_of_ones_own_never_stands_for_an_experiment(door: Callable[..., Done], tmp_path: Path) -> None:
    results = tmp_path / "results"
    few = ("dataset=[trajectory]", "mechanism=[lpa,alpa]")
    assert door("run", "experiment=gs/fig9", *few, *QUICK).returncode == 0
    paper = {path: path.read_bytes() for path in (results / "figures" / "gs").iterdir()}
    own = door("run", *few, *QUICK, "metrics=[mae,seconds]")
    assert own.returncode == 0, own.stderr
    assert "Ad-hoc run: lpa, alpa on trajectory" in own.stdout
    assert "0 trials computed, 12 found finished, 0 failed" in own.stdout
    assert "seconds" in own.stdout
    named = door("run", "experiment=gs/fig9", *few, *QUICK, "epsilon=[1]", "name=mytest")
    assert named.returncode == 0, named.stderr
    assert "mytest, a variation of gs/fig9" in named.stdout
    for stem in ("adhoc/lpa-alpa-on-trajectory", "mytest", "gs/fig9"):
        for kind in ("png", "pdf", "csv"):
            assert (results / "figures" / f"{stem}.{kind}").stat().st_size > 100
    assert {path: path.read_bytes() for path in (results / "figures" / "gs").iterdir()} == paper
    assert {*Run.each(results)} == {"gs/fig9", "mytest", "adhoc/lpa-alpa-on-trajectory"}
    drawn = door("figures", "mytest")
    assert drawn.returncode == 0
    assert drawn.stdout.count("wrote") == 3
    assert "unknown experiment or paper 'mytset': did you mean 'mytest'?" in door("figures", "mytset").stderr
    assert door("report").returncode == 0
    page = (results / "report.html").read_text()
    assert "Your own runs" in page
    assert "Ad-hoc run: lpa, alpa on trajectory" in page
    assert f"1 of {NUMBER} experiments were run" in page


def test_original_files_stand_beside_generated_data(door: Callable[..., Done], tmp_path: Path) -> None:
    (tmp_path / "retail.dat").write_text("".join(f"{i % 7} {i % 5 + 7} {i % 3 + 12}\n" for i in range(300)))
    words = ("run", "dataset=[transactions]", "mechanism=[lpa]", *QUICK, "name=both")
    for more in ((), ("dataset.transactions.path=retail.dat",)):
        assert door(*words, *more).returncode == 0
    results = tmp_path / "results"
    assert {*Run.each(results)} == {"both", "both+transactions"}
    drawn = door("figures", "both").stdout
    assert "figures/both.png" in drawn
    assert "figures/both+transactions.png" in drawn
    assert door("report").returncode == 0
    page = (results / "report.html").read_text()
    assert "(transactions: sample of the original file (300 of" in page
    again = own_command(Run.each(results)["both+transactions"])
    assert again.endswith("dataset.transactions.path=retail.dat trials=2 name=both")
    assert "'dataset=[transactions]' 'mechanism=[lpa]' 'task=[column_counts]'" in again


def test_several_experiments_in_one_go(door: Callable[..., Done], dpbench: Call, tmp_path: Path) -> None:
    """Each is a run of its own. One that cannot be run does not stop the others."""
    few = ("dataset=[trajectory]", "mechanism=[lpa]", *QUICK)
    planned = door("run", "experiment=gs/fig9,gs/fig10", *few, "dry=true")
    assert planned.returncode == 0, planned.stderr
    assert "2 experiments: 6 settings, 12 trials. Nothing was computed." in planned.stdout
    assert not (tmp_path / "results").exists()
    shown = door("run", "experiment=gs/fig9,gs/fig10", *few, "runner.shard=2/3", "dry=true").stdout
    assert "2 experiments: 2 settings, 4 trials. Nothing was computed." in shown
    rows = [tuple(line.replace("│", " ").split()) for line in shown.splitlines() if "/3" in line and "│" in line]
    assert rows == [("1/3", "4", "0"), ("2/3", "(this", "one)", "4", "0"), ("3/3", "4", "0")]
    done = dpbench("run", "experiment=[gs/fig9,gs/fig10,sparse/filtering]", *few)
    assert done.returncode == 1
    assert "not run: sparse/filtering: " in done.stderr
    assert "2 experiments: 6 trials computed, 6 found finished, 0 failed" in done.stdout
    assert "6 trials computed, 0 found finished, 0 failed" in done.stdout
    assert "0 trials computed, 6 found finished, 0 failed" in done.stdout
    assert {*Run.all(tmp_path / "results")} == {"gs/fig9", "gs/fig10"}
    for figure in ("fig9", "fig10"):
        assert (tmp_path / "results" / "figures" / "gs" / f"{figure}.png").exists()
    again = door("run", "experiment=gs/fig9,gs/fig10", *few)
    assert again.returncode == 0
    assert "2 experiments: 0 trials computed, 12 found finished, 0 failed" in again.stdout


def test_in_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run = package.run(dataset="trajectory", mechanism=["lpa"], scale="smoke", trials=2, jobs=1, epsilon=[1])
    assert run.name == "adhoc/lpa-on-trajectory"
    assert len(run.trials()) == 2
    assert package.load("results", run.name) == run
    assert run.figure() is not None
    paper = package.run("gs/fig9", scale="smoke", trials=2, jobs=1, dataset=["trajectory"], mechanism=["lpa"])
    assert paper.name == "gs/fig9"
    with pytest.raises(UserError, match="expected a name, or an object with `release`"):
        package.run(dataset="trajectory", mechanism=[object()])
