"""MLflow's client: where its database is, and whether it is safe to open. Imported by storage/tracking and its tests.

mlflow takes two seconds to import, so it is imported only here and in storage/tracking, inside functions.
"""

from __future__ import annotations

import importlib.util
import logging
import os
import re
import sqlite3
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from dpbench.errors import Failed
from dpbench.storage.files import inside, write_atomic

SETTINGS = {
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "1",
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "10",
    "MLFLOW_LOGGING_LEVEL": "WARNING",
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
}
"""What MLflow reads from the environment, unless the user has set it."""


class TrackerDown(Exception):
    """The tracking server or database cannot be used now; the store still has everything."""


def default_uri(results: Path) -> str:
    return f"sqlite:///{inside(results, results / 'mlflow.db').absolute()}"


def full_uri(uri: str | None, results: Path) -> str:
    """The address that was asked for, else that of MLflow's own variable, else the database in the results folder."""
    try:
        return uri or os.environ.get("MLFLOW_TRACKING_URI") or default_uri(results)
    except Failed as problem:
        raise TrackerDown(str(problem)) from None


def browse_command(uri: str | None, results: Path) -> str:
    """What to type to see the entries; empty if they are on a server, or in a database that is not safe to open."""
    if uri or os.environ.get("MLFLOW_TRACKING_URI"):
        return ""
    with suppress(TrackerDown):
        _check(results / "mlflow.db")
        install = "" if importlib.util.find_spec("flask") else "pip install 'dpbench-repro[ui]' && "
        return f"{install}python -m mlflow ui --backend-store-uri sqlite:///{results / 'mlflow.db'}"
    return ""


def without_passwords(text: str) -> str:
    return re.sub(r"(?<=://)[^\s/]*@", "***@", text)


def set_defaults() -> None:
    """Choose no telemetry, no retries for minutes and no messages, before MLflow is imported."""
    for name, value in SETTINGS.items():
        os.environ.setdefault(name, value)


def load() -> None:
    """Import MLflow."""
    set_defaults()
    import mlflow.tracking  # noqa: F401
    from sqlalchemy import event
    from sqlalchemy.engine import Engine

    if not event.contains(Engine, "connect", _do_not_wait_for_disk):
        event.listen(Engine, "connect", _do_not_wait_for_disk)
    for noisy in ("mlflow", "alembic"):
        logging.getLogger(noisy).setLevel(logging.WARNING)


def _do_not_wait_for_disk(connection: Any, _: Any) -> None:
    """Each call of MLflow is a transaction. A killed process loses nothing, and after a power cut the entries can be made
    again from the store."""
    if isinstance(connection, sqlite3.Connection):
        connection.execute("PRAGMA synchronous=OFF")


def connect(uri: str) -> Any:
    """MLflow's client. A database file is checked first, and made if it is missing."""
    load()
    from mlflow.tracking import MlflowClient

    kind, _, path = uri.partition(":///")
    if kind.startswith("sqlite") and path:
        database = Path(path.partition("?")[0])
        _check(database)
        if not database.exists():
            # MLflow takes seconds to make one, and a process that ends meanwhile must not leave half of it.
            with tempfile.TemporaryDirectory(prefix="dpbench-mlflow-", ignore_cleanup_errors=True) as folder:
                new = Path(folder) / "mlflow.db"
                MlflowClient(tracking_uri=f"sqlite:///{new}").search_experiments(max_results=1)
                if not database.exists():
                    write_atomic(database, new.read_bytes())
    return MlflowClient(tracking_uri=uri)


def _check(database: Path) -> None:
    """Raise TrackerDown if a database is not safe to open: it may have come with somebody else's results folder.

    SQLite completes what the files beside a database say, and a prepared one makes it delete any file of the user. Such
    files exist only while a program writes, or after it was killed, so no database with one is ever opened.
    """
    for side in (database.with_name(database.name + suffix) for suffix in ("-journal", "-wal", "-shm")):
        if os.path.lexists(side):
            raise TrackerDown(
                f"{side} is there: a program is writing to {database.name}, was killed, or somebody else put it there, and "
                "opening it could delete files. If no program uses it, move both away: `python -m dpbench track` makes a "
                "new one from the stored trials"
            )
    try:
        info = database.lstat()
    except FileNotFoundError:
        return
    own = info.st_uid == os.getuid()
    if not stat.S_ISREG(info.st_mode) or info.st_nlink != 1 or info.st_mode & stat.S_IWOTH or not own:
        raise TrackerDown(
            f"{database} is not opened: expected a file that belongs to you, has one name and that not everybody may "
            "write to; move it away, or name another database or server (tracking.uri=..., `track --uri ...`)"
        )


@contextmanager
def only_one(results: Path) -> Iterator[None]:
    """Only one process at a time logs from a results folder: two would make duplicate entries."""
    import fcntl

    try:
        results.mkdir(parents=True, exist_ok=True)
        lock = inside(results, results / "mlflow.lock").open("wb")
    except OSError:  # a read-only folder: no other process logs from it either
        yield
        return
    with lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
