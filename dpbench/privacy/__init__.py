"""The randomness that privacy rests on, and the budget it spends. Imported by mechanisms and audits; imports numerics."""

from dpbench.privacy.budget import Budget
from dpbench.privacy.noise import FORMS, Law, Noise

__all__ = ["FORMS", "Budget", "Law", "Noise"]
