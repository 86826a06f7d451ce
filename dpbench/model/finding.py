"""What an audit found about one mechanism. A plain type, imported by the audit and by whoever shows its findings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Method = Literal["replay", "enumeration", "closed form", "sequential test"]
AuditVerdict = Literal["holds", "violated", "declared not private", "inconclusive"]


@dataclass(frozen=True)
class Finding:
    """What one method of auditing found about one mechanism with one choice of parameters."""

    mechanism: str
    """The name in the registry, or the dotted path."""
    parameters: str
    """Parameters that differ from the defaults, such as "bound=3, limit=sample"; empty for the defaults."""
    method: Method
    guarantee: str
    """As the mechanism states it: "ε" or "(ε, δ)"."""
    epsilon: float
    delta: float
    """0 for a pure guarantee."""
    loss: float
    """The largest loss found. By replay and enumeration it is exact for the pair; by the sequential test it is a lower bound.
    Infinite if something that must be equal on both neighbours is not."""
    verdict: AuditVerdict
    """`holds`: within the guarantee on all pairs. `violated`: a mechanism that states a guarantee breaks it.
    `declared not private`: the mechanism says so, and the audit agrees. `inconclusive`: `reason` says why."""
    pairs: int
    """Number of pairs examined."""
    pair: str = ""
    """The pair that shows the largest loss."""
    step: str = ""
    """The step that causes it (replay), or the event that shows it (sequential test)."""
    reason: str = ""
    at_most: bool = False
    """Whether the loss is only an upper bound: from a proof, or because a threshold hides part of it."""
    forms: str = ""
    """What was audited of what can be released: "float", "float, exact", or "shortcut, ..." for a summary whose shortcut was
    compared with the form in steps."""
    followed: bool = True
    """Whether replay could follow every step. If not, an infinite loss says that the steps or what is published differ."""
    seconds: float = 0.0
