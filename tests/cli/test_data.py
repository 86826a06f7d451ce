"""The `data` verb: cards, the list, and what `show` tells of a dataset in all its forms."""

from __future__ import annotations

import argparse
import io
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from dpbench.cli import data as data_verb
from dpbench.cli import main
from dpbench.cli.completion import candidates
from dpbench.cli.dispatch import _warning
from dpbench.config import catalogue
from dpbench.config.catalogue import options
from dpbench.config.compose import compose
from dpbench.config.entries import dataset_of
from dpbench.data import Incidence
from dpbench.engine.plan import make_plan
from dpbench.errors import UserError
from dpbench.model.run import Run
from dpbench.ranking import calibration
from dpbench.sources import SOURCES, SkippedLines, cards
from dpbench.sources.cache import open_dataset

from support.paths import ROOT, real_data


def test_wrong_use(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["data", "show", "chekin"]) == 2
    assert "unknown dataset 'chekin': did you mean 'checkin'?" in capsys.readouterr().err
    assert main(["data", "get", "gaussian"]) == 2
    err = capsys.readouterr().err
    assert "gaussian has no address to fetch it from. It is generated, and no files of it are read" in err
    assert "path=" not in err
    assert main(["data", "get", "netflix"]) == 2
    assert "With the files: dataset.netflix.path=FOLDER" in capsys.readouterr().err
    assert main(["data", "show", "gaussian", "--scale", "huge"]) == 2
    assert main(["data", "show", "gaussian", "--scale", "smoke", "--path", "x"]) == 2
    assert main(["data", "show", "gaussian", "--scale", "smoke", "ids"]) == 2
    with pytest.raises(
        UserError, match=r"needs dataset.transactions.path=FILE or FOLDER, or: python -m dpbench data get transactions"
    ):
        dataset_of(catalogue.dataset("transactions").from_files(), "smoke")


def test_list_knows_what_is_in_the_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DPBENCH_CACHE", str(tmp_path / "cache"))

    def here(name: str = "retail") -> str:
        assert main(["data", "list"]) == 0
        (line,) = [line for line in capsys.readouterr().out.splitlines() if f" {name} " in line.partition("│")[2][:25]]
        return line.split("│")[3].strip()

    assert here() == here("foursquare") == "nothing"
    sizes = {"users": 50, "items": 20, "records": 500, "largest": 30}
    open_dataset(dataset_of(catalogue.dataset("foursquare").changed(sizes), "smoke"))
    assert here("foursquare") == "generated"
    file = tmp_path / "retail.dat"
    file.write_text("1 2 3\n2 5\n")
    open_dataset(dataset_of(catalogue.dataset("retail").from_files(file), "smoke"))
    assert here() == "files"
    file.unlink()
    assert here() == "nothing"


@pytest.mark.parametrize("name", options("dataset"))
def test_every_dataset_has_a_card_and_a_reader_that_exists(name: str) -> None:
    entry, card = catalogue.dataset(name), cards.load(name)
    assert card.title, f"datasets/{name}.md opens with no title"
    assert card.text
    assert len(card.text.split()) > 30
    if entry.files:
        assert entry.kind in SOURCES.get(entry.files).kinds or name == "table", "its columns decide"
        assert card.licence, f"datasets/{name}.md does not tell the licence"
    for file in card.files:
        assert re.fullmatch(r"https?://\S+/\S+", file.address)
        assert file.checksum == "unknown" or re.fullmatch(r"(md5:[0-9a-f]{32}|sha256:[0-9a-f]{64})", file.checksum)
    if entry.generator and card.paper:
        data = open_dataset(dataset_of(entry.generated(), "smoke")).data
        assert set(card.paper) - {"table"} <= set(data.statistics()), "the card's statistics have the data's names"


def test_completion() -> None:
    assert candidates("dpbench data s") == ["show"]
    assert candidates("dpbench data show ch") == ["checkin"]
    assert candidates("dpbench data list x ") == []


def test_show_generated_only(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["data", "show", "trajectory", "--scale", "smoke", "--trials", "1"]) == 0
    out = capsys.readouterr().out
    assert "Row size" in out
    assert "quantiles of" in out
    assert re.search(r"│ lpa +│ +[0-9.]+ ", out)
    assert re.search(r"│ joint_topk +│ +precision at 100: [01](\.\d+)? │", out)


def test_show_files_only(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["data", "show", "retail"]) == 0
    assert "There is no data here: give --path FILE or FOLDER" in capsys.readouterr().out
    (tmp_path / "some.dat").write_text("1 2\n2 3\n2\n")
    assert main(["data", "show", "retail", "--path", str(tmp_path), "--trials", "0"]) == 0
    assert re.search(r"│ ones +│ +908,576 │ +5 │", capsys.readouterr().out)


def test_show_compares_generator_and_files(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """On files made by the generator itself nothing is off."""
    data = open_dataset(dataset_of(catalogue.dataset("transactions"), "smoke")).data
    rows = np.split(data.indices, data.indptr[1:-1])
    path = tmp_path / "made.dat"
    path.write_text("".join(" ".join(map(str, row)) + "\n" for row in rows))
    command = ["data", "show", "transactions", "--scale", "smoke", "--trials", "2", "--path", str(path)]
    assert main([*command, "ids=all", "on_bad_line=skip"]) == 0
    out = capsys.readouterr().out
    assert "generator, files' sizes" in out
    sizes = re.search(r"│ 50 % +│ +([\d,.]+) +│ +([\d,.]+) +│ +([\d,.]+) +│", out)
    assert sizes
    assert sizes[1] == sizes[2] == sizes[3]
    assert re.search(r"│ lpa +│.*│ +1\.00 │|│ lpa +│.*│ +(0\.9\d|1\.0\d) │", out)


@pytest.mark.parametrize("width", [60, 80, 150])
def test_everything_shown_fits_the_terminal(width: int) -> None:
    """Three forms side by side keep their labels and numbers, and the list has one line per dataset."""
    rng = np.random.default_rng(0)
    rows = [rng.choice(5000, size, replace=False) for size in rng.zipf(1.5, 300) if size < 5000]
    data = Incidence.from_rows(rows, columns=5000)
    console = Console(width=width, file=io.StringIO())
    for table in data_verb._shapes({"generator, laptop": data, "files": data, data_verb.MATCHED: data}):
        console.print(table)
    out = console.file.getvalue()
    assert "…" not in out
    assert len(re.findall(r"^│ +50 % +(│ +[\d,.]+ +){3}│$", out, re.M)) == 2
    console = Console(width=width, file=io.StringIO())
    data_verb._list(argparse.Namespace(), console)
    lines = [line for line in console.file.getvalue().splitlines() if line.startswith("│ ")]
    assert width < 80 or len(lines) <= len(options("dataset")) + 1 + (width > 80)


def test_an_outline() -> None:
    values = np.array([0, 0, 1, 2, 3, 4, 700])
    outline = calibration.outline(values)
    assert (outline["number"], outline["empty"], outline["largest"], outline["mean"]) == (7, 2, 700, 142)
    assert outline["50 %"] == 3


def test_the_errors_of_a_report_are_reproducible() -> None:
    data = open_dataset(dataset_of(catalogue.dataset("trajectory"), "smoke")).data
    first, second = (calibration.errors(data, 1.0, 2) for _ in range(2))
    assert first == second
    lpa, ranks = first["lpa"], first["joint_topk"]
    assert lpa.metric == "mae"
    assert lpa.mean == pytest.approx(data.largest_row, rel=0.2)  # Δ/ε, over 1402 columns and 2 trials
    # Places in a list are no counts: they have a precision, and no error.
    assert ranks.metric == "precision_at_100"
    assert 0.1 < ranks.mean <= 1.0
    few = calibration.errors(Incidence.from_rows([[0, 1]] * 9, columns=2), 1.0, 2)
    assert few["pf_peeling"] == "cannot choose 100 columns of 2"


def test_experiments_run_on_original_files(dpbench: Callable, tmp_path: Path) -> None:
    """The paper's own experiment, its datasets from original files, unchanged."""
    words = ["experiment=gs/table2", "scale=smoke", "dataset=[document,transactions]", "tracking=none"]
    words += ["dataset.document.source=files", f"dataset.document.path={real_data('bagofwords')}"]
    words += ["dataset.transactions.source=files"]
    done = dpbench("run", *words, f"dataset.transactions.path={real_data('fimi', 'retail.dat.gz')}")
    assert done.returncode == 0, done.stderr
    assert "6906" in done.stdout.replace(",", "")
    assert "88162" in done.stdout.replace(",", "")
    found = Run.load(tmp_path / "results", "gs/table2", files=["document", "transactions"])
    assert {d.source for d in found.datasets.values()} == {"uci_bag_of_words", "fimi"}


def test_a_run_tells_of_bad_lines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bad = tmp_path / "bad.dat"
    bad.write_text("1 2\n3 four\n")
    settings = {"dataset": ["transactions"], "dataset.transactions.path": bad}
    with pytest.raises(
        UserError, match=r"bad.dat, line 2: expected whole numbers \(items\) separated by spaces, found 'four'"
    ):
        make_plan(compose("gs/table2", "smoke", settings))
    skipping = settings | {"dataset.transactions.on_bad_line": "skip"}
    with pytest.warns(SkippedLines, match=r"1 bad line was skipped; the first: .*bad.dat, line 2: ") as caught:
        assert make_plan(compose("gs/table2", "smoke", skipping)).run.settings
    assert _warning(caught[0].message, caught[0].category, "x.py", 1) == f"dpbench: {caught[0].message}\n"
    assert _warning("old", DeprecationWarning, "x.py", 1).startswith("x.py:1: DeprecationWarning: old")


def test_every_run_and_show_tells_of_bad_lines(dpbench: Callable, tmp_path: Path) -> None:
    (tmp_path / "bad.dat").write_text("1 2\n3 four\n2 3\n")
    path = "dataset.transactions.path=bad.dat"
    words = ["experiment=gs/fig9", "scale=smoke", "dataset=transactions", "dataset.transactions.source=files", path]
    words += ["mechanism=lpa", "trials=4", "tracking=none", "figure=false", "dataset.transactions.on_bad_line=skip"]
    told = f"1 bad line was skipped; the first: {tmp_path}/bad.dat, line 2: expected whole numbers"
    for _ in range(2):
        done = dpbench("run", *words, "runner.jobs=2")
        assert done.returncode == 0, done.stderr
        assert done.stderr.count(told) == 1, done.stderr
    for _ in range(2):
        done = dpbench(
            "data", "show", "transactions", "--trials=0", "--scale=smoke", "--path=bad.dat", "on_bad_line=skip"
        )
        assert done.stderr.count(told) == 1, done.stderr


def test_no_data_travels_in_the_wheel() -> None:
    """Cards do; built and downloaded data, which may not be redistributed, do not."""
    wheel = pytest.importorskip("hatchling.builders.wheel", reason="lists what a wheel would hold")
    files = [file.distribution_path for file in wheel.WheelBuilder(str(ROOT)).recurse_included_files()]
    assert "dpbench/datasets/movielens.md" in files
    assert "dpbench/conf/run.yaml" in files
    assert not [file for file in files if file.startswith("dpbench/datasets/") and not file.endswith(".md")]
