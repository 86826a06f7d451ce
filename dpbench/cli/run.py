"""`run`: plans, computes what is missing, stores, logs, prints a table and draws the figure."""

from __future__ import annotations

import textwrap
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.markup import escape

from dpbench.cli import common, run_plan
from dpbench.cli import run_tables as tables
from dpbench.config.catalogue import GROUPS, options
from dpbench.config.compose import compose_each, config_folders, hydra_main, is_sweep
from dpbench.config.messages import OWN, check_words
from dpbench.config.schema import RunConfig
from dpbench.engine.execute import Result
from dpbench.engine.plan import Plan, make_plan, require_settings
from dpbench.engine.progress import Progress, display
from dpbench.errors import Failed, UserError
from dpbench.model.run import Run
from dpbench.paths import CONF
from dpbench.ranking.rounds import execute
from dpbench.storage.commands import run_command

if TYPE_CHECKING:
    from dpbench.storage.tracking import Tracker

NEXT = ("gs/fig7", "gs/fig10")
"""Experiments that a newcomer may run next."""
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
    if is_sweep(argv):
        from dpbench.cli import run_sweep

        return run_sweep.main(argv, verbose)
    if several := compose_each(argv):
        return run_all(several, verbose=verbose)
    return hydra_main(argv, lambda config: run_all({config.name: config}, verbose=verbose))


def help_text(folders: list[Path]) -> str:
    """What `run --help` prints: the groups with their options, and the settings of conf/run.yaml with its comments."""
    groups = []
    for group in GROUPS:
        names = f"{group}: {', '.join(options(group, *folders))}"
        groups.append(textwrap.fill(names, 116, initial_indent="  ", subsequent_indent="    ", break_on_hyphens=False))
    body = (CONF / "run.yaml").read_text(encoding="utf-8").partition("\nhydra:")[0].split("\n\n", 1)[1]
    return HELP.format(groups="\n".join(groups), settings=textwrap.indent(body.strip(), "  "))


def run_all(configs: Mapping[str, RunConfig | UserError], *, verbose: bool = False, last: bool = True) -> int:
    """One or several runs from start to end, with one set of workers. Returns the exit status.

    Each is saved, printed, drawn and logged as soon as it is done. A problem with one of several does not stop the others;
    a problem with the only one is raised. `verbose`: print the whole traceback of every failure. `last`: no other runs follow,
    and what to do next is printed.
    """
    console, notes = common.console(), common.notes()
    alone = len(configs) == 1
    began = time.perf_counter()
    problems: dict[str, str] = {}
    results: list[Result] = []
    for folder in dict.fromkeys(config.results for config in configs.values() if isinstance(config, RunConfig)):
        common.warn_of_old(folder, notes)
    with display(console=notes) as progress:
        plans = _plans(configs, problems, progress, notes)
        dry = any(plan.config.dry for plan in plans)
        tracker = None if dry else _tracker(plans)
        for result in execute([] if dry else plans, progress):
            try:
                result.require_done()
                _finish(result, tracker, console, notes, verbose)
            except (UserError, Failed, OSError) as problem:
                if alone:
                    raise
                problems[result.plan.run.name] = str(problem)
            results.append(result)
    if dry:
        run_plan.print_plans(console, plans, progress.say)
    elif not alone:
        seconds = time.perf_counter() - began
        console.print(f"{len(plans)} experiments: {_counts(results)}; {seconds:.1f} s")
    for name, reason in problems.items():
        notes.print(f"[red]not run[/]: {name}: {escape(reason)}")
    if tracker:
        _wait_for(tracker, notes)
    if alone and results and last:
        _print_next(console, results[0])
    return 1 if problems or any(result.failed for result in results) else 0


def _plans(
    configs: Mapping[str, RunConfig | UserError], problems: dict[str, str], progress: Progress, notes: Console
) -> list[Plan]:
    """The plans of all runs, made before any trial: data is built once, and what cannot be run is known early."""
    plans = []
    for name, config in configs.items():
        try:
            if isinstance(config, UserError):
                raise config
            if not config.datasets and len(configs) > 1:  # original files are missing: not an error
                files = ", ".join(dataset for dataset, _ in config.left_out)
                notes.print(f"left out: {config.name}: the files of {files} are missing")
                continue
            plan = make_plan(config, say=progress.prepare)
            if not config.dry:
                require_settings(plan)
                tables.check_releases(plan.run, config.releases)
            plans.append(plan)
        except (UserError, Failed, OSError) as problem:
            if len(configs) == 1:
                raise
            problems[name] = str(problem)
    return plans


def _finish(result: Result, tracker: Tracker | None, console: Console, notes: Console, verbose: bool) -> None:
    """Print the table of an executed run, draw and log it; only print the counts if other shards must complete it first."""
    run, config = result.run, result.plan.config
    whole = run_plan.is_whole(result.plan)
    if whole:
        tables.print_results(console, run, result.failures, config.releases, result.plan.rho)
        tables.print_notes(console, run)
    tables.print_left_out(notes, run)
    tables.print_failures(notes, result, verbose)
    console.print(f"{_counts([result])}; {run.seconds:.1f} s")
    if config.runner.part is not None:
        run_plan.print_part(console, result.plan)
    if whole:
        files = draw(run, notes) if config.figure else []
        if tracker and config.tracking.enabled:
            tracker.add(run, files)
        print_changes(console, run)


def _counts(results: Sequence[Result]) -> str:
    computed, stored, failed = (sum(getattr(r, name) for r in results) for name in ("computed", "found", "failed"))
    return f"{computed} trials computed, {stored} found finished, {failed} failed"


def _tracker(plans: Sequence[Plan]) -> Tracker | None:
    """What logs to MLflow, if a run is to be logged. It begins while workers compute; trials in this process are timed, and
    only the last shard of a run is logged."""
    from dpbench.storage.tracking import Tracker

    config = next((plan.config for plan in plans if plan.config.tracking.enabled), None)
    if config is None:
        return None
    tracker = Tracker(config.tracking.uri, config.results)
    if config.runner.jobs != 1 and config.runner.part is None:
        tracker.start()
    return tracker


def _wait_for(tracker: Tracker, notes: Console) -> None:
    """Wait a limited time for MLflow, and warn if it does not have everything."""
    for problem in dict.fromkeys(job.problem for job in tracker.finish() if job.problem):
        notes.print(
            f"[yellow]warning[/]: MLflow did not accept the results ({escape(problem)}). "
            "They are stored; `python -m dpbench track` logs them later."
        )


def draw(run: Run, notes: Console) -> list[Path]:
    """Draw a run and print where, or why it cannot be drawn. Returns the files."""
    from dpbench.figures.draw import CannotDraw, save

    try:
        files, _ = save(run)
    except CannotDraw as problem:
        notes.print(f"[yellow]warning[/]: {run.name}: {escape(str(problem))}")
        return []
    for path in files:
        notes.print(f"wrote {path}")
    return files


def print_changes(console: Console, run: Run) -> None:
    """Warn that a run with overrides but without a name is shown in place of the experiment, until it is run as defined."""
    if not run.changes:
        return
    text = f"Not {run.experiment} as defined ({'; '.join(run.changes)})"
    if run.label == run.experiment:  # not one on original files, which is kept beside it
        again = run_command(run.experiment, run.results, run.scale)
        text += f"; figures and report show this run until: {again}"
    console.print(escape(text))


def _print_next(console: Console, result: Result) -> None:
    from dpbench.storage.mlflow_client import browse_command

    config = result.plan.config
    if not run_plan.is_whole(result.plan):
        run_plan.print_next(console, config)
        return
    if config.tracking.enabled and (command := browse_command(config.tracking.uri, config.results)):
        console.print(f"Browse the results: {escape(command)}")
    console.print("Try next:")
    later = next(name for name in NEXT if name != config.experiment)
    for command in ("list experiments", f"run experiment={later}", "run --help"):
        console.print(f"  python -m dpbench {command}")
