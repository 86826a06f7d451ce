"""From stored trials to files: finds an experiment's plotting script, gives it the frame, saves PNG, PDF and CSV."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

from dpbench.engine.frame import load_trials, manifests
from dpbench.errors import UserError
from dpbench.paths import EXPERIMENTS


class CannotDraw(Exception):
    """The stored trials do not have what the experiment's figure shows."""


def script(experiment: str) -> Path | None:
    """The plotting script of an experiment: experiments/<id>.py of the user's folder, or ours."""
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


def draw_experiment(results: Path, experiment: str) -> list[Path]:
    """Draw one experiment from its latest run. Returns the files written."""
    from dpbench.figures.style import paper_style, plt

    path = script(experiment)
    if path is None:
        raise UserError(f"{experiment} has no plotting script (experiments/{experiment}.py)")
    manifest = manifests(results).get(experiment)
    if manifest is None:
        raise UserError(f"{experiment} was not run yet: python -m dpbench run experiment={experiment}")
    trials = load_trials(results, manifest)
    if trials.empty:
        raise UserError(f"{experiment} has no finished trials: python -m dpbench run experiment={experiment}")
    module = load_script(path)
    target = results / "figures" / experiment
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        numbers = module.numbers(trials)
        with paper_style():
            figure = module.draw(numbers)
    except (KeyError, ValueError, IndexError, TypeError) as error:
        # A run of other mechanisms or datasets may lack what this figure shows.
        raise CannotDraw(f"{experiment} cannot be drawn from this run: {type(error).__name__}: {error}") from error
    files = [target.with_suffix(".csv")]
    numbers.to_csv(files[0], index=False)
    with paper_style():
        if figure is not None:
            png, pdf = target.with_suffix(".png"), target.with_suffix(".pdf")
            figure.savefig(png, metadata={"Software": None})
            figure.savefig(pdf, metadata={"CreationDate": None})
            files += [png, pdf]
            plt.close(figure)
    return files
