"""How a cluster worker processes a chunk. Called on the worker, by the name in `cluster.CALL`."""

from __future__ import annotations

import dataclasses
import json
import os
import pickle
import sys
import threading
from collections.abc import Callable

from dpbench.engine import failures
from dpbench.engine.guard import Guard
from dpbench.engine.limits import Limits
from dpbench.engine.worker import Chunk, Outcome, run_chunk


def answer(work: bytes, timeout: float | None = None, memory: float | None = None, guarded: bool = False) -> str:
    """The outcome of a chunk that was sent as bytes; returned as JSON, which any version can read.

    With limits, or if `guarded`, the trials run in a separate process, so that nothing can end the worker.
    """
    if os.getcwd() not in sys.path:
        # As the command line does: a user's classes are in the folder where a command is started.
        sys.path.insert(0, os.getcwd())
    limits = Limits(timeout, memory)
    if reason := limits.impossible():
        return json.dumps({"refused": reason})
    try:
        chunk = pickle.loads(work)
    except Exception as error:
        return json.dumps({"refused": f"it cannot read the work: {failures.told(error)}"})
    run: Callable[[Chunk], Outcome] = _guard(limits).run if limits or guarded else run_chunk
    outcome = run(chunk)
    code = outcome.code
    return json.dumps(
        {
            "rows": outcome.rows,
            "failures": [dataclasses.asdict(failure) for failure in outcome.failures],
            "refused": outcome.refused,
            "worker": outcome.worker,
            "setting": outcome.setting,
            "code": code and {"modules": dict(code.modules), "distributions": dict(code.distributions)},
        }
    )


_own = threading.local()


def _guard(limits: Limits) -> Guard:
    """The guard of this thread. Its process serves many chunks, and ends itself when it gets none for a while."""
    guard: Guard | None = getattr(_own, "guard", None)
    if guard is None or guard.limits != limits:
        if guard is not None:
            guard.close()
        guard = _own.guard = Guard(limits)
    return guard
