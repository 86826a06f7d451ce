"""What a run is: its settings, how it was carried out, and where it is written down.

`Setting` and `Run` are the types that every package shares, from the plan to the report. A run file is sealed: damage is
noticed, named and set aside. Reading one imports, calls and opens nothing that is named in it.
"""

from __future__ import annotations

import dataclasses
import re
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpbench import seals
from dpbench.errors import Damaged
from dpbench.results.environment import Environment
from dpbench.results.folder import run_files, set_aside
from dpbench.results.setting import UNSTATED, DatasetUse, Setting, Value, Variant

if TYPE_CHECKING:
    import pandas as pd

SCHEMA = 2  # version of run files and of stored rows
NAME = re.compile(r"\w[\w.-]*(/\w[\w.-]*)*", re.ASCII)
_ID = re.compile(r"[0-9a-f]{32}")


@dataclass(frozen=True)
class Run:
    """One experiment as it was run."""

    name: str
    """The experiment's id, or the name that the user gave."""
    scale: str
    repetitions: int
    """Number of trials of each setting."""
    seed: int
    """Of the noise."""
    settings: tuple[Setting, ...]
    title: str = ""
    metrics: tuple[str, ...] = ()
    """The metrics that the table of the run shows."""
    left_out: tuple[tuple[str, str], ...] = ()
    """Combinations that do not fit together, each with the reason."""
    changes: tuple[str, ...] = ()
    """How it differs from the experiment as it is defined."""
    altered: tuple[str, ...] = ()
    """Those of the changes after which its numbers mean something else."""
    environment: Environment = field(default_factory=Environment)
    written: str = ""
    """When it was planned (UTC)."""
    seconds: float = 0.0
    """How long it took."""
    results: Path = field(default=Path("results"), compare=False)
    """The folder it is stored in."""

    @classmethod
    def load(cls, results: Path | str, experiment: str, scale: str | None = None, files: Any = None) -> Run:
        """The newest run of an experiment (at a scale, with these datasets read from files).

        Raises UserError when there is none.
        """
        from dpbench.results.commands import nothing_stored

        wanted = None if files is None else frozenset([files] if isinstance(files, str) else files)
        found = [
            run
            for run in _read_all(Path(results))
            if run.name == experiment
            and scale in (None, run.scale)
            and (wanted is None or frozenset(run.original_datasets) == wanted)
        ]
        if not found:
            raise nothing_stored(Path(results), experiment, scale)
        return max(found, key=lambda run: run.written)

    @classmethod
    def all(cls, results: Path | str, scale: str | None = None) -> dict[str, Run]:
        """The newest run of every experiment under a results folder, by name."""
        newest: dict[str, Run] = {}
        for run in sorted(_read_all(Path(results)), key=lambda run: run.written):
            if scale in (None, run.scale):
                newest[run.name] = run
        return dict(sorted(newest.items()))

    @property
    def datasets(self) -> dict[str, DatasetUse]:
        """The datasets by name; of one that occurs with several parameters, the last."""
        return {setting.dataset.name: setting.dataset for setting in self.settings}

    @property
    def original_datasets(self) -> tuple[str, ...]:
        return tuple(sorted({s.dataset.name for s in self.settings if s.dataset.original}))

    @property
    def caveats(self) -> dict[str, str]:
        """The mechanisms that are not private as run, each with the first reason."""
        found: dict[str, str] = {}
        for setting in self.settings:
            if setting.caveat:
                found.setdefault(setting.mechanism.name, setting.caveat)
        return found

    @property
    def planned(self) -> int:
        """Number of trials in all; settings that are one and the same count once."""
        return len({setting.id for setting in self.settings}) * self.repetitions

    def origins(self) -> list[str]:
        """Where the data come from, datasets of one origin together."""
        origins: dict[str, list[str]] = {}
        for dataset in self.datasets.values():
            origins.setdefault(dataset.origin, []).append(dataset.name)
        return [f"{', '.join(names)}: {origin}" for origin, names in origins.items()]

    def trials(self) -> pd.DataFrame:
        """All stored trials: the settings' labels, `setting`, `trial`, `seconds`, and the columns `metric.NAME`,
        `chosen.NAME` and `diagnostic.NAME`."""
        from dpbench.results.frame import trials

        return trials(self)

    def summary(self, by: list[str] | None = None) -> pd.DataFrame:
        """Mean, standard error and 95th percentile of every metric, one row per setting (or per value of `by`)."""
        from dpbench.results.frame import summarise

        frame = self.trials()
        labels = by or list(dict.fromkeys(name for setting in self.settings for name in setting.labels()))
        return summarise(frame, labels)

    def remarks(self) -> list[str]:
        """What a reader of its numbers must know: that it is not as defined, or not finished."""
        from dpbench.results.commands import remarks

        return remarks(self)

    def figure(self) -> Any:
        """The experiment's matplotlib figure, drawn from the stored trials."""
        from dpbench.figures.draw import draw

        return draw(self).figure

    # Stored form.

    @property
    def path(self) -> Path:
        """Where it is written down: experiment, scale, and which datasets were read from files."""
        files = "".join(f"+{name}" for name in self.original_datasets)
        return self.results / "runs" / f"{self.name}@{self.scale}{files}.json"

    def save(self) -> Path:
        """Write it down: aside first, then renamed."""
        from dpbench.results.folder import write_aside

        body = {"schema": SCHEMA, **dataclasses.asdict(dataclasses.replace(self, results=Path()))}
        body.pop("results")
        write_aside(self.path, seals.seal(_listed(body)).encode())
        return self.path


__all__ = ["UNSTATED", "DatasetUse", "Run", "Setting", "Value", "Variant", "valid_name"]


def valid_name(name: str) -> bool:
    """Whether a run may have this name: parts of letters, digits, `_`, `.` and `-`, divided by slashes."""
    return bool(NAME.fullmatch(name)) and len(name) <= 200


def _listed(value: Any) -> Any:
    """Tuples as lists, as JSON has them."""
    if isinstance(value, Mapping):
        return {key: _listed(item) for key, item in value.items()}
    return [_listed(item) for item in value] if isinstance(value, list | tuple) else value


def _read_all(results: Path) -> Iterator[Run]:
    """Every run under a results folder. What is damaged is named, set aside, and left out."""
    for path in run_files(results):
        try:
            run = _read(path, results)
        except (OSError, ValueError, KeyError, TypeError) as error:
            set_aside(results, path)
            warnings.warn(
                f"{path} is damaged ({error}) and passed over: run the experiment again", Damaged, stacklevel=3
            )
            continue
        yield run


def _read(path: Path, results: Path) -> Run:
    body = seals.unseal(path.read_bytes())
    if body.pop("schema") != SCHEMA:
        raise ValueError("it is of another version of dpbench")
    settings = tuple(_setting(setting) for setting in body.pop("settings"))
    environment = _made(Environment, body.pop("environment"))
    run = _made(Run, {**body, "settings": settings, "environment": environment, "results": results})
    if not valid_name(run.name) or run.path.resolve() != path.resolve():
        raise ValueError("its name is not the one it was written under")
    return run


def _setting(body: dict[str, Any]) -> Setting:
    parts = {"mechanism": _made(Variant, body.pop("mechanism")), "task": _made(Variant, body.pop("task"))}
    setting = _made(Setting, {**body, **parts, "dataset": _made(DatasetUse, body.pop("dataset"))})
    if not _ID.fullmatch(setting.id):
        raise ValueError(f"{setting.id!r} is not the id of a setting")
    for name in (setting.dataset.name, setting.mechanism.name, setting.task.name):
        if not valid_name(name):
            raise ValueError(f"{name!r} is not a name")
    return setting


def _made(cls: Any, body: dict[str, Any]) -> Any:
    """An instance from its stored form, with every field there and no other."""
    expected = {f.name for f in dataclasses.fields(cls)}
    if set(body) != expected:
        raise ValueError(f"{cls.__name__} has other fields: {', '.join(sorted(expected ^ set(body)))}")
    return cls(**{key: _tupled(value) if isinstance(value, list) else value for key, value in body.items()})


def _tupled(value: Any) -> Any:
    return tuple(_tupled(item) for item in value) if isinstance(value, list) else value
