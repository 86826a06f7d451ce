"""HOW it is published: one family a module, each reading like the paper's pseudocode. Imports data and numerics only."""

from dpbench.mechanisms.base import MECHANISMS, Bounded, Mechanism, mechanism

__all__ = ["MECHANISMS", "Bounded", "Mechanism", "mechanism"]
