"""The facts of a report, from the store: experiments with their numbers and pictures, verdicts, datasets, environment."""

from __future__ import annotations

import importlib.metadata
import io
import json
import os
import platform
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpbench.claims.judge import Judge, Verdict
from dpbench.claims.ledger import ledger
from dpbench.config.catalogue import options
from dpbench.paths import CONF
from dpbench.results.frame import remarks, run_command, stored
from dpbench.sources.cards import Card, load

if TYPE_CHECKING:
    import pandas as pd

PAPERS = {
    "gs": "Kellaris and Papadopoulos: Practical Differential Privacy via Grouping and Smoothing, PVLDB 2013",
    "sparse": "Cormode, Procopiuc, Srivastava and Tran: Differentially Private Publication of Sparse Data, ICDT 2012",
    "analytics": "Fan and Jin: A Practical Framework for Privacy-Preserving Data Analytics, WWW 2015",
    "sensitivity": "Day and Li: Publishing High-dimensional Data Using Sensitivity Control, AsiaCCS 2015",
    "epicrec": "Shen and Jin: EpicRec, CCS 2016",
    "cross": "Across the papers: what none of them compares",
}
PACKAGES = (
    "dpbench-repro",
    "numpy",
    "scipy",
    "numba",
    "pandas",
    "pyarrow",
    "cvxpy",
    "joblib",
    "hydra-core",
    "matplotlib",
)
DPI = 140
COLOURS = 128  # of an embedded picture; line drawings lose nothing and shrink to a third


@dataclass
class Experiment:
    """One figure or table: what was run of it, its numbers and its picture."""

    id: str
    title: str
    command: str
    """What makes it, as it is defined."""
    manifest: dict[str, Any] | None = None
    trials: int = 0
    numbers: pd.DataFrame | None = None
    summary: pd.DataFrame | None = None
    picture: bytes | None = None
    problem: str = ""
    """Why it cannot be drawn."""
    remarks: list[str] = field(default_factory=list)
    """What sets this run apart from the experiment as it is defined."""
    verdicts: list[Verdict] = field(default_factory=list)

    @property
    def paper(self) -> str:
        return self.id.partition("/")[0]


@dataclass
class Dataset:
    """A dataset's card, and for those in the runs where they came from and their statistics."""

    name: str
    card: Card
    spec: dict[str, Any] | None = None
    scale: str = ""
    statistics: dict[str, float] = field(default_factory=dict)


@dataclass
class Facts:
    """Everything the page shows."""

    experiments: list[Experiment]
    verdicts: list[Verdict]
    datasets: list[Dataset]
    mechanisms: list[dict[str, str]]
    environment: dict[str, str]
    results: Path
    written: str

    @property
    def missing(self) -> list[Experiment]:
        return [e for e in self.experiments if e.manifest is None]


def gather(results: Path, scale: str | None, say: Callable[[str], None]) -> Facts:
    """All facts; draws every figure from the stored trials. UserError when there are none."""
    stored(results, scale)
    judge = Judge(results, scale)
    verdicts = sorted((judge.verdict(claim) for claim in ledger()), key=lambda v: _rank(v.claim.paper))
    experiments = []
    for name in dict.fromkeys((*options("experiment"), *judge.manifests)):
        manifest = judge.manifests.get(name)
        command = run_command(name, results, manifest["scale"] if manifest else scale)
        experiment = Experiment(name, _title(name), command, manifest)
        experiment.verdicts = [v for v in verdicts if v.claim.experiment == name]
        if manifest is not None:
            _draw(experiment, manifest, results)
            say(f"{name}: {experiment.problem or f'{experiment.trials} trials'}")
        experiments.append(experiment)
    experiments.sort(key=lambda e: (_rank(e.paper), _natural(e.id)))
    written = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    datasets = _datasets(judge.manifests)
    return Facts(experiments, verdicts, datasets, _mechanisms(), _environment(), results, written)


def _rank(paper: str) -> int:
    return list(PAPERS).index(paper) if paper in PAPERS else len(PAPERS)


def _natural(text: str) -> list[Any]:
    """fig9 before fig10."""
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", text)]


def _title(experiment: str) -> str:
    path = CONF / "experiment" / f"{experiment}.yaml"
    found = re.search(r"^title: *(.*)$", path.read_text(), re.MULTILINE) if path.is_file() else None
    return found[1].strip("\"'") if found else experiment


def _draw(experiment: Experiment, manifest: dict[str, Any], results: Path) -> None:
    from dpbench.figures.draw import CannotDraw, draw
    from dpbench.figures.style import paper_style, plt

    experiment.title = manifest["title"] or experiment.title
    try:
        drawing = draw(results, manifest)
    except CannotDraw as problem:  # the rest of the page still stands
        experiment.problem = str(problem)
        return
    experiment.trials, experiment.numbers, experiment.summary = drawing.trials, drawing.numbers, drawing.summary
    experiment.remarks = remarks(manifest, drawing.trials, results)
    if drawing.figure is not None:
        with paper_style():
            experiment.picture = _png(drawing.figure)
        plt.close(drawing.figure)


def _png(figure: Any) -> bytes:
    from PIL import Image

    drawn, small = io.BytesIO(), io.BytesIO()
    figure.savefig(drawn, format="png", dpi=DPI, metadata={"Software": None})
    drawn.seek(0)
    Image.open(drawn).convert("RGB").quantize(COLOURS).save(small, format="PNG", optimize=True)
    return small.getvalue()


def _datasets(manifests: dict[str, dict[str, Any]]) -> list[Dataset]:
    used: dict[str, tuple[dict[str, Any], str]] = {}
    for manifest in manifests.values():
        used |= {name: (spec, manifest["scale"]) for name, spec in manifest.get("datasets", {}).items()}
    found = [Dataset(name, load(name)) for name in dict.fromkeys((*options("dataset"), *used))]
    for dataset in found:
        if dataset.name in used:
            dataset.spec, dataset.scale = used[dataset.name]
            dataset.statistics = _statistics(dataset.spec)
    return found


def _statistics(spec: dict[str, Any]) -> dict[str, float]:
    """Those of the built data, while they are in the cache."""
    from dpbench.errors import UserError
    from dpbench.sources.cache import DatasetSpec

    try:
        return dict(json.loads((DatasetSpec(**spec).folder() / "meta.json").read_text())["statistics"])
    except (OSError, ValueError, KeyError, TypeError, UserError):
        return {}


def _mechanisms() -> list[dict[str, str]]:
    from dpbench.mechanisms.base import MECHANISMS

    rows = []
    for name, cls in MECHANISMS.items():
        try:
            caveat = cls().not_private()
        except TypeError:
            caveat = ""
        place = f"{cls.paper}, {cls.place}" if cls.place else cls.paper
        rows.append(
            {
                "mechanism": name,
                "from": place,
                "data": ", ".join(cls.kinds),
                "guarantee": f"{cls.privacy}; {cls.neighbours}",
                "not private by default": caveat,
                "reconstructed": cls.reconstructed,
            }
        )
    return rows


def _environment() -> dict[str, str]:
    found = {"Python": platform.python_version(), "platform": platform.platform(), "cores": str(os.cpu_count())}
    for package in PACKAGES:
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found
