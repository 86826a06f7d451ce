"""Which parameters each mechanism is audited with: every variant, small enough for the pairs.

First the private ones (declared bounds, given θ, τ, s, d, ρ), by which a family is judged; then those that read the data, as
in the papers, which the audit must detect. Imported by the audits; a new mechanism adds its line here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from dpbench.audit.finding import Finding, Pair
from dpbench.audit.replay import audit_by_replay
from dpbench.audit.row_shapes import ROW_SHAPES
from dpbench.mechanisms.base import MECHANISMS

Parameters = Mapping[str, Any]

LEAST = 3 * len(ROW_SHAPES)
"""Least number of pairs per choice of parameters: all shapes of rows, three times."""
WIDE = 60
"""A bound at which the choice of θ costs nearly all of its budget."""

_SAMPLING = ("column", "row", "none")

VARIANTS: dict[str, tuple[Parameters, ...]] = {
    "lpa": ({"bound": 3}, {"bound": 1}, {}),
    "alpa": ({}, {"bound": 3}),
    "zero": ({},),
    "fpa": ({"bound": 3, "rho": 1}, {"bound": 3, "rho": 2}, {"bound": 3}, {"rho": 1}),
    "gs_r": ({"bound": 3}, {"bound": 1}, {}),
    "gs_s": (*({"bound": 3, "sampling": each} for each in _SAMPLING), {"bound": 1, "sampling": "row"}, {}),
    "gs": (
        *({"bound": 3, "sampling": each} for each in _SAMPLING),
        {"bound": 2, "w": 1},
        {"bound": 3, "scale_up": 1.5},
        {"bound": 3, "scale_up": "mean_row"},
        {},
    ),
    "gs_mean": ({"bound": 3}, {"bound": 3, "sampling": "row"}, {}),
    "gs_sizes": ({"bound": 3}, {}),
    "gs_optimal": ({"bound": 3}, {}),
    "gs_private": ({"bound": 3}, {"bound": 3, "sampling": "row"}, {"bound": 1, "mean_share": 0.5}, {}),
    "dpsense": (
        {"bound": 3},
        {"bound": WIDE},
        {"bound": 3, "limit": "sample", "tight": True},
        {"bound": 3, "theta": 2},
        {"bound": 3, "step": 0.25},
        {"theta": 1.5},
        {"theta": 1, "limit": "sample"},
        {"bound": 3, "share": 0.2, "tight": True},
        {},
    ),
    "dpsense_s": (
        {"bound": 3, "alphas": 3},
        {"bound": WIDE, "alphas": 2},
        {"bound": 3, "alphas": 2, "limit": "sample", "tight": True},
        {"bound": 2, "alphas": 4, "alpha_max": 4.0, "tight": True},
        {"alphas": 2},
    ),
    "sra": ({"l": 1}, {"l": 3}, {"l": 2, "item_share": 0.3}, {"l": 2, "per_query": True}),
    "hpa": (
        {"d": 1, "l": 2},
        {"d": 2, "l": 1, "popularity_share": 0.5, "item_share": 0.2},
        {"l": 2},
        {"d": 1, "l": 2, "per_query": True},
        {"d": 2, "l": 1, "popularity_noise": 0.1},
    ),
    "hpa_popularity": ({"d": 1}, {"d": 3, "popularity_share": 0.9}, {}, {"d": 2, "popularity_noise": 0.1}),
    "linf": ({},),
    "gaussian": ({"bound": 3}, {"bound": 3, "delta": 0.01}, {}),
    "knorm_counts": ({},),
    "gaussian_correlated": ({}, {"bound": 3}, {"bound": 1}, {"bound": 6, "delta": 0.01}),
    "clipped_laplace": ({"bound": 3}, {"bound": WIDE, "share": 0.5}, {"m": 2}, {"bound": 5, "ratio": 2.0}, {}),
    "clipped_gaussian": ({"bound": 3}, {"bound": WIDE, "share": 0.5}, {"m": 2, "delta": 0.01}, {}),
    "gumbel_topk": ({"k": 1}, {"k": 2}, {"k": 3}),
    "gumbel_topk_delta": ({"k": 1}, {"k": 2, "delta": 0.01}, {"k": 3}, {"k": 3, "delta": 0.001}),
    "gumbel_topk_unknown": (
        {"k": 1, "reach": 2},
        {"k": 2, "reach": 3, "delta": 0.01},
        {"k": 3, "reach": 3, "delta": 1e-4},
        {"k": 2, "reach": 9},
    ),
    "pf_peeling": ({"k": 1}, {"k": 2}, {"k": 3}),
    "joint_topk": ({"k": 1}, {"k": 2}, {"k": 3}),
    "geometric": (
        {},
        {"transform": "dyadic"},
        {"transform": "haar"},
        {"transform": "dyadic_product"},
        {"negatives": "zero"},
    ),
    "filter": (
        {"theta": 2},
        {"theta": 2, "two_sided": False},
        {"t": 2},
        {"theta": 2, "transform": "dyadic", "consistent": True},
        {"theta": 2, "transform": "haar"},
        {"theta": 2, "transform": "dyadic_product", "impute": "half"},
        {"private_size": 0.3},
        {},
    ),
    "threshold": (
        {"tau": 3},
        {"tau": 2.5, "transform": "dyadic"},
        {"tau": 3, "transform": "haar"},
        {"private_size": 0.5, "transform": "haar"},
        {"t": 2},
    ),
    "priority": (
        {"s": 2},
        {"s": 1},
        {"s": 3, "transform": "dyadic"},
        {"s": 2, "transform": "haar"},
        {"private_size": 0.2},
        {},
    ),
    "filter_priority": (
        {"s": 2, "theta": 2},
        {"s": 2, "theta": 1.5, "transform": "dyadic", "consistent": True},
        {"s": 2, "transform": "haar"},
        {"private_size": 0.3, "negatives": "zero"},
        {"s": 2},
        {"theta": 2},
    ),
    "sketch": (
        {"buckets": 4},
        {"buckets": 3, "rows": 3, "combine": "median"},
        {"buckets": 4, "transform": "dyadic"},
        {"buckets": 2, "rows": 1, "transform": "haar"},
        {"buckets": 4, "laborious": True},
        {"private_size": 0.3},
        {},
    ),
    "synthesizer": ({}, {"delta": 0.01}),
    "gshm": (
        {},
        {"k": 3},
        {"delta": 0.01, "k": 2},
        {"transform": "dyadic"},
        {"transform": "dyadic", "delta": 0.05},
    ),
    "stability_laplace": ({}, {"k": 3}, {"delta": 0.05, "k": 2}, {"transform": "dyadic"}),
    "gaussian_sketch": (
        {"rows": 3, "buckets": 16},
        {"rows": 1, "buckets": 4, "k": 3},
        {"rows": 2, "buckets": 32, "k": 2, "transform": "dyadic"},
        {"delta": 0.01},
    ),
    "alp": (
        {"largest": 8, "buckets": 3},
        {"largest": 3, "buckets": 5, "alpha": 1.5, "k": 2},
        {"largest": 100, "buckets": 40, "k": 3},
        {"buckets": 6},
        {"largest": 30, "transform": "dyadic"},
        {"k": 2, "transform": "dyadic", "buckets": 6},
        {},
    ),
    "hb": ({},),
    "dawa": ({}, {"share": 0.5}),
    "laplace_categories": ({}, {"user": 0}),
    "s_dpdp": ({}, {"user": 0, "calibrated": False}),
    "s_pbq": ({}, {"step": 0.5, "tolerance": 5.0}),
}


def audit_variants(
    name: str, epsilon: float, pairs_count: int, seed: int = 0, *, own: tuple[Pair, ...] = ()
) -> Iterator[Finding | None]:
    """What replay finds about each choice of parameters of a mechanism, which share the pairs; for a class that is not
    ours, about its defaults. None if it cannot be replayed."""
    chosen = VARIANTS.get(name, ({},))
    for parameters in chosen:
        mechanism = MECHANISMS.make(name, **parameters)
        yield audit_by_replay(mechanism, epsilon, max(LEAST, pairs_count // len(chosen)), seed, name=name, own=own)
