"""Audit by replay: nothing is found in sound mechanisms, planted faults are, and each is named with its step.

Replay computes: apart from the comparison of draws with their laws (false alarm 1e-9 per step) nothing here is statistical.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import dpbench
from dpbench import Counts, Incidence, Mechanism, Noise
from dpbench.auditing.judge import LEAST, chosen
from dpbench.auditing.neighbours import Neighbours
from dpbench.auditing.replay import audit_by_replay, cannot_replay
from dpbench.auditing.row_shapes import ROW_SHAPES
from dpbench.mechanisms.base import MECHANISMS, Bounded
from dpbench.model.finding import Finding

from support.planting import altered, found, less, replaced, without


def test_every_mechanism_and_every_mode_is_audited() -> None:
    for name, cls in MECHANISMS.items():
        private = [parameters for parameters in cls.audited if not cls(**parameters).not_private()]
        assert private or name in ("gs_mean", "gs_optimal"), f"{name} is never judged"
        assert not cls().not_private() or len(private) < len(cls.audited), (
            f"the data-reading default of {name} is not tried"
        )
    for name, key, values in [
        ("gs", "sampling", {"row", "none"}),
        ("gs_s", "sampling", {"row", "none"}),
        ("dpsense", "limit", {"sample"}),
        ("dpsense_s", "tight", {True}),
        *(
            (name, "transform", {"dyadic", "haar"})
            for name in ("geometric", "filter", "threshold", "priority", "sketch")
        ),
        ("filter", "consistent", {True}),
        ("filter_priority", "consistent", {True}),
    ]:
        assert values <= {parameters.get(key) for parameters in MECHANISMS.get(name).audited}


TWICE = 2 * len(ROW_SHAPES)
"""Pairs: all shapes of rows as wide as the bound, then all of them of random width."""
FEW = 3
"""Pairs on which most that declares itself not private is found out; the audit tries twenty times as many."""


def check(finding: Finding | None, least: int = 45) -> int:
    """One finding on unchanged code is as the mechanism says. Returns the pairs on which it holds."""
    assert finding is not None
    said = f"{finding.mechanism} {finding.parameters}: loss {finding.loss}, {finding.reason}, {finding.pair}"
    if finding.verdict == "declared not private":
        # Readings of the budget that spend more than there is lose a number; what looks at the data loses all.
        overspent = any(word in finding.parameters for word in ("per_query", "popularity_noise", "norm=root"))
        assert finding.loss > 1 if overspent else finding.loss == math.inf, said
        return 0
    assert finding.verdict == "holds", said
    assert finding.loss <= 1 + 1e-9
    assert finding.pairs >= least
    return finding.pairs


@pytest.mark.parametrize("name", MECHANISMS.names())
def test_private_mechanisms_hold_and_others_are_found_out(name: str) -> None:
    for one in chosen([name]):
        finding = audit_by_replay(one.mechanism, 1.0, FEW if one.declared else TWICE, name=name)
        if one.declared and finding is not None and finding.verdict == "inconclusive":
            finding = audit_by_replay(one.mechanism, 1.0, LEAST, name=name)
        check(finding, least=30)


@pytest.mark.slow
@pytest.mark.parametrize("name", MECHANISMS.names())
def test_no_alarm_over_ten_seeds_and_ten_thousand_pairs(name: str) -> None:
    """The private variants share the pairs. What declares itself not private ends at the first pair that shows it."""
    mechanisms = [dpbench.mechanism(name, **parameters) for parameters in MECHANISMS.get(name).audited]
    private = sum(not each.not_private() for each in mechanisms)
    # A few pairs have too many outcomes to enumerate and do not count.
    share = math.ceil(1020 / max(1, private))
    held = 0
    for seed in range(10):
        for each in mechanisms:
            held += check(audit_by_replay(each, 1.0, LEAST if each.not_private() else share, seed, name=name))
    print(f"{name}: holds on {held} pairs")
    assert held >= 10_000 or not private


FAULTS = [
    ("lpa", {"bound": 3}, "laplace", "laplace"),
    ("alpa", {}, "laplace", "laplace"),
    ("fpa", {"bound": 3, "rho": 1}, "laplace", "laplace"),
    ("gs_r", {"bound": 3}, "averages", "laplace 'averages'"),
    ("gs_s", {"bound": 3}, "sample", "laplace 'sample'"),
    ("gs_s", {"bound": 3, "sampling": "row"}, "rows", "laplace 'sample'"),
    ("gs", {"bound": 3, "sampling": "row"}, "sample", "laplace 'sample'"),
    ("gs", {"bound": 3}, "averages", "laplace 'averages'"),
    ("gs_private", {"bound": 3, "mean_share": 0.5}, "total", "laplace 'total'"),
    ("linf", {}, "ball", "ball"),
    ("geometric", {"transform": "haar"}, "table", "geometric 'table'"),
    ("filter", {"theta": 2}, "table", "geometric 'table'"),
    ("sketch", {"buckets": 4}, "buckets", "geometric 'buckets'"),
    ("gaussian", {"bound": 3}, "gaussian", "gaussian"),
    ("dpsense", {"bound": 60}, "choose", "choose"),
    ("dpsense_s", {"bound": 60, "alphas": 2}, "choose", "choose"),
    ("sra", {"l": 2}, "edges", "laplace 'edges'"),
    ("hpa", {"d": 1, "l": 2, "popularity_share": 0.4}, "popularity", "laplace 'popularity'"),
    ("s_dpdp", {}, "laplace", "laplace"),
]


@pytest.mark.parametrize(("name", "parameters", "step", "named"), FAULTS, ids=lambda v: v if isinstance(v, str) else "")
def test_a_twentieth_less_noise_is_found(name: str, parameters: dict, step: str, named: str) -> None:
    pairs = len(ROW_SHAPES) if step == "choose" else 80  # the first ones are as wide as the bound, and take long
    finding = found(altered(dpbench.mechanism(name, **parameters), step, less(1.05)), pairs)
    assert finding.verdict == "violated"
    assert 1 < finding.loss < 1.2
    if step not in ("choose", "popularity", "sample", "total"):  # where another step costs as much
        assert finding.step == named
    more = found(altered(dpbench.mechanism(name, **parameters), step, less(1 / 1.05)), pairs=20)
    assert more.verdict == "holds"


@pytest.mark.parametrize(("name", "parameters", "step", "named"), FAULTS, ids=lambda v: v if isinstance(v, str) else "")
def test_missing_noise_is_found(name: str, parameters: dict, step: str, named: str) -> None:
    if step == "rows":
        pytest.skip("a sample of no row hides everything")
    finding = found(altered(dpbench.mechanism(name, **parameters), step, without))
    assert finding.verdict == "violated"
    if name == "hpa":  # nobody sees the popularity itself, but whose records it picks
        assert 1 < finding.loss < math.inf
    else:
        assert finding.loss == math.inf
        assert finding.reason


def test_draws_with_a_wrong_law_are_found() -> None:
    for name in ("pf_peeling", "joint_topk"):
        halved = replaced(
            dpbench.mechanism(name, k=2),
            publish=lambda publish, self, data, epsilon, noise: publish(self, data, 1.1, noise),
        )
        finding = found(halved)
        assert (finding.verdict, finding.method, finding.step) == ("violated", "enumeration", "draw")
        assert 1 < finding.loss <= 1.1 + 1e-9


def test_draws_without_randomness_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    from dpbench.mechanisms.baselines._topk import Peeling

    monkeypatch.setattr(Peeling, "draw", lambda self, rng: self.order[: self.k].copy())
    finding = found(dpbench.mechanism("pf_peeling", k=2))
    assert finding.verdict == "violated"
    assert "do not follow" in finding.reason


def test_the_synthesizer_needs_its_prior(monkeypatch: pytest.MonkeyPatch) -> None:
    from dpbench.mechanisms.sparse import _synthesis

    right = _synthesis.prior_for
    monkeypatch.setattr(_synthesis, "prior_for", lambda *given: right(*given) / 2)
    finding = found(dpbench.mechanism("synthesizer"))
    assert (finding.verdict, finding.step) == ("violated", "draw")


# What is published, and how.


@dataclass(frozen=True, kw_only=True)
class Own(Bounded):
    """A user's class: sound."""

    bound: int | None = 2

    def publish(self, data: Any, epsilon: float, noise: Noise) -> Counts:
        return Counts(counts=np.maximum(0, np.round(noise.laplace(data.counts, scale=self.bound / epsilon))))


class TellsRows(Own):
    """How many rows there are, among the parameters."""

    def publish(self, data: Any, epsilon: float, noise: Noise) -> Counts:
        return Counts(counts=super().publish(data, epsilon, noise).counts, chosen={"rows": data.rows})


class FromStream(Own):
    """Noise that replay cannot follow."""

    def publish(self, data: Any, epsilon: float, noise: Noise) -> Counts:
        return Counts(counts=data.counts + noise.stream("noise").laplace(0, 2 / epsilon, data.counts.size))


class SameNoise(Own):
    """One number for all columns."""

    def publish(self, data: Any, epsilon: float, noise: Noise) -> Counts:
        return Counts(counts=data.counts + noise.laplace(0.0, scale=2 / epsilon))


class MoreSteps(Own):
    """One step more if some column is empty."""

    def publish(self, data: Any, epsilon: float, noise: Noise) -> Counts:
        counts = noise.laplace(data.counts, scale=2 / epsilon)
        if np.any(data.counts == 0):
            noise.laplace(0.0, scale=1.0, step="second")
        return Counts(counts=counts)


class RareChoice(Own):
    """Half of the budget for a choice whose last outcome almost never occurs, and has almost no noise."""

    def publish(self, data: Any, epsilon: float, noise: Noise) -> Counts:
        rare = noise.choose([0.0, -1e3], epsilon=epsilon / 2, sensitivity=1, monotone=False)
        return Counts(counts=noise.laplace(data.counts, scale=1e-3 if rare else 4 / epsilon))


class WrongSensitivity(Own):
    """Noise for one 1 on rows of two."""

    def publish(self, data: Any, epsilon: float, noise: Noise) -> Counts:
        return Counts(counts=noise.laplace(data.counts, scale=1 / epsilon))


def test_a_sound_class_of_the_users_holds() -> None:
    finding = found(Own())
    assert (finding.verdict, finding.mechanism, finding.parameters) == ("holds", "Own", "")
    assert finding.loss == pytest.approx(1)
    path = f"{Own.__module__}.{Own.__qualname__}"
    (one,) = chosen([path])
    by_path = audit_by_replay(one.mechanism, 1.0, 100, name=one.name)
    assert by_path is not None
    assert (by_path.mechanism, by_path.verdict, by_path.pairs) == (path, "holds", 100)


@pytest.mark.parametrize(
    ("cls", "loss", "step", "reason"),
    [
        (TellsRows, math.inf, "published", "the published 'chosen.rows' differs"),
        (FromStream, math.inf, "published", "the published 'counts' differs"),
        (SameNoise, math.inf, "published", "the published 'counts' differs"),
        (MoreSteps, math.inf, "laplace 'second'", "neighbour"),
        (RareChoice, 2000.0, "laplace", ""),
        (WrongSensitivity, 2.0, "laplace", ""),
    ],
)
def test_planted_faults_of_a_users_class(cls: type, loss: float, step: str, reason: str) -> None:
    finding = found(cls())
    assert finding.verdict == "violated"
    assert finding.loss == pytest.approx(loss)
    assert finding.step == step
    assert finding.pair
    assert reason in finding.reason


def test_what_cannot_be_replayed_is_told() -> None:
    class Plain:
        """Does not use our noise."""

        def release(self, data, epsilon, rng):
            return Counts(counts=data.counts + rng.laplace(size=data.columns))

    assert "no method publish" in cannot_replay(Plain())
    assert audit_by_replay(Plain(), 1.0, 10) is None

    class Overridden(Own):
        def release(self, data, epsilon, rng, noise="float"):
            return super().release(data, epsilon, rng, noise)

    class NotDerived:
        """Sound in `publish`, which nobody calls."""

        def publish(self, data, epsilon, noise):
            return Own().publish(data, epsilon, noise)

        def release(self, data, epsilon, rng):
            return data.counts

    for each in (Overridden(), NotDerived()):
        assert "release of its own" in cannot_replay(each)

    class OwnRandomness(Own):
        def publish(self, data, epsilon, noise):
            return Counts(counts=data.counts + np.random.default_rng().laplace(size=data.columns))

    assert cannot_replay(OwnRandomness()) == ""
    assert audit_by_replay(OwnRandomness(), 1.0, 10) is None


def test_a_class_that_fails_or_takes_nothing_is_inconclusive() -> None:
    class Fails(Own):
        def publish(self, data, epsilon, noise):
            raise ValueError("not today")

    finding = found(Fails(), pairs=20)
    assert (finding.verdict, finding.pairs) == ("inconclusive", 0)
    assert "ValueError: not today" in finding.reason

    class TakesNothing(Own):
        def unfit(self, data):
            return "no"

    assert found(TakesNothing(), pairs=20).verdict == "inconclusive"


def test_a_failure_on_one_neighbour_only_is_found() -> None:
    """Whichever it is. A failure that follows the noise, and so happens on both, is none."""

    class FailsWithoutRow(Own):
        def publish(self, data, epsilon, noise):
            if np.any(data.counts == 0):
                raise ValueError("an empty column")
            return super().publish(data, epsilon, noise)

    class FailsWithRow(Own):
        def publish(self, data, epsilon, noise):
            if data.rows > 3:
                raise ValueError("too many")
            return super().publish(data, epsilon, noise)

    class FailsByNoise(Own):
        def publish(self, data, epsilon, noise):
            release = super().publish(data, epsilon, noise)
            if release.counts.sum() > 12:
                raise ValueError("too noisy")
            return release

    for cls in (FailsWithoutRow, FailsWithRow):
        finding = found(cls())
        assert (finding.verdict, finding.loss, finding.step) == ("violated", math.inf, "publish")
        assert "it fails on the neighbour: ValueError" in finding.reason
    assert found(FailsByNoise()).verdict == "holds"


def test_what_declares_itself_not_private_and_is_not_found_out_is_inconclusive() -> None:
    class Modest(Own):
        def not_private(self) -> str:
            return "I would not trust it"

    finding = found(Modest(), pairs=5)
    assert finding.verdict == "inconclusive"
    assert "I would not trust it" in finding.reason


def test_own_pairs_are_tried_first() -> None:
    before = Incidence.from_rows([[0]], columns=3)
    own = Neighbours("mine", before, Incidence.from_rows([[0], [1, 2]], columns=3))
    finding = audit_by_replay(WrongSensitivity(), 1.0, 0, own=(own,))
    assert finding is not None
    assert (finding.pair, finding.pairs, finding.loss) == ("mine", 1, 2.0)


def test_row_sampling_costs_what_the_paper_says() -> None:
    """Exactly ε/2 for the sample, whatever Δ: a plain coupling would say Δ ε/2."""
    finding = found(dpbench.mechanism("gs_s", bound=5, sampling="row"))
    assert finding.loss == pytest.approx(1, abs=1e-9)


def test_base_mechanism_without_publish() -> None:
    assert cannot_replay(Mechanism())
