"""Table 5 of analytics: the ten movies recommended to men under 25, from the raw data, by SRA and by HPA.

One release is shown, the first trial. Movies as frequent as the tenth share its place: they are listed too, with a mark.
"""

import pandas as pd
from matplotlib.figure import Figure

from dpbench.figures import shapes, style

K = 10


def numbers(trials: pd.DataFrame) -> pd.DataFrame:
    first = trials[trials["trial"] == trials["trial"].min()].drop_duplicates("mechanism")
    listed = int(first["metric.listed"].iloc[0])
    raw = [first[f"diagnostic.raw_{i}"].iloc[0] for i in range(1, listed + 1)]
    counts = [first[f"metric.raw_count_{i}"].iloc[0] for i in range(1, listed + 1)]
    table = pd.DataFrame({"rank": range(1, listed + 1), "raw": raw, "records": counts})
    tied = counts.count(counts[K - 1]) > 1 and listed > K
    table["rank"] = [f"{K}=" if tied and n == counts[K - 1] else str(i) for i, n in enumerate(counts, 1)]
    for _, row in first.iterrows():
        named = [row[f"diagnostic.top_{i}"] for i in range(1, K + 1)]
        table[row["mechanism"]] = [*named, *[""] * (listed - K)]
        table[f"{row['mechanism']}_right"] = [name in raw for name in named] + [False] * (listed - K)
    return table


def draw(numbers: pd.DataFrame) -> Figure:
    shown = pd.DataFrame({"": numbers["rank"], "Raw data": numbers["raw"], "Records": numbers["records"]})
    for name in numbers.columns:
        if f"{name}_right" in numbers:
            marks = numbers[f"{name}_right"].map({True: "  ✓", False: ""})
            shown[f"{style.name(name)} output"] = numbers[name] + marks
    return shapes.table(shown)
