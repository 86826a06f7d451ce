"""The made pages: of mechanisms, datasets and papers, with a record and without one."""

from __future__ import annotations

from pathlib import Path

import pytest
from pages import datasets, mechanisms, papers
from pages.markdown import plain, table

import dpbench
from dpbench.config import catalogue
from dpbench.figures.draw import draw
from dpbench.mechanisms.base import MECHANISMS
from dpbench.reproduce.make_record import take
from dpbench.storage.record import write


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A record of one experiment."""
    folder = tmp_path_factory.mktemp("record")
    run = dpbench.run("epicrec/example", scale="smoke", results=tmp_path_factory.mktemp("results"), jobs=1)
    drawing = draw(run)
    write(take(run, drawing.numbers, seconds=1.0, memory=None), drawing.numbers, folder)
    return folder


def test_a_paper_without_a_record_says_so(tmp_path: Path) -> None:
    page = papers.paper_page("epicrec", tmp_path, tmp_path / "empty")
    assert papers.NOTHING in page
    assert "epicrec/example is not on record" in page.replace("\\", "")
    assert "## Where we differ" in page
    assert not (tmp_path / "figures").exists()


def test_a_paper_with_a_record_shows_figures_and_verdicts(tmp_path: Path, recorded: Path) -> None:
    page = papers.paper_page("epicrec", tmp_path, recorded)
    assert papers.NOTHING not in page
    assert "figures/epicrec-example.png" in page
    assert (tmp_path / "figures" / "epicrec-example.png").read_bytes().startswith(b"\x89PNG")
    before = papers.paper_page("epicrec", tmp_path, tmp_path / "empty")
    assert page.count("**reproduced**") > before.count("**reproduced**"), "verdicts come from the record"
    assert "epicrec/example is not on record" not in page.replace("\\", "")


def test_every_mechanism_has_its_facts() -> None:
    made = mechanisms.pages(Path())
    assert {*made} == {"index", *MECHANISMS.names()}
    for name, cls in MECHANISMS.items():
        for word in ("Reference", "Guarantee", "Neighbours", "Data"):
            assert word in made[name], name
        assert all(meaning for *_, meaning in mechanisms._parameters(cls)), f"{name}: a parameter without a meaning"
        assert f"[{name}]({name}.md)" in made["index"]
    assert "no: Δ is the largest observed row" in made["lpa"]


def test_every_dataset_has_its_card() -> None:
    made = datasets.pages(Path(), "smoke")
    assert {*made} == {"index", *catalogue.options("dataset")}
    assert "| lpa mre percent | 3,187 |  |" in made["netflix"]
    for world in catalogue.dataset("netflix").worlds:
        assert f"| `{world}` | " in made["netflix"]
    assert "## Worlds" not in made["kos"]
    for name, text in made.items():
        assert text.startswith("# "), name
        assert "Nobody has written" not in text, name


def test_plain_text_stays_plain() -> None:
    assert plain("|x| * y_1 in `a_b`") == r"\|x\| \* y\_1 in `a_b`"
    assert table(("a", "b"), [("x|y", "z\nz")]) == "| a | b |\n| --- | --- |\n| x\\|y | z z |\n"
