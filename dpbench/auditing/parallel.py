"""The findings about many mechanisms: on all processors, and from the cache where neither code nor question has changed.

Imported by the `audit` verb.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Sequence
from typing import Any

from dpbench.auditing.cache import cached
from dpbench.auditing.judge import AuditedVariant, Options, findings
from dpbench.identity import class_path, parameters
from dpbench.model.finding import Finding

FEW = 6
"""Up to so many are audited here: processes take seconds to start."""


def findings_of_all(subjects: Sequence[AuditedVariant], options: Options) -> Iterator[Finding]:
    """One finding per subject, in order."""
    if len(subjects) <= FEW:
        yield from (_finding(subject, options) for subject in subjects)
        return
    from joblib import Parallel, cpu_count, delayed

    # No more than there are processors: the budget of no method depends on the time.
    run = Parallel(n_jobs=min(cpu_count(), len(subjects)), return_as="generator", batch_size=1)
    yield from run(delayed(_finding)(subject, options) for subject in subjects)


def _finding(subject: AuditedVariant, options: Options) -> Finding:
    """From the cache, or computed."""
    given = dataclasses.asdict(options)
    written = subject.written
    asked = [
        subject.name,
        class_path(type(written)),
        repr(parameters(written)),
        subject.share,
        getattr(subject.mechanism, "libraries", ()),
    ]

    def audit() -> dict[str, Any]:
        found = dataclasses.asdict(next(findings([subject], options)))
        return found | {"loss": None if math.isinf(found["loss"]) else found["loss"]}

    found, _ = cached(["finding", *asked, subject.further, given], written, audit)
    return Finding(**(found | {"loss": math.inf if found["loss"] is None else found["loss"]}))
