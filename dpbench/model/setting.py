"""What a setting is: one dataset, one mechanism, one epsilon, one task, each with its parameters. Plain types.

Imported by all packages from the configuration to the report, and by the workers; see `run` for a whole run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import PurePath
from typing import Any

from dpbench.registry import Registry

Value = str | int | float | bool | None
"""A parameter's value, as in YAML."""

Params = Mapping[str, Any]
"""Parameters by name. A user's own class may also take lists and mappings of values."""

DECLARED = "declared"
"""`bound: declared`: the bound that each dataset declares."""

FLOAT = "float"
"""The default noise of a run."""

TABLE, GIVEN = "table", "given"
"""The sources of users' own data: their tables, and objects passed by a program."""

ORIGINAL, SAMPLE = "original files", "sample of the original file"

UNSTATED = "not stated"
"""The guarantee of a mechanism that states none."""


@dataclass(frozen=True)
class Variant:
    """One mechanism or one task, with its parameters: a worker makes an instance from it."""

    name: str
    cls: str
    """Its registered name, or the dotted path of a user's class."""
    params: Params = field(default_factory=dict)
    declared: tuple[str, ...] = ()
    """Parameters whose values were declared by the dataset (`bound: declared`), not given for this mechanism."""
    instance: Any = field(default=None, compare=False, repr=False, metadata={"stored": False})
    """The object itself, if a program passed one that has no name: it is sent to the workers and never stored."""

    def make(self, registry: Registry[Any]) -> Any:
        """The mechanism or task: the given object, or one made by its name."""
        return registry.make(self.cls, **self.params) if self.instance is None else self.instance

    def with_bound(self, bound: int | None) -> Variant:
        """The same with this bound in place of `declared`."""
        if not self.declared:
            return self
        return replace(self, params={**self.params, **dict.fromkeys(self.declared, bound)})

    def get_class(self, registry: Registry[Any]) -> Any:
        """Its class."""
        return registry.get(self.cls) if self.instance is None else type(self.instance)


@dataclass(frozen=True)
class Dataset:
    """One dataset: how it is made and, once it is built, what identifies its content. Small enough to send anywhere."""

    name: str
    source: str
    """Its generator or reader: a registered name or a dotted path."""
    params: Params = field(default_factory=dict)
    seed: int = 0
    kind: str = ""
    """Its data kind, such as "incidence"; empty if nobody needs it before it is built."""
    given: tuple[str, ...] = ()
    """The parameters that the user or the experiment gave; they distinguish settings."""
    original: bool = False
    """Read from files, not generated."""
    individuals: tuple[int, int] = (0, 0)
    """Of a file that holds only a sample of the original: how many individuals it has, and how many the original has."""
    fingerprint: str = ""
    """Identifies its content; empty while it is not built."""
    statistics: Mapping[str, int | float] = field(default_factory=dict)
    bound: int | None = None
    """The most columns of one row that its YAML declares. It is not computed from the data."""
    files: tuple[str, ...] = ()
    """Names of the files that a user's own source read; empty for generators and for readers of ours."""
    world: str = ""
    """Which of its worlds it is (`dpbench.model.world`); empty for the default one, and for original files, which have none."""

    @property
    def choice(self) -> str:
        """The parameters that the run chose, as text."""
        return ", ".join(f"{name}={self.params[name]}" for name in self.given)

    @property
    def origin(self) -> str:
        """Where the data comes from, as text."""
        return next(iter(origins([self]))).partition(": ")[2]

    @property
    def read(self) -> str:
        """The files it was read from, as text; empty if it is generated."""
        if self.own or not self.original:
            return self.own
        here, whole = self.individuals
        return f"{SAMPLE} ({here:,} of {whole:,} individuals)" if whole else ORIGINAL

    @property
    def own(self) -> str:
        """The table, object or files, if it is a user's own data; otherwise empty."""
        if self.source == GIVEN:
            return "own data, given in Python"
        if self.files:
            more = f" and {len(self.files) - 2} more" if len(self.files) > 2 else ""
            return f"own data, read from {', '.join(self.files[:2])}{more}"
        return f"own data, {PurePath(str(self.params.get('path', ''))).name}" if self.source == TABLE else ""


@dataclass(frozen=True)
class Setting:
    """One dataset, one mechanism, one epsilon, one task.

    `key` identifies what was requested and seeds the trials. `id` also covers the data and the code; trials are
    stored under it. Changed code computes new results, from the same noise.
    """

    dataset: Dataset
    mechanism: Variant
    epsilon: float
    task: Variant
    key: str
    id: str = ""
    guarantee: str = UNSTATED
    """The privacy that the mechanism states: "ε", "(ε, δ)", or that there is none."""
    not_private: str = ""
    """Why a release with these parameters is not private, as the mechanism declares; empty if it is."""
    neighbours: str = ""
    """What one individual may change, as the mechanism declares."""

    noise: str = FLOAT
    """How noise is drawn: "float" or "exact"."""

    def labels(self) -> dict[str, Value]:
        """The columns that describe this setting in a frame of trials."""
        row: dict[str, Value] = {"dataset": self.dataset.name, "mechanism": self.mechanism.name}
        row |= {"epsilon": self.epsilon, "task": self.task.name}
        row |= {"noise": self.noise} if self.noise != FLOAT else {}
        row |= {"dataset.world": self.dataset.world} if self.dataset.world else {}
        row |= {f"dataset.{name}": self.dataset.params[name] for name in self.dataset.given}
        declared = dict.fromkeys(self.mechanism.declared, DECLARED)
        row |= {f"mechanism.{name}": declared.get(name, value) for name, value in self.mechanism.params.items()}
        return row | {f"task.{name}": value for name, value in self.task.params.items()}

    @property
    def parameters(self) -> str:
        """What distinguishes this setting from others, besides dataset, mechanism and epsilon."""
        labels = self.labels().items()
        return ", ".join(f"{k.rpartition('.')[2]}={v}" for k, v in labels if "." in k or k == "noise")

    @property
    def private(self) -> bool:
        """Whether the mechanism states a guarantee that a release with these parameters keeps."""
        return not self.not_private and self.guarantee not in (UNSTATED, "none")

    @property
    def caveat(self) -> str:
        """What a reader must know about its privacy; empty if it is private."""
        if self.not_private:
            return self.not_private
        return "" if self.private else "states no guarantee"

    def __str__(self) -> str:
        more = f" ({self.parameters})" if self.parameters else ""
        # Seed 0 is the default and not shown. Other draws of the data are shown.
        draw = f", data seed {self.dataset.seed}" if self.dataset.seed and not self.dataset.original else ""
        return f"{self.mechanism.name} on {self.dataset.name}, ε={self.epsilon:.4g}{more}{draw}"


def individuals_in(facts: Mapping[str, Any]) -> int:
    """How many users, rows or, of a histogram, individuals there are, whatever the kind of the data; 0 if it is not known."""
    return next((int(facts[name]) for name in ("rows", "users", "total") if name in facts), 0)


def origins(uses: Iterable[Dataset]) -> list[str]:
    """Where data comes from, as text: datasets grouped by origin, and the draws of generated ones."""
    seeds: dict[tuple[str, str], set[int]] = {}
    worlds: dict[str, dict[str, None]] = {}
    for use in uses:
        seeds.setdefault((use.name, use.read), set()).add(use.seed)
        worlds.setdefault(use.name, {})[use.world] = None
    names: dict[str, list[str]] = {}
    for (name, read), drawn in seeds.items():
        of = [world or "default" for world in worlds[name]] if any(worlds[name]) else []
        inside = f" in the world{'s' * (len(of) > 1)} {', '.join(of)}" if of else ""
        origin = read or f"generated{inside}, seed{'s' * (len(drawn) > 1)} {listed_seeds(drawn)}"
        names.setdefault(origin, []).append(name)
    return [f"{', '.join(alike)}: {origin}" for origin, alike in names.items()]


def listed_seeds(seeds: Iterable[int]) -> str:
    """`3`, `0 to 4` or `0, 7`."""
    distinct = sorted(set(seeds))
    if len(distinct) > 2 and distinct[-1] - distinct[0] == len(distinct) - 1:
        return f"{distinct[0]} to {distinct[-1]}"
    return ", ".join(map(str, distinct))
