"""What was run, as the report needs it. The only module of the report that looks into the stored description of a run.

Everything here is text and numbers: nothing named in a results folder is imported, called or opened. Imported by `gather`.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpbench.errors import Damaged
from dpbench.mechanisms.base import MECHANISMS
from dpbench.results import frame

if TYPE_CHECKING:
    from dpbench.figures.draw import Drawing

NOT_STATED = "not stated"
NAME = re.compile(r"\w[\w.-]*(/\w[\w.-]*)*")  # of an experiment: a path below experiments/, and nothing above it


@dataclass(frozen=True)
class DatasetUse:
    """A dataset as one run used it."""

    name: str
    original: bool
    """Read from its original files; otherwise made by a generator."""
    seed: int
    given: str = ""
    """Parameters that the run chose, in words."""
    statistics: Mapping[str, float] = field(default_factory=dict)

    @property
    def origin(self) -> str:
        return "original files" if self.original else f"generated, seed {self.seed}"


@dataclass(frozen=True)
class MechanismUse:
    """A mechanism with the parameters that one run gave it."""

    name: str
    params: Mapping[str, Any]
    guarantee: str
    """`ε`, `(ε, δ)` or `not stated`."""
    not_private: str
    """Why it is not private as run; empty when it is."""


@dataclass(frozen=True)
class RunFacts:
    """One experiment as it was run."""

    experiment: str
    title: str
    scale: str
    trials: int
    """Planned for each setting."""
    seed: int
    settings: int
    written: str
    datasets: tuple[DatasetUse, ...]
    mechanisms: tuple[MechanismUse, ...]
    left_out: tuple[tuple[str, str], ...]
    """Settings that were not run, with the reason."""
    stored: Any = field(default=None, repr=False, compare=False)
    """What the store gave: for `drawing` and `remarks` below, and for nobody else."""


def run_facts(stored: Mapping[str, dict[str, Any]]) -> dict[str, RunFacts]:
    """The facts of each run by experiment; one that cannot be read is passed over with a warning."""
    found = {}
    for name, manifest in stored.items():
        try:
            found[name] = _facts(name, manifest)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            told = f"{text(name)}: its stored description is damaged and passed over ({text(error)}): run it again"
            warnings.warn(told, Damaged, stacklevel=2)
    return found


def drawing(run: RunFacts, results: Path) -> Drawing:
    """The numbers and the figure of a run, by the installed script of that name or the user's own. CannotDraw says why not."""
    from dpbench.figures.draw import draw

    return draw(results, run.stored)


def remarks(run: RunFacts, trials: int, results: Path) -> list[str]:
    """How this run differs from the experiment as it is defined, and whether it is finished."""
    return [text(remark) for remark in frame.remarks(run.stored, trials, results)]


def text(value: object) -> str:
    """A stored text on one line without control characters, which would reach the user's terminal."""
    return "".join(c if c.isprintable() else " " for c in str(value))


def _facts(name: str, manifest: dict[str, Any]) -> RunFacts:
    if not NAME.fullmatch(name) or name != manifest["experiment"]:
        raise ValueError("its name is not the name of an experiment")
    return RunFacts(
        experiment=name,
        title=text(manifest["title"] or ""),
        scale=text(manifest["scale"]),
        trials=int(manifest["trials"]),
        seed=int(manifest["seed"]),
        settings=len(manifest["cells"]),
        written=text(manifest.get("written", ""))[:16].replace("T", " "),
        datasets=tuple(_dataset(text(key), spec) for key, spec in manifest["datasets"].items()),
        mechanisms=tuple(_mechanisms(cell["labels"] for cell in manifest["cells"])),
        left_out=tuple((text(setting), text(reason)) for setting, reason in manifest.get("left_out", ())),
        stored=manifest,
    )


def _dataset(name: str, spec: Mapping[str, Any]) -> DatasetUse:
    return DatasetUse(name, original="path" in spec.get("params", {}), seed=int(spec.get("seed", 0)))


def _mechanisms(cells: Iterable[Mapping[str, Any]]) -> list[MechanismUse]:
    """Each mechanism of the cells once for each choice of its parameters."""
    installed = dict(MECHANISMS.items())
    found: dict[str, MechanismUse] = {}
    for labels in cells:
        name = text(labels["mechanism"])
        params = {k.partition(".")[2]: v for k, v in labels.items() if k.startswith("mechanism.")}
        cls = installed.get(name)
        guarantee = cls.privacy if cls is not None and cls.privacy != "none" else NOT_STATED
        use = MechanismUse(name, params, guarantee, default_caveat(cls) if cls else "")
        found.setdefault(f"{name} {params}", use)
    return list(found.values())


def default_caveat(cls: type[Any]) -> str:
    """Why an installed mechanism is not private with its default parameters; empty when it is or has none."""
    try:
        return str(cls().not_private())
    except TypeError:  # it has parameters without a default
        return ""
