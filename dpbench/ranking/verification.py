"""Makes an entry of a board from a results folder, and checks entries: what was run, by which code, and whether it is true.

`add` and `verify` run the class that the user names, never one that a folder or an entry names. `problems` runs nobody's code.
Behind the verb `board`. May call the engine and the audit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pandas as pd

from dpbench import __version__, code_reader, identity
from dpbench.auditing.summary import AuditSummary, by_mechanism
from dpbench.config import catalogue
from dpbench.config.compose import compose
from dpbench.config.dataset_entry import SCALES
from dpbench.config.overrides import OverrideValue
from dpbench.engine.plan import QUIET, Plan, make_plan
from dpbench.errors import Failed, UserError, one_of, unknown
from dpbench.mechanisms.base import MECHANISMS
from dpbench.model.finding import Finding
from dpbench.model.run import Run
from dpbench.model.setting import DECLARED, Value, Variant
from dpbench.ranking.boards import PRIVATE
from dpbench.ranking.computed_again import computed, require_same_numbers, rerun
from dpbench.ranking.entry import Where, audited, board_of, joined, newcomer
from dpbench.ranking.joint import recorded_at, view_of
from dpbench.ranking.rounds import after_look
from dpbench.ranking.rows import BOARDS
from dpbench.ranking.submission import Entry, VerificationMark, lines_of, numbers_of
from dpbench.sources.base import SOURCES
from dpbench.storage import failures
from dpbench.storage.store import Store
from dpbench.tasks.base import TASKS

RERUN = 16
"""Trials of an entry that are computed again. If a tenth of all trials were wrong, 82 % of such samples would show it."""
RIVALS_RERUN = 8


@dataclass(frozen=True)
class Request:
    """What is to enter a board."""

    folder: Path
    mechanism: str
    experiment: str | None = None
    """None: that of the newest run of this class in the folder."""
    scale: str | None = None
    rerun: int = RERUN
    """0: nothing is computed again."""
    seed: int = 0
    """Of the random sample."""
    overrides: Mapping[str, OverrideValue] | None = None
    """Such as the places of original files."""


def add(request: Request, say: Callable[[str], None] = lambda _: None) -> Entry:
    """The entry of a class, from its trials in a results folder. Failed if these are not what this code computes."""
    if not request.folder.is_dir():
        raise UserError(f"{request.folder} is not a folder: expected one that `compare` or `run` has written to")
    variant = newcomer(request.mechanism)
    if variant.name in MECHANISMS.names() and "." not in variant.cls:
        raise UserError(f"{variant.name} is a mechanism of dpbench: expected your own class, such as mine.Rounded")
    run = _run_of(request, variant)
    say(f"the board {run.experiment} at scale {run.scale}, from {run.path.relative_to(request.folder)}")
    plan = _plan(variant, run.experiment, run.scale, request)
    _require_same(plan.run, run, request)
    findings = [*audited(variant)]
    here, trials = _finished(plan, request.folder, findings, variant)
    numbers = view_of(run.experiment).numbers(trials, here, findings)
    mine = [setting for setting in here.settings if setting.mechanism.name == variant.name]
    others = [setting for setting in here.settings if setting.mechanism.name != variant.name]
    keep_rivals = recorded_at(run.experiment, run.scale) is None
    exact, done = True, 0
    if request.rerun:
        exact, done = rerun(here, mine, request.rerun, request.seed, say)
        if keep_rivals:
            exact &= rerun(here, others, RIVALS_RERUN, request.seed, say)[0]
    own = numbers["mechanism"] == variant.name
    return _entry(plan, variant, findings, exact, done, numbers[own], numbers[~own] if keep_rivals else None)


def verify(
    entry: Entry, mechanism: str, *, settings: int = 2, seed: int = 0, say: Callable[[str], None] = lambda _: None
) -> Entry:
    """The entry with the mark that it deserves: all trials of some random settings are computed again and compared with what it
    says, and its class is audited. Failed if it says something else."""
    variant = newcomer(mechanism)
    asked = replace(entry, mechanism=variant.cls, parameters=_parameters(variant))
    if asked.name != entry.name:
        raise UserError(f"{mechanism} is {asked.called}, and the entry is of {entry.called}: expected the same class")
    plan = _plan(variant, entry.experiment, entry.scale, Request(Path(), mechanism))
    own, _ = numbers_of(entry)
    mine = [setting for setting in plan.run.settings if setting.mechanism.name == variant.name]
    chosen = np.random.default_rng(seed).permutation(len(mine))[:settings]
    done = 0
    for setting in (mine[at] for at in chosen):
        run = replace(plan.run, settings=(setting,))
        rows = computed(plan.run, setting, tuple(range(plan.run.repetitions)))
        say(f"computed again: {setting}, {len(rows)} trials")
        done += len(rows)
        labels = {**setting.labels(), "data_seed": setting.dataset.seed, "setting": setting.id}
        require_same_numbers(
            entry, own, view_of(entry.experiment).numbers(pd.DataFrame([{**labels, **r} for r in rows]), run)
        )
    summary = by_mechanism([*audited(variant)])[0]
    mark, because = _mark(variant, summary, True, done)
    return replace(
        entry, mark=mark, because=because, audit=summary.words, violated=summary.verdict == "violated", rerun=done
    )


def _run_of(request: Request, variant: Variant) -> Run:
    """The newest run of this class on a board."""
    if request.experiment is not None and request.experiment not in BOARDS:
        raise unknown("board", request.experiment, BOARDS)
    if request.scale is not None:
        one_of("--scale", request.scale, SCALES)
    wanted = variant.cls, _parameters(variant)
    fits = [
        run
        for run in Run.each(request.folder, request.scale).values()
        if run.experiment in ([request.experiment] if request.experiment else BOARDS)
        and run.scale in SCALES
        and any((s.mechanism.cls, _parameters(s.mechanism)) == wanted for s in run.settings)
    ]
    if not fits:
        command = f"python -m dpbench compare '{request.mechanism}' --scale laptop --results {request.folder}"
        raise UserError(f"{request.folder} holds no run of {variant.cls} on a board: expected one, made by {command}")
    return max(fits, key=lambda run: run.written)


def _parameters(variant: Variant) -> dict[str, Value]:
    return {**variant.params, **dict.fromkeys(variant.declared, DECLARED)}


def _plan(variant: Variant, experiment: str, scale: str, request: Request) -> Plan:
    """The board as this code defines it, with the class that the user named. Nothing is taken from the folder."""
    where = Where(scale, experiment=experiment, results=request.folder, jobs=1, overrides=request.overrides or {})
    catalogue.use()  # nobody's own configuration: a board is what dpbench defines
    return make_plan(joined(where, experiment, variant))


def _require_same(ours: Run, theirs: Run, request: Request) -> None:
    """Each setting of the board must be in the folder under the id that this code, class and data give it."""
    ids = {setting.key: setting.id for setting in theirs.settings}
    again = f"python -m dpbench compare '{request.mechanism}' --experiment {ours.experiment} --scale {ours.scale}"
    missing = [str(setting) for setting in ours.settings if setting.key not in ids]
    if missing:
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        raise Failed(f"the run lacks settings of the board ({missing[0]}{more}): run all of it: {again}")
    foreign = [str(setting) for setting in ours.settings if ids[setting.key] != setting.id]
    if foreign:
        everywhere = len(foreign) == len(ours.settings)
        whose = "other code or other data than are here" if everywhere else "other code than is here"
        raise Failed(
            f"{len(foreign)} of {len(ours.settings)} settings were computed by {whose} (such as {foreign[0]}): the entry "
            f"would be foreign; run it again: {again}"
        )


def _finished(plan: Plan, folder: Path, findings: Sequence[Finding], variant: Variant) -> tuple[Run, pd.DataFrame]:
    """The run as it is in the folder, with those that the first look stops, and its trials. Failed if trials are missing."""
    run = replace(plan.run, results=folder)
    if run.look:
        run = after_look(run, view_of(run.experiment), findings)
    store, wanted = Store(folder), run.repetitions_by_id()
    done = {name: store.done(name) for name in wanted}
    lost = failures.failed(run, done)
    names = {setting.id: setting.mechanism.name for setting in run.settings}
    for name, most in wanted.items():
        missing = most - sum(trial < most for trial in done[name])
        if missing > (lost.get(name, 0) if names[name] == variant.name else 0):
            setting = next(setting for setting in run.settings if setting.id == name)
            raise Failed(f"{folder} is not finished: {missing} of {most} trials of {setting} are missing")
    trials = run.trials()
    if trials.empty:
        raise Failed(f"{folder} holds no trials of this run")
    return run, trials


# The entry.


def _mark(variant: Variant, summary: AuditSummary, exact: bool, rerun: int) -> tuple[VerificationMark, str]:
    if not rerun:
        return "claimed", "no trial was computed again"
    if not exact:
        return "claimed", "its trials agree only up to the last digits, as those of another processor do"
    if board_of(variant) not in PRIVATE:
        return "numbers verified", "it reads the data, or states no guarantee"
    return ("verified", "") if summary.verdict == "holds" else ("numbers verified", f"audit: {summary.words}")


def _entry(
    plan: Plan,
    variant: Variant,
    findings: Sequence[Finding],
    exact: bool,
    rerun: int,
    own: pd.DataFrame,
    rivals: pd.DataFrame | None,
) -> Entry:
    summary = by_mechanism(findings)[0]
    mark, because = _mark(variant, summary, exact, rerun)
    datasets = [setting.dataset for setting in plan.run.settings]
    code = identity.code_of(variant.get_class(MECHANISMS))
    return Entry(
        schema=1,
        experiment=plan.run.experiment,
        scale=plan.run.scale,
        board=str(board_of(variant)),
        mechanism=variant.cls,
        parameters=_parameters(variant),
        mark=mark,
        because=because[:500],
        audit=summary.words[:500],
        violated=summary.verdict == "violated" and board_of(variant) in PRIVATE,
        rerun=rerun,
        trials=int(own["trials"].fillna(0).sum()),
        code={name: value for name, value in code.modules.items() if name.partition(".")[0] != code_reader.OURS},
        installed=installed_code(plan.run.experiment, plan.run.scale),
        data={f"{d.name} {d.world or 'default'} {d.seed}": d.fingerprint for d in datasets},
        version=__version__,
        written=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        table=lines_of(own),
        rivals=() if rivals is None else lines_of(rivals),
    )


def installed_code(experiment: str, scale: str) -> str:
    """The digest of the code of dpbench that computes a board, apart from its mechanisms: none of it is a user's."""
    catalogue.use()
    config = compose(experiment, scale, dict(QUIET))
    parts = [SOURCES.get(use.source) for use in config.datasets] + [TASKS.get(task.cls) for task in config.tasks]
    return identity.digest(dict(identity.code_of(*parts, files=code_reader.CORE).modules))


# What can be said without running anybody's code.


def problems(entry: Entry) -> list[str]:
    """What is wrong with an entry today: its class or dpbench has changed since. Reads source files as text only."""
    wrong = [f"not private: {entry.audit}"] if entry.violated else []
    if entry.installed != installed_code(entry.experiment, entry.scale):
        wrong.append("stale: dpbench computes this board with other code today; enter it again")
    for name, value in entry.code.items():
        file = _source(name)
        if file is not None and code_reader.parse(file.read_bytes(), name.rpartition(".")[0]).digest != value:
            wrong.append(f"stale: {name} has changed since; enter it again")
    return wrong


def _source(module: str) -> Path | None:
    """The file of a module of the current folder; None if it is not here. Nothing is imported."""
    parts = module.split(".")
    if not all(part.isidentifier() for part in parts):
        return None
    base = Path.cwd().joinpath(*parts)
    return next((file for file in (base.with_suffix(".py"), base / "__init__.py") if file.is_file()), None)
