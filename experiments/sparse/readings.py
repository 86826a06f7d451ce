"""Every printed number of sparse under the readings of its text: a specification curve."""

import pandas as pd
from matplotlib.figure import Figure

from dpbench.claims import specification
from dpbench.figures.specification import draw as curve

WORLDS = True


def numbers(trials: pd.DataFrame) -> pd.DataFrame:
    return specification.curve("sparse", trials)


def summary(numbers: pd.DataFrame) -> pd.DataFrame:
    return specification.joint(numbers).head(5)


def draw(numbers: pd.DataFrame) -> Figure:
    return curve(numbers, specification.joint(numbers), specification.conflicts(numbers))
