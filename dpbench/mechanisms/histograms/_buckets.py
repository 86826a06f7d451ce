"""The way back through a cheapest partition of a line, for the searches of dawa and noise_first."""

from __future__ import annotations

import numpy as np

from dpbench.numerics.compiled import kernel


@kernel()
def bucket_starts(last):  # type: ignore[no-untyped-def]
    """The first cells of the buckets, ascending. last[e] is the first cell of the last bucket of the best cover of e cells."""
    end = last.size - 1
    at = end
    starts = np.empty(end, dtype=np.int64)
    while end > 0:
        end = last[end]
        at -= 1
        starts[at] = end
    return starts[at:]
