"""`run`: plan, compute what is missing, store, log, print a table, draw the figure."""

from __future__ import annotations

import textwrap
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from dpbench.cli import run_shards
from dpbench.cli import run_tables as tables
from dpbench.cli.words import check_words
from dpbench.config.catalogue import GROUPS, options
from dpbench.config.compose import config_dirs, hydra_main
from dpbench.config.schema import RunConfig
from dpbench.engine.plan import Plan, make_plan
from dpbench.engine.runner import Result, execute
from dpbench.engine.shards import trials_of
from dpbench.errors import UserError
from dpbench.paths import CONF
from dpbench.results.commands import run_command
from dpbench.results.folder import is_old
from dpbench.results.run import Run
from dpbench.results.store import Store

WIDTH = 150  # of what is printed into a pipe


HELP = """python -m dpbench run: datasets x mechanisms x epsilons, repeated in parallel, stored, logged and drawn.

Examples
  python -m dpbench run experiment=gs/fig9 scale=smoke
  python -m dpbench run 'dataset=[checkin,netflix]' 'mechanism=[lpa,gs]' 'epsilon=[0.1,ln2]' trials=50
  python -m dpbench run experiment=gs/fig7 mechanism.gs_s.sampling=column runner.jobs=1
  python -m dpbench run experiment=gs/fig9 dry=true

Groups (group=option, or group=[several,options])
{groups}

Settings (key=value), with their defaults
{settings}
  dataset.NAME.PARAMETER, mechanism.NAME.PARAMETER, task.NAME.PARAMETER: any parameter; a list is an axis
  runner.jobs=-1, runner.chunk=auto, runner.address=null, runner.shard=null (2/8: the second of eight parts),
  tracking.uri=null; runner=slurm: runner.queue, runner.walltime, runner.memory, runner.interface, runner.directives

Flags: --cfg job | --info searchpath | -m (sweep) | --config-dir DIR (your own YAML) | --hydra-help
"""


def main(argv: list[str]) -> int:
    # Hydra's own help reads every YAML there is, which takes a second and shows less.
    if "--help" in argv or "-h" in argv:
        print(help_text(config_dirs(argv)))
        return 0
    check_words(argv, config_dirs(argv))
    return hydra_main(argv, run_once)


def help_text(folders: list[Path]) -> str:
    """What `run --help` prints: the groups with their options, and the settings of conf/run.yaml with its comments."""
    groups = []
    for group in GROUPS:
        names = f"{group}: {', '.join(options(group, *folders))}"
        groups.append(textwrap.fill(names, 116, initial_indent="  ", subsequent_indent="    ", break_on_hyphens=False))
    body = (CONF / "run.yaml").read_text(encoding="utf-8").partition("\nhydra:")[0].split("\n\n", 1)[1]
    return HELP.format(groups="\n".join(groups), settings=textwrap.indent(body.strip(), "  "))


def run_once(config: RunConfig) -> int:
    """One run, start to end. Returns the exit status."""
    # A pipe has no width of its own: wide enough that no row is folded.
    console, notes = Console(), Console(stderr=True, highlight=False)
    if not console.is_terminal:
        console = Console(width=WIDTH)
    _check_folder(config.results, notes)
    began = time.perf_counter()
    with _status(notes) as say:
        plan = make_plan(config, say=say)
    store = Store(config.results, say=lambda text: notes.print(f"[yellow]{escape(text)}", soft_wrap=True))
    if config.dry:
        tables.print_plan(console, plan, store)
        run_shards.print_overview(console, plan, store)
        return 0
    if not plan.run.settings:
        reasons = "; ".join(f"{setting}: {reason}" for setting, reason in plan.run.left_out)
        raise UserError(f"nothing fits together in this run: {reasons}")
    plan.run.save()
    result = _execute(plan, store, notes)
    run = replace(plan.run, seconds=time.perf_counter() - began)
    whole = config.runner.part is None or run_shards.complete(plan, store)
    if config.runner.part is None:  # a shard's time is not the time of the run
        run.save()
    if whole:
        console.print(tables.results(run, store, result))
        tables.print_notes(console, run, store)
    tables.print_left_out(notes, run)
    tables.print_failures(notes, run, result)
    console.print(
        f"{result.computed} trials computed, {result.found} found finished, {result.failed} failed; {run.seconds:.1f} s"
    )
    if config.runner.part is not None:
        run_shards.print_part(console, plan, store)
    if not whole:
        run_shards.print_next(console, config)
        return 1 if result.failed else 0
    files = _draw(run, notes) if config.figure else []
    if config.tracking.enabled:
        _track(run, config.tracking.uri, files, notes)
    _print_changes(console, run)
    _print_next(console, config)
    return 1 if result.failed else 0


def _check_folder(results: Path, notes: Console) -> None:
    above = next(place for place in (results.absolute(), *results.absolute().parents) if place.exists())
    if not above.is_dir():
        raise UserError(f"results={results}: {above} is a file: expected a folder")
    if is_old(results):
        notes.print(f"{results} was written by an earlier version of dpbench: its trials are not read", soft_wrap=True)


@contextmanager
def _status(notes: Console) -> Iterator[Callable[[str], None]]:
    """Says what is being prepared: a spinner on a terminal, plain lines elsewhere."""
    if not notes.is_terminal:
        yield notes.print
        return
    with notes.status("planning") as status:
        yield lambda text: status.update(text)


def _execute(plan: Plan, store: Store, notes: Console) -> Result:
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=notes, disable=not notes.is_terminal) as progress:
        name = plan.run.name if plan.config.runner.part is None else f"{plan.run.name}, shard {plan.config.runner.part}"
        task = progress.add_task(name, total=sum(map(len, trials_of(plan, plan.config.runner.part).values())))
        say: Callable[[str], None] = lambda text: notes.print(escape(text), soft_wrap=True)  # noqa: E731
        status: Callable[[str], None] = lambda text: progress.update(task, description=f"{name}, {text}")  # noqa: E731
        return execute(plan, store, lambda trials: progress.advance(task, trials), say, status)


def _track(run: Run, uri: str | None, files: list[Path], notes: Console) -> None:
    from dpbench.results.tracking import TrackerDown, track

    try:
        track(run, uri, files)
    except TrackerDown as problem:
        notes.print(
            f"[yellow]warning[/]: MLflow did not take the results ({escape(str(problem))}). "
            "They are stored; `python -m dpbench track` logs them later.",
            soft_wrap=True,
        )


def _draw(run: Run, notes: Console) -> list[Path]:
    from dpbench.figures.draw import CannotDraw, save, script

    if script(run.name) is None:
        return []
    try:
        files, _ = save(run)
    except CannotDraw as problem:
        notes.print(f"[yellow]warning[/]: {run.name}: {escape(str(problem))}", soft_wrap=True)
        return []
    for path in files:
        notes.print(f"wrote {path}")
    return files


def _print_changes(console: Console, run: Run) -> None:
    """A run with overrides stands where the experiment's own stood, until that is run again."""
    if run.changes:
        again = run_command(run.name, run.results, run.scale)
        text = f"Not {run.name} as defined ({'; '.join(run.changes)}); figures and report show this run until: {again}"
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
