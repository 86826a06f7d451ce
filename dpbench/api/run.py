"""`dpbench.run`: plan and compute a run from Python, with objects beside names."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dpbench.api import objects
from dpbench.config.catalogue import own_folders
from dpbench.config.compose import compose
from dpbench.config.origins import Objects
from dpbench.config.overrides import OverrideValue
from dpbench.engine.plan import QUIET, make_plan, require_settings
from dpbench.engine.progress import display
from dpbench.mechanisms.base import MECHANISMS
from dpbench.model.run import Run
from dpbench.ranking.rounds import execute_one
from dpbench.tasks.base import TASKS


def run(
    experiment: str | None = None,
    *,
    scale: str | None = None,
    dataset: Any = None,
    mechanism: Any = None,
    task: Any = None,
    name: str | None = None,
    results: Path | str = "results",
    jobs: int = -1,
    overrides: Mapping[str, OverrideValue] | None = None,
    config_dir: Path | str | Sequence[Path | str] | None = None,
    progress: bool | None = None,
    **settings: OverrideValue,
) -> Run:
    """Run an experiment, or your own choice of datasets and mechanisms, and return the finished `Run`.

    Like the verb `run`, without its tables, figures and MLflow: stored trials are not computed again.

    Datasets, mechanisms and tasks are given by name, as objects, or both, in a list or as `{name: object}`::

        run = dpbench.run("gs/fig9", scale="smoke", mechanism=["lpa", MyMechanism()], dataset=["netflix", my_data])
        run.trials(), run.summary(), run.figure()

    Without an experiment they form an ad-hoc run. `settings` are those of `run --help` (`trials=5`,
    `epsilon=[0.1, "ln2"]`), `overrides` those with dots in their names (`{"mechanism.gs.w": 10}`). `config_dir`: folders of
    your own YAML (default: ./conf). `progress` shows a bar (default: in a terminal or a notebook).

    >>> import tempfile
    >>> import dpbench
    >>> data = dpbench.Incidence.from_rows([[0, 2], [1, 2, 3], [2]] * 50, columns=4)
    >>> folder = tempfile.TemporaryDirectory()
    >>> run = dpbench.run(
    ...     dataset={"mine": data}, mechanism=["lpa", "zero"], epsilon=[1.0],
    ...     trials=4, name="first", results=folder.name, jobs=1,
    ... )
    >>> run.summary()[["mechanism", "trials", "mae"]].round(2)
      mechanism  trials   mae
    0       lpa       4   3.0
    1      zero       4  75.0
    >>> len(dpbench.load(folder.name, "first").trials())
    8
    >>> folder.cleanup()
    """
    words: dict[str, OverrideValue] = {}
    passed: dict[str, list[Any]] = {"dataset": [], "mechanism": [], "task": []}
    for group, given in (("dataset", dataset), ("mechanism", mechanism), ("task", task)):
        if given is None:
            continue
        names: list[OverrideValue] = []
        for own_name, thing in objects.named(group, given):
            if isinstance(thing, str):
                names.append(thing)
            elif group == "dataset":
                passed[group].append(objects.dataset(own_name, thing))
            else:
                passed[group].append(objects.variant(own_name, thing, MECHANISMS if group == "mechanism" else TASKS))
        words[group] = names
    given_objects = Objects(*(tuple(passed[group]) for group in ("dataset", "mechanism", "task")))
    chosen = {"results": Path(results), "runner.jobs": jobs, **QUIET, **settings, **(overrides or {}), **words}
    with display(progress) as shown:
        config = compose(
            experiment, scale, {**chosen, **({"name": name} if name else {})}, own_folders(config_dir), given_objects
        )
        plan = make_plan(config, say=shown.prepare)
        require_settings(plan)
        result = execute_one(plan, shown)
    if result.failed:
        first = next(iter(result.failures.values()))[0].error
        warnings.warn(f"{result.failed} trials of {plan.run.name} failed: {first}", stacklevel=2)
    return result.run
