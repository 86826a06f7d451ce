"""Command lines of `run` that are wrong: one line that names the word and the nearest valid one, and exit status 2."""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from dpbench.cli import main

Call = Callable[..., "subprocess.CompletedProcess[str]"]
WRONG = {
    "--experiment gs/fig9": "unknown option '--experiment': did you mean 'experiment='?",
    "--epsilon 0.5": "unknown option '--epsilon': did you mean 'epsilon='?",
    "--trials=3": "unknown option '--trials': did you mean 'trials='?",
    "--foo": "unknown option '--foo'",
    "--experimental-rerun job.pickle": "unknown option '--experimental-rerun'",
    "--config-name other": "unknown option '--config-name'",
    "--cfg": "--cfg needs a value",
    "--cfg jub": "--cfg='jub' is not valid: did you mean 'job'?",
    "--resolve=yes": "--resolve takes no value",
    "something": "cannot read 'something': expected key=value, such as experiment=gs/fig9",
    "gs/fig9": "cannot read 'gs/fig9': expected key=value: did you mean experiment=gs/fig9?",
    "fig9": "cannot read 'fig9': expected key=value: did you mean experiment=analytics/fig9 or experiment=gs/fig9?",
    "netflix": "did you mean dataset=netflix?",
    "column_counts": "did you mean task=column_counts?",
    "netflx": "cannot read 'netflx': expected key=value, such as experiment=gs/fig9; did you mean 'netflix'?",
    "experiment gs/fig9": "cannot read 'experiment': expected key=value: did you mean experiment=VALUE?",
    "mechanism=lpa,gs": "'mechanism=lpa,gs' has several values: expected brackets for a list, 'mechanism=[lpa,gs]', or -m",
    "epsilon=0.1,ln2": "expected brackets for a list, 'epsilon=[0.1,ln2]', or -m for one run with each",
    "mechanism.gs.w=1,2": "expected brackets for a list, 'mechanism.gs.w=[1,2]'",
    "seed=1,2": "'seed=1,2' has several values: expected one value, or -m for one run with each",
    "runner.jobs=1,2": "'runner.jobs=1,2' has several values: expected one value, or -m",
    "~dataset": "cannot read '~dataset': expected dataset=[NAME,...], of: adult, ",
    "~mechanism.gs": "cannot read '~mechanism.gs': expected mechanism=[NAME,...], of: ",
    "~tracking": "cannot read '~tracking': expected tracking=NAME, of: mlflow, none",
    "hydra.run.dir=elsewhere": "hydra.run.dir has no effect: give results=FOLDER",
    "task=[colum_counts] dataset=netflix mechanism=lpa": "unknown task 'colum_counts': did you mean 'column_counts'?",
}


@pytest.mark.parametrize("words", WRONG)
def test_wrong_words(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", *shlex.split(words)]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.count("\n") == 1
    assert WRONG[words] in shown.err


def test_from_outside(dpbench: Call, tmp_path: Path) -> None:
    done = dpbench("run", "--experiment", "gs/fig9")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "dpbench: unknown option '--experiment': did you mean 'experiment='?\n"
    assert list(tmp_path.iterdir()) == []


def test_what_is_advised_is_accepted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    few = ["scale=smoke", "dataset=trajectory", "dry=true"]
    assert main(["run", *few, "mechanism=[lpa,gs]", "epsilon=[0.1,ln2]", "mechanism.gs.w=[1,2]"]) == 0
    assert main(["run", "-m", *few, "mechanism=lpa", "seed=1,2"]) == 0


def test_what_hydra_offers_still_works(capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["--cfg", "job"], ["--info", "searchpath"], ["-i", "scale=smoke"], ["--cfg=job", "mechanism=[lpa]"]):
        assert main(["run", *words]) == 0, words
    assert main(["run", "-m", "scale=smoke", "mechanism=lpa,gs", "dataset=trajectory", "dry=true"]) == 0
    out = capsys.readouterr().out
    assert out.count("Nothing was computed.") == 2


def test_the_help_of_hydra(dpbench: Call) -> None:
    done = dpbench("run", "--hydra-help")
    assert (done.returncode, done.stderr) == (0, "")
    assert "Powered by Hydra" in done.stdout or "--multirun" in done.stdout
