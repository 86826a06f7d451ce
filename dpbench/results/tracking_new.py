"""A new MLflow database as a copy of an empty one: MLflow creates one by about forty migrations, which takes longer than a
quick run.

The empty one is made once per version of MLflow and stored in the cache, with its digest in its name. Imported by `tracking`
only. If anything goes wrong here, MLflow creates its database itself.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.metadata
import sqlite3
import uuid
from pathlib import Path

from dpbench import paths
from dpbench.results.folder import write_aside


def copy_empty(path: Path, artifacts: str) -> None:
    """Put an empty database at `path` if there is none. `artifacts`: where its default experiment stores files."""
    from sqlalchemy.exc import SQLAlchemyError

    with contextlib.suppress(OSError, ImportError, AttributeError, TypeError, sqlite3.Error, SQLAlchemyError):
        if path.exists():
            return
        content = _kept() or _made()
        aside = path.with_name(f".mlflow-{uuid.uuid4().hex[:8]}.db")
        try:
            write_aside(aside, content)
            with contextlib.closing(sqlite3.connect(aside)) as connection, connection:
                change = "UPDATE experiments SET artifact_location = ? WHERE experiment_id = 0"
                connection.execute(change, (f"{artifacts}/0",))
            aside.rename(path)
        finally:
            aside.unlink(missing_ok=True)


def _folder() -> Path:
    return paths.cache() / "mlflow"


def _named(content: bytes) -> str:
    digest = hashlib.blake2b(content, digest_size=16).hexdigest()
    return f"{importlib.metadata.version('mlflow')}-{digest}.db"


def _kept() -> bytes:
    """The empty database of this version; empty if there is none, or a damaged one."""
    for path in _folder().glob(f"{importlib.metadata.version('mlflow')}-*.db"):
        content = path.read_bytes()
        if path.name == _named(content):
            return content
        path.unlink(missing_ok=True)
    return b""


def _made() -> bytes:
    """An empty database made by MLflow, stored for the next time."""
    from mlflow.store.tracking.sqlalchemy_store import SqlAlchemyStore

    folder = _folder()
    folder.mkdir(parents=True, exist_ok=True)
    aside = folder / f".tmp-{uuid.uuid4().hex[:8]}"
    try:
        SqlAlchemyStore(f"sqlite:///{aside}", "mlartifacts").engine.dispose()
        content = aside.read_bytes()
    finally:
        aside.unlink(missing_ok=True)
    write_aside(folder / _named(content), content)
    return content
