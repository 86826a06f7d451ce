"""The types of a checked run. Each setting has its check beside it; a message names the setting, the value and what is expected.

Imported by the verbs and the engine; made by `checks`, from what Hydra composed.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from numbers import Real
from pathlib import Path
from typing import Any

from dpbench.config.dataset_entry import SCALES
from dpbench.documents import Locate, nowhere
from dpbench.errors import UserError, nearest, output_folder, placed
from dpbench.model.run import MOST_TRIALS, Dataset, Variant
from dpbench.privacy import FORMS
from dpbench.privacy.exchange import parse_epsilon, parse_rho

__all__ = ["SCALES", "RunConfig", "RunnerConfig", "Shard", "TrackingConfig", "checked", "known_metric"]

Check = Callable[[str, Any], Any]
"""Takes the name and the value of a setting. Returns the value that the run uses, or raises UserError."""

ADDRESS = re.compile(r"(tcp|tls)://([\w.-]+|\[[0-9a-fA-F:.%]+\]):(\d{1,5})", re.ASCII)
WALLTIME = re.compile(r"(\d+-)?\d{1,3}:\d\d(:\d\d)?", re.ASCII)
DIRECTIVE = re.compile(r"-[^\r\n]*")
SHARD = re.compile(r"([1-9]\d{0,5})/([1-9]\d{0,5})", re.ASCII)
MOST_DRAWS = 1_000


# Budgets as users write them: `engine/budgets` makes an ε of each, per mechanism.


@dataclass(frozen=True)
class EpsilonDelta:
    """(ε, δ). A mechanism with a pure guarantee keeps its ε for every δ; others get this δ as their parameter."""

    epsilon: float
    delta: float

    def __str__(self) -> str:
        return f"({self.epsilon:.4g}, {self.delta:.4g})"


@dataclass(frozen=True)
class Rho:
    """ρ of zero-concentrated differential privacy. It is another ε for each kind of guarantee."""

    rho: float

    def __str__(self) -> str:
        return f"ρ={self.rho:.4g}"


StatedBudget = float | EpsilonDelta | Rho


def parse_budget(value: Any) -> StatedBudget:
    """The budget that `0.5`, `ln2`, `[0.5, 1e-6]`, `rho:0.1`, `rho=0.1` or `{rho: 0.1}` means."""
    rho = parse_rho(value.replace(":", "=", 1) if isinstance(value, str) else value)
    if rho is not None:
        return Rho(rho)
    if not isinstance(value, Sequence) or isinstance(value, str):
        return parse_epsilon(value)
    if len(value) != 2 or not isinstance(value[1], int | float) or not 0 < value[1] < 1:
        raise UserError(
            f"epsilon={value!r} is not valid: expected a pair (ε, δ) with δ between 0 and 1, such as [0.5,1e-6]"
        )
    return EpsilonDelta(parse_epsilon(value[0]), float(value[1]))


# Checks.


def setting(check: Check, default: Any = MISSING) -> Any:
    """A field of a checked type, with the check of its value."""
    return field(default=default, metadata={"check": check})


def checked(cls: type, given: Mapping[str, Any], prefix: str = "", place: Locate = nowhere) -> dict[str, Any]:
    """The values of the settings of a type, each checked. `place` gives the file and line of a setting, for the error."""
    values = {}
    for declared in fields(cls):
        name, check = declared.name, declared.metadata.get("check")
        if check is not None and (name in given or declared.default is MISSING):
            try:
                values[name] = check(prefix + name, given.get(name))
            except UserError as error:
                raise placed(place(name), error) from error
    return values


def where(valid: Callable[[Any], Any], expected: str, convert: Callable[[Any], Any] = lambda value: value) -> Check:
    """The check that a value is valid; `expected` says what is."""

    def check(name: str, value: Any) -> Any:
        if not valid(value):
            raise UserError(f"{name}={value!r} is not valid: expected {expected}")
        return convert(value)

    return check


def choice(*names: str) -> Check:
    def check(name: str, value: Any) -> Any:
        if not isinstance(value, str) or value not in names:
            raise UserError(f"{name}={value!r} is not valid: {nearest(value, names)}")
        return value

    return check


def optional(check: Check) -> Check:
    return lambda name, value: None if value is None else check(name, value)


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)


def _is_whole(value: Any, least: int, most: int | None = None) -> bool:
    return _is_number(value) and value == int(value) and least <= value and (most is None or value <= most)


def whole(least: int = 1, most: int | None = None) -> Check:
    expected = "a positive whole number" if least else "a whole number, 0 or more"
    expected += f", at most {most}" if most else ""
    return where(lambda value: _is_whole(value, least, most), expected, int)


def _matches(pattern: re.Pattern[str]) -> Callable[[Any], re.Match[str] | None]:
    return lambda value: pattern.fullmatch(value) if isinstance(value, str) else None


def _is_address(value: Any) -> bool:
    match = _matches(ADDRESS)(value)
    return match is not None and 0 < int(match[3]) < 65536


def _is_shard(value: Any) -> bool:
    match = _matches(SHARD)(value)
    return match is not None and int(match[1]) <= int(match[2])


def _budgets(name: str, value: Any) -> tuple[StatedBudget, ...]:
    values = value if isinstance(value, list | tuple) else [value]
    if not values:
        raise UserError(f"{name}=[] is not valid: expected at least one positive number, ln2 or ln3")
    return tuple(dict.fromkeys(map(parse_budget, values)))


def text(name: str, value: Any) -> str:
    if isinstance(value, list | Mapping):
        raise UserError(f"{name}={value!r} is not valid: expected a text")
    return "" if value is None else str(value)


_limits = where(
    lambda value: value is None or isinstance(value, Mapping),
    "mechanisms or datasets with numbers of trials, such as {gs_mean: 20, netflix: 50}",
    lambda value: value or {},
)


def _folder(name: str, value: Any) -> Path:
    if not isinstance(value, str | int | float) or isinstance(value, bool) or not str(value).strip():
        raise UserError(f"{name}={value!r} is not valid: expected a folder")
    try:
        path = Path(str(value)).expanduser()
    except RuntimeError:  # ~nobody
        path = Path(str(value))
    output_folder(f"{name}=", path)
    return path


truth = where(lambda value: isinstance(value, bool), "true or false")
positive = where(lambda value: _is_number(value) and value > 0, "a positive number")


def a_text(expected: str) -> Check:
    return where(lambda value: isinstance(value, str) and value, expected)


def several(item: Callable[[Any], Any], expected: str) -> Check:
    """One value or a list of them, as a tuple. None: none."""

    def as_list(value: Any) -> list[Any]:
        return [*value] if isinstance(value, list | tuple) else [] if value is None else [value]

    return where(lambda value: all(map(item, as_list(value))), expected, lambda value: tuple(as_list(value)))


# The types.


@dataclass(frozen=True)
class Shard:
    """One part of a plan: number `number` of `count`, counted from 1."""

    number: int
    count: int

    def __str__(self) -> str:
        return f"{self.number}/{self.count}"


@dataclass(frozen=True)
class RunnerConfig:
    backend: str = setting(choice("loky", "dask", "slurm"), "loky")
    jobs: int = setting(
        where(lambda jobs: jobs == -1 or _is_whole(jobs, 1), "a positive whole number, or -1 for all cores", int), -1
    )
    chunk: int | str = setting(lambda name, value: value if value == "auto" else whole()(name, value), "auto")
    address: str | None = setting(optional(where(_is_address, "a Dask scheduler, such as tcp://host:8786")), None)
    timeout: float | None = setting(optional(positive), None)
    """Seconds per trial."""
    memory: float | None = setting(optional(positive), None)
    """GB per worker process."""
    shard: str | None = setting(
        optional(where(_is_shard, "a part and the number of parts, such as 2/8; parts are counted from 1")), None
    )
    """Such as 2/8: compute the second of eight parts of the plan."""
    queue: str | None = setting(optional(a_text("the name of a partition")), None)
    walltime: str | None = setting(optional(where(_matches(WALLTIME), "a text such as 01:30:00 or 2-12:00:00")), None)
    interface: str | None = setting(optional(a_text("the name of a network interface, such as eth0")), None)
    directives: tuple[str, ...] = setting(
        several(_matches(DIRECTIVE), "options of sbatch, such as 'runner.directives=[\"--account=me\"]'"), ()
    )
    """Options of the Slurm jobs, without `#SBATCH`."""
    logs: str = setting(a_text("a folder"), "slurm-logs")

    def __post_init__(self) -> None:
        for name, value in checked(RunnerConfig, vars(self), "runner.").items():
            object.__setattr__(self, name, value)
        if self.backend == "slurm" and self.jobs == -1:
            raise UserError("runner.jobs=-1 is not valid with runner=slurm: expected the number of jobs")

    @property
    def part(self) -> Shard | None:
        """The shard; None: the whole plan."""
        return None if self.shard is None else Shard(*map(int, self.shard.split("/")))


@dataclass(frozen=True)
class TrackingConfig:
    enabled: bool = setting(truth, True)
    uri: str | None = setting(optional(a_text("the address of an MLflow server, or sqlite:///FILE")), None)


SECTIONS = {"runner": RunnerConfig, "tracking": TrackingConfig}


@dataclass(frozen=True)
class Parts:
    """What a run combines with each other in one reading of its paper: each with each."""

    datasets: tuple[Dataset, ...]
    mechanisms: tuple[Variant, ...]
    tasks: tuple[Variant, ...]
    epsilon: tuple[StatedBudget, ...]


@dataclass(frozen=True, kw_only=True)
class RunConfig:
    """Everything one run needs, checked. The settings of conf/run.yaml are described there."""

    experiment: str
    """The id of its experiment; empty for an ad-hoc run."""
    name: str
    """What the run is stored under: the experiment's id, or a name of its own."""
    datasets: tuple[Dataset, ...]
    mechanisms: tuple[Variant, ...]
    tasks: tuple[Variant, ...]
    runner: RunnerConfig
    tracking: TrackingConfig

    scale: str = setting(choice(*SCALES))
    title: str = setting(text)
    epsilon: tuple[StatedBudget, ...] = setting(_budgets)
    trials: int = setting(whole(most=MOST_TRIALS))
    paper_trials: int = setting(whole(most=MOST_TRIALS))
    most_trials: Mapping[str, int] = setting(_limits)
    case_trials: Mapping[str, int] = setting(_limits)
    look: int = setting(whole(0, most=MOST_TRIALS))
    seed: int = setting(whole(0))
    data_seed: int = setting(whole(0))
    data_seeds: int = setting(whole(most=MOST_DRAWS))
    reading: str = setting(a_text("default, all or the name of a reading: see python -m dpbench list readings"))
    world: str = setting(a_text("default, all, or the name of a world"))
    noise: str = setting(choice(*FORMS))
    releases: int = setting(whole(most=100_000))
    metrics: tuple[str, ...] = setting(several(lambda name: isinstance(name, str), "names of metrics"))
    results: Path = setting(_folder)  # noqa: RUF009 (it makes a field)
    figure: bool = setting(truth)
    dry: bool = setting(truth)
    standard: str = setting(choice(*SCALES))
    baseline: bool = setting(truth)

    @property
    def parts(self) -> tuple[Parts, ...]:
        """What is combined with each other, by reading."""
        return Parts(self.datasets, self.mechanisms, self.tasks, self.epsilon), *self.readings

    changes: tuple[str, ...] = ()
    """How the user's overrides change the experiment's definition."""
    altered: tuple[str, ...] = ()
    """The changes that alter the meaning of its numbers."""
    readings: tuple[Parts, ...] = ()
    """What other readings combine (`reading=all`). Most of it is equal to what the default reading has, and computed once."""
    readings_added: bool = False
    """Whether an override asked for other readings, not the experiment itself."""
    left_out: tuple[tuple[str, str], ...] = ()
    """Datasets that are left out because their files are missing, each with the reason."""


def known_metric(task: Any, name: str) -> bool:
    """Whether a task declares a metric of this name. A user's task that declares no metrics may have any."""
    declared = getattr(task, "metric", None)
    return not callable(declared) or not getattr(task, "metrics", ()) or declared(name) is not None
