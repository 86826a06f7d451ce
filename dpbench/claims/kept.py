"""Results of audits, stored in the cache, because the same code gives the same result. Imported by `replays` only.

One sealed file per audit, named by the request and by the code of the mechanism and of the audit. If a file is damaged or
cannot be written, the audit is run again.
"""

from __future__ import annotations

import contextlib
import os
import uuid
from collections.abc import Callable
from typing import Any

from dpbench.codes import code_of
from dpbench.fingerprints import digest
from dpbench.paths import cache
from dpbench.seals import Broken, seal, unseal


def kept(asked: Any, code: tuple[Any, ...], compute: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """The result of `compute`, read from the cache if the same was `asked` of the same code before. Plain JSON values."""
    found = code_of(*code)
    if not found.resumable:
        return compute()
    path = cache() / "audits" / f"{digest([asked, found.digest])}.json"
    with contextlib.suppress(OSError, Broken):
        return unseal(path.read_bytes())
    value = compute()
    aside = path.with_name(f".{path.name}.{uuid.uuid4().hex[:8]}")
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        aside.write_text(seal(value))
        os.replace(aside, path)
    return value
