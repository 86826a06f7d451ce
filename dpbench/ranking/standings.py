"""Mechanisms over many settings: regret and rank, with intervals, within one board.

The regret of a mechanism is its error divided by that of the best mechanism of each setting, as a geometric mean over the
settings (for a share: how far it is below the best, as a mean). Frames of trials in, tidy numbers out; imported by plotting
scripts and the `compare` verb.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd

from dpbench.numerics.arrays import Floats
from dpbench.ranking import tails
from dpbench.ranking.condensed import condense
from dpbench.ranking.pairwise import LEVEL, Contest, Judgement, Measure, Samples, contest
from dpbench.storage.frame import DATA_SEED, EXPECTED, METRIC

SETTING = ("dataset", "epsilon")
RESAMPLES = 2000
UNKNOWN = 10.0
"""Standard error, in logarithms, of a distance that has only one trial: large enough that its rank may be anything."""


@dataclass(frozen=True)
class Early:
    """One setting of a board as the first look judged it."""

    names: tuple[str, ...]
    judgement: Judgement
    stopped: frozenset[str] = frozenset()
    """Mechanisms that stopped here: they have no later trials."""


@dataclass(frozen=True)
class Standing:
    """One setting of a board, judged."""

    setting: tuple[Hashable, ...]
    samples: Samples
    contest: Contest
    judgement: Judgement
    heavy: frozenset[str] = frozenset()
    """Mechanisms whose errors have heavy tails, here or in another setting of the board."""
    stopped: frozenset[str] = frozenset()
    """Mechanisms that stopped at the first look: their judgement is the one made then."""
    condensed: Mapping[str, str] = field(default_factory=dict)
    """What later comparisons need of the trials, by mechanism."""


def contests(
    trials: pd.DataFrame,
    measure: Measure,
    *,
    by: Sequence[str] = SETTING,
    who: str = "who",
    level: float = LEVEL,
    corrected: int = 1,
    early: Mapping[tuple[Hashable, ...], Early] | None = None,
    condensed: bool = False,
) -> list[Standing]:
    """Every setting of one board with at least two mechanisms that have this metric, judged.

    The level is shared among the settings and, with `corrected`, among that many boards. Trials of one mechanism in all settings
    together show whether its errors have heavy tails: a disaster that is rare may not occur in every setting.
    `early`: what the first look said, by setting. `condensed`: also keep what later comparisons need.
    """
    settings: list[tuple[tuple[Hashable, ...], Samples]] = []
    errors: dict[str, list[Floats]] = {}
    texts: dict[tuple[Hashable, ...], dict[str, str]] = {}
    column, expectation = METRIC + measure.metric, EXPECTED + measure.metric
    if column not in trials:
        return []
    frame = trials.dropna(subset=[column])
    frame = frame if DATA_SEED in frame else frame.assign(**{DATA_SEED: 0})
    for setting, group in frame.groupby(list(by), sort=False, dropna=False):
        values = {
            str(name): {int(seed): part[column].to_numpy(dtype=np.float64) for seed, part in own.groupby(DATA_SEED)}
            for name, own in group.groupby(who, sort=False)
        }
        key = setting if isinstance(setting, tuple) else (setting,)
        own_measure, expected = measure.at(dict(zip(by, key, strict=True))), _expected(group, who, expectation)
        samples = Samples.of(own_measure, values, expected)
        if samples.scores[0]:
            settings.append((key, samples))
            if condensed:
                least = own_measure.least(np.concatenate([x for own in values.values() for x in own.values()]))
                texts[key] = {
                    name: condense(own_measure, own, expected.get(name), least) for name, own in values.items()
                }
            for name, by_seed in values.items():
                errors.setdefault(name, []).extend(by_seed.values())
    groups = sum(map(len, errors.values()))
    heavy = frozenset(name for name, own in errors.items() if not measure.share and tails.heavy(own, groups))
    judged = judge(settings, heavy, level=level, corrected=corrected, early=early)
    return [replace(standing, condensed=texts.get(standing.setting, {})) for standing in judged]


def judge(
    settings: Sequence[tuple[tuple[Hashable, ...], Samples]],
    heavy: frozenset[str],
    *,
    level: float = LEVEL,
    corrected: int = 1,
    early: Mapping[tuple[Hashable, ...], Early] | None = None,
) -> list[Standing]:
    """The settings of one board, judged; see `contests`."""
    tests = corrected * max(1, sum(len(samples.names) > 1 for _, samples in settings))
    judged = []
    for setting, samples in settings:
        result, before = contest(samples), (early or {}).get(setting)
        stopped = before.stopped.intersection(samples.names) if before is not None else frozenset[str]()
        if before is None or not stopped or len(stopped) == len(samples.names):
            judgement = result.judged(tests, level, heavy)
        else:
            judgement = _after_look(samples, before, tests, level, heavy)
        judged.append(Standing(setting, samples, result, judgement, heavy, stopped))
    return judged


def _expected(group: pd.DataFrame, who: str, column: str) -> dict[str, dict[int, Floats]]:
    """The expectations of the mechanisms all of whose trials in this setting have them, by data seed."""
    if column not in group:
        return {}
    return {
        str(name): {int(seed): part[column].to_numpy(dtype=np.float64) for seed, part in own.groupby(DATA_SEED)}
        for name, own in group.groupby(who, sort=False)
        if np.isfinite(own[column].astype(float)).all()
    }


def _after_look(samples: Samples, early: Early, tests: int, level: float, heavy: Collection[str]) -> Judgement:
    """Mechanisms that go on are judged by all trials, among themselves; those that stopped, as at the first look. What was said
    then about a rival that turned out to have heavy tails, or is no longer there, does not count any more."""
    names = samples.names
    going = [at for at, name in enumerate(names) if name not in early.stopped]
    inner = contest(samples.only(going)).judged(tests, level, heavy)
    low, high = np.zeros(len(names)), np.full(len(names), np.inf)
    worse = np.zeros((len(names), len(names)), dtype=bool)
    low[going], high[going], worse[np.ix_(going, going)] = inner.low, inner.high, inner.worse
    position = {name: at for at, name in enumerate(early.names)}
    for at, name in enumerate(names):
        if name not in early.stopped:
            continue
        before = position[name]
        for rival, other in enumerate(names):
            if other in position and other not in heavy:
                worse[at, rival] = early.judgement.worse[before, position[other]]
        if worse[at].any():
            low[at], high[at] = early.judgement.low[before], early.judgement.high[before]
    return Judgement(low, high, np.asarray(~worse.any(axis=1)), worse)


def standings(judged: Sequence[Standing], measure: Measure, *, by: Sequence[str] = SETTING) -> pd.DataFrame:
    """One row per setting and mechanism: its distance to the setting's best with bounds, and the conclusions from them.

    Columns: `by`, `who`, `ratio` (for a share: the difference), `ratio_low`, `ratio_high`, `may_be_best`, `worse_than`,
    `competitive`, `stopped` (at the first look), `by_expectation` (see `Samples`), and `samples` (see
    `condensed`) if these were kept.
    """
    rows = []
    for standing in judged:
        apart = standing.contest.centres - standing.contest.centres.min()
        for i, name in enumerate(standing.contest.names):
            shown = measure.shown(np.array([apart[i], standing.judgement.low[i], standing.judgement.high[i]]))
            row = dict(zip(by, standing.setting, strict=True)) | {"who": name}
            row |= dict(zip(("ratio", "ratio_low", "ratio_high"), map(float, shown), strict=True))
            row |= {"may_be_best": bool(standing.judgement.may_be_best[i])}
            row |= {
                "worse_than": "|".join(standing.contest.names[j] for j in np.flatnonzero(standing.judgement.worse[i]))
            }
            competitive = bool(standing.judgement.high[i] < measure.limit)
            row |= {"competitive": competitive, "stopped": name in standing.stopped}
            row |= {"by_expectation": standing.samples.by_expectation}
            rows.append(row | ({"samples": standing.condensed[name]} if standing.condensed else {}))
    return pd.DataFrame(rows)


def regrets(judged: Sequence[Standing], measure: Measure, *, unit: int = 0, level: float = LEVEL) -> pd.DataFrame:
    """One row per mechanism, the lowest regret first.

    Columns: `who`, `regret` with `regret_low` and `regret_high` (a confidence interval for each mechanism alone), `regret_mean`
    (the same with the mean over the trials instead of their geometric mean; not for shares), `heavy` (heavy tails), `worst`,
    `competitive` and `best` (numbers of settings), `settings`, `rank` with `rank_low` and `rank_high`. Only mechanisms that
    were run in every setting have a rank. `out_of_reach`: it stopped at the first look in every setting; it then counts in the
    ranks of others and has none itself. `unit`: position of the dataset in the setting; ranks are resampled over datasets.

    The best of each setting is chosen from noisy means, which makes it look better than it is. Therefore the upper end comes
    from the distance to the lowest mean, which is too large on average. The lower end comes from the distance to a mechanism
    chosen by other trials, which is too small on average. Neither depends on how close the mechanisms are.
    """
    names = list(dict.fromkeys(name for standing in judged for name in standing.contest.names))
    if not names:
        return pd.DataFrame()
    table = _Table(judged, names, unit)
    low, high = table.interval(level)
    in_all = [[name in part.stopped for part in judged if name in part.contest.names] for name in names]
    gone = np.array([all(stopped) for stopped in in_all])
    rank, rank_low, rank_high = (np.where(gone, np.nan, values) for values in table.ranks(level))
    frame = pd.DataFrame(
        {
            "who": names,
            "regret": measure.shown(table.regret),
            "regret_low": measure.shown(np.maximum(0.0, low)),
            "regret_high": measure.shown(np.maximum(0.0, high)),
            "worst": measure.shown(np.nanmax(table.apart, axis=0)),
            "competitive": _count(judged, names, measure),
            "best": np.nansum(table.apart == 0, axis=0),
            "settings": np.isfinite(table.apart).sum(axis=0),
            "rank": rank,
            "rank_low": rank_low,
            "rank_high": rank_high,
            "out_of_reach": gone,
        }
    )
    frame["heavy"] = [name in judged[0].heavy for name in names]
    if not measure.share:
        frame["regret_mean"] = measure.shown(table.mean_regret)
    return in_order(frame)


def in_order(frame: pd.DataFrame) -> pd.DataFrame:
    """Rows of mechanisms, the lowest regret first; those that were not run in every setting, or may not be ranked, last."""
    last = frame["rank"].isna() & ~frame["out_of_reach"].eq(True)
    places = pd.DataFrame({"last": last, "regret": frame["regret"]}).sort_values(["last", "regret"], kind="stable")
    return frame.loc[places.index].reset_index(drop=True)


def _count(judged: Sequence[Standing], names: Sequence[str], measure: Measure) -> Floats:
    """In how many settings each is competitive."""
    counts = dict.fromkeys(names, 0)
    for standing in judged:
        for name, high in zip(standing.contest.names, standing.judgement.high, strict=True):
            counts[name] += bool(high < measure.limit)
    return np.array([counts[name] for name in names])


class _Table:
    """Distances to the best as matrices, one row per setting, one column per mechanism; nan if it was not run there."""

    def __init__(self, judged: Sequence[Standing], names: Sequence[str], unit: int) -> None:
        shape = len(judged), len(names)
        self.apart, self.crossed, self.errors, by_mean = (np.full(shape, np.nan) for _ in range(4))
        position = {name: at for at, name in enumerate(names)}
        self.several = any(len(standing.samples.scores[0]) > 1 for standing in judged)
        for row, standing in enumerate(judged):
            at = [position[name] for name in standing.contest.names]
            self.apart[row, at] = standing.contest.centres - standing.contest.centres.min()
            self.crossed[row, at] = _crossed(standing.samples)
            self.errors[row, at] = _errors(standing)
            if standing.contest.means is not None:
                by_mean[row, at] = standing.contest.means.centres - standing.contest.means.centres.min()
        units = [standing.setting[unit] for standing in judged]
        self.units = [np.array([u == own for u in units]) for own in dict.fromkeys(units)]
        self.whole = np.isfinite(self.apart).all(axis=0)
        self.regret = np.nanmean(self.apart, axis=0)
        self.mean_regret = by_mean.mean(axis=0, where=np.isfinite(self.apart))

    def unit_means(self) -> tuple[Floats, Floats, Floats]:
        """For each dataset the mean distance of each mechanism, its standard error, and the dataset's share of the settings.

        Settings of one dataset share its draws, so their errors may all have the same sign.
        """
        means, errors, shares = [], [], []
        for mine in self.units:
            part, own = self.apart[mine], self.errors[mine]
            filled = np.maximum(1, np.isfinite(part).sum(axis=0))
            means.append(np.where(np.isfinite(part).any(axis=0), np.nansum(part, axis=0) / filled, np.nan))
            together = np.nansum(own, axis=0) if self.several else np.sqrt(np.nansum(np.square(own), axis=0))
            errors.append(together / filled)
            shares.append(np.isfinite(part).sum(axis=0) / np.maximum(1, np.isfinite(self.apart).sum(axis=0)))
        return np.array(means), np.array(errors), np.array(shares)

    def interval(self, level: float) -> tuple[Floats, Floats]:
        from scipy import stats

        _, errors, shares = self.unit_means()
        error = np.sqrt(np.nansum(np.square(errors * shares), axis=0))
        wide = stats.norm.isf(level / 2) * error
        return np.nanmean(self.crossed, axis=0) - wide, self.regret + wide

    def ranks(self, level: float) -> tuple[Floats, Floats, Floats]:
        """Ranks of the mechanisms that were run in every setting, and how these vary over datasets resampled with replacement."""
        none = np.full(self.regret.size, np.nan)
        at = np.flatnonzero(self.whole)
        if not at.size:
            return none, none.copy(), none.copy()
        means, errors, shares = (values[:, at] for values in self.unit_means())
        errors = np.where(np.isfinite(errors), errors, UNKNOWN)
        rng = np.random.default_rng(0)
        picked = rng.integers(0, len(self.units), (RESAMPLES, len(self.units)))
        noisy = means[picked] + errors[picked] * rng.standard_normal((RESAMPLES, *means.shape))
        drawn = _ranked((noisy * shares[picked]).sum(axis=1) / shares[picked].sum(axis=1))
        rank, low, high = none, none.copy(), none.copy()
        rank[at] = _ranked(self.regret[at])
        low[at], high[at] = np.quantile(drawn, [level / 2, 1 - level / 2], axis=0, method="nearest")
        # The interval contains the rank itself.
        return rank, np.fmin(low, rank), np.fmax(high, rank)


def _ranked(values: Floats) -> Floats:
    """1 for the lowest; equal values share the better rank."""
    return 1.0 + (values[..., None, :] < values[..., :, None]).sum(axis=-1)


def _crossed(samples: Samples) -> Floats:
    """The distance to the mechanism that is best by other numbers: on the other draws of the data or, if there is one draw,
    in the other half of the trials."""
    means = samples.draw_means()
    if means.shape[1] > 1:
        rest = (means.sum(axis=1, keepdims=True) - means) / (means.shape[1] - 1)
        return (means - means[rest.argmin(axis=0), np.arange(means.shape[1])]).mean(axis=1)
    first, second = samples.half(0), samples.half(1)
    if any(x.size == 0 for own in second.scores for x in own):
        return np.zeros(len(samples.names))
    even, odd = first.centres(), second.centres()
    return ((odd - odd[even.argmin()]) + (even - even[odd.argmin()])) / 2


def _errors(standing: Standing) -> Floats:
    """The standard error of each mechanism's distance to the best; zero for one that is certainly the best."""
    variances, centres = standing.contest.variances, standing.contest.centres
    if centres.size == 1:
        return np.zeros(1)
    best = int(centres.argmin())
    beside = int(np.where(np.arange(centres.size) == best, np.inf, centres).argmin())
    rival = np.where(np.arange(centres.size) == best, variances[beside], variances[best])
    errors = np.sqrt(variances + rival)
    if standing.judgement.may_be_best.sum() == 1:
        errors[best] = 0.0
    return errors
