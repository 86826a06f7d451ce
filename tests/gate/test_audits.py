"""Verdicts of the audit in the baselines: what falls is named, what holds or improves is not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from dpbench.errors import UserError
from dpbench.gate.audits import FILE, fallen, write_verdicts
from dpbench.model.finding import Finding

HELD = Finding("lpa", "bound=3", "replay", "ε", 1.0, 0.0, 1.0, "holds", 66, forms="float, exact")


def test_what_falls_is_named(tmp_path: Path) -> None:
    other = replace(HELD, mechanism="gs")
    write_verdicts(tmp_path, [HELD, other])
    assert fallen(tmp_path, [HELD, other]) == []
    unsure = replace(HELD, verdict="inconclusive", reason="nothing found")
    assert fallen(tmp_path, [unsure, other]) == ["lpa(bound=3): holds in the baseline, now inconclusive: nothing found"]
    assert fallen(tmp_path, [replace(HELD, forms="float"), other]) == [
        "lpa(bound=3): its exact form is no longer audited"
    ]
    assert fallen(tmp_path, [HELD]) == ["gs(bound=3): holds in the baseline, no longer audited"]
    write_verdicts(tmp_path, [unsure])
    assert fallen(tmp_path, [HELD]) == []
    assert fallen(tmp_path, [replace(HELD, verdict="violated")]) == [
        "lpa(bound=3): inconclusive in the baseline, now violated"
    ]


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text("mechanism\nlpa\n")
    with pytest.raises(UserError, match=r"audit\.tsv is not valid"):
        fallen(tmp_path, [HELD])
