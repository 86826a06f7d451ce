"""`run`: plans, computes what is missing, stores, logs, prints a table and draws the figure."""

from __future__ import annotations

import textwrap
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.markup import escape

from dpbench.cli import common, run_shards
from dpbench.cli import run_tables as tables
from dpbench.cli.progress import preparing, progress_bar
from dpbench.cli.words import OWN, check_words
from dpbench.config.catalogue import GROUPS, options
from dpbench.config.compose import compose_each, config_folders, hydra_main
from dpbench.config.schema import RunConfig
from dpbench.engine.plan import Plan, make_plan, require_settings
from dpbench.engine.runner import Result, execute
from dpbench.errors import UserError
from dpbench.paths import CONF
from dpbench.results.commands import run_command
from dpbench.results.folder import is_old
from dpbench.results.run import Run
from dpbench.results.store import Store

HELP = """python -m dpbench run: datasets x mechanisms x epsilons, repeated in parallel, stored, logged and drawn.

Examples
  python -m dpbench run experiment=gs/fig9 scale=smoke
  python -m dpbench run experiment=gs/fig7,gs/fig9      several at once; experiment=gs: all of a paper; experiment=all
  python -m dpbench run 'dataset=[checkin,netflix]' 'mechanism=[lpa,gs]' 'epsilon=[0.1,ln2]' trials=50 name=mytest
                                                       an ad-hoc run: no experiment, the default task for the data
  python -m dpbench run experiment=gs/fig9 mechanism.gs.bound=50 name=bounded
                                                       a variation, stored beside the experiment's own run
  python -m dpbench run experiment=gs/fig7 mechanism.gs_s.sampling=column runner.jobs=1
  python -m dpbench run experiment=gs/fig9 dry=true

Groups (group=option, or group=[several,options])
{groups}

Settings (key=value), with their defaults
{settings}
  dataset.NAME.PARAMETER, mechanism.NAME.PARAMETER, task.NAME.PARAMETER: any parameter; a list is an axis
  runner.jobs=-1, runner.chunk=auto, runner.address=null, runner.shard=null (2/8: the second of eight parts), tracking.uri=null
  runner.timeout=null, runner.memory=null: seconds per trial, GB per worker; trials that exceed them fail, the others continue
  runner=slurm: runner.queue, runner.walltime, runner.memory, runner.interface, runner.directives

Flags: --verbose (whole tracebacks of failures) | --config-dir DIR (your own YAML) | -m (sweep)
  --cfg job | --info searchpath | --hydra-help
"""


def main(argv: list[str]) -> int:
    # Hydra's own help reads every YAML file, takes a second and shows less.
    if "--help" in argv or "-h" in argv:
        print(help_text(config_folders(argv)))
        return 0
    check_words(argv, config_folders(argv))
    verbose = "--verbose" in argv
    argv = [word for word in argv if word not in OWN]
    if several := compose_each(argv):
        from dpbench.cli.run_together import run_together

        return run_together(several, verbose=verbose)
    return hydra_main(argv, partial(run_once, verbose=verbose))


def help_text(folders: list[Path]) -> str:
    """What `run --help` prints: the groups with their options, and the settings of conf/run.yaml with its comments."""
    groups = []
    for group in GROUPS:
        names = f"{group}: {', '.join(options(group, *folders))}"
        groups.append(textwrap.fill(names, 116, initial_indent="  ", subsequent_indent="    ", break_on_hyphens=False))
    body = (CONF / "run.yaml").read_text(encoding="utf-8").partition("\nhydra:")[0].split("\n\n", 1)[1]
    return HELP.format(groups="\n".join(groups), settings=textwrap.indent(body.strip(), "  "))


def run_once(config: RunConfig, *, verbose: bool = False) -> int:
    """One run from start to end. Returns the exit status. `verbose`: print the whole traceback of every failure."""
    console, notes = common.console(), common.notes()
    check_folder(config.results, notes)
    began = time.perf_counter()
    with preparing(notes) as say:
        plan = make_plan(config, say=say)
    store = Store(config.results, say=warning(notes))
    if config.dry:
        tables.print_plan(console, plan, store)
        run_shards.print_overview(console, [plan])
        return 0
    require_settings(plan)
    plan.run.save()
    result = _execute(plan, store, notes)
    whole = finish(
        replace(plan.run, seconds=time.perf_counter() - began), result, store, plan, (console, notes), verbose=verbose
    )
    if not whole:
        run_shards.print_next(console, config)
        return 1 if result.failed else 0
    _print_next(console, config)
    return 1 if result.failed else 0


def finish(
    run: Run,
    result: Result,
    store: Store,
    plan: Plan,
    consoles: tuple[Console, Console],
    *,
    verbose: bool = False,
) -> bool:
    """Save an executed run, print its table, draw and log it. False if other shards must complete it first."""
    (console, notes), config = consoles, plan.config
    whole = config.runner.part is None or run_shards.complete(plan, store)
    if config.runner.part is None:  # a shard's time is not the time of the run
        run.save()
    if whole:
        tables.print_results(console, run, store, result)
        tables.print_notes(console, run, store)
    tables.print_left_out(notes, run)
    tables.print_failures(notes, run, result, verbose)
    console.print(f"{counts(result)}; {run.seconds:.1f} s")
    if config.runner.part is not None:
        run_shards.print_part(console, plan, store)
    if whole:
        files = _draw(run, notes) if config.figure else []
        if config.tracking.enabled:
            _track(run, config.tracking.uri, files, notes)
        print_changes(console, run)
    return whole


def counts(result: Result) -> str:
    return f"{result.computed} trials computed, {result.found} found finished, {result.failed} failed"


def warning(notes: Console) -> Callable[[str], None]:
    """A function that shows warnings about the stored files."""
    return lambda text: notes.print(f"[yellow]{escape(text)}", soft_wrap=True)


def check_folder(results: Path, notes: Console) -> None:
    above = next(place for place in (results.absolute(), *results.absolute().parents) if place.exists())
    if not above.is_dir():
        raise UserError(f"results={results}: {above} is a file: expected a folder")
    if is_old(results):
        notes.print(f"{results} was written by an earlier version of dpbench: its trials are not read", soft_wrap=True)


def carry_out(plan: Plan, store: Store) -> Result:
    """Compute what is missing of a plan, and show the progress."""
    return _execute(plan, store, common.notes())


def _execute(plan: Plan, store: Store, notes: Console) -> Result:
    part = plan.config.runner.part
    name = plan.run.name if part is None else f"{plan.run.name}, shard {part}"
    with progress_bar(name, run_shards.planned(plan), notes) as (advance, status):
        return execute(plan, store, advance, lambda text: notes.print(escape(text), soft_wrap=True), status)


def _track(run: Run, uri: str | None, files: list[Path], notes: Console) -> None:
    from dpbench.results.tracking import TrackerDown, track

    try:
        track(run, uri, files)
    except TrackerDown as problem:
        notes.print(
            f"[yellow]warning[/]: MLflow did not accept the results ({escape(str(problem))}). "
            "They are stored; `python -m dpbench track` logs them later.",
            soft_wrap=True,
        )


def _draw(run: Run, notes: Console) -> list[Path]:
    from dpbench.figures.draw import CannotDraw, save

    try:
        files, _ = save(run)
    except CannotDraw as problem:
        notes.print(f"[yellow]warning[/]: {run.name}: {escape(str(problem))}", soft_wrap=True)
        return []
    for path in files:
        notes.print(f"wrote {path}", soft_wrap=True)
    return files


def print_changes(console: Console, run: Run) -> None:
    """Warn that a run with overrides but without a name is shown in place of the experiment, until it is run as defined."""
    if not run.changes:
        return
    text = f"Not {run.experiment} as defined ({'; '.join(run.changes)})"
    if run.label == run.experiment:  # not one on original files, which is kept beside it
        again = run_command(run.experiment, run.results, run.scale)
        text += f"; figures and report show this run until: {again}"
    console.print(escape(text), highlight=False, soft_wrap=True)


def _print_next(console: Console, config: RunConfig) -> None:
    if config.tracking.enabled and not config.tracking.uri:
        uri = f"sqlite:///{config.results / 'mlflow.db'}"
        console.print(
            f"Browse the results: python -m mlflow ui --backend-store-uri {uri}", highlight=False, soft_wrap=True
        )
    console.print("Try next:", highlight=False)
    for command in ("list experiments", "run experiment=gs/fig7", "run --help"):
        console.print(f"  python -m dpbench {command}", highlight=False, soft_wrap=True)
