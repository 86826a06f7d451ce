"""A dataset before it is built, as plain data. Imported by the cache and by settings; knows no registry."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class DatasetSpec:
    """A source class, its parameters and the data seed. Small enough to send anywhere."""

    name: str
    source: str
    params: dict[str, Any] = field(default_factory=dict)
    seed: int = 0
