"""Stored trials as a table: one row per trial, with the setting's labels beside its numbers.

Imported by figures, tracking, check, claims and the experiments' scripts; reads the store only.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from dpbench.errors import Damaged
from dpbench.results.run import Run, Value
from dpbench.results.store import Store

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

METRIC, CHOSEN, DIAGNOSTIC = "metric.", "chosen.", "diagnostic."
SETTING, TRIAL, SECONDS = "setting", "trial", "seconds"
PAIRS = {"pair_variance": "variance", "pair_bias2": "bias2"}
"""What odd trials measure together with the one before, and what its mean over a run is called."""


def trials(run: Run) -> pd.DataFrame:
    """All stored trials of a run. Columns: the labels, `setting`, `trial`, `seconds`, and what the trials hold."""
    import pandas as pd

    store = Store(run.results, say=lambda text: warnings.warn(text, Damaged, stacklevel=2))
    tables: list[pa.Table] = []
    labels: list[dict[str, Value]] = []
    for setting in {setting.id: setting for setting in run.settings}.values():
        table = store.read(setting.id, run.repetitions)
        if table is not None:
            tables.append(table)
            labels.append({**setting.labels(), SETTING: setting.id})
    if not tables:
        return pd.DataFrame()
    frame = _stacked(tables)
    places = np.repeat(np.arange(len(tables)), [table.num_rows for table in tables])
    described = pd.DataFrame(labels).iloc[places].reset_index(drop=True)
    return pd.concat([described, frame], axis=1)


def _stacked(tables: list[pa.Table]) -> pd.DataFrame:
    """The rows of all settings; a column of words in one and of numbers in another keeps both as they are."""
    import pandas as pd
    import pyarrow as pa

    kinds: dict[str, set[pa.DataType]] = {}
    for table in tables:
        for field in table.schema:
            kinds.setdefault(field.name, set()).add(field.type)
    mixed = [name for name, found in kinds.items() if len(found) > 1]
    even = [table.drop_columns([name for name in mixed if name in table.column_names]) for table in tables]
    frame = pa.concat_tables(even, promote_options="default").to_pandas()
    for name in mixed:
        cells: list[object] = []
        for table in tables:
            cells += table[name].to_pylist() if name in table.column_names else [None] * table.num_rows
        frame[name] = pd.Series(cells, dtype=object)
    return frame


def metric_names(frame: pd.DataFrame) -> list[str]:
    """The metrics of a frame of trials, without their prefix, in stored order; those of pairs of trials aside."""
    names = [c.removeprefix(METRIC) for c in frame.columns if c.startswith(METRIC)]
    return [name for name in names if name not in PAIRS]


def summarise(frame: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    """Mean, standard error and 95th percentile of every metric over trials, and bias apart from variance.

    Columns: `by`, `trials`, and for a metric m: `m`, `m_se`, `m_p95`. Where the task gives errors, `variance` and `bias2`
    (the means over complete pairs of trials, unbiased, so that `bias2` may come out below zero) with `_se`, and `bias`, the
    root of `bias2`.
    """
    import pandas as pd

    metrics = metric_names(frame)
    groups = frame.groupby(by, sort=False, dropna=False)
    columns: list[Any] = [groups.size().rename("trials").to_frame()]
    stored = [METRIC + name for name in metrics]
    mean, error, high = groups[stored].mean(), groups[stored].sem(), groups[stored].quantile(0.95)
    for name in metrics:
        at = METRIC + name
        columns += [mean[at].rename(name), error[at].rename(f"{name}_se"), high[at].rename(f"{name}_p95")]
    for pair, name in PAIRS.items():
        if METRIC + pair in frame:
            values = groups[METRIC + pair]
            columns += [values.mean().rename(name), values.sem().rename(f"{name}_se")]
    table = pd.concat(columns, axis=1)
    if "bias2" in table:
        table["bias"] = table["bias2"].clip(lower=0) ** 0.5
    return table.reset_index()
