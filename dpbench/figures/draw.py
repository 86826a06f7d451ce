"""From stored trials to files: finds an experiment's plotting script, gives it the frame, saves PNG, PDF and CSV.

A run that has no script gets the usual figure.
Imported by the verbs `run` and `figures`, and by the report, which takes the numbers and the figure instead of files.
"""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from dpbench.paths import EXPERIMENTS
from dpbench.results import commands, frame
from dpbench.results.folder import inside
from dpbench.results.run import FLOAT, Run, valid_name

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


class CannotDraw(Exception):
    """The stored trials do not have what the experiment's figure shows."""


@dataclass(frozen=True)
class Drawing:
    """What an experiment's script made of its trials; `summary` where the script has one."""

    trials: int
    numbers: pd.DataFrame
    figure: Figure | None
    summary: pd.DataFrame | None = None


def script(experiment: str) -> Path | None:
    """The plotting script of an experiment: experiments/<id>.py of the user's folder, or ours."""
    if not valid_name(experiment):  # it may come from somebody else's results
        return None
    for root in (Path.cwd() / "experiments", EXPERIMENTS):
        path = root / f"{experiment}.py"
        if path.is_file():
            return path
    return None


def load_script(path: Path) -> ModuleType:
    name = "dpbench_experiment_" + "_".join(path.with_suffix("").parts[-2:])
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def draw(run: Run) -> Drawing:
    """The numbers and the figure of one run; CannotDraw says why not."""
    from dpbench.figures import style

    path = script(run.experiment or run.name)
    trials = frame.trials(run)
    if trials.empty:
        raise CannotDraw("no trial of it is finished")
    try:
        with style.paper_style(), style.marked(run.caveats):
            numbers, figure, summary = _usual(run, trials) if path is None else _scripted(path, trials)
            if figure is not None:
                style.note(figure, notes(run))
    except Exception as error:
        # A run of other mechanisms or datasets may lack what this figure shows, and a script may be the user's own.
        raise CannotDraw(f"its script cannot draw this run ({type(error).__name__}: {error})") from error
    return Drawing(len(trials), numbers, figure, summary)


def _scripted(path: Path, trials: pd.DataFrame) -> tuple[pd.DataFrame, Figure | None, pd.DataFrame | None]:
    module = load_script(path)
    numbers = module.numbers(trials)
    return numbers, module.draw(numbers), module.summary(numbers) if hasattr(module, "summary") else None


def _usual(run: Run, trials: pd.DataFrame) -> tuple[pd.DataFrame, Figure | None, pd.DataFrame | None]:
    from dpbench.figures import usual

    numbers = usual.numbers(trials)
    shown = usual.metrics_shown(trials, run.metrics)
    return numbers, usual.draw(numbers, shown) if shown else None, None


def notes(run: Run) -> list[str]:
    """What stands below a figure: how it was run, where the data come from, and what is not private."""
    from dpbench.figures.style import MARK, name

    trials = "1 trial" if run.repetitions == 1 else f"{run.repetitions} trials"
    noise = f", {run.noise} noise" if run.noise != FLOAT else ""
    lines = [f"scale {run.scale}, {trials} per setting{noise}; {'; '.join(run.origins())}"]
    if run.name != run.experiment:  # a figure of a paper is known by its place; this one must say what it is
        lines.insert(0, run.title or run.name)
        if script(run.experiment or run.name) is None and run.repetitions > 1:
            lines.append("points and bars: means over the trials, with their standard errors")
    if run.caveats:
        lines.append(f"{MARK} not private as run: {', '.join(name(mechanism) for mechanism in run.caveats)}")
    return lines


def save(run: Run) -> tuple[list[Path], list[str]]:
    """Draw one run into files. Returns the files written, and what to know of the run."""
    from dpbench.figures.style import paper_style, plt

    drawing = draw(run)
    csv, png, pdf = (
        inside(run.results, run.results / "figures" / f"{run.label}.{kind}") for kind in ("csv", "png", "pdf")
    )
    csv.parent.mkdir(parents=True, exist_ok=True)
    files = [csv]
    drawing.numbers.to_csv(csv, index=False)
    if drawing.figure is not None:
        with paper_style():
            drawing.figure.savefig(png, metadata={"Software": None})
            drawing.figure.set_layout_engine(
                "none"
            )  # the places are found: to find them again takes as long as drawing
            drawing.figure.savefig(pdf, metadata={"CreationDate": None})
        files += [png, pdf]
        plt.close(drawing.figure)
    return files, commands.remarks(run, drawing.trials)
