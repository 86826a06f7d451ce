"""The random steps on which privacy depends, and the budget they spend. Imported by mechanisms and audits; imports numerics."""

from dpbench.privacy.budget import Budget
from dpbench.privacy.noise import FORMS, INEXACT, SECURE, Law, Noise

__all__ = ["FORMS", "INEXACT", "SECURE", "Budget", "Law", "Noise"]
