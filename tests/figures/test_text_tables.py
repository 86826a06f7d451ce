"""Tables for papers: what is bold, what is marked, and that the text is valid."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

import dpbench as package
from dpbench.model.run import Run

Call = Callable[..., subprocess.CompletedProcess[str]]
DATA = package.Incidence.from_rows([[0, 2], [1, 2, 3], [2]] * 50, columns=4)


@pytest.fixture
def run(tmp_path: Path) -> Run:
    members = {"lpa": package.mechanism("lpa"), "gs": package.mechanism("gs"), "zero": package.mechanism("zero")}
    members |= {"tight_er": package.mechanism("lpa", bound=3), "loose": package.mechanism("lpa", bound=9)}
    options = {"epsilon": [1.0], "trials": 4, "jobs": 1, "results": tmp_path, "name": "tab"}
    return package.run(dataset={"mine": DATA}, mechanism=members, **options)


def test_the_best_of_each_board_is_bold(run: Run) -> None:
    """tight_er is the best private one; of lpa and gs, which read the data, one is; zero is with the private ones."""
    text = run.to_markdown()
    rows = {line.split("|")[2].strip(): line for line in text.splitlines() if line.startswith("| mine")}
    assert {*rows} == {"lpa†", "gs†", "zero", "tight_er", "loose"}
    best = {name: "**" in line for name, line in rows.items()}
    assert (best["tight_er"], best["zero"], best["loose"]) == (True, False, False)
    assert best["lpa†"] or best["gs†"]
    summary = run.summary().set_index("mechanism")["mae"]
    assert best["lpa†"] == (summary["lpa"] <= summary["gs"])
    assert "± " in rows["gs†"]
    assert "† not private as run" in text


def test_latex_is_whole(run: Run) -> None:
    text = run.to_latex()
    assert [text.count(rf"\{word}") for word in ("toprule", "midrule", "bottomrule")] == [1, 1, 1]
    body = text.split(r"\midrule")[1].split(r"\bottomrule")[0].strip().splitlines()
    widths = {len(re.split(r"(?<!\\)&", line)) for line in body}
    (columns,) = re.findall(r"\\begin{tabular}{([lr]+)}", text)
    assert widths == {len(columns)}
    assert r"tight\_er" in text
    assert r"$\pm$" in text
    assert r"$^\dagger$" in text
    assert r"\textbf{" in text
    assert not re.search(r"(?<!\\)[_%#]", text.split("\n", 1)[1])  # nothing that LaTeX would interpret
    assert text.count("{") - text.count(r"\{") == text.count("}") - text.count(r"\}")


def test_the_verb_writes_them_beside_the_figure(dpbench: Call, run: Run, tmp_path: Path) -> None:
    done = dpbench("figures", "tab", "--tex", "--markdown", "--format", "png", "--results", str(run.results))
    assert done.returncode == 0, done.stderr
    assert (run.results / "figures" / "tab.tex").read_text() == run.to_latex()
    assert (run.results / "figures" / "tab.md").read_text() == run.to_markdown()
