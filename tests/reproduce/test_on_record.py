"""What is on record in this checkout: whole, small, of experiments and claims that exist, and shown to a newcomer."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from dpbench.claims.ledger import ledger
from dpbench.claims.recorded import is_current
from dpbench.config.catalogue import options, standard
from dpbench.model.record import Record
from dpbench.storage.record import names, read, read_numbers

from support.paths import ROOT

FOLDER = ROOT / "results" / "record"
MOST_BYTES = 10_000_000
ON_RECORD = names(FOLDER)


@pytest.fixture(params=ON_RECORD or [pytest.param("", marks=pytest.mark.skip("nothing is on record"))])
def kept(request: pytest.FixtureRequest) -> Record:
    found = read(request.param, FOLDER)
    assert found is not None
    return found


def test_the_record_is_whole_and_of_its_standard_size(kept: Record) -> None:
    assert kept.experiment in options("experiment")
    assert kept.scale == standard(kept.experiment)  # that of the paper, unless the experiment says otherwise
    assert kept.seed == 0
    assert len(read_numbers(kept)) > 0
    assert kept.environment.commit
    assert not kept.environment.commit.endswith("+"), "made from code that is not committed"


def test_its_verdicts_are_about_claims_that_exist(kept: Record) -> None:
    """A record of earlier code may also judge claims that have been withdrawn or changed since: nobody reads those."""
    if not is_current(kept):
        return
    known = {claim.id: claim for claim in ledger()}
    assert {verdict.claim for verdict in kept.verdicts} <= known.keys()
    assert [v.claim for v in kept.verdicts if known[v.claim].experiment != kept.experiment] == []
    read_otherwise = [v.claim for v in kept.verdicts if v.expect != known[v.claim].expect]
    assert read_otherwise == [], "judge it again: python -m dpbench reproduce ... --record"


def test_the_record_is_small_text() -> None:
    files = [path for path in FOLDER.rglob("*") if path.is_file()]
    assert {path.suffix for path in files if path.name != "audits.sealed"} <= {".csv", ".json"}
    assert sum(path.stat().st_size for path in files) < MOST_BYTES


def call(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"DPBENCH_RECORD": str(FOLDER), "PYTHONPATH": str(ROOT), "COLUMNS": "200"}
    command = [sys.executable, "-m", "dpbench", *words]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300)


@pytest.mark.skipif("analytics/table4" not in ON_RECORD, reason="the table is not on record")
def test_a_newcomer_sees_what_is_on_record(tmp_path: Path) -> None:
    """In an empty folder, and with nothing run: the verdict, and where it comes from."""
    done = call(tmp_path, "claims", "analytics/movielens-size", "--verbose")
    assert done.returncode == 0, done.stderr
    assert "reproduced" in done.stdout
    assert "recorded" in done.stdout, "the table may break the line after it"


def test_the_name_of_a_paper_draws_all_its_figures(tmp_path: Path) -> None:
    done = call(tmp_path, "figures", "epicrec", "--format", "png")
    named = {path.name.split("@")[0] for path in (tmp_path / "results" / "figures").rglob("*.png")}
    assert named >= {name.removeprefix("epicrec/") for name in ON_RECORD if name.startswith("epicrec/")}
    assert all(
        f"missing: {name}" in done.stdout
        for name in options("experiment")
        if name.startswith("epicrec/") and name not in ON_RECORD
    )
    wrong = call(tmp_path, "figures", "epicrek")
    assert wrong.returncode == 2
    assert "did you mean 'epicrec/error'?" in wrong.stderr
