"""Who is as good as the best, and how far is each from it: the statistics of a comparison of many mechanisms.

After DPBench (Hay et al., 2016): in a setting, a mechanism is competitive when its error is not significantly above the
lowest one; its regret is how many times the lowest error it pays, over all settings. Frames of trials in, tidy numbers
out; imported by plotting scripts.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from dpbench.numerics.welch import welch

SETTING = ("dataset", "epsilon")
LEVEL = 0.05


def standings(
    trials: pd.DataFrame,
    metric: str = "mae",
    *,
    by: Sequence[str] = SETTING,
    who: str = "mechanism",
    level: float = LEVEL,
) -> pd.DataFrame:
    """A row a setting and mechanism: mean error, its ratio to the setting's lowest, and whether it is competitive.

    Each mechanism is tested against the one with the lowest mean, at `level` over the number of such tests of the
    setting (Bonferroni). Mechanisms without this metric are left out.
    """
    rows = []
    stored = f"metric.{metric}"
    for setting, group in trials.dropna(subset=[stored]).groupby(list(by), sort=False):
        samples = {name: part[stored].to_numpy() for name, part in group.groupby(who, sort=False)}
        best = min(samples, key=lambda name: samples[name].mean())
        lowest, corrected = samples[best].mean(), level / max(1, len(samples) - 1)
        for name, sample in samples.items():
            p = 1.0 if name == best else welch(sample, samples[best])
            row = dict(zip(by, setting, strict=True)) | {who: name, metric: sample.mean()}
            row |= {"ratio": _ratio(sample.mean(), lowest), "p": p, "competitive": p > corrected}
            rows.append(row)
    return pd.DataFrame(rows)


def regret(standing: pd.DataFrame, *, who: str = "mechanism") -> pd.DataFrame:
    """A row a mechanism, the lowest regret first: the geometric mean of its ratios, how often it was competitive or the
    best, and in how many settings it took part."""
    groups = standing.groupby(who, sort=False)
    table = pd.DataFrame(
        {
            "regret": np.exp(groups["ratio"].agg(lambda ratios: np.log(ratios).mean())),
            "worst": groups["ratio"].max(),
            "competitive": groups["competitive"].sum(),
            "best": groups["ratio"].agg(lambda ratios: int((ratios == 1).sum())),
            "settings": groups.size(),
        }
    )
    return table.sort_values("regret", kind="stable").reset_index()


def _ratio(value: float, lowest: float) -> float:
    if lowest > 0:
        return value / lowest
    return 1.0 if value == lowest else np.inf
