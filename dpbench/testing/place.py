"""Where the baselines of the running test are. Set by the pytest plugin, which must load quickly; read by `assert_utility`."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class BaselinePlace:
    """Where the baselines of the running test are stored, and whether they are to be written anew."""

    file: Path
    test: str
    update: bool


current: ContextVar[BaselinePlace | None] = ContextVar("place", default=None)
