"""Figure 7 of analytics: MSE, KL divergence and top-10 precision of the released item counts."""

import pandas as pd
from matplotlib.figure import Figure

from dpbench.figures import records
from dpbench.figures.captions import Stated

BESIDE_FILES = True
STATED = [Stated("analytics/hpa-netflix-top", 1, "100 %", {"dataset": "netflix", "mechanism": "hpa"})]


def numbers(trials: pd.DataFrame) -> pd.DataFrame:
    return records.by_dataset(trials)


def draw(numbers: pd.DataFrame) -> Figure:
    return records.utility(numbers, stated=STATED)
