"""The verb `audit` on the command line: the table, the JSON, the exit status, and the messages for wrong use."""

from __future__ import annotations

import json
import resource
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from support import door

Call = Callable[..., "subprocess.CompletedProcess[str]"]

MINE = """
from dataclasses import dataclass

@dataclass(frozen=True)
class Noisy:
    bound: int = 2
    factor: float = 1.0

    def release(self, data, epsilon, rng):
        return (data.counts + rng.laplace(0.0, self.bound / epsilon / self.factor, data.columns)).tolist()

class Broken(Noisy):
    def __init__(self):
        super().__init__(factor=4.0)

class Graph(Noisy):
    kinds = ("graf",)

class Fails:
    def release(self, data, epsilon, rng):
        raise ValueError("not today")
"""


def test_ours(dpbench: Call, tmp_path: Path) -> None:
    done = dpbench("audit", "lpa", "pf_peeling(k=1)", "--pairs", "20", "--epsilon", "ln2", "--json", "out/audit.json")
    assert done.returncode == 0, done.stderr
    assert "holds on 20 pairs" in done.stdout
    assert "declared not private, as found" in done.stdout
    assert "0.6931" in done.stdout
    found = json.loads((tmp_path / "out" / "audit.json").read_text())
    assert [one["mechanism"] for one in found] == ["lpa", "lpa", "lpa", "pf_peeling"]
    assert {one["forms"] for one in found} == {"float", "float, exact"}
    assert not any(one["violated"] for one in found)
    reads = next(one for one in found if one["parameters"] == "" and one["mechanism"] == "lpa")
    assert (reads["verdict"], reads["loss"]) == ("declared not private", None)
    assert {"method", "guarantee", "epsilon", "delta", "pair", "step", "seed", "version", "pairs"} <= set(found[0])


def test_a_class_of_ones_own(dpbench: Call, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(MINE)
    done = dpbench("audit", "mine.Noisy", "mine.Broken", "--pairs", "4", "--seconds", "3", "--json", "a.json")
    assert done.returncode == 1, done.stderr
    assert "inconclusive: it has no method publish(data, epsilon, noise)" in " ".join(done.stdout.split())
    assert "VIOLATED" in done.stdout
    good, bad = json.loads((tmp_path / "a.json").read_text())
    assert (good["method"], good["violated"], bad["violated"]) == ("sequential test", False, True)
    assert bad["pair"]
    assert bad["step"]


def test_nothing_measured_is_no_success(dpbench: Call, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(MINE)
    done = dpbench("audit", "mine.Fails", "--pairs", "2", "--seconds", "2")
    assert done.returncode == 1
    assert "every release raised ValueError: not today" in " ".join(done.stdout.split())
    assert "Traceback" not in done.stderr


def test_own_data(dpbench: Call, tmp_path: Path) -> None:
    (tmp_path / "visits.csv").write_text("user,item\nann,x\nann,y\nbob,x\ncid,z\n")
    done = dpbench("audit", "lpa(bound=2)", "lpa(bound=1)", "--data", "visits.csv", "--json", "a.json")
    kept, refused = json.loads((tmp_path / "a.json").read_text())
    assert (kept["verdict"], kept["pairs"], kept["loss"]) == ("holds", 3, pytest.approx(1.0))
    assert kept["pair"] == "without and with user ann (2 entries)"
    assert refused["verdict"] == "inconclusive"
    assert "bound=1 is below the largest row" in refused["reason"]
    assert done.returncode == 1, "one of them was not measured"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["lpaa"], "unknown mechanism 'lpaa': did you mean 'lpa'?"),
        (["mine.Nois"], "mine has no 'Nois': did you mean 'Noisy'?"),
        (["mine.Graph"], "unknown data kind of mine.Graph 'graf'"),
        (["lpa(bund=2)"], "no parameter 'bund': did you mean 'bound'?"),
        (["lpa", "--epsilon", "0"], "epsilon='0' is not valid"),
        (["lpa", "--pairs", "0"], "pairs=0 is not valid"),
        (["lpa", "--seconds", "-1"], "seconds=-1.0 is not valid"),
        (["lpa", "--seed", "-1"], "seed=-1 is not valid"),
        (["mine.Noisy", "--delta", "1"], "delta=1.0 is not valid"),
        (["lpa", "--delta", "0.1"], "--delta has no effect: lpa states ε"),
        (["lpa", "--json", "."], "--json . is a folder"),
        (["lpa", "--data", "none.csv"], "--data none.csv is not a file"),
        (["geometric", "--data", "visits.csv"], "geometric takes contingency data"),
    ],
)
def test_wrong_use(
    words: list[str],
    told: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    from dpbench.cli import main

    (tmp_path / "mine.py").write_text(MINE)
    (tmp_path / "visits.csv").write_text("user,item\nann,x\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(__import__("sys").modules, "mine", raising=False)
    assert main(["audit", *words]) == 2
    shown = capsys.readouterr()
    assert told in shown.err
    assert shown.err.count("\n") == 1


@pytest.mark.slow
@pytest.mark.timed
def test_everything_in_two_minutes(tmp_path: Path) -> None:
    """By the processor's time, which a busy machine does not stretch; a Python of its own is a child whose time is counted."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = door.cold("audit", "--json", "all.json", cwd=tmp_path, timeout=3600)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert done.returncode == 0, done.stdout
    found = json.loads((tmp_path / "all.json").read_text())
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 120
    assert {one["verdict"] for one in found} <= {"holds", "declared not private", "inconclusive"}
    assert len({one["mechanism"] for one in found}) >= 25


def test_findings_are_kept_for_the_report(dpbench: Call, tmp_path: Path) -> None:
    from dpbench.ranking.entitled import verdicts

    assert dpbench("audit", "lpa", "--pairs", "20").returncode == 0
    assert dpbench("audit", "alpa", "--pairs", "20", "--results", "results").returncode == 0
    assert dict(verdicts(tmp_path / "results")) == {
        "lpa": "holds with private parameters on 40 pairs",
        "alpa": "holds on 40 pairs",
    }
    (tmp_path / "visits.csv").write_text("user,item\na,x\nb,x\nb,y\n")
    own = dpbench("audit", "lpa(bound=3)", "--data", "visits.csv", "--results", "results")
    assert own.returncode == 2
    assert "--results has no effect with --data" in own.stderr
    (tmp_path / "file").write_text("")
    wrong = dpbench("audit", "lpa", "--results", "file")
    assert wrong.returncode == 2
    assert "expected a folder" in wrong.stderr
