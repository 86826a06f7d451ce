"""What is wrong in a run is an error: unknown keys, overrides without effect; in YAML with the line."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from dpbench.cli import main
from dpbench.config.compose import compose
from dpbench.config.overrides import override
from dpbench.config.schema import EpsilonDelta, Rho, _budgets, known_metric
from dpbench.errors import UserError
from dpbench.tasks.base import TASKS

HEAD = """# @package _global_
defaults:
  - override /dataset: [trajectory]
  - override /mechanism: [lpa, gs]
  - override /task: [column_counts]
"""
LINE = "sweep.yaml, line 6: "
YAML = {
    "epsilons: [1]": LINE + "unknown setting 'epsilons': did you mean 'epsilon'?",
    "dataset: [trajectory]": LINE
    + "`dataset: [trajectory]` chooses nothing: expected `- override /dataset: [trajectory]`",
    "mechanism: {gss: {w: 5}}": LINE + "unknown mechanism 'gss': did you mean 'gs'?",
    "mechanism: {fpa: {bound: 5}}": LINE + "parameters of mechanism 'fpa' have no effect",
    "mechanism: {gs: {v: 5}}": LINE + "mechanism 'gs' has no parameter 'v'",
    "mechanism: {gs: 5}": LINE + "mechanism.gs=5 is not valid: expected parameters",
    "mechanism: {gs: {class: os.system}}": LINE + "mechanism 'os.system' is a builtin_function_or_method",
    "task: {column_counts: {sanit: 1}}": LINE + "task 'column_counts' has no parameter 'sanit': did you mean 'sanity'?",
    "dataset: {trajectory: {rwos: 5}}": LINE + "dataset 'trajectory' has no parameter 'rwos': did you mean 'rows'?",
    "dataset: {trajectory: {sizes: {huge: {}}}}": LINE + "unknown scale in dataset.trajectory.sizes: 'huge'",
    "dataset: {trajectory: {sizes: {smoke: {rwos: 1}}}}": LINE + "dataset 'trajectory', sizes.smoke, has no parameter",
    "dataset: {trajectory: {path: /nonexistent}}": LINE + "dataset.trajectory.path=/nonexistent: there is no such file",
    "dataset: {trajectory: {path: ., source: generator}}": LINE
    + "dataset.trajectory.source=generator and dataset.traj",
    "runner: {jbos: 2}": LINE + "unknown setting 'runner.jbos': did you mean 'runner.jobs'?",
    "tracking: none": LINE + "tracking='none' is not valid: expected one of: mlflow, none",
    "trials: 0": LINE + "trials=0 is not valid: expected a positive whole number",
    "figure: 3": LINE + "figure=3 is not valid: expected true or false",
    "runner: {jobs: 0}": LINE + "runner.jobs=0 is not valid: expected a positive whole number, or -1 for all cores",
    "metrics: [mea]": LINE + "unknown metric 'mea': did you mean 'mae'?",
    "epsilon: [1]\nepsilon: [2]": "sweep.yaml, line 7: the key 'epsilon' occurs twice, first in line 6",
    "title: [": "sweep.yaml, line 7: ",
}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to work in."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine" / "experiment").mkdir(parents=True)
    return tmp_path


def told(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """What `run` says of words that are wrong: one line, status 2, nothing else."""
    assert main(["run", *words, "scale=smoke", "dry=true"]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.count("\n") == 1
    return shown.err


@pytest.mark.parametrize("text", YAML)
def test_in_an_experiment(home: Path, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    (home / "mine" / "experiment" / "sweep.yaml").write_text(f"{HEAD}{text}\n")
    assert YAML[text] in told(capsys, "--config-dir", "mine", "experiment=sweep")


ENTRY = {
    "foo: {clas: lpa}": "foo.yaml, line 1: unknown key 'clas': did you mean 'class'?",
    "\nfooo: {class: lpa}": "foo.yaml, line 2: unknown key 'fooo': did you mean 'foo'?",
    "foo:\n  class: lpa\n  bond: 3": "foo.yaml, line 3: mechanism 'foo' has no parameter 'bond': did you mean 'bound'?",
    "foo:\n  class: lpaa": "foo.yaml, line 2: unknown mechanism 'lpaa': did you mean 'lpa'?",
    "class: lpa": "foo.yaml: expected `foo: {class: ...}`, as every mechanism has",
    "foo: {class: lpa": "foo.yaml, line 2: ",
    "foo:\n  class: lpa\n  class: gs": "foo.yaml, line 3: ",
    "foo: [lpa]": "foo.yaml, line 1: expected `foo: {class: ...}`, as every mechanism has",
}


@pytest.mark.parametrize("text", ENTRY)
@pytest.mark.parametrize("chosen", ["by a word", "by an experiment"])
def test_in_an_entry(home: Path, text: str, chosen: str, capsys: pytest.CaptureFixture[str]) -> None:
    """File and line of the user's own mechanism, whoever chooses it."""
    (home / "mine" / "mechanism").mkdir()
    (home / "mine" / "mechanism" / "foo.yaml").write_text(f"{text}\n")
    (home / "mine" / "experiment" / "sweep.yaml").write_text(HEAD.replace("lpa, gs", "foo"))
    words = ["experiment=sweep"] if chosen == "by an experiment" else ["dataset=[trajectory]", "mechanism=[foo]"]
    assert f"mine/mechanism/{ENTRY[text]}" in told(capsys, "--config-dir", "mine", *words)


def test_an_experiment_as_it_should_be(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Every key that is known, parameters of a mechanism that the user leaves out, metrics of a task that he leaves out."""
    path = home / "mine" / "experiment" / "sweep.yaml"
    path.write_text(
        f"{HEAD}title: x\nepsilon: [1]\ntrials: 2\nmetrics: [mae]\nbaseline: false\nmechanism: {{gs: {{w: [5, 6]}}}}\n"
    )
    for words in ((), ("mechanism=[lpa]",), ("task=[statistics]",), ("runner=dask", "runner.address=tcp://x:1")):
        assert main(["run", "--config-dir", "mine", "experiment=sweep", "scale=smoke", "dry=true", *words]) == 0
    path.write_text("title: x\n")
    capsys.readouterr()
    assert "sweep.yaml: expected `# @package _global_` as its first line" in told(
        capsys, "--config-dir", "mine", "experiment=sweep"
    )


WORDS = {
    "+foo=1": "unknown setting 'foo'",
    "+epsilons=[1]": "unknown setting 'epsilons': did you mean 'epsilon'?",
    "+dataset.x.y=1": "dataset 'x' is not in this run",
    "++runner.foo=1": "unknown setting 'runner.foo'",
    "++tracking.url=1": "unknown setting 'tracking.url': did you mean 'tracking.uri'?",
    "metrics=[mea]": "unknown metric 'mea': did you mean 'mae'?",
    "metrics=[mae,{a:1}]": "is not valid: expected names of metrics",
    "dataset.trajectory.sizes=x": "dataset.trajectory.sizes='x' is not valid: expected parameters by scale",
    "dataset.trajectory.sizes.smoke=x": "dataset.trajectory.sizes.smoke='x' is not valid: expected parameters",
    "dataset.trajectory.sizes.huge.rows=5": "unknown scale in dataset.trajectory.sizes: 'huge'",
    "dataset.trajectory.sizes.smoke.rwos=5": "has no parameter 'rwos': did you mean 'rows'?",
    "dataset.trajectory.sizes.paper.rows=5": "has no effect at scale=smoke: give dataset.trajectory.rows=VALUE, or scale=paper",
    "paper_trials=5": "paper_trials has no effect at scale=smoke: give trials=NUMBER",
    "runner.address=tcp://x:1": "runner.address has no effect without runner=dask",
    "runner=[true]": "runner=[true] is not valid: expected one runner",
    "+experiment=[[1]]": "is not valid: expected one experiment",
    "~mechanism=false": "cannot read '~mechanism=false': expected mechanism=[NAME,...]",
    "++mechanism=5": "cannot read '++mechanism=5': expected mechanism=[NAME,...]",
    "mechanism.lpa=5": "mechanism.lpa=5 is not valid: expected parameters",
    "mechanism.lpa.class=os.system": "expected a class with `release`",
    "mechanism.lpa.class=[1]": "mechanism.lpa.class=[1] is not valid: expected a name or a dotted path",
    "mechanism.lpa.class=..x": "'..x'",
    "mechanism.lpa.bound=${nothing}": "Interpolation key 'nothing' not found",
    "baseline=false": "baseline has no effect on a run: it belongs in an experiment's YAML",
    "title=[1]": "title=[1] is not valid: expected a text",
    "trials=1e300": "expected a positive whole number, at most 10000000",
    "results=[a]": "results=['a'] is not valid: expected a folder",
    "tracking.enabled=maybe": "tracking.enabled='maybe' is not valid: expected true or false",
    "tracking.uri=[1]": "tracking.uri=[1] is not valid",
    "runner.address=5": "runner.address=5 is not valid",
}


@pytest.mark.parametrize("word", WORDS)
def test_on_the_command_line(home: Path, word: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert WORDS[word] in told(capsys, "dataset=[trajectory]", "mechanism=[lpa]", word)


def test_results_that_are_a_file(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (home / "file").write_text("")
    assert "results=file is not valid: it is a file, expected a folder" in told(capsys, "results=file")
    assert f"{home / 'file'} is a file, expected a folder" in told(capsys, "results=file/inside")
    for verb in ("claims", "check", "figures", "report", "track"):
        assert main([verb, "--results", "file"]) == 2, verb


def test_results_inside_a_configuration_folder(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Hydra would take conf/trials for a group of options, and every later run there would fail."""
    (home / "conf" / "mechanism").mkdir(parents=True)
    for folder in ("conf", "conf/mechanism", "./conf/results"):
        assert "holds YAML files: expected a folder outside of the configuration" in told(capsys, f"results={folder}")
    assert "results=mine is not valid" in told(capsys, "--config-dir", "mine", "results=mine")
    assert not (home / "conf" / "trials").exists()
    assert main(["run", "results=confresults", "scale=smoke", "dry=true"]) == 0


def test_a_path_means_files(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What the `data` verb advises: a path alone reads the files. Nothing is generated in their place."""
    (home / "retail.dat").write_text("0 1 2\n1 2\n")
    words = ("dataset=[transactions]", "mechanism=[lpa]", "dataset.transactions.path=retail.dat")
    (read,) = compose(overrides=words, scale="smoke").datasets
    assert read.source == "fimi"
    assert read.params["path"] == str(home / "retail.dat")
    (asked,) = compose(overrides=[*words, "dataset.transactions.source=files"], scale="smoke").datasets
    assert asked == read
    both = told(capsys, *words, "dataset.transactions.source=generator")
    assert (
        "dataset.transactions.source=generator and dataset.transactions.path=retail.dat contradict each other" in both
    )
    gone = told(capsys, *words[:2], "dataset.transactions.path=/nonexistent")
    assert "dataset.transactions.path=/nonexistent: there is no such file or folder" in gone
    own = told(capsys, "dataset=[gaussian]", "mechanism=[geometric]", "dataset.gaussian.path=retail.dat")
    assert "gaussian is generated, and no files of it are read" in own
    sized = told(capsys, *words, "dataset.transactions.rows=5")
    assert "dataset.transactions.rows has no effect: transactions is read from files" in sized
    sized = told(capsys, *words, "dataset.transactions.sizes.smoke.rows=5")
    assert "transactions is read from files, which have their own sizes" in sized


def test_known_metrics() -> None:
    tasks = {name: TASKS.get(name) for name in ("column_counts", "leaderboard", "range_queries", "user_sizes")}
    assert known_metric(tasks["column_counts"], "mae")
    assert not known_metric(tasks["column_counts"], "mea")
    assert known_metric(tasks["leaderboard"], "precision_at_10")
    assert not known_metric(tasks["leaderboard"], "recall_at_10")
    assert known_metric(tasks["range_queries"], "abs_error/200")
    assert known_metric(tasks["user_sizes"], "at_least_200")

    class Stranger:
        def score(self) -> None: ...

    assert known_metric(Stranger, "anything")


def test_typed_overrides_are_what_the_words_say(home: Path) -> None:
    words = ["dataset=[trajectory]", "mechanism=[lpa,gs]", "epsilon=[0.1,ln2]", "seed=3", "figure=false", "results=a b"]
    typed = {"dataset": ["trajectory"], "mechanism": ["lpa", "gs"], "epsilon": [0.1, "ln2"], "seed": 3, "figure": False}
    assert compose("gs/fig9", "smoke", words) == compose("gs/fig9", "smoke", {**typed, "results": Path("a b")})
    for name in (
        "it's",
        "a,b",
        "[x]",
        "back\\slash",
        "end\\",
        "q\\'q",
        'say "x"',
        "a=b",
        "true",
        "5",
        "é",
        "a b",
        "{x}",
    ):
        assert compose("epicrec/example", "smoke", {"results": name}).results == Path(name), override("results", name)
    assert compose("epicrec/example", "smoke", ["results=größer als/日本"]).results == Path("größer als/日本")
    with pytest.raises(UserError, match=r"trials=0 is not valid"):
        compose("gs/fig9", "smoke", {"trials": 0})
    with pytest.raises(UserError, match=r"--config-dir nowhere: there is no such folder"):
        compose("gs/fig9", folders=[Path("nowhere")])


@pytest.mark.parametrize("given", ["rho:0.5", "rho=0.5", "rho 0.5", {"rho": 0.5}])
def test_a_budget_may_be_rho(given):
    assert _budgets("epsilon", [given, "ln2", given]) == (Rho(0.5), math.log(2))


def test_a_budget_may_be_a_pair_and_wrong_ones_say_what_is_expected():
    assert _budgets("epsilon", [["ln2", 1e-6], 0.5]) == (EpsilonDelta(math.log(2), 1e-6), 0.5)
    for pair in ([0.5, 0], [0.5, 1], [0.5, 1e-6, 1], [0.5]):
        with pytest.raises(UserError, match=r"expected a pair \(ε, δ\) with δ between 0 and 1, such as \[0.5,1e-6\]"):
            _budgets("epsilon", [pair])
    with pytest.raises(UserError, match=r"rho=-1\.0 is not valid: expected a positive number"):
        _budgets("epsilon", ["rho:-1"])
