"""How long a plan will take, and on what that rests: stored trials, or what the record took. Imported by dry runs."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping

from dpbench.engine.plan import Plan
from dpbench.model.setting import Setting
from dpbench.storage.frame import SECONDS
from dpbench.storage.record import read
from dpbench.storage.store import Store

SAMPLE = 20  # trials of a setting that are read to know its time
OTHER_WORK = "reading data, scoring and drawing come on top"


def describe_time(plan: Plan, missing: Mapping[str, int], store: Store) -> str:
    """The time that the missing trials of a plan will take, as a sentence. `missing`: their number by id of the setting."""
    settings = {setting.id: setting for setting in plan.run.settings}
    if not sum(missing.values()) and not plan.unbuilt:
        return "Nothing is missing: this run will take seconds."
    workers = _workers(plan)
    times, read_trials = _stored_times(settings.values(), store)
    total = sum(count * _time_of(settings[name], times) for name, count in missing.items())
    known = sum(count for name, count in missing.items() if _time_of(settings[name], times))
    if known and known == sum(missing.values()) and not plan.unbuilt:
        by = "worker" if workers == 1 else "workers"
        return (
            f"It will take about {in_words(total / workers)} on {workers} {by}, by the times of {read_trials} stored "
            f"trials of the same mechanisms and datasets; {OTHER_WORK}."
        )
    return _by_record(plan) or (
        f"How long it will take is not known: nothing of it is stored in {plan.run.results}, and it is not on record. "
        "With trials=2 it is run for a first impression, and the same command with all trials continues from there."
    )


def _by_record(plan: Plan) -> str:
    """What the record says; empty if the experiment is not on it, or if this run has more trials than the record."""
    run = plan.run
    record = read(run.experiment or run.name)
    if record is None or not record.costs.computing:
        return ""
    cores = f"{record.environment.cores or 'unknown'} cores"
    taken = record.costs.seconds or record.costs.computing / max(1, record.environment.cores)
    as_often = dataclasses.replace(run, repetitions=record.trials)
    share = record.settings / max(1, len(run.settings))  # of the settings of the record, this run may have a part only
    trials = round(share * sum(as_often.repetitions_of(setting) for setting in run.settings))
    wanted = sum(run.repetitions_of(setting) for setting in run.settings)
    time = in_words(taken * min(1.0, wanted / max(1, trials)))
    if record.scale == run.scale:
        about, known = "about", f"this experiment took {in_words(taken)} at this scale"
    elif record.scale == "paper" and wanted <= trials:
        about = "less than about"
        known = f"{trials:,} trials of this experiment took {in_words(taken)} on data of paper size"
    else:
        return ""
    return f"It will take {about} {time} on a machine like that of the record ({cores}), where {known}; {OTHER_WORK}."


def _stored_times(settings: Iterable[Setting], store: Store) -> tuple[dict[tuple[str, ...], float], int]:
    """Seconds of a trial by setting, and by mechanism and dataset; and from how many trials."""
    seconds_by: dict[tuple[str, ...], list[float]] = {}
    count = 0
    for setting in settings:
        table = store.read(setting.id, SAMPLE) if setting.id else None
        if table is not None:
            seconds = [value for value in table[SECONDS].to_pylist() if value is not None]
            count += len(seconds)
            for key in ((setting.id,), (setting.mechanism.name, setting.dataset.name)):
                seconds_by.setdefault(key, []).extend(seconds)
    return {key: sum(values) / len(values) for key, values in seconds_by.items() if values}, count


def _time_of(setting: Setting, times: Mapping[tuple[str, ...], float]) -> float:
    return times.get((setting.id,)) or times.get((setting.mechanism.name, setting.dataset.name), 0.0)


def _workers(plan: Plan) -> int:
    runner = plan.config.runner
    if runner.jobs > 0 or runner.backend != "loky":
        return max(1, runner.jobs)
    import joblib

    return int(joblib.cpu_count())


def in_words(seconds: float) -> str:
    """Such as `a second`, `40 seconds` or `12 minutes`."""
    if seconds < 1.5:
        return "a second"
    if seconds < 90:
        return f"{seconds:.0f} seconds"
    return f"{seconds / 60:.0f} minutes" if seconds < 5400 else f"{seconds / 3600:.1f} hours"
