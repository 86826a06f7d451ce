"""The report: what is on the page, that it needs nothing but itself, and how it behaves in a real browser."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from browser import browse
from conftest import ROOT

from dpbench.compose import options
from dpbench.ledger import ledger
from dpbench.report import html
from dpbench.report.html import Raw, Row

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
    command = [sys.executable, "-m", "dpbench", *words]
    return subprocess.run(
        command, cwd=folder, env=os.environ | {"PYTHONPATH": str(ROOT)}, capture_output=True, text=True
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the smoke runs of three experiments, and the report of it."""
    home = tmp_path_factory.mktemp("report")
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


@pytest.fixture(scope="module")
def text(folder: Path) -> str:
    return (folder / "results" / "report.html").read_text(encoding="utf-8")


def test_the_page_needs_nothing_but_itself(text: str) -> None:
    page = Page(text)
    assert page.open == []
    assert [s for s in page.sources if not s.startswith("data:")] == []
    assert not re.search(r"@import|url\((?!data:)", text)
    assert len(text) < MOST_BYTES


def test_every_link_leads_somewhere(text: str) -> None:
    page = Page(text)
    assert len(page.ids) == len(set(page.ids))
    inner = [link[1:] for link in page.links if link.startswith("#")]
    assert inner
    assert set(inner) <= set(page.ids)
    assert [link for link in page.links if not link.startswith(("#", "https://", "http://"))] == []


def test_what_is_on_it(text: str, folder: Path) -> None:
    for title in (
        "Claims",
        "Figures and tables",
        "Leaderboard",
        "Datasets",
        "Mechanisms",
        "Errata",
        "Environment and seeds",
    ):
        assert f"<h2>{title}</h2>" in text
    for claim in ledger():
        assert f'id="claim-{html.slug(claim.id)}"' in text
    assert text.count("data:image/png;base64,") == 3
    assert "NOT PRIVATE" not in text
    assert "declare <code>bound</code>" in text
    assert "seed of the noise" in text


def test_what_is_missing_comes_with_its_command(text: str, folder: Path) -> None:
    printed = (folder / "printed.txt").read_text()
    for name in options("experiment"):
        missing = name not in ("gs/fig9", "gs/table2", "epicrec/example")
        command = f"python -m dpbench run experiment={name}"
        assert (f"missing: {name}: {command}\n" in printed) == missing
        assert (f"<code>{command}</code>" in text) == missing


def test_nothing_was_run(tmp_path: Path) -> None:
    done = run(tmp_path, "report", "--output", "page.html")
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "page.html").read_text()
    assert "Not run yet" in page
    assert Page(page).open == []
    assert not (tmp_path / "results").exists()


def test_what_users_write_is_text() -> None:
    assert html.text("<script>&\"'") == "&lt;script&gt;&amp;&quot;&#x27;"
    assert html.prose("`a<b` & c") == "<code>a&lt;b</code> &amp; c"
    table = html.table(["<h>"], [Row(["<b>"], {"x": '"'}), Row([Raw("<i>", '">')])], id="t")
    assert "<b>" not in table
    assert "&quot;&gt;" in table
    assert "<script>" not in html.markdown("# T\n<script>alert(1)</script>\n[x](javascript:alert(1))")
    assert 'href="javascript' not in html.markdown("[x](javascript:alert(1))")


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (3.0, "3"),
        (1234567.0, "1,234,567"),
        (0.0123456, "0.01235"),
        (12345.6, "12,346"),
        (float("nan"), ""),
        (3e12 + 0.5, "3.000e+12"),
    ],
)
def test_numbers_are_readable(value: float, shown: str) -> None:
    assert html.number(value) == shown


# In the browser


@pytest.fixture(scope="module")
def window(folder: Path) -> Iterator[Any]:
    with browse() as window:
        yield window


@pytest.fixture
def opened(window: Any, folder: Path) -> Any:
    window.get("about:blank")
    window.get((folder / "results" / "report.html").as_uri())
    return window


def rows(window: Any, table: str, column: int) -> list[str]:
    script = """const rows = [...document.getElementById(arguments[0]).tBodies[0].rows];
        return rows.filter(r => !r.hidden).map(r => r.cells[arguments[1]].textContent)"""
    return window.execute_script(script, table, column)


def click(window: Any, css: str) -> None:
    window.execute_script("document.querySelector(arguments[0]).click()", css)


def test_it_opens_quickly_and_without_complaint(opened: Any) -> None:
    timing = opened.execute_script(
        "const t = performance.getEntriesByType('navigation')[0]; return [t.loadEventEnd - t.startTime, t.domComplete]"
    )
    assert 0 < timing[0] / 1000 < MOST_SECONDS
    assert [entry for entry in opened.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")] == []


def test_tables_sort(opened: Any) -> None:
    click(opened, "#mechanisms-table th:first-child button")
    up = rows(opened, "mechanisms-table", 0)
    click(opened, "#mechanisms-table th:first-child button")
    down = rows(opened, "mechanisms-table", 0)
    assert up == sorted(up)
    assert down == up[::-1]
    name = "numbers-gs-fig9"
    head = opened.execute_script(
        "return [...document.getElementById(arguments[0]).tHead.rows[0].cells].map(c => c.textContent)", name
    )
    column = head.index("mae")
    click(opened, f"#{name} th:nth-child({column + 1}) button")
    values = [float(v.replace(",", "")) for v in rows(opened, name, column)]
    assert len(values) == 6
    assert values == sorted(values), "numbers sort as numbers"
    assert (
        opened.execute_script(f"return document.querySelector('#{name} th:nth-child({column + 1})').ariaSort")
        == "ascending"
    )


def test_tables_filter(opened: Any) -> None:
    total = len(rows(opened, "claims-table", 0))
    assert total == len(ledger())
    choose = """const tools = document.querySelector('.tools[data-table="claims-table"]');
        const search = arguments[0] === 'search';
        const box = tools.querySelector(search ? 'input' : `select[name=${arguments[0]}]`);
        box.value = arguments[1];
        box.dispatchEvent(new Event(search ? 'input' : 'change'));
        return tools.querySelector('.count').textContent"""
    assert opened.execute_script(choose, "paper", "epicrec") == f"{len(ledger(['epicrec']))} of {total}"
    assert opened.execute_script(choose, "verdict", "reproduced")
    assert set(rows(opened, "claims-table", 1)) == {"reproduced"}
    opened.execute_script(choose, "search", "running example-5")
    assert len(rows(opened, "claims-table", 0)) == 1
    opened.execute_script(choose, "search", "no such claim")
    assert rows(opened, "claims-table", 0) == []


def test_counts_of_the_summary_show_their_claims(opened: Any) -> None:
    click(opened, '#summary a[data-verdict="contradicted"][data-paper="gs"]')
    verdicts = rows(opened, "claims-table", 1)
    assert verdicts
    assert set(verdicts) == {"contradicted"}


def test_a_link_opens_what_is_folded(opened: Any) -> None:
    opened.execute_script("location.hash = '#data-trajectory'")
    time.sleep(0.2)
    assert opened.execute_script("return document.getElementById('data-trajectory').open")


def test_light_and_dark(opened: Any, folder: Path) -> None:
    colour = "return getComputedStyle(document.body).backgroundColor"
    light = opened.execute_script(colour)
    click(opened, "#theme")
    dark = opened.execute_script(colour)
    assert light != dark
    click(opened, "#theme")
    assert opened.execute_script(colour) == light
    opened.execute_script("localStorage.clear()")
    with browse(dark=True) as other:
        other.get((folder / "results" / "report.html").as_uri())
        assert other.execute_script(colour) == dark, "the system's own choice is followed"


def test_on_a_phone_nothing_sticks_out(folder: Path) -> None:
    with browse(390, 844) as window:
        window.get((folder / "results" / "report.html").as_uri())
        window.execute_script("document.querySelectorAll('details').forEach(d => { d.open = true })")
        assert window.execute_script("return document.documentElement.scrollWidth") <= 390
        outside = """const parts = 'h1,h2,h3,p,summary,button,select,input,.chip,article';
            return [...document.querySelectorAll(parts)]
                .filter(e => e.offsetParent && !e.closest('.scroll,nav,.card'))
                .filter(e => e.getBoundingClientRect().right > innerWidth + 1)
                .map(e => e.outerHTML.slice(0, 120))"""
        assert window.execute_script(outside) == []


def test_printed_it_has_no_controls(opened: Any) -> None:
    opened.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    shown = opened.execute_script(
        "return [...document.querySelectorAll('nav, .tools')].filter(e => e.offsetParent).length"
    )
    opened.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    assert shown == 0


@pytest.mark.slow
def test_the_report_of_everything(tmp_path: Path) -> None:
    """A smoke run of every experiment: small enough, quick enough, nothing missing, nothing that cannot be drawn."""
    from dpbench.suite import experiments, run_experiment

    for name in experiments():
        _, result = run_experiment(name, results=tmp_path / "results", scale="smoke", jobs=1)
        assert not result.failed, name
    done = run(tmp_path, "report")
    assert done.returncode == 0, done.stdout
    assert "missing" not in done.stdout
    path = tmp_path / "results" / "report.html"
    assert path.stat().st_size < MOST_BYTES
    page = Page(path.read_text())
    assert {link[1:] for link in page.links if link.startswith("#")} <= set(page.ids)
    with browse() as window:
        window.get("about:blank")
        window.get(path.as_uri())
        test_it_opens_quickly_and_without_complaint(window)
