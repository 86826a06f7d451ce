"""Table 5 of analytics: the ten movies recommended to men under 25, from the raw data, by SRA and by HPA.

One release is shown, the first trial. Movies that are as frequent as the tenth are listed too, with a mark.
"""

import pandas as pd
from matplotlib.figure import Figure

from dpbench.figures import captions, shapes, style
from dpbench.storage.record import RELEASED

K = 10
STATED = {"sra": (3, "analytics/sra-recommends"), "hpa": (8, "analytics/hpa-recommends")}
"""How many of the ten movies the paper's single run finds."""


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
        table[f"{RELEASED}{row['mechanism']}"] = [*named, *[""] * (listed - K)]
        table[f"{row['mechanism']}_right"] = [name in raw for name in named] + [False] * (listed - K)
    for mechanism, hits in trials.groupby("mechanism", sort=False)["metric.right_first"]:
        table[f"{mechanism}_hits"], table[f"{mechanism}_hits_se"] = hits.mean(), hits.sem()
    return table


def draw(numbers: pd.DataFrame) -> Figure:
    shown = pd.DataFrame({"": numbers["rank"], "Raw data": numbers["raw"], "Records": numbers["records"]})
    for column in (column for column in numbers.columns if column.startswith(RELEASED)):
        name = column.removeprefix(RELEASED)
        marks = numbers[f"{name}_right"].map({True: "  ✓", False: ""})
        shown[f"{style.name(name)} output"] = numbers[column] + marks
    figure = shapes.table(shown)
    captions.tell(figure, "one release, the first trial; a tick (✓) marks a movie among the ten of the raw data")
    for name, (printed, claim) in STATED.items():
        if f"{name}_hits" in numbers:
            mean, error = numbers[[f"{name}_hits", f"{name}_hits_se"]].iloc[0]
            spread = f" ± {error:.2f}" if error == error else ""
            captions.tell(
                figure,
                f"{style.name(name)} finds {mean:.2f}{spread} of the ten over all trials (mean and standard error); "
                f"the paper's one run: {printed} ({claim})",
            )
    return figure
