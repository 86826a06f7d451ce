"""What a run is: its settings, how it was executed, and where it is stored.

`Setting` and `Run` are the types that every package shares, from the plan to the report. `storage/runs.py` reads and writes the
stored form. Reading a run imports, calls and opens nothing that is named in it.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpbench.errors import UserError
from dpbench.model.environment import Environment
from dpbench.model.setting import FLOAT, UNSTATED, Dataset, Setting, Value, Variant, origins

if TYPE_CHECKING:
    import pandas as pd

NAME = re.compile(r"\w[\w.-]*(/\w[\w.-]*)*")
MOST_TRIALS = 10_000_000  # of one setting
VALID_NAME = "parts of letters, digits, `_`, `.` and `-`, separated by slashes"


@dataclass(frozen=True, repr=False)
class Run:
    """One experiment as it was run."""

    name: str
    """The experiment's id, or a name of its own: the user's, or that of an ad-hoc run."""
    scale: str
    repetitions: int
    """Number of trials of each setting, except for `most_trials` and `stopped`."""
    seed: int
    """Seed of the noise."""
    settings: tuple[Setting, ...]
    experiment: str = ""
    """The experiment that it is, or that it modifies; empty for an ad-hoc run."""
    title: str = ""
    metrics: tuple[str, ...] = ()
    """The metrics that the table of the run shows."""
    left_out: tuple[tuple[str, str], ...] = ()
    """Combinations that do not fit together, each with the reason."""
    changes: tuple[str, ...] = ()
    """How it differs from the experiment as it is defined."""
    altered: tuple[str, ...] = ()
    """The changes that alter the meaning of its numbers."""
    most_trials: Mapping[str, int] = field(default_factory=dict)
    """Mechanisms and datasets with fewer trials, each with their number."""
    case_trials: Mapping[str, int] = field(default_factory=dict)
    """The same for readings that an override added, and for worlds other than the default."""
    look: int = 0
    """The number of trials after which settings of a board that are out of reach stop. 0: none does."""
    stopped: Mapping[str, int] = field(default_factory=dict)
    """The settings that stopped at the look, by key, each with its number of trials."""
    added: int = 0
    """How many of its settings, the last ones, belong only to other readings of the paper, if an override added these
    (`reading=all`). The experiment's figure leaves them out."""
    environment: Environment = field(default_factory=Environment)
    written: str = ""
    """When it was planned (UTC)."""
    seconds: float = 0.0
    """How long it took."""
    results: Path = field(default=Path("results"), compare=False, metadata={"stored": False})
    """The folder it is stored in."""

    @classmethod
    def load(cls, results: Path | str, experiment: str, scale: str | None = None, files: Any = None) -> Run:
        """The newest run of an experiment (at a scale, with these datasets read from files).

        Raises UserError if there is none.
        """
        from dpbench.storage.commands import nothing_stored
        from dpbench.storage.runs import read_all

        wanted = None if files is None else frozenset([files] if isinstance(files, str) else files)
        runs = [
            run
            for run in read_all(Path(results))
            if run.name == experiment
            and scale in (None, run.scale)
            and (wanted is None or frozenset(run.original_datasets) == wanted)
        ]
        if not runs:
            raise nothing_stored(Path(results), experiment, scale)
        return max(runs, key=lambda run: run.written)

    @classmethod
    def all(cls, results: Path | str, scale: str | None = None) -> dict[str, Run]:
        """The newest run of every name under a results folder, whatever its data was read from."""
        runs = sorted(cls.each(results, scale).values(), key=lambda run: run.written)
        return dict(sorted({run.name: run for run in runs}.items()))

    @classmethod
    def each(cls, results: Path | str, scale: str | None = None) -> dict[str, Run]:
        """The newest run of every label: one on original files stands beside the one on generated data."""
        from dpbench.storage.runs import read_all

        newest: dict[str, Run] = {}
        for run in sorted(read_all(Path(results)), key=lambda run: run.written):
            if scale in (None, run.scale):
                newest[run.label] = run
        return dict(sorted(newest.items()))

    @property
    def datasets(self) -> dict[str, Dataset]:
        """The datasets by name; if one occurs with several parameters, the last."""
        return {setting.dataset.name: setting.dataset for setting in self.settings}

    @property
    def own(self) -> Run:
        """The same without the settings that other readings added."""
        return replace(self, settings=self.settings[: len(self.settings) - self.added], added=0)

    @property
    def original_datasets(self) -> tuple[str, ...]:
        """The datasets that were read from files."""
        return tuple(sorted({s.dataset.name for s in self.settings if s.dataset.original}))

    @property
    def worlds(self) -> dict[str, tuple[str, ...]]:
        """The worlds of its generated datasets, by name, if there are others than the default one, which is called so."""
        found: dict[str, dict[str, None]] = {}
        for setting in self.settings:
            if not setting.dataset.original:
                found.setdefault(setting.dataset.name, {})[setting.dataset.world or "default"] = None
        return {name: tuple(worlds) for name, worlds in found.items() if [*worlds] != ["default"]}

    @property
    def caveats(self) -> dict[str, str]:
        """The mechanisms that are not private as run, each with the first reason."""
        reasons: dict[str, str] = {}
        for setting in self.settings:
            if setting.caveat:
                reasons.setdefault(setting.mechanism.name, setting.caveat)
        return reasons

    @property
    def noise(self) -> str:
        """How its noise was drawn: "float" or "exact"."""
        return next((setting.noise for setting in self.settings), FLOAT)

    @property
    def planned(self) -> int:
        """Total number of trials; identical settings count once."""
        return sum(self.repetitions_by_id().values())

    def repetitions_of(self, setting: Setting) -> int:
        """Number of trials of one setting."""
        in_case = setting.dataset.world or setting.key in self._added_keys
        limits = (self.most_trials, self.case_trials) if in_case else (self.most_trials,)
        names = (setting.mechanism.name, setting.dataset.name)
        most = min(limit.get(name, self.repetitions) for limit in limits for name in names)
        most = min(most, self.repetitions)
        return min(most, self.stopped.get(setting.key, most))

    @functools.cached_property
    def _added_keys(self) -> frozenset[str]:
        own = len(self.settings) - self.added
        return frozenset(setting.key for setting in self.settings[own:])

    def repetitions_by_id(self) -> dict[str, int]:
        """Number of trials of every setting, by its id; the largest if one id has several names."""
        counts: dict[str, int] = {}
        for setting in self.settings:
            counts[setting.id] = max(counts.get(setting.id, 0), self.repetitions_of(setting))
        return counts

    def trial_range(self) -> str:
        """How many trials a setting has: "200", or "10 to 200" if not all settings have the same number."""
        counts = {self.repetitions_of(setting) for setting in self.settings} or {self.repetitions}
        least, most = min(counts), max(counts)
        return f"{f'{least} to ' * (least < most)}{most}"

    def describe_trials(self) -> str:
        """The same in words: "200 trials per setting"."""
        count = self.trial_range()
        return f"{count} trial{'s' * (count != '1')} per setting"

    def origins(self) -> list[str]:
        """Where the data comes from: datasets grouped by origin, with the seeds of generated ones."""
        return origins(setting.dataset for setting in self.settings)

    @property
    def data_seeds(self) -> tuple[int, ...]:
        """The seeds of its generated data: one draw of each dataset per seed. Empty when all are original files."""
        return tuple(sorted({s.dataset.seed for s in self.settings if not s.dataset.original}))

    def draws(self) -> list[tuple[Setting, ...]]:
        """Its settings, grouped so that a group differs only in the draw of the data. Each alone if there is one draw."""
        if len(self.data_seeds) < 2:
            return [(setting,) for setting in self.settings]
        groups: dict[str, dict[str, Setting]] = {}
        for s in self.settings:
            alike = repr((s.dataset.name, s.dataset.world, s.dataset.params, s.mechanism, s.epsilon, s.task, s.noise))
            groups.setdefault(alike, {})[s.key] = s
        return [tuple(settings.values()) for settings in groups.values()]

    def trials(self) -> pd.DataFrame:
        """All stored trials: the settings' labels, `data_seed`, `setting`, `trial`, `seconds`, and the columns `metric.NAME`,
        `chosen.NAME` and `diagnostic.NAME`."""
        from dpbench.storage.frame import trials

        return trials(self)

    def summary(self, by: list[str] | None = None) -> pd.DataFrame:
        """Mean, standard error and 95th percentile of every metric, one row per setting (or per value of `by`), over all
        draws of the data. The column † marks what is not private as run; there is none if everything is."""
        from dpbench.storage.frame import SETTING, summarise
        from dpbench.storage.numbers import MARK

        frame = self.trials()
        if frame.empty:
            return frame
        labels = by or list(dict.fromkeys(name for setting in self.settings for name in setting.labels()))
        table = summarise(frame, labels)
        unsafe = {setting.id for setting in self.settings if setting.caveat}
        if unsafe:
            groups = frame.assign(unsafe=frame[SETTING].isin(unsafe)).groupby(labels, sort=False, dropna=False)
            table.insert(len(labels), MARK, [MARK if one else "" for one in groups["unsafe"].any()])
        return table

    def remarks(self) -> list[str]:
        """What a reader of its numbers must know: what is not private as run, that it is not as defined, or not finished."""
        from dpbench.storage.commands import remarks
        from dpbench.storage.numbers import MARK

        reasons: dict[str, list[str]] = {}
        for name, why in self.caveats.items():
            reasons.setdefault(why, []).append(name)
        caveats = [f"{MARK} not private as run: {', '.join(names)}: {why}" for why, names in reasons.items()]
        return [*caveats, *remarks(self)]

    def figure(self) -> Any:
        """The experiment's matplotlib figure, drawn from the stored trials."""
        from dpbench.figures.draw import closed

        return closed(self)

    def to_latex(self) -> str:
        """A table for a paper (needs the package booktabs): best values are bold within their board, ± and † are kept."""
        from dpbench.figures.text_tables import table_of

        return table_of(self).latex()

    def to_markdown(self) -> str:
        """The same table for a README or an issue."""
        from dpbench.figures.text_tables import table_of

        return table_of(self).markdown()

    def __repr__(self) -> str:
        settings = f"{len(self.settings)} setting{'' if len(self.settings) == 1 else 's'}"
        return f"Run({self.name} at scale {self.scale}: {settings}, {self.repetitions} trials each, in {self.results})"

    def _repr_html_(self) -> str:
        """What a notebook shows of it: the means with their standard errors, and remarks on them."""
        from dpbench.storage.html import page

        return page(self)

    # Stored form.

    @property
    def path(self) -> Path:
        """Where it is stored: by name, scale, and which datasets were read from files."""
        return self.results / "runs" / f"{self.name}@{self.scale}{self._files}.json"

    @property
    def label(self) -> str:
        """What distinguishes it from other runs of the same scale: its name, and which datasets were read from files."""
        return f"{self.name}{self._files}"

    @property
    def _files(self) -> str:
        return "".join(f"+{name.replace('/', '.')}" for name in self.original_datasets)

    def save(self) -> Path:
        """Store it atomically. Raises UserError for names that no reader would accept."""
        from dpbench.storage.runs import write

        for what, name in names(self):
            if not valid_name(name):
                raise UserError(f"the {what} {name!r} is not valid: expected {VALID_NAME}")
        write(self)
        return self.path


def load(results: Path | str, experiment: str | None = None, scale: str | None = None, files: Any = None) -> Run:
    """`dpbench.load("results", "gs/fig9")`: the newest run of that name in a results folder.

    `dpbench.load("gs/fig9")` looks in `./results`.
    """
    if experiment is None:
        return Run.load("results", str(results), scale, files)
    return Run.load(results, experiment, scale, files)


def valid_name(name: str) -> bool:
    """Whether a run, a dataset, a mechanism or a task may have this name."""
    return bool(NAME.fullmatch(name)) and len(name) <= 200


def names(run: Run) -> Iterator[tuple[str, str]]:
    """Every name in a run that a reader checks, with what it names."""
    yield from (("name of the run", run.name), ("scale", run.scale))
    if run.experiment:
        yield "experiment", run.experiment
    for what in ("dataset", "mechanism", "task"):
        yield from ((what, name) for name in sorted({getattr(setting, what).name for setting in run.settings}))
    yield from (("world", world) for world in sorted({setting.dataset.world for setting in run.settings} - {""}))


__all__ = ["FLOAT", "UNSTATED", "Dataset", "Run", "Setting", "Value", "Variant", "valid_name"]
