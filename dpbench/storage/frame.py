"""Stored trials as a table: one row per trial, with the setting's labels beside its numbers.

Imported by figures, tracking, check, claims and the experiments' scripts; reads the store only.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dpbench.errors import Damaged
from dpbench.model.run import Run, Value
from dpbench.model.world import LABEL
from dpbench.storage.store import Store

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

METRIC, EXPECTED, CHOSEN, DIAGNOSTIC = "metric.", "expected.", "chosen.", "diagnostic."
SETTING, TRIAL, SECONDS = "setting", "trial", "seconds"
NAMED = (SETTING, "dataset", "mechanism", "task")
"""The columns that tell the settings of a run apart; others may hold lists."""
DATA_SEED, DATA_SEEDS = "data_seed", "data_seeds"
PAIRS = {"pair_variance": "variance", "pair_bias2": "bias2"}
"""What odd trials measure together with the previous trial, and the name of its mean over a run."""


def one_world(frame: pd.DataFrame) -> pd.DataFrame:
    """The trials of one world of each dataset: of the default one where it was run, otherwise of the first."""
    if LABEL not in frame:
        return frame
    worlds = frame[LABEL].fillna("")
    first = worlds.groupby(frame["dataset"]).transform(lambda named: "" if (named == "").any() else named.iloc[0])
    return frame[worlds == first].reset_index(drop=True)


def trials(run: Run) -> pd.DataFrame:
    """All stored trials of a run. Columns: the labels, `data_seed` (an integer; for original files, which do not depend on a
    seed, the one the run was given), `setting`, `trial`, `seconds`, and the columns stored with the trials. Trials that two
    mechanisms share, such as GS as printed and a reading of `gs_mean`, are there under both names."""
    store = Store(run.results, say=lambda text: warnings.warn(text, Damaged, stacklevel=2))
    tables: list[pa.Table] = []
    labels: list[dict[str, Value]] = []
    wanted = run.repetitions_by_id()
    for setting in {(s.id, s.dataset.name, s.mechanism.name, s.task.name): s for s in run.settings}.values():
        table = store.read(setting.id, wanted[setting.id])
        if table is not None:
            tables.append(table)
            labels.append({**setting.labels(), DATA_SEED: setting.dataset.seed, SETTING: setting.id})
    return joined(labels, tables)


def joined(labels: Sequence[Mapping[str, Value]], tables: Sequence[pa.Table]) -> pd.DataFrame:
    """The trials of several settings in one frame, the labels of each beside its trials."""
    import pandas as pd

    if not tables:
        return pd.DataFrame()
    frame = _stacked(tables)
    owners = np.repeat(np.arange(len(tables)), [table.num_rows for table in tables])
    beside = pd.DataFrame(labels).iloc[owners].reset_index(drop=True)
    return pd.concat([beside, frame], axis=1)


def _stacked(tables: Sequence[pa.Table]) -> pd.DataFrame:
    """The rows of all settings; a column with text in one and numbers in another keeps both as they are."""
    import pandas as pd
    import pyarrow as pa

    kinds: dict[str, set[pa.DataType]] = {}
    for table in tables:
        for field in table.schema:
            kinds.setdefault(field.name, set()).add(field.type)
    mixed = [name for name, types in kinds.items() if len(types) > 1]
    even = [table.drop_columns([name for name in mixed if name in table.column_names]) for table in tables]
    frame = pa.concat_tables(even, promote_options="default").to_pandas()
    for name in mixed:
        cells: list[object] = []
        for table in tables:
            cells += table[name].to_pylist() if name in table.column_names else [None] * table.num_rows
        frame[name] = pd.Series(cells, dtype=object)
    return frame


def metric_names(frame: pd.DataFrame) -> list[str]:
    """The metrics of a frame of trials, without their prefix, in stored order, except those of pairs of trials."""
    names = [c.removeprefix(METRIC) for c in frame.columns if c.startswith(METRIC)]
    return [name for name in names if name not in PAIRS]


def estimates(frame: pd.DataFrame) -> pd.DataFrame:
    """The same trials with the expectation of a metric in place of its sampled value, in settings all of whose trials have
    it: its mean is the same, and its spread smaller."""
    names = [name for name in metric_names(frame) if EXPECTED + name in frame]
    if not names:
        return frame
    known = frame[[EXPECTED + name for name in names]].notna().groupby(frame[SETTING]).transform("all")
    return frame.assign(
        **{METRIC + name: frame[METRIC + name].where(~known[EXPECTED + name], frame[EXPECTED + name]) for name in names}
    )


def expected_names(frame: pd.DataFrame) -> list[str]:
    """The metrics of which some setting has the expectation."""
    names = [c.removeprefix(EXPECTED) for c in frame.columns if c.startswith(EXPECTED)]
    return [name for name in names if frame[EXPECTED + name].notna().any()]


def moments(frame: pd.DataFrame, by: list[str], columns: list[str]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The means of some columns in each group, and the standard errors of these means.

    Trials on one draw of the data are repetitions; trials on different draws are not. If a group holds several
    data seeds, its mean is the mean of the seeds' means, each with equal weight, and its standard error is that of the K seed
    means: the noise and the spread between draws together. It has K - 1 degrees of freedom, so with few seeds it is
    itself uncertain: an interval needs Student's t with K - 1, not a factor of 2. One dataset per group is expected.
    """
    groups = frame.groupby(by, sort=False, dropna=False)
    mean, error = groups[columns].mean(), groups[columns].sem()
    several = _draws(frame, by) > 1
    if several.any():
        level = list(range(len(by)))
        each = frame.groupby([*by, DATA_SEED], sort=False, dropna=False)[columns].mean()
        draws = each.groupby(level=level[0] if len(by) == 1 else level, sort=False, dropna=False)
        mean, error = mean.where(~several, draws.mean(), axis=0), error.where(~several, draws.sem(), axis=0)
    return mean, error


def _draws(frame: pd.DataFrame, by: list[str]) -> pd.Series:
    """How many draws of the data each group holds."""
    groups = frame.groupby(by, sort=False, dropna=False)
    return groups[DATA_SEED].nunique() if DATA_SEED in frame and DATA_SEED not in by else groups.size().clip(upper=1)


def summarise(frame: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    """Mean, standard error and 95th percentile of every metric over trials, and bias separate from variance.

    Columns: `by`, `trials`, and for a metric m: `m`, `m_se`, `m_p95`. Means and standard errors are those of the
    expectations, where trials have them (`estimates`); the percentile is that of the sampled values.
    If the task gives errors, `variance` and `bias2` (the means over complete pairs of trials, unbiased, so that `bias2` may
    come out below zero) with `_se`, and `bias`, the root of `bias2`. If a group holds several draws of the data, there is also
    `data_seeds`, their number; see `moments` for what means and standard errors are then.
    """
    import pandas as pd

    metrics = metric_names(frame)
    groups = frame.groupby(by, sort=False, dropna=False)
    columns: list[Any] = [groups.size().rename("trials").to_frame()]
    if (draws := _draws(frame, by)).gt(1).any():
        columns.append(draws.rename(DATA_SEEDS))
    stored = [METRIC + name for name in metrics]
    pairs = {METRIC + pair: name for pair, name in PAIRS.items() if METRIC + pair in frame}
    (mean, error), high = moments(estimates(frame), by, [*stored, *pairs]), groups[stored].quantile(0.95)
    for name in metrics:
        at = METRIC + name
        columns += [mean[at].rename(name), error[at].rename(f"{name}_se"), high[at].rename(f"{name}_p95")]
    for at, name in pairs.items():
        columns += [mean[at].rename(name), error[at].rename(f"{name}_se")]
    table = pd.concat(columns, axis=1).copy()  # as one block: pandas warns if there are hundreds
    if "bias2" in table:
        table["bias"] = table["bias2"].clip(lower=0) ** 0.5
    return table.reset_index()
