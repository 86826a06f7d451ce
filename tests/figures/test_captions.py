"""What stands around a figure: crosses at the paper's numbers, what error bars are, the mark of a small run, and metadata."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd
import pytest
from PIL import Image

from dpbench.claims.ledger import ledger
from dpbench.figures import captions, shapes, style
from dpbench.figures.captions import Stated
from dpbench.figures.draw import _in_worlds_of, draw_record, load_script
from dpbench.mechanisms.base import MECHANISMS
from dpbench.model.record import Record
from dpbench.paths import EXPERIMENTS
from dpbench.storage import record

from support import runs
from support.door import dpbench
from support.paths import ROOT


def stated() -> Iterator[tuple[str, Stated]]:
    """Every number of a paper that a script marks, with the experiment."""
    for path in sorted(EXPERIMENTS.glob("*/*.py")):
        found = getattr(load_script(path), "STATED", ())
        found = [found] if isinstance(found, Stated) else found.values() if isinstance(found, dict) else found
        for one in found:
            if isinstance(one, Stated):
                yield path.relative_to(EXPERIMENTS).with_suffix("").as_posix(), one


def test_the_papers_numbers_are_those_of_the_ledger() -> None:
    claims = {claim.id: claim for claim in ledger()}
    found = list(stated())
    assert len(found) > 10
    for experiment, one in found:
        claim = claims[one.claim]
        assert claim.experiment == experiment
        reach = 1e-9 + 1e-9 * abs(one.value)
        assert claim.region.low - reach <= one.value <= claim.region.high + reach, one


def test_a_cross_is_told_in_the_caption() -> None:
    figure, ax = plt.subplots()
    assert captions.stated_line(figure) == []
    captions.cross(ax, 1, 2, Stated("gs/mre-netflix", 0.73, "73 %"))
    assert captions.stated_line(figure) == ["× the paper's number in its text, on its own data: gs/mre-netflix: 73 %"]
    plt.close(figure)


def test_error_bars_are_seen_where_there_are_some() -> None:
    for draw, expected in (
        (lambda ax: ax.plot([1, 2], [1, 2]), False),
        (lambda ax: ax.errorbar([1, 2], [1, 2], yerr=[0.1, 0.1]), True),
        (lambda ax: ax.errorbar([1, 2], [1, 2]), False),
        (lambda ax: ax.bar([1, 2], [1, 2], yerr=[0.1, 0.1]), True),
        (lambda ax: ax.bar([1, 2], [1, 2]), False),
    ):
        figure, ax = plt.subplots()
        draw(ax)
        assert captions.has_error_bars(figure) == expected
        plt.close(figure)


def test_looks_differ_in_more_than_colour() -> None:
    columns = [name for name, cls in MECHANISMS.items() if set(cls.kinds) & {"incidence", "records"}]
    tables = [name for name, cls in MECHANISMS.items() if "contingency" in cls.kinds]
    for names in (columns, tables):
        placed = [name for name in names if style._place(name) is not None]
        looks = [style.look(name, 0) for name in placed]
        seen = [(look["marker"], look["linestyle"], look.get("markerfacecolor", "")) for look in looks]
        assert len(set(seen)) == len(seen)


def test_no_panel_of_bars_has_a_log_axis() -> None:
    """Bars rise from a floor, which a log axis does not have."""
    for path in [*EXPERIMENTS.glob("*/*.py"), *(ROOT / "dpbench" / "figures").glob("*.py")]:
        text = path.read_text()
        # `default` takes points where it has a log scale; see its own test.
        if path.stem != "default" and "ax.bar(" in text:
            assert not re.search(r'yscale\("log"|loglog|semilogy|logy=True', text), path


def test_a_table_has_the_papers_row_below_the_datasets() -> None:
    numbers = pd.DataFrame({"dataset": ["checkin", "kos"], "rows": [10, 20]})
    shown = shapes.with_paper(numbers, ["dataset", "rows"], "gs", {})
    assert shown["dataset"].tolist() == ["checkin", "Checkin in the paper", "kos"]
    assert shown["rows"].tolist() == [10, 196591, 20]
    assert len(shapes.with_paper(numbers, ["dataset", "rows"], "analytics", {})) == 2, "the card's numbers are of gs"


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("figures")
    words = ["experiment=gs/fig10", "dataset=[trajectory]", "mechanism=[lpa,gs]", "scale=smoke", "tracking=none"]
    for command in (["run", *words, "figure=false", "runner.jobs=1"], ["figures", "--format", "png", "pdf", "svg"]):
        done = dpbench(*command, cwd=home)
        assert done.returncode == 0, done.stderr
    return home / "results" / "figures" / "gs"


def test_the_files_say_how_they_were_made(files: Path) -> None:
    command = "python -m dpbench run experiment=gs/fig10 scale=smoke"
    png = Image.open(files / "fig10.png")
    assert png.info["Command"] == command
    assert png.info["Scale"] == "smoke"
    assert re.match(r"dpbench \d+\.\d+", png.info["Software"])
    svg = (files / "fig10.svg").read_text()
    assert f"scale smoke; made by: {command}" in svg
    pdf = (files / "fig10.pdf").read_bytes()
    assert b"scale smoke; made by: python -m dpbench run experiment=gs/fig10 scale=smoke" in pdf
    assert b"/Type3" not in pdf, "many venues refuse Type 3 fonts"
    assert b"/FontFile2" in pdf


def test_the_figure_says_what_one_must_know(files: Path) -> None:
    """In the picture itself: scale and trials as a mark, the budgets, where the data come from, error bars and crosses."""
    texts = re.findall(r"<!-- (.*?) -->", (files / "fig10.svg").read_text())
    assert "smoke, 6 trials" in texts
    words = " ".join(texts)
    for expected in (
        "scale smoke, 6 trials per setting, ε = 0.1, ln 2 and ln 3; trajectory: generated, seed 0",
        "error bars: one standard error of the mean on either side, over the trials",
        "on its own data: gs/mre-trajectory: 27 %",
        "† not private as run: LPA, GS",
    ):
        assert expected in words


def caption_of_record(folder: Path, experiment: str, numbers: pd.DataFrame, task: str, not_private: str = "hpa") -> str:
    """The small text below the figure that is drawn from a record with these numbers."""
    made = Record(
        experiment=experiment,
        title="",
        scale="paper",
        trials=1,
        seed=0,
        data_seeds=(0,),
        settings=1,
        identity="",
        code="",
        classes={"task": (task,)},
        origins=("movielens: generated, seed 0",),
        not_private={not_private: "a reason"},
        epsilons=(1.0,),
    )
    record.write(made, numbers, folder)
    found = record.read(experiment, folder)
    assert found is not None
    figure = draw_record(found).figure
    assert figure is not None
    text = next(one.get_text() for one in figure.texts if "recorded at" in one.get_text())
    plt.close(figure)
    return text


def test_the_caption_of_a_record_names_original_files(tmp_path: Path) -> None:
    numbers = pd.DataFrame({"dataset": ["movielens", "movielens (files)"], "mechanism": "hpa"})
    numbers = numbers.assign(mse=[1.0, 2.0], kl=0.5, precision_at_10=0.5)
    text = caption_of_record(tmp_path, "analytics/fig7", numbers, "record_analytics")
    assert "ε = 1; movielens: generated, seed 0" in text
    assert "movielens (files): original files" in text
    assert f"{style.MARK} not private as run: HPA" in text, "the legend has the mark"


def test_the_caption_has_no_mark_that_the_figure_lacks(tmp_path: Path) -> None:
    numbers = pd.DataFrame({"dataset": "netflix", "k": [1, 10], "precision": 0.5, "precision_se": 0.0})
    text = caption_of_record(tmp_path, "analytics/fig5", numbers, "top_k")
    assert "not private as run: HPA" in text
    assert style.MARK not in text, "the curves are datasets"


def test_the_caption_of_a_count_on_record_has_no_budget(tmp_path: Path) -> None:
    numbers = pd.DataFrame({"dataset": ["gowalla"], "users": 1, "items": 1, "records": 1})
    numbers = numbers.assign(largest=1, average=1.0, smallest=1)
    text = caption_of_record(tmp_path, "analytics/table4", numbers, "statistics")
    assert "ε" not in text
    assert "not private" not in text, "the mechanism is not used"


def test_a_number_of_one_series_says_whose_it_is() -> None:
    figure, ax = plt.subplots()
    captions.cross(ax, 1, 2, Stated("gs/mre-netflix", 0.73, "73 %", of="Netflix", side="above"))
    (text,) = ax.texts
    assert text.get_text() == "Netflix: 73 %"
    assert text.get_va() == "bottom", "it stands above the cross"
    plt.close(figure)


def test_a_mark_in_a_table_is_explained_with_the_mark() -> None:
    figure = shapes.table(pd.DataFrame({f"HPA{style.MARK} output": ["a movie"]}))
    captions.note(figure, [f"{style.MARK} not private as run: HPA"])
    assert f"{style.MARK} not private as run: HPA" in [text.get_text() for text in figure.texts]


def test_a_caption_is_about_the_world_that_is_drawn() -> None:
    """A run in all worlds draws one of each dataset, and tells where the data of that one comes from."""
    default = runs.dataset("checkin")
    whole = runs.run("x", [default])
    (setting,) = whole.settings
    steep = replace(setting, id="1" * 32, dataset=replace(default, world="steep"))
    whole = replace(whole, settings=(setting, steep))
    drawn = pd.DataFrame({"dataset": ["checkin"], "dataset.world": [None]})
    assert _in_worlds_of(whole, drawn).origins() == ["checkin: generated, seed 0"]
    assert _in_worlds_of(whole, drawn.assign(**{"dataset.world": "steep"})).settings == (steep,)
    assert _in_worlds_of(whole, drawn[["dataset"]]) is whole
