"""From stored trials to files: finds an experiment's plotting script, gives it the frame, saves PNG, PDF and CSV.

A run that has no script gets the default figure. Imported by the verbs `run` and `figures`, and by the report, which uses the
numbers and the figure instead of files.
"""

from __future__ import annotations

import functools
import importlib.util
import inspect
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from dpbench.figures.metadata import FORMATS, About
from dpbench.model.record import Record
from dpbench.model.run import FLOAT, Run, valid_name
from dpbench.model.world import LABEL
from dpbench.paths import EXPERIMENTS, results_above
from dpbench.registry import make_importable
from dpbench.storage import commands, frame
from dpbench.storage.files import inside
from dpbench.storage.record import read_numbers

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


COUNTING = frozenset({"statistics", "user_sizes"})
"""Tasks that only describe the data: a caption of one such trial does not list budget and privacy, which have no effect."""


FEW = 7
"""A caption lists the budgets if there are at most this many."""


SAMPLED = "BOARD"
"""Scripts with this name are boards, whose captions say themselves where expectations are compared."""


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
        """All figures by name. The first one represents the experiment; its name is empty."""
        return {**({} if self.figure is None else {"": self.figure}), **self.more}


def script(experiment: str) -> Path | None:
    """The plotting script of an experiment: experiments/<id>.py of the user's folder, unless it holds results, or ours."""
    if not valid_name(experiment):  # the name may come from somebody else's results
        return None
    own = [Path.cwd() / "experiments"] if results_above(Path.cwd()) is None else []
    for root in (*own, EXPERIMENTS):
        path = root / f"{experiment}.py"
        if path.is_file():
            return path
    return None


def load_script(path: Path) -> ModuleType:
    make_importable()
    name = "dpbench_experiment_" + "_".join(path.with_suffix("").parts[-2:])
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def draw(run: Run) -> Drawing:
    """The numbers and the figure of one run; CannotDraw says why not."""
    from dpbench.figures import captions, style
    from dpbench.figures.original_files import with_files

    run = run.own
    path = script(run.experiment or run.name)
    trials = frame.trials(run)
    if trials.empty:
        raise CannotDraw("no trial of it is finished")
    try:
        with style.paper_style(), style.marked(run.caveats):
            module = None if path is None else load_script(path)
            if not getattr(module, "WORLDS", False):  # a script that knows worlds says so
                trials = frame.one_world(trials)
                run = _in_worlds_of(run, trials)
            beside: list[str] = []
            if getattr(module, "BESIDE_FILES", False):
                trials, beside = with_files(run, trials)
            drawing = _usual(run, trials) if module is None else _scripted(module, trials, run)
            for figure in drawing.figures.values():
                told = [*notes(run, marked=not drawing.more), *beside]
                if not hasattr(module, SAMPLED):
                    told += captions.expected_line(frame.expected_names(trials), drawing.numbers.columns)
                captions.note(figure, [*told, *_explained(module, figure, len(run.data_seeds))])
                if run.scale != captions.PAPER_SIZE:
                    captions.mark(figure, f"{run.scale}, {_trials(run.repetitions)}")
    except Exception as error:
        # A run with other mechanisms or datasets may lack what this figure shows, and a script may be the user's.
        raise CannotDraw(f"its script cannot draw this run ({type(error).__name__}: {error})") from error
    return drawing


def _in_worlds_of(run: Run, trials: pd.DataFrame) -> Run:
    """The run without settings in worlds that these trials, and so its caption, are not about."""
    if LABEL not in trials:
        return run
    worlds = dict(zip(trials["dataset"], trials[LABEL].fillna(""), strict=True))
    shown = (s for s in run.settings if worlds.get(s.dataset.name, s.dataset.world) == s.dataset.world)
    return replace(run, settings=tuple(shown))


def closed(run: Run) -> Figure | None:
    """The figure of a run, for a program. It is closed, because a notebook would show an open figure twice."""
    figure = draw(run).figure
    return None if figure is None else for_program(figure)


def for_program(figure: Figure) -> Figure:
    """The same, closed. Its caption, with scale and †, stands outside of the axes: `savefig` keeps it, unless told otherwise."""
    from dpbench.figures.style import plt

    plt.close(figure)
    figure.savefig = functools.partial(figure.savefig, bbox_inches="tight")  # type: ignore[method-assign]
    return figure


def draw_record(record: Record) -> Drawing:
    """The figure of an experiment from its recorded numbers; CannotDraw says why not."""
    from dpbench.figures import captions, style
    from dpbench.figures.original_files import recorded

    module, numbers = _recorded(record)
    try:
        with style.paper_style(), style.marked(record.not_private):
            drawing = _shown(module, numbers, record.trials * record.settings)
            for figure in drawing.figures.values():
                lines = [*record_notes(record, marked=not drawing.more), *recorded(numbers)]
                if not hasattr(module, SAMPLED):
                    lines += captions.expected_line(record.expected, numbers.columns)
                captions.note(figure, [*lines, *_explained(module, figure, len(record.data_seeds))])
                captions.mark(figure, f"on record: {record.scale}, {_trials(record.trials)}")
    except Exception as error:  # the script may have changed since
        raise _cannot_draw_record(error) from error
    return drawing


def record_tables(record: Record) -> tuple[pd.DataFrame, pd.DataFrame | None]:
    """The recorded numbers and their summary, without drawing; CannotDraw says why not."""
    from dpbench.figures import style

    module, numbers = _recorded(record)
    try:
        with style.marked(record.not_private):
            return numbers, module.summary(numbers) if hasattr(module, "summary") else None
    except Exception as error:
        raise _cannot_draw_record(error) from error


def _recorded(record: Record) -> tuple[ModuleType, pd.DataFrame]:
    """The script and the numbers of a record."""
    path = script(record.experiment)
    if path is None:
        raise CannotDraw("it no longer has a plotting script")
    try:
        return load_script(path), read_numbers(record)
    except Exception as error:
        raise _cannot_draw_record(error) from error


def _cannot_draw_record(error: Exception) -> CannotDraw:
    return CannotDraw(f"its script cannot draw the record ({type(error).__name__}: {error})")


def cannot_render(error: Exception) -> CannotDraw:
    """A text of a figure may be no valid formula, or far too long for a picture."""
    reason = " ".join(str(error).split())
    return CannotDraw(f"its figure cannot be drawn ({type(error).__name__}: {reason[:200]})")


def record_notes(record: Record, *, marked: bool = True) -> list[str]:
    """The notes below a figure of the record."""
    from dpbench.figures.style import MARK, name

    trials = f"{'up to ' * (record.trials > 1)}{_trials(record.trials)}"
    counted = record.trials == 1 and {*record.classes.get("task", ())} <= COUNTING
    budgets = "" if counted else _budgets(record.epsilons)
    draws = f" on each of {len(record.data_seeds)} draws of the data" if len(record.data_seeds) > 1 else ""
    lines = [
        f"recorded at {record.commit}: scale {record.scale}, {trials} per setting{draws}{budgets}; "
        f"{'; '.join(record.origins)}"
    ]
    if record.not_private and marked and not counted:
        lines.append(
            f"{MARK} not private as run: {', '.join(name(one).removesuffix(MARK) for one in record.not_private)}"
        )
    return lines


def _scripted(module: ModuleType, trials: pd.DataFrame, run: Run) -> Drawing:
    """The script's output for the trials; its `numbers` also gets the run if it takes that argument."""
    takes_run = "run" in inspect.signature(module.numbers).parameters
    return _shown(module, module.numbers(trials, run) if takes_run else module.numbers(trials), len(trials))


def _shown(module: ModuleType, numbers: pd.DataFrame, trials: int) -> Drawing:
    """The script's figures: from its `draw`, or from its `figures` if there are several. The first represents the experiment."""
    summary = module.summary(numbers) if hasattr(module, "summary") else None
    if not hasattr(module, "figures"):
        return Drawing(trials, numbers, module.draw(numbers), summary)
    (_, figure), *others = module.figures(numbers).items()
    return Drawing(trials, numbers, figure, summary, dict(others))


def _usual(run: Run, trials: pd.DataFrame) -> Drawing:
    from dpbench.figures import default

    numbers = default.numbers(trials)
    shown = default.metrics_shown(trials, run.metrics)
    return Drawing(len(trials), numbers, default.draw(numbers, shown) if shown else None)


def notes(run: Run, *, marked: bool = True) -> list[str]:
    """The notes below a figure: how it was run, where the data comes from, and what is not private.

    marked: whether the figure marks what is not private. On a board, all or none of the mechanisms are private.
    """
    from dpbench.figures.style import MARK, name

    trials = run.describe_trials()
    trials += " and draw of the data" if len(run.data_seeds) > 1 else ""
    noise = f", {run.noise} noise" if run.noise != FLOAT else ""
    counted = run.repetitions == 1 and {setting.task.cls for setting in run.settings} <= COUNTING
    budgets = "" if counted else _budgets({setting.epsilon for setting in run.settings})
    lines = [f"scale {run.scale}, {trials}{noise}{budgets}; {'; '.join(run.origins())}"]
    if run.name != run.experiment:  # the title of a paper's figure is known; this run must say what it is
        lines.insert(0, run.title or run.name)
    if len(run.data_seeds) > 1:
        lines.append(commands.several_draws(run))
    if run.caveats and marked and not counted:
        lines.append(f"{MARK} not private as run: {', '.join(name(one).removesuffix(MARK) for one in run.caveats)}")
    return lines


def _explained(module: ModuleType | None, figure: Figure, draws: int) -> list[str]:
    """Lines that explain the error bars and crosses of a figure, and the script's own caption (`ERROR_BARS`, `CAPTION`)."""
    from dpbench.figures import captions

    lines = [*captions.told(figure), *captions.stated_line(figure)]
    if captions.has_error_bars(figure) and draws < 2:  # with several draws, the notes explain them
        lines.append(getattr(module, "ERROR_BARS", captions.STANDARD_ERRORS))
    caption = getattr(module, "CAPTION", "")
    return [*lines, *([caption] if caption else [])]


def _trials(count: int) -> str:
    return "1 trial" if count == 1 else f"{count} trials"


def _budgets(epsilons: Collection[float]) -> str:
    """The budgets, if they are few."""
    from dpbench.figures.style import epsilon_name

    named = [epsilon_name(epsilon) for epsilon in sorted(epsilons)]
    return f", ε = {' and '.join([', '.join(named[:-1]), *named[-1:]][-len(named) :])}" if 0 < len(named) <= FEW else ""


def save(run: Run, drawing: Drawing | None = None, formats: Sequence[str] = FORMATS) -> tuple[list[Path], list[str]]:
    """Draw one run into files. Returns the files, and remarks about the run. `drawing`: its figures, if already drawn."""
    drawing = drawing or draw(run)
    return _write(drawing, run.results, run.label, about(run), formats), commands.remarks(run, drawing.trials)


def save_record(record: Record, results: Path, formats: Sequence[str] = FORMATS) -> list[Path]:
    """Draw an experiment's recorded numbers into files of a results folder; their names end in `@record`."""
    return _write(draw_record(record), results, f"{record.experiment}@record", about_record(record), formats)


def about(run: Run) -> About:
    """The metadata of the files of a run's figure."""
    return About(run.title or run.name, commands.own_command(run, folder=False), run.environment, run.scale)


def about_record(record: Record) -> About:
    command = commands.run_command(record.experiment, commands.RESULTS, record.scale)
    return About(record.title or record.experiment, command, record.environment, record.scale)


def _write(drawing: Drawing, results: Path, name: str, told: About, formats: Sequence[str]) -> list[Path]:
    from dpbench.figures.layout import tight_box
    from dpbench.figures.style import paper_style, plt

    def file(kind: str, added: str = "") -> Path:
        return inside(results, results / "figures" / f"{name}{f'-{added}' if added else ''}.{kind}")

    files = [file("csv")]
    files[0].parent.mkdir(parents=True, exist_ok=True)
    drawing.numbers.to_csv(files[0], index=False)
    for added, figure in drawing.figures.items():
        try:
            with paper_style():
                box = tight_box(figure)
                for kind in formats:
                    figure.savefig(file(kind, added), bbox_inches=box, metadata=told.metadata(kind))
                    files.append(file(kind, added))
        except (ValueError, OverflowError, MemoryError, RuntimeError) as error:
            raise cannot_render(error) from error
        finally:
            plt.close(figure)
    return files
