"""Every printed number of analytics over the readings of its text and the worlds of its data: a specification curve."""

from functools import partial

from dpbench.claims.specification import curve, draw, summary

WORLDS = True
numbers = partial(curve, "analytics")

__all__ = ["WORLDS", "draw", "numbers", "summary"]
