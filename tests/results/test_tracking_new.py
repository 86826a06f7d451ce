"""A new MLflow database is a copy of an empty one that MLflow itself made, once."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from dpbench.results import tracking, tracking_new
from dpbench.results.tracking import track

from support.stores import filled


@pytest.fixture
def makings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Notes whenever MLflow has to make a database, in a cache of the test's own."""
    found: list[str] = []
    made = tracking_new._made
    monkeypatch.setenv("DPBENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(tracking_new, "_made", lambda: found.append("made") or made())
    return found


def schema(path: Path) -> list[Any]:
    """The tables and indexes of a database with their columns, its version, and the names of its experiments.

    Not the SQL of the tables: MLflow writes their constraints in any order.
    """
    with sqlite3.connect(path) as connection:
        found = connection.execute("SELECT type, name FROM sqlite_master ORDER BY type, name").fetchall()
        tables = [(*one, connection.execute(f"PRAGMA table_info('{one[1]}')").fetchall()) for one in found]
        version = connection.execute("SELECT * FROM alembic_version").fetchall()
        return [tables, version, connection.execute("SELECT name FROM experiments ORDER BY experiment_id").fetchall()]


def test_mlflow_makes_one_database_for_all_folders(tmp_path: Path, makings: list[str]) -> None:
    for name in ("one", "two"):
        assert track(filled(tmp_path / name, 1, repetitions=4), None) == 1
    assert makings == ["made"]
    own = tmp_path / "own.db"
    tracking._client(f"sqlite:///{own}").search_experiments()
    tables, version, names = schema(own)
    for name in ("one", "two"):
        assert schema(tmp_path / name / "mlflow.db")[:2] == [tables, version]
        with sqlite3.connect(tmp_path / name / "mlflow.db") as connection:
            places = connection.execute("SELECT artifact_location FROM experiments").fetchall()
        inside = (tmp_path / name).resolve().as_uri()
        assert len(places) == len(names) + 1
        assert all(place.startswith(f"{inside}/mlartifacts") for (place,) in places)


def test_a_damaged_one_is_made_again(tmp_path: Path, makings: list[str]) -> None:
    folder = tmp_path / "cache" / "mlflow"
    track(filled(tmp_path / "one", 1), None)
    (kept,) = folder.iterdir()
    content = kept.read_bytes()
    kept.write_bytes(content[:5000] + b"?" + content[5001:])
    assert track(filled(tmp_path / "two", 1), None) == 1
    assert makings == ["made", "made"]
    assert [path.name for path in folder.iterdir()] != [], "and kept again"


def test_without_a_copy_mlflow_makes_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "cache").write_text("a file, no folder")
    monkeypatch.setenv("DPBENCH_CACHE", str(tmp_path / "cache"))
    assert track(filled(tmp_path / "one", 1), None) == 1
    assert [path.name for path in (tmp_path / "one").iterdir() if path.name.startswith(".")] == []
