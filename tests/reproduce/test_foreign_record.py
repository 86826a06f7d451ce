"""A record that somebody else wrote, sealed properly: nothing that it names is imported, and what is no record is named."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from dpbench.model.record import Record, RecordedVerdict
from dpbench.storage import seals
from dpbench.storage.record import write

from support.paths import ROOT, copy_package

EVIL = "import pathlib\npathlib.Path({marker!r}).touch()\nclass Evil:\n    def release(self): pass\n"
VERBS = (("claims", "gs"), ("figures",), ("report",))


class Checkout:
    """The package with a record of gs/fig9 beside it, and a folder to work in where a module `evil` stands."""

    def __init__(self, folder: Path) -> None:
        self.code, self.work, self.marker = folder / "code", folder / "work", folder / "touched"
        self.work.mkdir()
        copy_package(self.code)
        for part in ("conf", "experiments", "datasets"):
            (self.code / part).symlink_to(ROOT / part)
        (self.work / "evil.py").write_text(EVIL.format(marker=str(self.marker)))

    def forge(self, change: Callable[[dict[str, Any]], object]) -> Path:
        folder = self.code / "results" / "record"
        classes = {"source": ("incidence",), "mechanism": ("lpa",), "task": ("column_counts",)}
        kept = Record(
            *("gs/fig9", "Figure 9", "paper", 20, 0, (0,), 2, "ab", "ab", classes, ("netflix: generated",)),
            verdicts=(RecordedVerdict("gs/lpa-first", "reproduced", "> 1", 2.0, 1.5, 2.5),),
        )
        _, path = write(kept, pd.DataFrame({"mae": [1.0]}), folder)
        body = seals.unseal(path.read_bytes())
        change(body)
        path.write_text(seals.seal(body))
        return path

    def call(self, *words: str) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "PYTHONPATH": str(self.code)}
        del environment["DPBENCH_RECORD"]
        command = [sys.executable, "-m", "dpbench", *words]
        done = subprocess.run(command, cwd=self.work, env=environment, capture_output=True, text=True, timeout=300)
        assert "Traceback" not in done.stderr, done.stderr
        return done


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    return Checkout(tmp_path)


def test_classes_that_a_record_names_are_not_imported(checkout: Checkout) -> None:
    evil = {"source": ["evil.Evil"], "mechanism": ["evil.Evil"], "task": ["evil.Evil"]}
    checkout.forge(lambda body: body.update(classes=evil, code=""))
    for verb in VERBS:
        checkout.call(*verb)
        assert not checkout.marker.exists(), verb


WRONG: dict[str, Callable[[dict[str, Any]], object]] = {
    "another experiment": lambda body: body.update(experiment="../../../else/evil"),
    "words for numbers": lambda body: body.update(trials="many"),
    "a value": lambda body: body["verdicts"][0].update(value="evil"),
    "a key": lambda body: body.update(evil=1),
    "classes": lambda body: body.update(classes=["evil.Evil"]),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_what_is_no_record_is_named(checkout: Checkout, wrong: str) -> None:
    path = checkout.forge(WRONG[wrong])
    done = checkout.call("figures")
    assert done.returncode
    assert f"{path} is not what `reproduce --record` wrote" in done.stderr
    assert not checkout.marker.exists()


def test_a_record_of_an_earlier_version_is_read(checkout: Checkout) -> None:
    """What was added since has its default."""
    checkout.forge(lambda body: (body.pop("not_private"), body["verdicts"][0].pop("error"), body["costs"].pop("disk")))
    done = checkout.call("claims", "gs")
    assert "is not what" not in done.stderr
