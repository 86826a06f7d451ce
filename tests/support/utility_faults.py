"""Faults of utility: factors of 1.1, steps off by one, rounding, clamps, shared noise, wrong floors, ties and definitions.

Each row says what is planted and where it is run. Figures have their own, in `utility_figures`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from support.utility_planting import UtilityFault, at, louder, noisier

GS = "gs.grouping"
ANALYTICS = "analytics.sampling"
SENSE = "sensitivity.dpsense"
PERSONAL = "epicrec.personal"


def fig9(*names: str) -> tuple[tuple[str, tuple[str, ...]], ...]:
    return (("gs/fig9", names),)


def on(experiment: str, *names: str) -> tuple[tuple[str, tuple[str, ...]], ...]:
    return ((experiment, names),)


SENSE_ALL = ("sensitivity/error", "sensitivity/theta", "sensitivity/quality")
BOTH = ("gs/fig9", "cross/leaderboard")


def over(experiments: tuple[str, ...], name: str) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """One mechanism in several experiments: what moves numbers little needs many cells to show."""
    return tuple((experiment, (name,)) for experiment in experiments)


def counts(change: Any) -> Any:
    """Changes the counts of a release."""
    return lambda right, *given: (lambda release: replace(release, counts=change(release.counts)))(right(*given))


def scaled(factor: float) -> Any:
    return lambda right, *given, **more: right(*given, **more) * factor


def plus(step: float) -> Any:
    return lambda right, *given, **more: right(*given, **more) + step


def _one_draw(right: Any, self: Any, values: Any, **more: Any) -> Any:
    """The same noise on all values."""
    flat = np.asarray(values, dtype=float)
    first = flat.ravel()[0] if flat.size else 0.0
    noisy = right(self, flat.ravel()[:1] if flat.ndim else flat, **more)
    return flat + (np.asarray(noisy).ravel()[0] - first) if flat.size else flat


def _narrower(right: Any, counts: Any, order: Any, w: int) -> Any:
    return right(counts, order, max(1, w - 1))


def _unsorted(right: Any, self: Any, columns: Any, order: Any, *given: Any, **more: Any) -> Any:
    return right(self, columns, np.arange(order.size), *given, **more)


def _dropped(right: Any, self: Any, columns: Any, order: Any, w: int, *given: Any, **more: Any) -> Any:
    release = right(self, columns, order, w, *given, **more)
    published = release.counts.copy()
    published[order[order.size // w * w - w :]] = 0.0
    return replace(release, counts=published)


def _tuned_off_by_one(right: Any, self: Any, estimate: Any, scale: float, rng: Any) -> Any:
    w, l1 = right(self, estimate, scale, rng)
    return max(1, w - 1), l1


GROUPING = [
    UtilityFault("lpa: noise x 1.1", noisier("baselines.laplace:LPA", 1.1, "publish_columns"), fig9("lpa"), quick=True),
    UtilityFault("lpa: noise / 1.1", louder("baselines.laplace:LPA", 1 / 1.1, "publish_columns"), fig9("lpa")),
    UtilityFault(
        "lpa: sensitivity off by one", at("mechanisms.baselines.laplace:LPA.sensitivity", plus(1)), fig9("lpa")
    ),
    UtilityFault(
        "lpa: counts rounded", at("mechanisms.baselines.laplace:LPA.publish_columns", counts(np.round)), fig9("lpa")
    ),
    UtilityFault(
        "lpa: negative counts set to zero",
        at("mechanisms.baselines.laplace:LPA.publish_columns", counts(lambda c: np.maximum(c, 0.0))),
        fig9("lpa"),
    ),
    UtilityFault(
        "lpa: one draw for all columns", at("privacy.noise:Noise.laplace", _one_draw), fig9("lpa"), quick=True
    ),
    UtilityFault(
        "alpa: noise x 1.1", noisier("baselines.laplace:ALPA", 1.1, "publish_columns"), on("sensitivity/error", "alpa")
    ),
    UtilityFault("fpa: noise x 1.1", at("mechanisms.baselines.fourier:noise_scale", scaled(1.1)), fig9("fpa")),
    UtilityFault("gs_r: noise x 1.1", noisier(f"{GS}:GSR", 1.1, "publish_columns"), over(BOTH, "gs_r")),
    UtilityFault("gs_r: groups one smaller", at(f"mechanisms.{GS}:group_sums", _narrower), fig9("gs_r")),
    UtilityFault("gs_s: noise x 1.1", noisier(f"{GS}:GSS", 1.1, "publish_columns"), over((*BOTH, "gs/fig7"), "gs_s")),
    UtilityFault("gs_s: the sample ignored", at(f"mechanisms.{GS}:Grouped.smoothed", _unsorted), fig9("gs_s")),
    UtilityFault("gs: a group dropped", at(f"mechanisms.{GS}:Grouped.smoothed", _dropped), fig9("gs")),
    UtilityFault(
        "gs: tuned w off by one",
        at(f"mechanisms.{GS}:GS._tune", _tuned_off_by_one),
        over((*BOTH, "sensitivity/error"), "gs"),
    ),
    UtilityFault("gs: sample scaled up by half of delta", at(f"mechanisms.{GS}:GS._factor", scaled(0.5)), fig9("gs")),
    UtilityFault(
        "gs_mean: mean over all rows",
        at(f"mechanisms.{GS}:filled_rows", lambda right, columns: columns.rows),
        fig9("gs_mean"),
    ),
    UtilityFault(
        "gs: the sample has twice its budget",
        at(
            f"mechanisms.{GS}:noisy_sample",
            lambda right, columns, sampling, delta, epsilon, noise: right(columns, sampling, delta, 2 * epsilon, noise),
        ),
        fig9("gs"),
    ),
]


SHARED = [
    UtilityFault(
        "engine: trials of a pair share their noise",
        at("engine.worker:trial_rngs", lambda right, seed, key, trial: right(seed, key, trial // 2)),
        fig9("lpa", "gs"),
        tasks=True,
        quick=True,
    ),
    UtilityFault(
        "engine: cells share their noise",
        at("engine.worker:trial_rngs", lambda right, seed, key, trial: right(seed, "ff", trial)),
        fig9("lpa", "gs"),
        tasks=True,
        quick=True,
    ),
    UtilityFault(
        "engine: every fourth trial is the first",
        at("engine.worker:trial_rngs", lambda right, seed, key, trial: right(seed, key, trial % 4)),
        on("sensitivity/quality", "dpsense"),
        tasks=True,
    ),
]


def _theta_up(right: Any, self: Any, columns: Any, theta: int, noise: Any) -> Any:
    return right(self, columns, theta + 1, noise)


SENSITIVITY = [
    UtilityFault(
        "dpsense: noise x 1.1", noisier(f"{SENSE}:DPSense", 1.1, "publish_columns"), over(SENSE_ALL, "dpsense")
    ),
    UtilityFault(
        "dpsense: rows limited to theta + 1",
        at(f"mechanisms.{SENSE}:DPSense.limited", _theta_up),
        over(SENSE_ALL, "dpsense"),
    ),
    UtilityFault(
        "dpsense: the choice pays the factor 2",
        at(
            "privacy.noise:Noise.choose",
            lambda right, self, scores, **more: right(self, scores, **{**more, "monotone": False}),
        ),
        over(SENSE_ALL, "dpsense"),
    ),
    UtilityFault(
        "dpsense: quality prefers half of the noise",
        at(f"mechanisms.{SENSE}:DPSense.quality", lambda right, self, data, epsilon: right(self, data, 2 * epsilon)),
        on("sensitivity/error", "dpsense"),
    ),
    UtilityFault(
        "dpsense_s: noise x 1.1",
        noisier(f"{SENSE}_s:DPSenseS", 1.1, "publish_columns"),
        over(("sensitivity/error", "sensitivity/theta"), "dpsense_s"),
    ),
    UtilityFault(
        "dpsense_s: alpha clamped at 1",
        at(
            f"mechanisms.{SENSE}_s:DPSenseS.grid",
            lambda right, self, data: (lambda thetas, alphas: (thetas, np.ones_like(alphas)))(*right(self, data)),
        ),
        on("sensitivity/error", "dpsense_s"),
    ),
]


def _fewer(right: Any, indptr: Any, most: int, rng: Any) -> Any:
    return right(indptr, max(1, most - 1), rng)


def _first_come(right: Any, released: Any, counts: Any, thresholds: Any, ks: Any) -> Any:
    """Ties go to the column of the lowest number."""
    order = np.argsort(-released, kind="stable")
    return np.array([(counts[order[:k]] >= thresholds[i]).mean() for i, k in enumerate(ks)])


ANALYTIC = [
    UtilityFault("sra: noise x 1.1", noisier(f"{ANALYTICS}:SRA", 1.1), on("analytics/fig6", "sra"), quick=True),
    UtilityFault(
        "sra: one record less per user",
        at("mechanisms.analytics._samples:random_sample", _fewer),
        on("analytics/fig6", "sra"),
    ),
    UtilityFault("hpa: noise x 1.1", noisier(f"{ANALYTICS}:HPA", 1.1), on("analytics/fig6", "hpa")),
    UtilityFault(
        "hpa: picks without looking at popularity",
        at(
            "mechanisms.analytics._samples:greedy_sample",
            lambda right, indptr, items, scores, most, rng: right(indptr, items, np.zeros_like(scores), most, rng),
        ),
        on("analytics/fig6", "hpa"),
    ),
    UtilityFault(
        "hpa_popularity: a tenth less noise",
        noisier(f"{ANALYTICS}:HPAPopularity", 1 / 1.1),
        on("analytics/fig5", "hpa_popularity"),
    ),
    UtilityFault(
        "task: floor of distributions x 10",
        at("tasks.record_analytics:distribution", lambda right, counts, floor: right(counts, 10 * floor)),
        on("analytics/fig7", "lpa"),
        tasks=True,
    ),
    UtilityFault(
        "task: divergence the wrong way round",
        at("tasks.record_analytics:kl_divergence", lambda right, p, q: right(q, p)),
        on("analytics/fig7", "lpa"),
        tasks=True,
    ),
    UtilityFault(
        "task: precision breaks ties by number",
        at("tasks.record_analytics:precision_at", _first_come),
        on("analytics/fig7", "gs"),
        tasks=True,
    ),
    UtilityFault(
        "task: top lists one longer",
        at("tasks.record_analytics:top_thresholds", lambda right, counts, ks: right(counts, [k + 1 for k in ks])),
        on("analytics/fig7", "lpa", "fpa", "gs", "sra", "hpa"),
        tasks=True,
    ),
]

RANGES = (
    "sparse/map_subset",
    "sparse/ranges_small",
    "sparse/ranges_large",
    "sparse/low_density",
    "sparse/dyadic_uniform",
    "sparse/dyadic_skewed",
    "sparse/high_sigma",
    "sparse/map_dyadic",
)

SPARSE = [
    UtilityFault(
        "geometric: noise x 1.1",
        noisier("sparse.geometric:Geometric", 1.1),
        tuple((name, ("geometric",)) for name in RANGES),
    ),
    UtilityFault("filter: theta off by one", at("mechanisms.sparse._zeros:theta_for", plus(1)), over(RANGES, "filter")),
    UtilityFault(
        "filter: noise x 1.1", louder("sparse.filters:Filter", 1.1), on("sparse/filtering", "filter"), quick=True
    ),
    UtilityFault(
        "threshold: tau x 1.1", at("mechanisms.sparse._zeros:tau_for", scaled(1.1)), on("sparse/sampling", "threshold")
    ),
    UtilityFault(
        "threshold: plain weights",
        at(
            "mechanisms.sparse.samples:Sampled.entries",
            lambda right, self, data, places, values, tau, **chosen: replace(
                right(self, data, places, values, tau, **chosen), weights=values.astype(float)
            ),
        ),
        on("sparse/sampling", "threshold"),
    ),
    UtilityFault(
        "priority: tau of the s-th and not of the next",
        at(
            "mechanisms.sparse.samples:top",
            lambda right, priority, s: (right(priority, s)[0], right(priority, max(1, s - 1))[1]),
        ),
        on("sparse/sampling", "priority"),
    ),
    UtilityFault("priority: noise x 1.1", louder("sparse.samples:Priority", 1.1), on("sparse/sampling", "priority")),
    UtilityFault(
        "filter_priority: noise x 1.1",
        louder("sparse.samples:FilterPriority", 1.1),
        on("sparse/filter_priority", "filter_priority"),
    ),
    UtilityFault(
        "sketch: signs dropped",
        at(
            "mechanisms.sparse.sketch:hashing.bucket_and_sign",
            lambda right, *given: (lambda bucket, sign: (bucket, np.ones_like(sign)))(*right(*given)),
        ),
        on("sparse/sketch", "sketch"),
    ),
    UtilityFault("sketch: noise x 1.1", noisier("sparse.sketch:Sketch", 1.1), on("sparse/sketch", "sketch")),
    UtilityFault(
        "synthesizer: prior x 1.1",
        at("mechanisms.sparse._synthesis:prior_for", scaled(1.1)),
        on("sparse/map_subset", "synthesizer"),
    ),
    UtilityFault(
        "task: queries one cell longer than the truth",
        at(
            "tasks.queries:RangeQueries.answers",
            lambda right, self, data, release: release.sum(
                self.bounds(data)[0], np.minimum(self.bounds(data)[1] + 1, data.size)
            ),
        ),
        tuple((name, ("geometric", "filter", "priority")) for name in RANGES[1:]),
        tasks=True,
    ),
]

EPICREC = [
    UtilityFault(
        "laplace_categories: noise x 1.1",
        noisier(f"{PERSONAL}:LaplaceCategories", 1.1),
        on("epicrec/error", "laplace_categories"),
    ),
    UtilityFault(
        "s_dpdp: calibration x 1.1",
        at(f"mechanisms.{PERSONAL}:SDPDP.calibrate", scaled(1.1)),
        on("epicrec/error", "s_dpdp"),
    ),
    UtilityFault(
        "s_dpdp: rounds down",
        at(
            "mechanisms.epicrec._classes:ItemClasses.round",
            lambda right, self, relaxed, rng: right(self, np.floor(relaxed), rng),
        ),
        over(("epicrec/error", "epicrec/budget"), "s_dpdp"),
    ),
    UtilityFault(
        "s_pbq: one step more of budget",
        at(f"mechanisms.{PERSONAL}:SPBQ.choose", plus(0.1)),
        on("epicrec/budget", "s_pbq"),
    ),
]


def _scores(change: Any) -> Any:
    """Changes the scores of a task."""
    return lambda right, *given: (lambda found: found | change(found))(right(*given))


METRICS = [
    UtilityFault(
        "task: sanity bound x 2",
        at(
            "tasks.column_counts:ColumnCounts._inverse_counts",
            lambda right, self, data: 1.0 / np.maximum(data.counts, 2 * self.sanity * data.rows),
        ),
        fig9("lpa", "gs"),
        tasks=True,
    ),
    UtilityFault(
        "task: mean over one column less",
        at("tasks.column_counts:ColumnCounts.score", _scores(lambda s: {"mse": s["mse"] * 1.003})),
        fig9("lpa"),
        tasks=True,
    ),
    UtilityFault(
        "task: absolute errors of rounded counts",
        at("tasks.column_counts:published", lambda right, release, columns: np.rint(right(release, columns) / 10) * 10),
        fig9("gs"),
        tasks=True,
    ),
    UtilityFault(
        "task: signed error with its sign lost",
        at("tasks.column_counts:ColumnCounts.score", _scores(lambda s: {"signed": abs(s["signed"])})),
        fig9("lpa", "gs"),
        tasks=True,
    ),
]

BOARD = [
    UtilityFault(
        "gaussian: noise x 1.1",
        at("mechanisms.baselines.modern:Gaussian.sigma", scaled(1.1)),
        on("cross/leaderboard", "gaussian"),
    ),
    UtilityFault(
        "linf: noise x 1.1",
        louder("baselines.modern:LInfinity", 1.1, "publish_columns"),
        on("cross/leaderboard", "linf"),
    ),
    UtilityFault(
        "pf_peeling: half of the budget",
        louder("baselines.modern:PermuteAndFlip", 2.0),
        on("cross/leaderboard", "pf_peeling"),
    ),
    UtilityFault(
        "joint_topk: half of the budget",
        louder("baselines.modern:JointTopK", 2.0),
        on("cross/leaderboard", "joint_topk"),
    ),
]

FAULTS = [*GROUPING, *SHARED, *SENSITIVITY, *ANALYTIC, *SPARSE, *EPICREC, *METRICS, *BOARD]
