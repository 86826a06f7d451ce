"""HOW it is published: one folder per family; the code follows the papers' pseudocode. Imports data, privacy and numerics."""

from dpbench.mechanisms.base import MECHANISMS, Bounded, ColumnMechanism, Mechanism, mechanism

__all__ = ["MECHANISMS", "Bounded", "ColumnMechanism", "Mechanism", "mechanism"]
