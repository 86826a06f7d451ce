"""The bundle for an artifact reviewer: appendix, source code, environment, data, figures, tables. Imported by the verb.

Everything in it comes from the results folder, the record, the ledger of claims and the cards of the datasets. No experiment
is run; claims that need none are decided by audit and computation.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from dpbench import __version__
from dpbench.claims.judge import Judge
from dpbench.claims.ledger import Claim, ledger
from dpbench.claims.verdicts import Verdict
from dpbench.config import catalogue
from dpbench.engine.recorded import is_current
from dpbench.figures.draw import CannotDraw, Drawing, draw, draw_record
from dpbench.reproduce.carry_out import experiments_of
from dpbench.reproduce.locked import NAME, lock_file
from dpbench.reproduce.source import write_source
from dpbench.results import environment
from dpbench.results.commands import run_command
from dpbench.results.record import Record, read
from dpbench.results.run import Run
from dpbench.sources.cards import Card, load

HERE = Path(__file__).parent
RELEASED = "2026-11-16"
"""Date of the current version, as in CHANGELOG.md."""
MOST_ROWS = 60
"""Largest number of rows of a table in LaTeX. Longer tables are curves, which are in the figures and in CSV files."""


@dataclass(frozen=True)
class Row:
    """One experiment in the appendix."""

    experiment: str
    title: str
    command: str
    record: Record | None
    current: bool
    """Whether the recorded code is the current code."""


@dataclass(frozen=True)
class Decided:
    """One claim in the appendix."""

    claim: Claim
    command: str
    verdict: Verdict


def write_artifact(folder: Path, experiments: Sequence[str], results: Path, scale: str) -> Iterator[Path]:
    """Write the bundle, file by file. Draws the runs in `results` if there are any, otherwise the record."""
    rows = [_row(name, scale) for name in experiments]
    decided = list(_decided(rows, results, scale))
    source = write_source(folder)
    facts = {
        "version": __version__,
        "released": RELEASED,
        "scale": scale,
        "rows": rows,
        "claims": decided,
        "untestable": [one.claim for one in decided if one.claim.untestable],
        "cards": _cards(experiments),
        "machine": environment.Environment.here().lines(),
        "papers": list(dict.fromkeys(name.partition("/")[0] for name in experiments)),
        "together": _together(experiments),
        "install": f"./{source.name}" if source else f"{NAME}=={__version__}",
        "source": source.name if source else "",
    }
    if source:
        yield source
    templates = _templates()
    for name in ("README.md", "APPENDIX.md", "DATA.md", "ENVIRONMENT.md", "CITATION.cff", "Dockerfile"):
        yield _write(folder / name, templates.get_template(f"{name}.j2").render(facts))
    yield _write(folder / "requirements.lock", lock_file())
    for name in experiments:
        yield from _drawn(folder, name, results, scale)


def citation() -> str:
    """The text of CITATION.cff."""
    return _templates().get_template("CITATION.cff.j2").render(version=__version__, released=RELEASED)


def _templates() -> Environment:
    found = Environment(
        loader=FileSystemLoader(HERE / "templates"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # the files are Markdown and YAML, made from our own texts
    )
    found.filters |= {"cell": _cell, "minutes": _minutes, "gigabytes": _gigabytes}
    return found


def _cell(value: object) -> str:
    """A text for one cell of a Markdown table."""
    return " ".join(str(value).split()).replace("|", "\\|")


def _minutes(seconds: float | None) -> str:
    return "not measured" if seconds is None else f"{seconds / 60:.1f}"


def _gigabytes(size: int | None) -> str:
    return "not measured" if size is None else f"{size / 1e9:.2f}"


def _row(name: str, scale: str) -> Row:
    record = read(name)
    command = f"python -m dpbench reproduce {name} --scale {scale}"
    return Row(name, catalogue.title(name) or name, command, record, record is not None and is_current(record))


def _together(experiments: Sequence[str]) -> list[str]:
    """The shortest words for these experiments: a paper whose experiments are all among them by its name."""
    found: dict[str, None] = {}
    for name in experiments:
        paper = name.partition("/")[0]
        whole = {*experiments_of([paper])} <= {*experiments}
        found[paper if whole else name] = None
    return list(found)


def _decided(rows: Sequence[Row], results: Path, scale: str) -> Iterator[Decided]:
    known = {row.experiment for row in rows}
    papers = {name.partition("/")[0] for name in known}
    judge = Judge(results, scale)
    for claim in ledger():
        if claim.paper in papers and (not claim.experiment or claim.experiment in known):
            command = (
                run_command(claim.experiment, Path("results"), scale)
                if claim.experiment
                else f"python -m dpbench claims {claim.paper}"
            )
            yield Decided(claim, "" if claim.untestable else command, judge.verdict(claim))


def _cards(experiments: Sequence[str]) -> list[Card]:
    names = dict.fromkeys(dataset for name in experiments for dataset in catalogue.axes(name).datasets)
    return [load(name) for name in names]


def _drawn(folder: Path, name: str, results: Path, scale: str) -> Iterator[Path]:
    from dpbench.figures.style import paper_style, plt

    try:
        drawing = _drawing(name, results, scale)
    except CannotDraw:
        return
    if drawing is None:
        return
    flat = name.replace("/", "-")
    csv = folder / "numbers" / f"{flat}.csv"
    csv.parent.mkdir(parents=True, exist_ok=True)
    drawing.numbers.to_csv(csv, index=False)
    yield csv
    table = drawing.summary if drawing.summary is not None else drawing.numbers
    if len(table) <= MOST_ROWS:
        yield _write(folder / "tables" / f"{flat}.tex", latex(table, name))
    for added, figure in drawing.figures.items():
        pdf = folder / "figures" / f"{'-'.join(filter(None, (flat, added)))}.pdf"
        pdf.parent.mkdir(parents=True, exist_ok=True)
        with paper_style():
            figure.savefig(pdf, metadata={"CreationDate": None, "Title": name})
        plt.close(figure)
        yield pdf


def _drawing(name: str, results: Path, scale: str) -> Drawing | None:
    runs = {run.name: run for run in Run.each(results, scale).values() if not run.original_datasets}
    if name in runs:
        return draw(runs[name])
    record = read(name)
    return None if record is None else draw_record(record)


def latex(table: pd.DataFrame, name: str) -> str:
    """A table in LaTeX, with the rules of the package booktabs; numbers have four digits."""
    shown = table.map(lambda value: f"{value:.4g}" if isinstance(value, float) else value)
    return shown.to_latex(index=False, escape=True, na_rep="", caption=name, label=f"tab:{name}")


def _write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path
