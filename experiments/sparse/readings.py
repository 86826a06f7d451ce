"""Every printed number of sparse under the readings of its text: a specification curve."""

from functools import partial

from dpbench.claims.specification import curve, draw, summary

WORLDS = True
numbers = partial(curve, "sparse")

__all__ = ["WORLDS", "draw", "numbers", "summary"]
