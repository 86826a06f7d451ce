"""A dataset before it is built, as plain values: what a plan names and a worker is sent.

Imported by configuration and engine; imports nothing of ours. The cache makes data of it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class DatasetSpec:
    """A source by its name or dotted path, its parameters and the data seed. Small enough to send anywhere."""

    name: str
    source: str
    params: dict[str, Any] = field(default_factory=dict)
    seed: int = 0
