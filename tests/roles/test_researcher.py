"""The path of a researcher: the tutorials "Compare your mechanism" and "Your own data", and own files beside them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from support.paths import ROOT
from support.tutorials import follow

Call = Callable[..., subprocess.CompletedProcess[str]]
pytestmark = pytest.mark.slow

MINE = """
from dataclasses import dataclass
from dpbench import Counts, Mechanism


@dataclass(frozen=True, kw_only=True)
class Rounded(Mechanism):
    step: float = 10.0
    bound: int = 12

    def publish(self, data, epsilon, noise):
        noisy = noise.laplace(data.counts, scale=self.bound / epsilon)
        return Counts(counts=self.step * (noisy / self.step).round())
"""

STUDY = """
import dpbench
from mine import Rounded

data = dpbench.dataset("table", path="visits.parquet", user="who", item="place")
run = dpbench.run(dataset={"visits": data}, mechanism=["lpa", Rounded(step=1.0)], epsilon=[1.0], trials=4, jobs=2)
mean = run.summary().set_index("mechanism")["mae"]
assert 0 < mean["Rounded"] < 100, mean
run.figure().savefig("study.png")
print(data, len(run.trials()))
"""


def test_compare_your_mechanism(tmp_path: Path) -> None:
    told = follow("compare", tmp_path)
    assert "holds on 40 pairs" in told.output("audit")
    assert "† not private as run: lpa, gs, Rounded" in told.output("name=first")
    assert "†" not in told.output("name=declared"), "the page says that the mark is gone"
    assert "12 trials computed, 24 found finished, 0 failed" in told.output("sed -i"), "only one's own is computed"
    standing = told.output("compare mine.Rounded")
    assert "on the board pure ε" in standing
    assert "regret" in standing
    assert "Audit at ε = 1: holds" in standing
    assert "Rounded" in told.output("import dpbench")
    for file in ("declared.png", "declared.csv", "compare/mine.Rounded-on-trajectory-document-epsilon0.1-1.png"):
        assert (tmp_path / "results/figures" / file).is_file()


def test_your_own_data(tmp_path: Path) -> None:
    told = follow("own_data", tmp_path)
    first = told.output("name=visits")
    assert "Data of table: own data, visits.csv" in first
    assert "† not private as run: lpa, gs" in first
    assert "mechanism.lpa.bound=NUMBER" in first, "the page says that the output says what to do"
    assert "†" not in told.output("name=declared")
    advice = told.output("compare --dataset")
    assert advice.index("pure ε") < advice.index("(ε, δ)") < advice.index("reads the data")
    assert "perhaps: not certainly worse" in advice
    assert "café 1" in told.output('rng="secure"'), "the largest count is found"
    assert "Records(" in told.output("Records.from_pandas")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An empty folder with the two files of the researcher."""
    rng = np.random.default_rng(1)
    users = np.repeat([f"user {i}" for i in range(200)], rng.integers(1, 9, 200))
    places = np.array(["Café", "Inn", "Bar, the", "Zoo", "Park"])[rng.integers(0, 5, users.size)]
    frame = pd.DataFrame({"who": users, "place": places}).drop_duplicates()
    frame.to_csv(tmp_path / "visits.csv", index=False)
    frame.to_parquet(tmp_path / "visits.parquet")
    (tmp_path / "mine.py").write_text(MINE)
    return tmp_path


def test_from_two_files_to_results(folder: Path, dpbench: Call) -> None:
    table = ("dataset=table", "dataset.table.path=visits.csv", "dataset.table.user=who", "dataset.table.item=place")
    quick = ("epsilon=1", "trials=4", "runner.jobs=2", "tracking=none")
    done = dpbench("run", *table, "mechanism=[lpa,mine.Rounded]", "mechanism.Rounded.step=[1,5]", *quick, "name=first")
    assert done.returncode == 0, done.stderr
    assert "12 trials computed, 0 found finished, 0 failed" in done.stdout
    assert "Data of table: own data, visits.csv" in done.stdout
    assert "chosen without looking at the data: mechanism.lpa.bound=NUMBER" in done.stdout
    assert "largest user" not in done.stdout, "a bound that is read from the data protects nobody"
    for form in ("png", "pdf", "csv"):
        assert (folder / f"results/figures/first+table.{form}").is_file()
    again = dpbench("run", *table, "mechanism=[lpa,mine.Rounded]", "mechanism.Rounded.step=[1,5]", *quick, "name=first")
    assert "0 trials computed, 12 found finished" in again.stdout
    named = dpbench(
        "run", *table, "mechanism=[mine.Rounded]", "task=[top_items]", "task.top_items.k=2", *quick, "name=top"
    )
    assert named.returncode == 0, named.stderr
    import dpbench as package

    top = package.load(folder / "results", "top").trials()["diagnostic.top_1"]
    assert {*top} <= {"Café", "Inn", "Bar, the", "Zoo", "Park"}
    audited = dpbench("audit", "mine.Rounded(bound=3)", "--pairs", "10")
    assert audited.returncode == 0, audited.stdout
    own = dpbench("audit", "mine.Rounded", "--data", "visits.csv", "--user", "who", "--item", "place", "--pairs", "3")
    assert "holds on 3 pairs" in own.stdout, own.stdout + own.stderr


def test_the_same_in_python(folder: Path) -> None:
    (folder / "study.py").write_text(STUDY)
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "study.py"], cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Incidence(200 rows x 5 columns")
    assert (folder / "study.png").stat().st_size > 1000


def test_a_bad_line_is_named(folder: Path, dpbench: Call) -> None:
    with (folder / "visits.csv").open("a") as file:
        file.write("user 3,\n")
    line = len((folder / "visits.csv").read_text().splitlines())
    words = ("dataset=table", "dataset.table.path=visits.csv", "dataset.table.user=who", "dataset.table.item=place")
    done = dpbench("run", *words, "mechanism=[lpa]", "epsilon=1", "trials=2", "runner.jobs=1", "tracking=none")
    assert (done.returncode, done.stdout) == (2, "")
    assert f"visits.csv, line {line}: place is empty" in done.stderr
    wrong = dpbench("run", *words[:2], "dataset.table.user=whom", "mechanism=[lpa]")
    assert "has no column 'whom': did you mean 'who'?" in wrong.stderr
    unnamed = dpbench("compare", "--dataset", "visits.csv")
    assert unnamed.returncode == 2
    assert (
        "has no column 'user': expected one of: place, who; name the columns of your file by --user" in unnamed.stderr
    )
