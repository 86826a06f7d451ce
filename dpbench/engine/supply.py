"""Where the workers of a cluster come from, if the run controls it. Imported by `cluster` and `slurm`."""

from __future__ import annotations

from typing import Any


class Supply:
    """Workers that the run does not control: started by somebody else, or once at the beginning."""

    cluster: Any = None
    """The Dask cluster that it made; None if it made none."""
    expecting = False
    """Whether workers are expected, so that it is not an error if there is none yet."""

    def look(self) -> None:
        """Called twice a second: replace workers that have ended. Raises Failed if no workers can be started."""

    def excuse(self, worker: str) -> str:
        """Why a worker is gone, if its computation is not to blame; otherwise empty."""
        return ""

    def summary(self) -> str:
        """Which workers are expected, in a few words; empty if none."""
        return ""
