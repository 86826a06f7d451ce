"""A real notebook, run by a real kernel: classes of its cells on several workers, resumed and redefined, and how it looks."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from support.paths import ROOT

nbclient = pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")

CELLS = [
    """
from dataclasses import dataclass
import pandas as pd
import dpbench
from dpbench import Counts, Mechanism

SHARE = 2.0
""",
    """
def scaled(data, epsilon):
    return SHARE * data.largest_row / epsilon

@dataclass(frozen=True, kw_only=True)
class Doubled(Mechanism):
    step: float = 1.0

    def publish(self, data, epsilon, noise):
        return Counts(counts=self.step * noise.laplace(data.counts, scale=scaled(data, epsilon)))
""",
    """
frame = pd.DataFrame({"who": [i % 30 for i in range(200)], "place": [f"p{i % 7}" for i in range(200)]})
data = dpbench.Incidence.from_pandas(frame, user="who", item="place")

def measure():
    return dpbench.run(dataset={"visits": data}, mechanism=["lpa", Doubled()], epsilon=[1.0], trials=4, jobs=2)

run = measure()
first = run.trials()
run
""",
    """
import time
before = max(p.stat().st_mtime_ns for p in run.results.glob("trials/**/*.parquet"))
again = measure().trials()
assert max(p.stat().st_mtime_ns for p in run.results.glob("trials/**/*.parquet")) == before, "computed twice"
assert again.equals(first)
""",
    """
SHARE = 20.0
other = measure().trials().groupby("mechanism")["metric.mae"].mean()
then = first.groupby("mechanism")["metric.mae"].mean()
assert other["lpa"] == then["lpa"], "lpa has not changed"
assert abs(other["Doubled"] / then["Doubled"] - 10) < 1e-9, (other, then)
""",
    "run.figure()",
    "data",
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("notebook")


@pytest.fixture(scope="module")
def cells(folder: Path) -> list[Any]:
    """The cells after they were run."""
    return run_all(folder, CELLS)


def run_all(folder: Path, sources: list[str]) -> list[Any]:
    from nbformat import v4

    book = v4.new_notebook(cells=[v4.new_code_cell(source.strip()) for source in sources])
    client = nbclient.NotebookClient(book, timeout=300, kernel_name="python3")
    with client.setup_kernel(cwd=str(folder), env=os.environ | {"PYTHONPATH": str(ROOT)}):
        for place, cell in enumerate(book.cells):
            client.execute_cell(cell, place)
    assert (folder / "results" / "trials").is_dir()
    return book.cells


def outputs(cell: Any, form: str) -> list[str]:
    return [str(out["data"][form]) for out in cell.outputs if form in out.get("data", {})]


def test_it_runs_on_several_workers_and_resumes(cells: list[Any]) -> None:
    """The asserts of the cells held: a global of the notebook is part of the identity, and nothing is computed twice."""
    assert not [out for cell in cells for out in cell.outputs if out.output_type == "error"]


def test_progress_and_tables_look_right(cells: list[Any], tmp_path: Path) -> None:
    bar, table = outputs(cells[2], "text/html")
    assert '<progress value="8" max="8"' in bar
    assert "8 of 8 trials" in bar
    assert "<td>Doubled</td>" in table
    assert "visits: own data, given in Python" in table
    assert "±" in table
    assert "† not private as run: lpa" in table
    assert not [out for out in cells[2].outputs if out.output_type == "stream"], "nothing is printed beside it"


def test_one_figure_and_a_short_repr(cells: list[Any]) -> None:
    assert len(outputs(cells[5], "image/png")) == 1, "a figure is shown once"
    assert outputs(cells[6], "text/plain") == ["Incidence(30 rows x 7 columns, 200 ones, largest row 7)"]


def test_a_notebook_that_is_run_again_computes_nothing(cells: list[Any], folder: Path) -> None:
    """A new kernel, the same cells and one with a comment; another value of a global is computed."""
    trials = set((folder / "results/trials").rglob("*.parquet"))
    run_all(folder, [CELLS[0], "# words\n" + CELLS[1], *CELLS[2:5]])
    assert set((folder / "results/trials").rglob("*.parquet")) == trials
    run_all(folder, [CELLS[0].replace("SHARE = 2.0", "SHARE = 3.0"), *CELLS[1:3]])
    assert set((folder / "results/trials").rglob("*.parquet")) > trials
