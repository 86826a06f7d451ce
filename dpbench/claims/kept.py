"""What an audit found, kept in the cache: the same code finds the same again. Imported by `replays` only.

One sealed file per audit, named by what was asked and by the code of the mechanism and of the audit. A file that is damaged, or
that cannot be written, costs the time of one audit.
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
    """What `compute` gives: read where the same was `asked` of the same code before. Values are plain JSON."""
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
