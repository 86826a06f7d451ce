"""The random steps on which privacy depends, and the budget they spend. Imported by mechanisms and audits; imports numerics."""

from dpbench.privacy.budget import Budget
from dpbench.privacy.draw import Law
from dpbench.privacy.noise import FORMS, INEXACT, SECURE, Noise
from dpbench.privacy.step import STEPS, Cost, RandomStep

__all__ = ["FORMS", "INEXACT", "SECURE", "STEPS", "Budget", "Cost", "Law", "Noise", "RandomStep"]
