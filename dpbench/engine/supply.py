"""Where the workers of a cluster come from, as far as the run has a say in it. Imported by `cluster` and `slurm`."""

from __future__ import annotations

from typing import Any


class Supply:
    """Workers that come and go by themselves, started by somebody else or once for all."""

    cluster: Any = None
    """The Dask cluster that it made; None when it made none."""
    expecting = False
    """Whether workers are on their way, so that it is no mistake when none is there."""

    def look(self) -> None:
        """Called twice a second: replace what has ended. Failed when workers cannot be had."""

    def excuse(self, worker: str) -> str:
        """Why a worker is gone, when it is not the fault of what it computed; else empty."""
        return ""

    def summary(self) -> str:
        """What is on its way, in a few words; empty when nothing is."""
        return ""
