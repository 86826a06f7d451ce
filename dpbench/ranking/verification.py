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
from dpbench.auditing.summary import by_mechanism
from dpbench.config import catalogue
from dpbench.config.compose import compose
from dpbench.config.dataset_entry import SCALES
from dpbench.config.overrides import OverrideValue
from dpbench.engine.plan import QUIET, Plan, make_plan
from dpbench.engine.worker import run_chunk
from dpbench.errors import Failed, UserError, one_of, unknown
from dpbench.mechanisms.base import MECHANISMS
from dpbench.model.finding import Finding
from dpbench.model.run import Run
from dpbench.model.setting import DECLARED, Setting, Value, Variant
from dpbench.model.trial import Chunk, TrialRow
from dpbench.ranking.boards import PRIVATE
from dpbench.ranking.entry import Where, audited, board_of, joined, newcomer
from dpbench.ranking.joint import recorded_at, view_of
from dpbench.ranking.rows import BOARDS
from dpbench.ranking.submission import Entry, VerificationMark, lines_of, numbers_of
from dpbench.sources.base import SOURCES
from dpbench.storage import columns, failures
from dpbench.storage.store import SECONDS, TRIAL, Store
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
        exact, done = _rerun(here, mine, request.rerun, request.seed, say)
        if keep_rivals:
            exact &= _rerun(here, others, RIVALS_RERUN, request.seed, say)[0]
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
        rows = _computed(plan.run, setting, tuple(range(plan.run.repetitions)))
        say(f"computed again: {setting}, {len(rows)} trials")
        done += len(rows)
        labels = {**setting.labels(), "data_seed": setting.dataset.seed, "setting": setting.id}
        _compare_numbers(
            entry, own, view_of(entry.experiment).numbers(pd.DataFrame([{**labels, **r} for r in rows]), run)
        )
    findings = [*audited(variant)]
    mark, because = _mark(variant, findings, True, done)
    summary = by_mechanism(findings)[0]
    return replace(
        entry, mark=mark, because=because, audit=summary.words, violated=summary.verdict == "violated", rerun=done
    )


def _compare_numbers(entry: Entry, told: pd.DataFrame, computed: pd.DataFrame) -> None:
    """Failed unless the statistics of each computed setting are those that the entry has, on the draw that was computed."""
    from dpbench.ranking.condensed import parse

    keys = [key for key in ("dataset", "place", "world", "epsilon", "share", "K") if key in told and key in computed]
    for row in computed.to_dict("records"):
        same = np.logical_and.reduce([_alike(told[key], row[key]) for key in keys])
        ((seed, now),) = parse(row["samples"]).items()
        texts = told.loc[same, "samples"]
        then = parse(texts.iloc[0]).get(seed) if len(texts) == 1 and texts.iloc[0] else None
        fields = ("mean", "variance", "around")
        if then is None or now.trials < then.trials:
            raise Failed(f"{entry.name}: it lacks a setting that its board has: {row}")
        if now.trials > then.trials:
            continue  # it stopped at the first look
        for name in fields:
            a, b = getattr(then.sampled, name), getattr(now.sampled, name)
            if not np.isclose(a, b, rtol=1e-9, atol=1e-12):
                where = ", ".join(str(row[key]) for key in keys)
                raise Failed(
                    f"{entry.name}: its numbers are not what its class computes: {name} of {where} is {b:.9g}, not {a:.9g}"
                )


def _alike(column: pd.Series, value: object) -> np.ndarray:
    if isinstance(value, float):
        return np.isclose(column.astype(float), value, rtol=1e-8)
    return (
        (column.fillna("").astype(str) == str(value)).to_numpy()
        if column.dtype == object
        else (column == value).to_numpy()
    )


def _run_of(request: Request, variant: Variant) -> Run:
    """The newest run of this class on a board."""
    if request.experiment is not None and request.experiment not in BOARDS:
        raise unknown("board", request.experiment, BOARDS)
    if request.scale is not None:
        one_of("--scale", request.scale, SCALES)
    fits = [
        run
        for run in Run.each(request.folder, request.scale).values()
        if run.experiment in ([request.experiment] if request.experiment else BOARDS)
        and run.scale in SCALES
        and any(_is(setting.mechanism, variant) for setting in run.settings)
    ]
    if not fits:
        command = f"python -m dpbench compare '{request.mechanism}' --scale laptop --results {request.folder}"
        raise UserError(f"{request.folder} holds no run of {variant.cls} on a board: expected one, made by {command}")
    return max(fits, key=lambda run: run.written)


def _is(theirs: Variant, ours: Variant) -> bool:
    return theirs.cls == ours.cls and _parameters(theirs) == _parameters(ours)


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
        whose = (
            "other code or other data than are here"
            if len(foreign) == len(ours.settings)
            else "other code than is here"
        )
        raise Failed(
            f"{len(foreign)} of {len(ours.settings)} settings were computed by {whose} (such as {foreign[0]}): the entry "
            f"would be foreign; run it again: {again}"
        )


def _finished(plan: Plan, folder: Path, findings: Sequence[Finding], variant: Variant) -> tuple[Run, pd.DataFrame]:
    """The run as it is in the folder, with those that the first look stops, and its trials. Failed if trials are missing."""
    run = replace(plan.run, results=folder)
    if run.look:
        early = replace(run, repetitions=min(run.look, run.repetitions)).trials()
        gone = view_of(run.experiment).stopped(early, run, findings) if not early.empty else frozenset[str]()
        run = replace(run, stopped={s.key: run.look for s in run.settings if s.id in gone})
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


# Computing again.


def _rerun(
    run: Run, settings: Sequence[Setting], count: int, seed: int, say: Callable[[str], None]
) -> tuple[bool, int]:
    """Compute a seeded random sample of stored trials again: whether they are equal bit for bit, and how many they are.
    Failed if one differs by more than the last digits, as those of another processor do."""
    store, wanted = Store(run.results), run.repetitions_by_id()
    there = [(s, trial) for s in settings for trial in sorted(store.done(s.id)) if trial < wanted[s.id]]
    picked = np.random.default_rng(seed).permutation(len(there))[:count]
    chosen: dict[str, list[int]] = {}
    for at in picked:
        chosen.setdefault(there[at][0].id, []).append(there[at][1])
    exact, done = True, 0
    for setting in (s for s in settings if s.id in chosen):
        table = store.read(setting.id)
        assert table is not None
        stored = {int(row[TRIAL]): row for row in table.to_pylist()}
        for row in _computed(run, setting, tuple(sorted(chosen[setting.id]))):
            exact &= _same(setting, stored[int(row[TRIAL] or 0)], row)
            done += 1
    say(
        f"{done} of {len(there)} trials computed again: {'equal, bit for bit' if exact else 'equal up to the last digits'}"
    )
    return exact, done


def _computed(run: Run, setting: Setting, trials: tuple[int, ...]) -> list[TrialRow]:
    outcome = run_chunk(Chunk(setting, run.seed, trials))
    if outcome.refused or outcome.failures:
        raise Failed(f"{setting}: {outcome.refused or outcome.failures[0].error}")
    return outcome.rows


def _same(setting: Setting, stored: Mapping[str, object], computed: TrialRow) -> bool:
    """Whether a trial is the stored one. Values of pairs need both trials of a pair to be stored, and may be missing."""
    exact = True
    for name in sorted({*stored, *computed} - {SECONDS}):
        a, b = stored.get(name), computed.get(name)
        if columns.same(a, b) or (name.startswith("metric.pair_") and (a is None or b is None)):  # type: ignore[arg-type]
            continue
        numbers = isinstance(a, float | int) and isinstance(b, float | int)
        if not numbers or not np.isclose(float(a), float(b), rtol=1e-9, atol=0):  # type: ignore[arg-type]
            what = f"{name} is {b} and not {a}"
            raise Failed(
                f"trial {computed[TRIAL]} of {setting} is not what this class computes: {what}; nothing is entered"
            )
        exact = False
    return exact


# The entry.


def _mark(variant: Variant, findings: Sequence[Finding], exact: bool, rerun: int) -> tuple[VerificationMark, str]:
    if not rerun:
        return "claimed", "no trial was computed again"
    if not exact:
        return "claimed", "its trials agree only up to the last digits, as those of another processor do"
    if board_of(variant) not in PRIVATE:
        return "numbers verified", "it reads the data, or states no guarantee"
    summary = by_mechanism(findings)[0]
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
    mark, because = _mark(variant, findings, exact, rerun)
    summary = by_mechanism(findings)[0]
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
    found = [f"not private: {entry.audit}"] if entry.violated else []
    if entry.installed != installed_code(entry.experiment, entry.scale):
        found.append("stale: dpbench computes this board with other code today; enter it again")
    for name, value in entry.code.items():
        file = _source(name)
        if file is not None and code_reader.parse(file.read_bytes(), name.rpartition(".")[0]).digest != value:
            found.append(f"stale: {name} has changed since; enter it again")
    return found


def _source(module: str) -> Path | None:
    """The file of a module of the current folder; None if it is not here. Nothing is imported."""
    parts = module.split(".")
    if not all(part.isidentifier() for part in parts):
        return None
    base = Path.cwd().joinpath(*parts)
    return next((file for file in (base.with_suffix(".py"), base / "__init__.py") if file.is_file()), None)


__all__ = ["RERUN", "Request", "add", "installed_code", "problems", "verify"]
