"""From stored trials to files: finds an experiment's plotting script, gives it the frame, saves PNG, PDF and CSV.

A run that has no script gets the default figure. Imported by the verbs `run` and `figures`, and by the report, which uses the
numbers and the figure instead of files.
"""

from __future__ import annotations

import importlib.util
import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from dpbench.paths import EXPERIMENTS
from dpbench.results import commands, frame
from dpbench.results.folder import inside
from dpbench.results.record import Record
from dpbench.results.run import FLOAT, Run, valid_name

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


class CannotDraw(Exception):
    """The stored trials lack what the experiment's figure shows."""


@dataclass(frozen=True)
class Drawing:
    """The output of an experiment's script; `summary` if the script has one."""

    trials: int
    numbers: pd.DataFrame
    figure: Figure | None
    summary: pd.DataFrame | None = None
    more: Mapping[str, Figure] = field(default_factory=dict)
    """Further figures, by the suffix of their file names."""

    @property
    def figures(self) -> dict[str, Figure]:
        """All figures; the first one, which represents the experiment, under an empty name."""
        return {**({} if self.figure is None else {"": self.figure}), **self.more}


def script(experiment: str) -> Path | None:
    """The plotting script of an experiment: experiments/<id>.py of the user's folder, or ours."""
    if not valid_name(experiment):  # the name may come from somebody else's results
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
    from dpbench.figures.beside import with_files

    path = script(run.experiment or run.name)
    trials = frame.trials(run)
    if trials.empty:
        raise CannotDraw("no trial of it is finished")
    try:
        with style.paper_style(), style.marked(run.caveats):
            module = None if path is None else load_script(path)
            beside: list[str] = []
            if getattr(module, "BESIDE_FILES", False):
                trials, beside = with_files(run, trials)
            drawing = _usual(run, trials) if module is None else _scripted(module, trials, run)
            for figure in drawing.figures.values():
                style.note(figure, [*notes(run, marked=not drawing.more), *beside])
    except Exception as error:
        # A run with other mechanisms or datasets may lack what this figure shows, and a script may be the user's.
        raise CannotDraw(f"its script cannot draw this run ({type(error).__name__}: {error})") from error
    return drawing


def closed(run: Run) -> Figure | None:
    """The figure of a run for a program, closed: a notebook would show an open figure twice."""
    from dpbench.figures.style import plt

    figure = draw(run).figure
    if figure is not None:
        plt.close(figure)
    return figure


def draw_record(record: Record) -> Drawing:
    """The figure of an experiment from its record; CannotDraw says why not."""
    from dpbench.figures import style

    path, numbers = script(record.experiment), record.numbers()
    if path is None:
        raise CannotDraw("it no longer has a plotting script")
    try:
        with style.paper_style(), style.marked(record.not_private):
            drawing = _shown(load_script(path), numbers, record.trials * record.settings)
            for figure in drawing.figures.values():
                style.note(figure, record_notes(record, marked=not drawing.more))
    except Exception as error:  # the script may have changed since
        raise CannotDraw(f"its script cannot draw the record ({type(error).__name__}: {error})") from error
    return drawing


def record_notes(record: Record, *, marked: bool = True) -> list[str]:
    """The notes below a figure of the record."""
    from dpbench.figures.style import MARK, name

    trials = "1 trial" if record.trials == 1 else f"up to {record.trials} trials"
    draws = f" on each of {len(record.data_seeds)} draws of the data" if len(record.data_seeds) > 1 else ""
    lines = [
        f"recorded at {record.commit}: scale {record.scale}, {trials} per setting{draws}; {'; '.join(record.origins)}"
    ]
    if record.not_private and marked:
        lines.append(f"{MARK} not private as run: {', '.join(map(name, record.not_private))}")
    return lines


def _scripted(module: ModuleType, trials: pd.DataFrame, run: Run) -> Drawing:
    """The script's output for the trials; its `numbers` also gets the run if it takes that argument."""
    takes_run = "run" in inspect.signature(module.numbers).parameters
    return _shown(module, module.numbers(trials, run) if takes_run else module.numbers(trials), len(trials))


def _shown(module: ModuleType, numbers: pd.DataFrame, trials: int) -> Drawing:
    """What a script draws: by `draw`, or by `figures` if there are several; the first one represents the experiment."""
    summary = module.summary(numbers) if hasattr(module, "summary") else None
    if not hasattr(module, "figures"):
        return Drawing(trials, numbers, module.draw(numbers), summary)
    (_, figure), *others = module.figures(numbers).items()
    return Drawing(trials, numbers, figure, summary, dict(others))


def _usual(run: Run, trials: pd.DataFrame) -> Drawing:
    from dpbench.figures import usual

    numbers = usual.numbers(trials)
    shown = usual.metrics_shown(trials, run.metrics)
    return Drawing(len(trials), numbers, usual.draw(numbers, shown) if shown else None)


def notes(run: Run, *, marked: bool = True) -> list[str]:
    """The notes below a figure: how it was run, where the data comes from, and what is not private.

    marked: whether the figure marks what is not private. On a board, all or none of the mechanisms are private.
    """
    from dpbench.figures.style import MARK, name

    trials = "1 trial" if run.repetitions == 1 else f"{run.repetitions} trials"
    trials += " per setting" + (" and draw of the data" if len(run.data_seeds) > 1 else "")
    noise = f", {run.noise} noise" if run.noise != FLOAT else ""
    lines = [f"scale {run.scale}, {trials}{noise}; {'; '.join(run.origins())}"]
    if run.name != run.experiment:  # a figure of a paper has a known name; this one must say what it is
        lines.insert(0, run.title or run.name)
        if script(run.experiment or run.name) is None and run.repetitions > 1 and len(run.data_seeds) < 2:
            lines.append("points and bars: means over the trials, with their standard errors")
    if len(run.data_seeds) > 1:
        lines.append(commands.several_draws(run))
    if run.caveats and marked:
        lines.append(f"{MARK} not private as run: {', '.join(name(mechanism) for mechanism in run.caveats)}")
    return lines


def save(run: Run, drawing: Drawing | None = None) -> tuple[list[Path], list[str]]:
    """Draw one run into files. Returns the files, and remarks on the run. `drawing`: use it, do not draw again."""
    drawing = drawing or draw(run)
    return _write(drawing, run.results, run.label), commands.remarks(run, drawing.trials)


def save_record(record: Record, results: Path) -> list[Path]:
    """Draw the record of an experiment into files of a results folder, under a name that says so."""
    return _write(draw_record(record), results, f"{record.experiment}@record")


def _write(drawing: Drawing, results: Path, name: str) -> list[Path]:
    from dpbench.figures.style import paper_style, plt

    def file(kind: str, added: str = "") -> Path:
        return inside(results, results / "figures" / f"{name}{f'-{added}' if added else ''}.{kind}")

    files = [file("csv")]
    files[0].parent.mkdir(parents=True, exist_ok=True)
    drawing.numbers.to_csv(files[0], index=False)
    for added, figure in drawing.figures.items():
        with paper_style():
            figure.savefig(file("png", added), metadata={"Software": None})
            figure.set_layout_engine("none")  # the layout is done: repeating it would take as long as drawing
            figure.savefig(file("pdf", added), metadata={"CreationDate": None})
        files += [file("png", added), file("pdf", added)]
        plt.close(figure)
    return files
