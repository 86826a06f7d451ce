"""Command lines in another style are corrected; fuzzed ones give one line, and never a traceback."""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from dpbench.cli import main

from support.fuzz import command_line

Call = Callable[..., "subprocess.CompletedProcess[str]"]
MEANT = {
    "--experiment gs/fig9": "experiment=gs/fig9",
    "--experiment=gs/fig9 --scale smoke": "experiment=gs/fig9 scale=smoke",
    "gs/fig9": "experiment=gs/fig9",
    "fig7 smoke": "experiment=analytics/fig7 scale=smoke",
    "experiment gs/fig9": "experiment=gs/fig9",
    "experiment = gs/fig9 trials=2": "experiment=gs/fig9 trials=2",
    "mechanism=lpa,gs scale=smoke": "'mechanism=[lpa,gs]' scale=smoke",
    "epsilon=0.1,ln2": "'epsilon=[0.1,ln2]'",
    "--scale smoke": "scale=smoke",
    "--mechanisms lpa gs --trials 3": "'mechanism=[lpa,gs]' trials=3",
    "--jobs 2 --dry-run": "runner.jobs=2 dry=true",
    "lpa": "'mechanism=[lpa]'",
    "netflix": "'dataset=[netflix]'",
    "dry": "dry=true",
    "--config-dir . gs/fig9 -m": "--config-dir . experiment=gs/fig9 -m",
}


@pytest.mark.parametrize("words", MEANT)
def test_the_command_that_is_meant(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", *shlex.split(words)]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.count("\n") == 1
    assert shown.err.endswith(f"Did you mean: python -m dpbench run {MEANT[words]}\n")


def test_from_outside(dpbench: Call, tmp_path: Path) -> None:
    done = dpbench("run", "--experiment", "gs/fig9")
    assert (done.returncode, done.stdout) == (2, "")
    assert "Did you mean: python -m dpbench run experiment=gs/fig9\n" in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--foo"], "unknown option '--foo'"),
        (["--experimental-rerun", "job.pickle"], "unknown option '--experimental-rerun'"),
        (["--config-name", "other"], "unknown option '--config-name'"),
        (["--cfg"], "--cfg needs a value"),
        (["--cfg", "jub"], "--cfg='jub' is not valid: did you mean 'job'?"),
        (["--resolve=yes"], "--resolve takes no value"),
        (["something"], "cannot read 'something': expected key=value, such as experiment=gs/fig9"),
    ],
)
def test_flags_and_words_that_mean_nothing(words: list[str], told: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", *words]) == 2
    assert told in capsys.readouterr().err


def test_what_hydra_offers_still_works(capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["--cfg", "job"], ["--info", "searchpath"], ["-i", "scale=smoke"], ["--cfg=job", "mechanism=[lpa]"]):
        assert main(["run", *words]) == 0, words
    assert main(["run", "-m", "scale=smoke", "mechanism=lpa,gs", "dataset=trajectory", "dry=true"]) == 0
    out = capsys.readouterr().out
    assert out.count("Nothing was computed.") == 2


def cheap(monkeypatch: pytest.MonkeyPatch) -> None:
    """Verbs that would measure for minutes, or ask the network, do neither."""
    from dpbench.audit import judge
    from dpbench.bench.base import Row
    from dpbench.cli import bench, check
    from dpbench.sources.download import fetch

    def refuse(*_: object, **__: object) -> None:
        raise fetch.FetchError("there is no network in a test")

    monkeypatch.setattr(fetch, "fetch", refuse)
    monkeypatch.setattr(judge, "findings", lambda *_: iter(()))
    monkeypatch.setattr(check, "_measure", lambda *_: {})
    for name in bench.BENCHES:
        monkeypatch.setitem(bench.BENCHES, name, lambda: iter([Row("x", "1 s", "2 s", True)]))


@pytest.mark.parametrize("block", range(5))
def test_fuzzed_command_lines(
    block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """150 of them, from fixed seeds: an exit status, and a line for `run` that is wrong. Before, one in a hundred gave a
    traceback."""
    monkeypatch.chdir(tmp_path)
    cheap(monkeypatch)
    for seed in range(30 * block, 30 * block + 30):
        words = command_line(seed)
        try:
            status = main(words)
        except SystemExit as end:  # argparse
            status = int(end.code or 0)
        shown = capsys.readouterr()
        assert status in (0, 1, 2), words
        assert "Traceback" not in shown.err, words
        if words[0] == "run" and status == 2:
            assert shown.err.startswith("dpbench: "), words
            assert shown.err.count("\n") == 1, (words, shown.err)
    assert not (tmp_path / "results" / "trials").exists(), "dry means dry"
