"""A dataset before it is built, as plain values: this is what a plan contains and what is sent to a worker.

Imported by configuration and engine; imports nothing of ours. The cache builds the data from it.
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
