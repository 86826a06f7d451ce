"""The contract of a mechanism: a frozen dataclass of the paper's parameters with one verb, `release`."""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, dataclass, fields, replace
from typing import Any, ClassVar, Self

from dpbench.data import ColumnData, Counts, Data, Release
from dpbench.data.last_step import LastStep, NoisyCounts
from dpbench.data.plain import as_data
from dpbench.errors import UserError, positive, unknown, without_numbers
from dpbench.privacy import INEXACT, Noise
from dpbench.privacy.exchange import epsilon_of_rho, parse_rho, pure_rho
from dpbench.privacy.exchange import parse_epsilon as parse_epsilon
from dpbench.registry import Registry

MECHANISMS: Registry[type[Mechanism]] = Registry("mechanism", "dpbench.mechanisms", method="release")

ROW = "add or remove one row (user)"
PAPERS = ("gs", "sparse", "analytics", "sensitivity", "epicrec")
"""The five papers."""

Choices = tuple[Mapping[str, Any], ...]
"""Several choices of a mechanism's parameters."""

FRESH = "fresh generator, not reproducible"


@dataclass(frozen=True, kw_only=True)
class Mechanism:
    """Base of all mechanisms. A subclass states its facts as class attributes and defines `publish`.

    `class GS(Mechanism, name="gs")` registers it; a class without a name is used by its dotted path.
    """

    name: ClassVar[str] = ""
    paper: ClassVar[str] = ""
    """Paper id (gs, sparse, analytics, sensitivity, epicrec), or a reference for other methods."""
    place: ClassVar[str] = ""
    """Section, algorithm, figure or theorem that defines it."""
    kinds: ClassVar[tuple[str, ...]] = ("incidence",)
    """Data kinds it takes."""
    privacy: ClassVar[str] = "ε"
    """The guarantee: "ε", "(ε, δ)" or "none"."""
    neighbours: ClassVar[str] = ROW
    only_gaussian: ClassVar[bool] = False
    """Whether Gaussian noise, calibrated exactly to (ε, δ), is its only step that costs budget."""
    reconstructed: ClassVar[str] = ""
    """What we had to reconstruct because the paper does not give it; empty if nothing."""
    preset_of: ClassVar[type[Mechanism] | None] = None
    """The mechanism of which this is a variant with other defaults: settings share its keys, and so its noise."""

    # These facts are about one class and are not inherited.
    label: ClassVar[str] = ""
    """Its name in figures. Empty: `name`, with spaces for underscores."""
    family: ClassVar[str] = ""
    """How boards mark it: "paper", "modern" or "trivial". Empty: "paper" if `paper` is one of the five, otherwise "modern"."""
    look: ClassVar[int | None] = None
    """Its place in the palette of figures: colour, marker and dashes. No other mechanism of the same data kinds has it. None:
    by its position in a figure."""
    audited: ClassVar[Choices] = ({},)
    """The choices of parameters that `audit` tries, small enough for data with few columns. First the private ones, by which
    the mechanism is judged; then those that read the data, which the audit must detect."""

    def __init_subclass__(cls, name: str | None = None, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for fact in ("label", "look", "audited"):
            if fact not in cls.__dict__:
                setattr(cls, fact, getattr(Mechanism, fact))
        if "family" not in cls.__dict__:
            cls.family = "paper" if cls.paper in PAPERS else "modern"
        _check_publish(cls)
        if name is not None:
            cls.name = name
            MECHANISMS.add(name, cls)

    def release(
        self,
        data: Any,
        epsilon: Any = MISSING,
        rng: Any = MISSING,
        noise: str = "float",
        *,
        allow_not_private: bool = False,
    ) -> Release:
        """Publish `data` once under `epsilon`; all randomness comes from `rng`, and `data` is not changed.

        epsilon: a number, "ln2", a pair (ε, δ), or a budget of zCDP such as "rho=0.1".
        data: one of the data kinds, or an array, a sparse matrix or a table that can be read in one way only
        (`dpbench.data.plain`). rng: a numpy Generator, a seed such as 7, "secure", or None for noise that cannot be drawn again.

        noise: "float" is for research: floating-point noise has gaps that can reveal which of two neighbours was the input
        (Mironov 2012). "exact" draws with integers only; `inexact()` says why a mechanism has no exact noise. For a real
        release use noise="exact" and rng="secure", the operating system's generator, whose numbers cannot be drawn again.
        The epsilon that holds is the double given.

        A secure release holds only what may be published: no diagnostics, no stages, no sample. A mechanism that is
        `not_private()` is refused, unless `allow_not_private` is true, and a refusal states no number that was read from
        the data.
        """
        if epsilon is MISSING:
            raise UserError("release needs `epsilon`, the budget, such as epsilon=0.5")
        if isinstance(epsilon, tuple) or parse_rho(epsilon) is not None:
            spent, epsilon = self._afford(as_data(data, self.kinds), epsilon)
            return spent.release(data, epsilon, rng, noise, allow_not_private=allow_not_private)
        budget, steps = parse_epsilon(epsilon), Noise(rng, noise)
        who = self.name or type(self).__name__
        if noise == "exact" and (reason := self.inexact()):
            raise UserError(f"{who} has no exact noise: {reason}")
        if steps.secure and not allow_not_private and (reason := self.not_private()):
            hint = "expected private parameters, or allow_not_private=True"
            raise UserError(f'{who}: rng="secure" is for a real release, which must be private; {reason}; {hint}')
        try:
            data = as_data(data, self.kinds)
            if reason := self.unfit(data) or self.refusal(data, budget):
                raise UserError(f"{who}: {reason}")
            release = self.publish(data, budget, steps)
        except UserError as error:
            if not steps.secure:
                raise
            raise UserError(without_numbers(str(error), [each.name for each in fields(self)])) from None
        if steps.secure:
            if not isinstance(release, Release):
                given = type(release).__name__
                raise UserError(
                    f"{who} returns a {given}: a secure release must be a `Release`, which knows what is public"
                )
            release = release.publishable()
        if isinstance(release, Release) and (noise == "exact" or rng is None):
            release = replace(release, noise=noise, randomness=FRESH if rng is None else steps.randomness)
        if noise == "exact" and isinstance(release, Release):
            release = replace(release, last_step=None)  # the laws of last steps are those of float noise
        return release

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters by name, as scikit-learn asks for them; `sklearn.base.clone` works."""
        return {each.name: getattr(self, each.name) for each in fields(self) if each.init}

    def set_params(self, **parameters: Any) -> Self:
        """A copy with other parameters. Unlike scikit-learn's, it does not change the mechanism itself, which is frozen."""
        for name in parameters:
            if name not in self.get_params():
                raise unknown("parameter", name, self.get_params())
        return replace(self, **parameters)

    def _repr_html_(self) -> str:
        from dpbench.data.html import facts_table

        facts = {"paper": self.paper, "place": self.place, "data": " or ".join(self.kinds), "guarantee": self.privacy}
        facts |= {"neighbours": self.neighbours, "reconstructed": self.reconstructed}
        rows = [*self.get_params().items(), *((name, text) for name, text in facts.items() if text)]
        reason = self.not_private()
        return facts_table(self.name or type(self).__name__, rows, f"Not private as it is: {reason}" if reason else "")

    def publish(self, data: Any, epsilon: float, noise: Noise) -> Release:
        """The mechanism itself: the paper's pseudocode. All randomness comes from `noise`."""
        raise NotImplementedError

    def expected_error(self, data: Any, epsilon: float) -> float:
        """The expected mean absolute error of a release, if a closed form is known, otherwise nan."""
        return math.nan

    def zcdp(self, data: Any, epsilon: float) -> float:
        """The ρ of zCDP that a release costs, at most; nan if none is known. A pure ε costs ε²/2 (Bun and Steinke, 2016)."""
        return pure_rho(epsilon) if self.privacy == "ε" else math.nan

    def _afford(self, data: Any, budget: Any) -> tuple[Self, float]:
        """The mechanism and the ε that use up a budget (ε, δ), or ρ."""
        who = self.name or type(self).__name__
        if (rho := parse_rho(budget)) is not None:
            epsilon = epsilon_of_rho(rho, lambda value: self.zcdp(data, value))
            if math.isnan(epsilon):
                raise UserError(f"{who} states {self.privacy}, and no ρ of zCDP is known for it: give (ε, δ)")
            return self, epsilon
        if len(budget) != 2:
            raise UserError(f"epsilon={budget!r} is not valid: expected a number, (ε, δ) or 'rho=NUMBER'")
        if self.privacy == "ε":  # a pure ε holds for every δ
            return self, parse_epsilon(budget[0])
        return self.set_params(delta=budget[1]), parse_epsilon(budget[0])

    def unfit(self, data: Data) -> str:
        """Why this mechanism cannot be used on `data`; empty if it can. The plan shows the reason and leaves the setting out."""
        kind = getattr(data, "kind", type(data).__name__)
        if kind not in self.kinds:
            return f"takes {' or '.join(self.kinds)} data, not {kind}"
        return ""

    def refusal(self, data: Any, epsilon: float) -> str:
        """Why it cannot use this budget on `data`, although others work: a release too large for memory, or noise beyond its
        range. Empty if it can. The plan shows the reason and leaves the setting out."""
        return ""

    def not_private(self) -> str:
        """Why a release with these parameters is not differentially private; empty if it is."""
        return ""

    def stepwise(self) -> Mechanism:
        """The same distribution in steps that an audit can replay: itself, unless it takes a data-dependent shortcut."""
        return self

    def inexact(self) -> str:
        """Why there is no exact noise for this mechanism with these parameters; empty if there is. noise="exact" is then
        refused, and the plan leaves the setting out.

        By default determined from the noise steps that the methods call. A class that calls them elsewhere overrides this.
        """
        named = {name for cls in type(self).__mro__ if issubclass(cls, Mechanism) for name in _names(cls)}
        return next((reason for step, reason in INEXACT.items() if step in named), "")


def _names(cls: type[Mechanism]) -> Iterator[str]:
    """The attributes that the code of a class uses."""
    if cls is not Mechanism:
        for value in vars(cls).values():
            yield from getattr(getattr(value, "__code__", None), "co_names", ())


def _check_publish(cls: type[Mechanism]) -> None:
    """Raise if a class draws its noise from a generator, as mechanisms did in earlier versions."""
    for name in ("publish", "publish_columns"):
        defined = cls.__dict__.get(name)
        if callable(defined) and "rng" in inspect.signature(defined).parameters:
            form = f"def {name}(self, {'data' if name == 'publish' else 'columns'}, epsilon, noise)"
            instead = "noise.laplace(values, scale=...) takes the place of values + rng.laplace(...)"
            raise UserError(f"{cls.__qualname__}.{name} takes rng: expected `{form}`; {instead}")


@dataclass(frozen=True, kw_only=True)
class ColumnMechanism(Mechanism):
    """A mechanism for column counts: a subclass defines `publish_columns`, and states in `kinds` what it takes.

    Binary data has one set of counts. Records have two, of items and of edges, which get half the budget each, as in
    analytics, Section 6, for LPA, DFT and GS. A row is then a user, and what a mechanism samples from a row is a record of
    the user. Δ is the largest number of records of a user: the L1 sensitivity of either query (Lemmas 1 and 2).
    """

    def publish(self, data: Any, epsilon: float, noise: Noise) -> Counts:
        """The counts of the items, and of the items by context where the data have contexts."""
        items, edges = data.item_columns(), data.edge_columns()
        if edges is None:
            return self.publish_columns(items, epsilon, noise)
        one = self.publish_columns(items, epsilon / 2, noise)
        other = self.publish_columns(edges, epsilon / 2, noise)
        return Counts(
            counts=one.counts,
            edges=other.counts.reshape(items.columns, -1),
            chosen={**one.chosen, **_of_edges(other.chosen)},
            diagnostics={**one.diagnostics, **_of_edges(other.diagnostics)},
            stages=one.stages,
            last_step=_with_edges(one.last_step, other.last_step),
        )

    def publish_columns(self, columns: Any, epsilon: float, noise: Noise) -> Counts:
        """The mechanism itself, on one set of column counts."""
        raise NotImplementedError

    def expected_error(self, data: Any, epsilon: float) -> float:
        """For column counts; for records, the error of the item counts."""
        return self.columns_error(data.item_columns(), item_budget(data, epsilon))

    def columns_error(self, columns: Any, epsilon: float) -> float:
        """The expected mean absolute error of `publish_columns`, if a closed form is known, otherwise nan."""
        return math.nan


def item_budget(data: Any, epsilon: float) -> float:
    """The part of epsilon that the item counts get: half of it if there are edge counts, otherwise all."""
    return epsilon if data.edge_columns() is None else epsilon / 2


def _with_edges(items: LastStep | None, edges: LastStep | None) -> LastStep | None:
    return replace(items, edges=edges) if isinstance(items, NoisyCounts) else None


def _of_edges(values: Mapping[str, Any]) -> dict[str, Any]:
    return {f"edge_{name}": value for name, value in values.items()}


@dataclass(frozen=True, kw_only=True)
class Bounded(ColumnMechanism):
    """A mechanism whose noise grows with Δ, the largest number of ones that a row may hold."""

    bound: int | None = None
    """Declared size of the largest row. None: the largest observed one, as in the papers, which looks at the data."""

    def __post_init__(self) -> None:
        if self.bound is not None:
            positive("bound", self.bound, whole=True)

    def sensitivity(self, data: ColumnData) -> int:
        """Δ₁(Q): the declared bound, or the observed one (at least 1, so that empty data has noise too)."""
        return max(1, data.largest_row) if self.bound is None else int(self.bound)

    def unfit(self, data: Any) -> str:
        """Why these data do not fit; rows larger than the bound do not."""
        if reason := super().unfit(data):
            return reason
        if self.bound is not None and data.largest_row > self.bound:
            return f"bound={self.bound} is below the largest row {data.largest_row}: the noise would not cover it"
        return ""

    def not_private(self) -> str:
        """The reason, where no bound is declared."""
        return (
            "" if self.bound is not None else "Δ is the largest observed row, which looks at the data: declare `bound`"
        )


def mechanism(name: str, **parameters: Any) -> Any:
    """`mechanism("gs", sampling="column")`: a mechanism by name or dotted path, with the paper's parameters.

    >>> import numpy as np
    >>> import dpbench
    >>> data = dpbench.Incidence.from_rows([[0, 2], [1, 2, 3], [2]], columns=4)
    >>> gs = dpbench.mechanism("gs", bound=3)
    >>> release = gs.release(data, epsilon=0.5, rng=np.random.default_rng(7))
    >>> release.counts.round(1)
    array([1. , 3.9, 3.9, 1. ])
    >>> gs.not_private()
    ''
    >>> dpbench.mechanism("gs").not_private()
    'Δ is the largest observed row, which looks at the data: declare `bound`'
    """
    return MECHANISMS.make(name, **parameters)
