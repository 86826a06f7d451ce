"""The bundle for an artifact reviewer: appendix, source code, environment, data, figures, tables. Imported by the verb.

Everything in it comes from the results folder, the record, the ledger of claims and the cards of the datasets. No experiment
is run; claims that need none are decided by audit and computation.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator, Sequence
from importlib import metadata
from pathlib import Path

import jinja2
import pandas as pd
from packaging.requirements import InvalidRequirement, Requirement

from dpbench import __version__
from dpbench.claims.judge import Judge
from dpbench.claims.ledger import ledger
from dpbench.claims.recorded import is_current
from dpbench.config import catalogue
from dpbench.figures.draw import CannotDraw, Drawing, draw, draw_record
from dpbench.model.claim import UNTESTABLE
from dpbench.model.environment import Environment, differs, git
from dpbench.model.record import Record
from dpbench.model.run import Run
from dpbench.model.verdict import Verdict
from dpbench.reproduce.carry_out import experiments_of
from dpbench.sources.cards import load
from dpbench.storage.commands import run_command
from dpbench.storage.record import read

NAME = "dpbench-repro"
"""Name of the distribution."""
HERE = Path(__file__).parent
RELEASED = "2026-11-16"
"""Date of the current version, as in CHANGELOG.md."""
MOST_ROWS = 60
"""Largest number of rows of a table in LaTeX. Longer tables are curves, which are in the figures and in CSV files."""


def write_artifact(folder: Path, experiments: Sequence[str], results: Path, scale: str) -> Iterator[Path]:
    """Write the bundle, file by file. Draws the runs in `results` if there are any, otherwise the record."""
    decided = list(_decided(experiments, results, scale))
    datasets = dict.fromkeys(dataset for name in experiments for dataset in catalogue.axes(name).datasets)
    source = write_source(folder)
    wheel = write_wheel(folder, source) if source else None
    facts = {
        "version": __version__,
        "released": RELEASED,
        "scale": scale,
        "experiments": [_experiment(name, scale) for name in experiments],
        "claims": decided,
        "untestable": [verdict for verdict, _ in decided if verdict.verdict == UNTESTABLE],
        "cards": [load(name) for name in datasets],
        "machine": Environment.here().lines(),
        "papers": list(dict.fromkeys(name.partition("/")[0] for name in experiments)),
        "together": _together(experiments),
        "install": f"./{(wheel or source).name}" if source else f"{NAME}=={__version__}",
        "source": source.name if source else "",
        "wheel": wheel.name if wheel else "",
    }
    yield from filter(None, (source, wheel))
    templates = _templates()
    for name in ("README.md", "APPENDIX.md", "DATA.md", "ENVIRONMENT.md", "CITATION.cff", "Dockerfile"):
        yield _write(folder / name, templates.get_template(f"{name}.j2").render(facts))
    yield _write(folder / "requirements.lock", lock_file())
    for name in experiments:
        yield from _drawn(folder, name, results, scale)


def _templates() -> jinja2.Environment:
    templates = jinja2.Environment(
        loader=jinja2.FileSystemLoader(HERE / "templates"),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # the files are Markdown and YAML, made from our own texts
    )
    templates.filters |= {"cell": _cell, "minutes": _minutes, "gigabytes": _gigabytes}
    return templates


def _cell(value: object) -> str:
    """A text for one cell of a Markdown table."""
    return " ".join(str(value).split()).replace("|", "\\|")


def _minutes(seconds: float | None) -> str:
    return "not measured" if seconds is None else f"{seconds / 60:.1f}"


def _gigabytes(size: int | None) -> str:
    return "not measured" if size is None else f"{size / 1e9:.2f}"


def _experiment(name: str, scale: str) -> tuple[str, str, Record | None, bool]:
    """A row of the appendix: name, title, record, and whether the recorded code is the current code. A record of another scale
    says nothing about what this one costs."""
    record = read(name)
    record = record if record is not None and record.scale == scale else None
    return name, catalogue.title(name) or name, record, record is not None and is_current(record)


def _together(experiments: Sequence[str]) -> list[str]:
    """The shortest words for these experiments: a paper whose experiments are all among them by its name."""
    words: dict[str, None] = {}
    for name in experiments:
        paper = name.partition("/")[0]
        whole = {*experiments_of([paper])} <= {*experiments}
        words[paper if whole else name] = None
    return list(words)


def _decided(experiments: Sequence[str], results: Path, scale: str) -> Iterator[tuple[Verdict, str]]:
    """The verdict on each claim of these experiments and papers, and the command that decides it."""
    papers = {name.partition("/")[0] for name in experiments}
    judge = Judge(results, scale, audit=True)
    for claim in ledger():
        if claim.paper in papers and (not claim.experiment or claim.experiment in experiments):
            command = f"python -m dpbench claims {claim.paper}"
            command = run_command(claim.experiment, Path("results"), scale) if claim.experiment else command
            yield judge.verdict(claim), "" if claim.untestable else command


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


def write_source(folder: Path) -> Path | None:
    """Write the commit of the checkout as one file. None if there is no checkout, or if its files differ from the commit."""
    if not Environment.here().commit or differs():
        return None
    stem = f"{NAME}-{__version__}"
    target = folder.resolve() / f"{stem}.tar.gz"
    target.parent.mkdir(parents=True, exist_ok=True)
    done = git("archive", f"--prefix={stem}/", f"--output={target}", "HEAD", seconds=120)
    return target if done is not None and done.returncode == 0 else None


def write_wheel(folder: Path, source: Path) -> Path | None:
    """Build a wheel from the archive of the source. None if hatchling, which builds it, is not here."""
    if importlib.util.find_spec("hatchling") is None:
        return None
    with tempfile.TemporaryDirectory() as temporary, tarfile.open(source) as archive:
        archive.extractall(temporary, filter="data")
        (root,) = Path(temporary).iterdir()
        build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder.resolve())]
        done = subprocess.run(build, cwd=root, capture_output=True)
    return next(folder.glob("*.whl"), None) if done.returncode == 0 else None


def lock_file(name: str = NAME) -> str:
    """The text of a requirements.lock for `pip install --constraint`."""
    head = f"# The versions that {name} ran with. Use: pip install --constraint requirements.lock {name}\n"
    return head + "".join(f"{package}=={version}\n" for package, version in locked(name).items())


def locked(name: str = NAME) -> dict[str, str]:
    """Name and version of each distribution that `name` needs, directly or indirectly, sorted by name. Extras are left out."""
    versions: dict[str, str] = {}
    waiting = [name]
    while waiting:
        for requirement in metadata.requires(waiting.pop()) or ():
            needed = _needed(requirement)
            if needed and needed not in versions:
                versions[needed] = metadata.version(needed)
                waiting.append(needed)
    return dict(sorted(versions.items()))


def _needed(requirement: str) -> str | None:
    """The distribution that a requirement names, if it applies here and is installed."""
    try:
        parsed = Requirement(requirement)
        if parsed.marker is None or parsed.marker.evaluate({"extra": ""}):
            return metadata.distribution(parsed.name).metadata["Name"]
    except (InvalidRequirement, metadata.PackageNotFoundError):
        pass
    return None
