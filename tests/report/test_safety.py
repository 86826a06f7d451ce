"""Somebody else's results folder: what it says is shown as text, and nothing that it names is called, opened or written."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pandas as pd

from dpbench.auditing.cache import StoredFinding
from dpbench.model.claim import CONTRADICTED, Claim
from dpbench.model.finding import Finding
from dpbench.model.record import Record
from dpbench.model.run import Dataset, Run, Setting, Variant
from dpbench.model.verdict import Group, Verdict
from dpbench.report.datasets import UsedDataset
from dpbench.report.experiment import Experiment
from dpbench.report.gather import Facts
from dpbench.report.page import markdown, page, prose, write
from dpbench.report.pictures import Drawn, Point
from dpbench.sources.cards import Card
from dpbench.storage import seals

from support.reports import Page, alter, run

HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)> \"' onload='alert(3) {{ 7*7 }} {% raw %} </style>"


def facts(hostile: str) -> Facts:
    """A report in which every text that comes from a results folder is `hostile`."""
    claim = Claim(
        id="gs/one", paper="gs", place="1", says="It holds.", experiment="gs/fig9", measure="mae", expect="< 1"
    )
    group = Group({"dataset": hostile}, 2.0, 1.5, 2.5, CONTRADICTED)
    verdict = Verdict(claim, CONTRADICTED, hostile, (group, group), group, scale=hostile, trials=6)
    dataset = Dataset(hostile, hostile, {hostile: hostile}, 1, "incidence", (hostile,), statistics={hostile: 1.0})
    setting = Setting(
        dataset,
        Variant(hostile, hostile, {hostile: hostile}),
        1.0,
        Variant(hostile, hostile),
        "key",
        guarantee=hostile,
        not_private=hostile,
    )
    done = Run("gs/fig9", hostile, 6, 0, (setting,), "gs/fig9", left_out=((hostile, hostile),), written=hostile)
    record = Record(
        "gs/fig8", hostile, hostile, 1, 0, (0,), 1, "id", "code", {}, (hostile,), {hostile: hostile}, written=hostile
    )
    numbers = pd.DataFrame({"mechanism": [hostile], "series": [hostile], hostile: [hostile], "mae": [1.5]})
    picture = Drawn(hostile, b"\x01" * 24, b"%PDF-", (Point(0.5, 0.5, hostile),))
    shown = Experiment(
        "gs/fig9", hostile, hostile, done, trials=12, numbers=numbers, summary=numbers, remarks=[hostile]
    )
    shown.pictures, shown.verdicts = [picture], [verdict]
    broken = Experiment("gs/fig10", hostile, hostile, done, problem=hostile)
    recorded = Experiment("gs/fig8", hostile, hostile, record=record, recorded=hostile)
    missing = Experiment("cross/leaderboard", hostile, hostile)
    used = UsedDataset(hostile, Card(hostile), [(hostile, dataset)])
    finding = Finding(hostile, hostile, "replay", hostile, 1.0, 0.0, 2.0, "violated", 3, hostile, hostile, hostile)
    audit = [StoredFinding(finding, 0, hostile, hostile)]
    experiments = [shown, broken, recorded, missing]
    return Facts(experiments, [verdict], [used], {}, {hostile: hostile}, Path(hostile), hostile, audit)


def test_what_a_folder_says_is_shown_as_text() -> None:
    """The page of hostile texts has the same elements and attributes as the page of harmless ones."""
    text, harmless = page(facts(HOSTILE)), page(facts("harmless"))
    assert "{{ 7*7 }}" in text
    assert text.count("<script") == harmless.count("<script") == 1
    assert elements(text) == elements(harmless)


def elements(text: str) -> list[tuple[str, tuple[str, ...]]]:
    found: list[tuple[str, tuple[str, ...]]] = []

    class Reader(Page):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            super().handle_starttag(tag, attrs)
            found.append((tag, tuple(name for name, _ in attrs)))

    assert Reader(text).open == []
    return found


def test_control_characters_and_halves_of_characters_are_not_shown() -> None:
    shown = facts("red \x1b[31m \u202e")
    shown.experiments[0].title = "half \ud800"
    text = page(shown)
    assert "red  [31m" in text
    assert "\u202e" not in text
    assert text.encode("utf-8")


def test_code_and_markdown_are_escaped() -> None:
    assert prose("`a<b` & c") == "<code>a&lt;b</code> &amp; c"
    assert "<script>" not in markdown("# T\n<script>alert(1)</script>\n[x](javascript:alert(1))")
    assert 'href="javascript' not in markdown("[x](javascript:alert(1))")


def test_a_link_in_the_folder_is_not_followed(tmp_path: Path) -> None:
    """The sender of a folder in which report.html is a link must not be able to have another file overwritten."""
    precious = tmp_path / "precious"
    precious.write_text("mine")
    (tmp_path / "report.html").symlink_to(precious)
    write(facts("harmless"), tmp_path / "report.html")
    assert precious.read_text() == "mine"
    assert "<!doctype html>" in (tmp_path / "report.html").read_text()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["precious", "report.html"]


def test_nothing_named_in_a_folder_is_called_or_opened(folder: Path, tmp_path: Path) -> None:
    """A source that is a program, a dataset whose card is a file elsewhere, an experiment whose script is elsewhere."""
    results = tmp_path / "inside" / "results"
    shutil.copytree(folder / "results", results)
    touched = tmp_path / "touched"
    (tmp_path / "evil.md").write_text("read from elsewhere")
    (tmp_path / "evil.py").write_text(f"open({str(touched)!r}, 'w')")
    source = {"source": "subprocess.Popen", "params": {"args": ["touch", str(touched)]}}

    def change(body: dict[str, Any]) -> None:
        body["run"] |= {"title": HOSTILE, "changes": [HOSTILE, "\x1b[31mred"]}
        for dataset in body["datasets"]:
            dataset.update(source, given=[])
        for variant in (*body["mechanisms"], *body["tasks"]):
            variant["cls"] = "subprocess.Popen"

    alter(results, "gs/table2", change)
    foreign = seals.unseal((results / "runs" / "gs" / "fig9@smoke.json").read_bytes())
    foreign["run"]["name"] = str(tmp_path / "evil")
    (results / "runs" / "evil@smoke.json").write_text(seals.seal(foreign))
    done = run(tmp_path / "inside", "report")
    assert "Traceback" not in done.stderr
    assert not touched.exists()
    assert "\x1b" not in done.stdout
    text = (results / "report.html").read_text()
    assert "{{ 7*7 }}" in text
    assert "<script>alert" not in text
    assert "read from elsewhere" not in text
    assert 'id="exp-gs-table2"' in text
    assert "evil@smoke.json is damaged" in done.stderr
