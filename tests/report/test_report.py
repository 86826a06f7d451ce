"""The report: what is on the page, that it needs nothing but itself, and what wrong use gives."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from dpbench.claims.ledger import ledger
from dpbench.config.catalogue import options
from dpbench.report.page import prose
from dpbench.report.text import number, slug
from dpbench.storage import seals

from support.reports import MOST_BYTES, Page, alter, run


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
    assert [link for link in page.links if not link.startswith(("#", "https://", "http://", "data:"))] == []


def test_what_is_on_it(text: str, folder: Path) -> None:
    for title in (
        "What holds and what does not",
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
        assert f'id="claim-{slug(claim.id)}"' in text
    assert text.count("data:image/png;base64,") == 3
    assert "NOT PRIVATE" not in text
    assert "declare <code>bound</code>" in text


def test_what_is_missing_comes_with_its_command(text: str, folder: Path) -> None:
    printed = (folder / "printed.txt").read_text()
    assert f"{len(options('experiment')) - 3} experiments have not been run yet" in printed
    for name in options("experiment"):
        missing = name not in ("gs/fig9", "gs/table2", "epicrec/example")
        command = f"python -m dpbench run experiment={name}"
        assert (f"<br><code>{command}</code></li>" in text) == missing


@pytest.mark.parametrize("verb", ["report", "figures", "track"])
def test_a_folder_without_runs_is_wrong_use(verb: str, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").touch()
    for words, problem in (
        ((), "--results results does not exist: "),
        (("--results", "no where"), "make one: python -m dpbench run 'results=no where'"),
        (("--results", "empty"), "--results empty holds no run: "),
        (("--results", "file"), "expected a folder"),
    ):
        done = run(tmp_path, verb, *words)
        assert (done.returncode, done.stdout) == (2, "")
        assert problem in done.stderr
        assert done.stderr.count("\n") == 1
    assert sorted(p.name for p in tmp_path.iterdir()) == ["empty", "file"]


def test_a_scale_that_was_not_run_is_wrong_use(folder: Path) -> None:
    done = run(folder, "report", "--scale", "paper", "--output", "paper.html")
    assert done.returncode == 2
    assert "holds no run of scale paper, only of smoke" in done.stderr
    assert "python -m dpbench run scale=paper" in done.stderr
    assert not (folder / "paper.html").exists()


def test_a_run_with_overrides_is_told_from_the_whole(text: str, folder: Path, tmp_path: Path) -> None:
    """gs/fig9 and gs/table2 were narrowed, epicrec/example was not; running it as defined takes the note away."""
    lacks = "datasets left out: checkin, document, netflix"
    command = "python -m dpbench run experiment=gs/table2 scale=smoke"
    printed = (folder / "printed.txt").read_text()
    assert f"note: gs/table2: not as the experiment is defined ({lacks}); as defined: `{command}`\n" in printed
    assert "mechanisms left out: fpa, gs_r, gs_s, gs_mean, gs_private, zero" in printed
    assert "note: epicrec" not in printed
    article = text.partition('<article id="exp-gs-table2">')[2].partition("</article>")[0]
    assert f"{lacks}); as defined: <code>{command}</code>" in article
    assert 'class="warn note"' not in text.partition('<article id="exp-epicrec-example">')[2].partition("</article>")[0]
    shutil.copytree(folder / "results", tmp_path / "results")
    drawn = run(tmp_path, "figures", "gs/table2").stdout
    assert f"note: gs/table2: not as the experiment is defined ({lacks})" in drawn


def test_an_experiment_that_cannot_be_drawn_does_not_stop_the_others(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder / "results", tmp_path / "results")
    (tmp_path / "experiments" / "gs").mkdir(parents=True)
    (tmp_path / "experiments" / "gs" / "fig9.py").write_text("def numbers(trials):\n    return nowhere\n")
    alter(tmp_path / "results", "gs/table2", lambda body: [setting.update(id="0" * 32) for setting in body["settings"]])
    for verb in ("figures", "report"):
        done = run(tmp_path, verb)
        said = done.stdout + done.stderr
        assert done.returncode == 1
        assert "Traceback" not in said
        assert "gs/fig9: its script cannot draw this run (NameError: name 'nowhere' is not defined)" in said
        assert "gs/table2: no trial of it is finished" in said
    assert (tmp_path / "results" / "figures" / "epicrec" / "example.png").is_file()
    page = (tmp_path / "results" / "report.html").read_text()
    assert page.count("data:image/png;base64,") == 1
    assert "No figure: no trial of it is finished" in page


def test_a_bad_run_does_not_stop_the_others(folder: Path, tmp_path: Path) -> None:
    """Of two bad runs, the one that cannot be a run is set aside, and the title of the other is shown as it is."""
    shutil.copytree(folder / "results", tmp_path / "results")
    alter(tmp_path / "results", "gs/fig9", lambda body: body["run"].update(repetitions=2**64))
    body = seals.unseal((tmp_path / "results" / "runs" / "gs" / "table2@smoke.json").read_bytes())
    body["run"].update(name="mine", title=r"$\frac{$")
    (tmp_path / "results" / "runs" / "mine@smoke.json").write_text(seals.seal(body))
    done = run(tmp_path, "report")
    assert "Traceback" not in done.stderr
    assert "fig9@smoke.json is damaged (18446744073709551616 is not a number of trials)" in done.stderr
    page = (tmp_path / "results" / "report.html").read_text()
    assert r"<h3>$\frac{$ <span" in page
    assert page.count("data:image/png;base64,") == 3
    drawn = run(tmp_path, "figures", "mine")
    assert (drawn.returncode, drawn.stderr) == (0, "")


def test_an_unfinished_run_is_told(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder / "results", tmp_path / "results")
    alter(tmp_path / "results", "gs/fig9", lambda body: body["run"].update(repetitions=body["run"]["repetitions"] + 4))
    done = run(tmp_path, "figures", "gs/fig9")
    assert "note: gs/fig9: not finished: 36 of 60 trials are stored" in done.stdout


def test_what_is_reconstructed_or_not_private_is_all_there(text: str) -> None:
    from dpbench.mechanisms.base import MECHANISMS

    paragraph = text.partition('<section id="mechanisms">')[2].partition("</p>")[0]
    for key, wanted in (
        ("Reconstructed in part", {n for n, cls in MECHANISMS.items() if cls.reconstructed}),
        ("Not private by default", {n for n, cls in MECHANISMS.items() if cls().not_private()}),
    ):
        listed = paragraph.partition(f"{key}: ")[2].partition(".")[0]
        assert set(re.findall(r">(\w+)</a>", listed)) == wanted
    assert "where we differ from the papers" in paragraph
    for _, cls in MECHANISMS.items():
        assert str(prose(cls.reconstructed)) in text
        assert str(prose(cls().not_private())) in text


def test_environment_and_errata(text: str) -> None:
    environment = text.partition('<section id="environment">')[2]
    for word in ("Python", "numpy", "noise seed", "data seed", "run (UTC)", "smoke"):
        assert word in environment
    assert re.search(r"Written 20\d\d-\d\d-\d\d \d\d:\d\d UTC", text)
    errata = text.partition('<section id="errata">')[2].partition("</section>")[0]
    for claim in ledger():
        assert (f'href="#claim-{slug(claim.id)}">more<' in errata) == (claim.basis == "erratum")
    assert "Where we differ from the papers, and why" in errata


def test_statistics_stand_beside_the_papers(text: str) -> None:
    card = text.partition('<details id="data-trajectory">')[2].partition("</details>")[0]
    assert ">gs, Table 2<" in card
    assert "62,956" in card


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
    assert number(value) == shown


def test_nothing_is_called_reproduced_as_a_whole(text: str) -> None:
    title = text.partition("<h1>")[2].partition("</h1>")[0]
    assert "five papers" in title
    assert "reproduced" not in title


def test_every_dataset_says_where_it_came_from(text: str) -> None:
    """Generated with its seed: in the header, in the facts of an experiment, in the list of datasets and in the runs."""
    assert "All data is generated, none is from original files." in text.partition("</header>")[0]
    article = text.partition('<article id="exp-gs-fig9">')[2].partition("</article>")[0]
    assert "6 settings; 6 trials per setting; noise seed 0; trajectory: generated, seed 0<" in article
    listed = text.partition('<details id="data-trajectory">')[2].partition("</summary>")[0]
    assert ">generated, seed 0; scale smoke<" in listed
    assert "(not in these runs)" in text.partition('<details id="data-netflix">')[2].partition("</summary>")[0]
    environment = text.partition('<table class="sortable" id="runs">')[2].partition("</table>")[0]
    assert environment.count(">generated<") == 3


def test_what_is_not_private_as_run_is_marked(text: str) -> None:
    article = text.partition('<article id="exp-gs-fig9">')[2].partition("</article>")[0]
    facts, _, rest = article.partition('<div class="beside')
    assert re.search(r">not private as run:</span> lpa, gs <span[^>]*>\(Δ is the largest observed row", facts)
    cells = re.findall(r'<td data-head="mechanism"[^>]*>(.*?)</td>', rest)
    assert len(cells) == 6
    assert all(re.fullmatch(r'(lpa|gs) <span class="mark" title="Δ is .*">not private</span>', cell) for cell in cells)
    private = text.partition('<article id="exp-epicrec-example">')[2].partition("</article>")[0]
    assert 'class="mark"' not in private


def test_it_opens_with_the_answer_in_words(text: str) -> None:
    """Per paper: what holds with every assumption that was tried, and what fails; before anything else, and by the verdicts."""
    answer = text.partition('<section id="answer">')[2].partition("</section>")[0]
    assert text.index('<section id="answer">') < text.index('<section id="claims">')
    for paper in ("gs", "sparse", "analytics", "sensitivity", "epicrec"):
        mine = answer.partition(f'<a href="#paper-{paper}">')[2].partition("</div>")[0]
        assert re.search(r"(\d+|No|None) claims? holds? with every assumption that was tried", mine), paper
        assert re.search(r"claims? fails? with all of them|None is shown to fail", mine), paper


def test_every_figure_has_its_command_and_files(text: str) -> None:
    article = text.partition('<article id="exp-epicrec-example">')[2].partition("</article>")[0]
    files = article.partition('<p class="small files">')[2].partition("</p>")[0]
    assert "<code>python -m dpbench run experiment=epicrec/example scale=smoke</code>" in files
    assert re.findall(r'download="([^"]+)"', files) == ["epicrec-example.csv", "epicrec-example.pdf"]
    index = text.partition('<ul class="index">')[2].partition("</ul>")[0]
    assert {name for name in options("experiment") if f">{name}</a>" not in index} == set()
    assert index.count("(not run)") == len(options("experiment")) - 3
