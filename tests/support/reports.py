"""What the tests of the report share: a report of three small runs, and a reader of its page."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from dpbench.storage import seals

from support.door import dpbench

MOST_SECONDS, MOST_BYTES = 2.0, 15_000_000


class Page(HTMLParser):
    """What a page is made of."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.links: list[str] = []
        self.sources: list[str] = []
        self.open: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.ids += [given["id"]] if given.get("id") else []
        if tag == "a":
            self.links.append(str(given.get("href")))
        elif tag in ("img", "script", "link", "iframe", "source", "video", "object"):
            self.sources += [str(given[key]) for key in ("src", "href", "data") if given.get(key)]
        if tag not in ("meta", "link", "img", "input", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return dpbench(*words, cwd=folder)


def alter(results: Path, experiment: str, change: Callable[[dict[str, Any]], None]) -> None:
    """Change what a results folder says about a smoke run, as its author could."""
    path = results / "runs" / f"{experiment}@smoke.json"
    body = seals.unseal(path.read_bytes())
    change(body)
    path.write_text(seals.seal(body))


def small_report(home: Path) -> Path:
    """A folder with the smoke runs of three experiments, two of them narrowed, and the report of it."""
    for words in (
        ("experiment=gs/fig9", "dataset=[trajectory]", "mechanism=[lpa,gs]"),
        ("experiment=gs/table2", "dataset=[trajectory]"),
        ("experiment=epicrec/example",),
    ):
        done = run(home, "run", *words, "scale=smoke", "tracking=none", "figure=false", "runner.jobs=1")
        assert done.returncode == 0, done.stderr
    done = run(home, "report")
    assert done.returncode == 0, done.stdout + done.stderr
    (home / "printed.txt").write_text(done.stdout)
    return home
