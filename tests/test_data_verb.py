"""The `data` verb: cards, the list, original files from a server of our own that is good, lies, breaks off or is empty."""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import re
import threading
import zipfile
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import naive_readers as naive
import numpy as np
import pytest
from conftest import ROOT
from rich.console import Console

from dpbench import calibration
from dpbench.cli import _warning, main
from dpbench.compose import compose_run, options
from dpbench.config import dataset_of
from dpbench.data import Incidence
from dpbench.engine.plan import make_plan
from dpbench.errors import UserError
from dpbench.sources import SOURCES, SkippedLines, cards, fetch
from dpbench.sources.cache import open_dataset
from dpbench.sources.cards import Address, Card
from dpbench.verbs import data as data_verb
from dpbench.verbs import data_show
from dpbench.verbs.completion import candidates

CONTENT = b"".join(b"%d %d %d\n" % (i, i + 7, 3 * i) for i in range(60_000))


class Server(ThreadingHTTPServer):
    """Serves `files`; `cut` bytes after which the line breaks, `times` how often it does so."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.files: dict[str, bytes] = {}
        self.tags: dict[str, str] = {}
        self.cut = 0
        self.times = 0
        self.ranges = True
        self.asked: list[tuple[str, str | None]] = []

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        name, wanted = self.path.lstrip("/"), self.headers.get("Range")
        self.server.asked.append((name, wanted))
        content = self.server.files.get(name)
        if content is None:
            self.send_error(404)
            return
        tag, start = self.server.tags.get(name, '"1"'), 0
        if wanted and self.server.ranges and self.headers.get("If-Range") == tag:
            start = int(wanted.removeprefix("bytes=").rstrip("-"))
            if start >= len(content):
                self.send_error(416)
                return
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
        else:
            self.send_response(200)
        body = content[start:]
        self.send_header("Content-Length", str(len(body)))
        self.send_header("ETag", tag)
        self.end_headers()
        if self.server.times > 0:
            self.server.times -= 1
            body = body[: self.server.cut]
            self.close_connection = True
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DPBENCH_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def card(server: Server, *names: str, checksum: str | None = None) -> Card:
    def sum_of(name: str) -> str:
        return checksum or f"sha256:{hashlib.sha256(server.files.get(name, b'')).hexdigest()}"

    return Card("transactions", files=tuple(Address(f"{server.address}/{name}", sum_of(name)) for name in names))


def left(cache: Path) -> list[str]:
    """Every file of the downloads that somebody could take for a whole one."""
    return sorted(p.name for p in cache.rglob("*") if p.is_file() and not p.name.endswith((".part", ".tag", ".lock")))


def test_good_file(server: Server, own_cache: Path) -> None:
    server.files["retail.dat"] = CONTENT
    steps: list[tuple[str, int, int | None]] = []
    folder, found = fetch.fetch(card(server, "retail.dat"), progress=lambda *step: steps.append(step))
    assert folder == own_cache / "downloads" / "transactions" == cards.fetched("transactions")
    assert (folder / "retail.dat").read_bytes() == CONTENT
    assert found == {"retail.dat": hashlib.sha256(CONTENT).hexdigest()}
    assert steps[-1] == ("retail.dat", len(CONTENT), len(CONTENT))
    assert [s[1] for s in steps] == sorted(s[1] for s in steps)
    # The second time nothing is asked of the server.
    asked = len(server.asked)
    assert fetch.fetch(card(server, "retail.dat")) == (folder, found)
    assert len(server.asked) == asked
    assert SOURCES.make("fimi", path=str(folder)).build(np.random.default_rng(0)).rows == 60_000


def test_wrong_checksum(server: Server, own_cache: Path) -> None:
    server.files["retail.dat"] = CONTENT
    wrong = card(server, "retail.dat", checksum="sha256:" + 64 * "0")
    with pytest.raises(fetch.FetchError, match=r"the checksum of .*/retail.dat is not sha256:000.* removed"):
        fetch.fetch(wrong)
    assert left(own_cache) == []
    assert cards.fetched("transactions") is None
    # What was wrong is not built upon: the next time all of it is asked for again.
    fetch.fetch(card(server, "retail.dat"))
    assert server.asked == [("retail.dat", None)] * 2


def test_cut_off_transfer_is_continued(server: Server, own_cache: Path) -> None:
    server.files["retail.dat"] = CONTENT
    server.cut, server.times = 300_000, 1
    folder, _ = fetch.fetch(card(server, "retail.dat"))
    assert (folder / "retail.dat").read_bytes() == CONTENT
    first, second = (wanted for _, wanted in server.asked)
    assert first is None
    assert 300_000 - fetch.PIECE < int(second.strip("bytes=-")) <= 300_000


def test_cut_off_for_good_leaves_a_part_that_the_next_command_continues(server: Server, own_cache: Path) -> None:
    server.files["retail.dat"] = CONTENT
    server.cut, server.times = 100_000, fetch.ATTEMPTS
    with pytest.raises(fetch.FetchError, match=r"broke off: .* the same command continues"):
        fetch.fetch(card(server, "retail.dat"))
    assert left(own_cache) == []
    assert cards.fetched("transactions") is None
    folder, _ = fetch.fetch(card(server, "retail.dat"))
    assert (folder / "retail.dat").read_bytes() == CONTENT
    assert int(server.asked[-1][1].strip("bytes=-")) > fetch.ATTEMPTS * (100_000 - fetch.PIECE)
    assert left(folder) == ["fetched.json", "retail.dat"]


def test_a_server_without_ranges_starts_anew(server: Server, own_cache: Path) -> None:
    server.files["retail.dat"] = CONTENT
    server.cut, server.times, server.ranges = 300_000, 1, False
    folder, _ = fetch.fetch(card(server, "retail.dat", checksum="unknown"))
    assert (folder / "retail.dat").read_bytes() == CONTENT


def test_a_file_that_changed_meanwhile_is_not_mixed(server: Server, own_cache: Path) -> None:
    server.files["retail.dat"] = CONTENT
    server.cut, server.times = 100_000, fetch.ATTEMPTS
    unknown = card(server, "retail.dat", checksum="unknown")
    with pytest.raises(fetch.FetchError):
        fetch.fetch(unknown)
    server.files["retail.dat"], server.tags["retail.dat"] = CONTENT[::-1], '"2"'
    folder, _ = fetch.fetch(unknown)
    assert (folder / "retail.dat").read_bytes() == CONTENT[::-1]


def test_missing_file(server: Server, own_cache: Path) -> None:
    server.files["adult.data"] = b"x"
    with pytest.raises(fetch.FetchError, match=r"/nothing.dat answers 404 Not Found: expected the file"):
        fetch.fetch(card(server, "adult.data", "nothing.dat"))
    assert cards.fetched("transactions") is None
    with pytest.raises(fetch.FetchError, match="broke off"):
        fetch.fetch(Card("telecom", files=(Address("http://127.0.0.1:9/x"),)))


def test_archives_are_unpacked(server: Server, own_cache: Path) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("ml/retail.dat", "1 2\n")
        archive.writestr("../outside.md", "no")
    server.files["ml.zip"] = packed.getvalue()
    folder, _ = fetch.fetch(card(server, "ml.zip"))
    assert (folder / "ml" / "retail.dat").read_text() == "1 2\n"
    assert not (folder / "ml.zip").exists()
    assert not list(own_cache.parent.glob("outside.md"))
    assert not list((own_cache / "downloads").glob("outside.md"))
    assert SOURCES.make("fimi", path=str(folder)).build(np.random.default_rng(0)).rows == 1


def test_a_damaged_archive(server: Server, own_cache: Path) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("retail.dat", "1 2\n" * 1000)
    server.files["ml.zip"] = packed.getvalue().replace(b"1 2\n1 2", b"1 2\n9 9", 1)
    with pytest.raises(fetch.FetchError, match="cannot be unpacked"):
        fetch.fetch(card(server, "ml.zip"))
    assert cards.fetched("transactions") is None


def test_get_shows_the_licence_first_and_the_run_finds_the_files(
    server: Server, own_cache: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "cards").mkdir()
    known = hashlib.sha256(CONTENT).hexdigest()
    head = f"---\nlicence: for research\nfiles: [{{address: 'http://127.0.0.1:9/retail.dat', checksum: 'sha256:{known}'}}]\n---\n"
    (tmp_path / "cards" / "transactions.md").write_text(head + "A card.\n")
    monkeypatch.setattr(cards.load, "__defaults__", (tmp_path / "cards",))
    server.files["retail.dat"] = CONTENT
    assert main(["data", "get", "transactions"]) == 1  # nobody listens there
    out = capsys.readouterr()
    assert "broke off" in out.err
    assert "Traceback" not in out.err
    assert main(["data", "get", "transactions", "--from", server.address]) == 0
    out = capsys.readouterr().out
    assert out.index("for research") < out.index("checksum sha256:" + known + " holds")
    assert "transactions is here now" in out
    entry = calibration.entry_of("transactions")
    data, _ = open_dataset(dataset_of("transactions", entry | {"source": "files"}, "smoke").spec)
    assert data.rows == 60_000
    assert main(["data", "list"]) == 0
    assert re.search(r"transactions.*files.*fetched", capsys.readouterr().out)
    assert main(["data", "get", "transactions"]) == 0
    assert "was fetched before" in capsys.readouterr().out
    assert main(["data", "where"]) == 0
    assert str(own_cache) in capsys.readouterr().out.replace("\n", "")


def test_wrong_use(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["data", "show", "chekin"]) == 2
    assert "unknown dataset 'chekin': did you mean 'checkin'?" in capsys.readouterr().err
    assert main(["data", "get", "gaussian"]) == 2
    assert "gaussian has no address" in capsys.readouterr().err
    assert main(["data", "show", "gaussian", "--scale", "huge"]) == 2
    assert main(["data", "show", "gaussian", "--scale", "smoke", "--path", "x"]) == 2
    assert main(["data", "show", "gaussian", "--scale", "smoke", "ids"]) == 2
    with pytest.raises(
        UserError, match=r"needs dataset.transactions.path=FILE or FOLDER, or: dpbench data get transactions"
    ):
        dataset_of("transactions", calibration.entry_of("transactions") | {"source": "files"}, "smoke")


@pytest.mark.parametrize("name", options("dataset"))
def test_every_dataset_has_a_card_and_a_reader_that_exists(name: str) -> None:
    entry, card = calibration.entry_of(name), cards.load(name)
    assert card.title, f"datasets/{name}.md opens with no title"
    assert card.text
    assert len(card.text.split()) > 30
    reader = entry.get("files")
    if reader:
        cls = SOURCES.get(reader)
        assert entry.get("kind") in cls.kinds
        assert card.licence, f"datasets/{name}.md does not tell the licence"
    for file in card.files:
        assert re.fullmatch(r"https?://\S+/\S+", file.address)
        assert file.checksum == "unknown" or re.fullmatch(r"(md5:[0-9a-f]{32}|sha256:[0-9a-f]{64})", file.checksum)
    if entry.get("generator") and card.paper:
        data, _ = open_dataset(dataset_of(name, entry | {"source": "generator"}, "smoke").spec)
        assert set(card.paper) - {"table"} <= set(data.statistics()), "the card's statistics have the data's names"


def test_completion() -> None:
    assert candidates("dpbench data s") == ["show"]
    assert candidates("dpbench data show ch") == ["checkin"]
    assert candidates("dpbench data list x ") == []


def test_show_generated_only(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["data", "show", "trajectory", "--scale", "smoke", "--trials", "1"]) == 0
    out = capsys.readouterr().out
    assert "Row size" in out
    assert "█" in out
    assert re.search(r"│ lpa +│ +[0-9.]+ ", out)
    assert re.search(r"│ joint_topk +│ +precision at 100: [01](\.\d+)? │", out)


def test_show_files_only(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["data", "show", "retail"]) == 0
    assert "Nothing of it is here: --path, or python -m dpbench data get retail" in capsys.readouterr().out
    (tmp_path / "some.dat").write_text("1 2\n2 3\n2\n")
    assert main(["data", "show", "retail", "--path", str(tmp_path), "--trials", "0"]) == 0
    assert re.search(r"│ ones +│ +908,576 │ +5 │", capsys.readouterr().out)


def test_show_compares_generator_and_files(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """On files made by the generator itself nothing is off."""
    data, _ = open_dataset(dataset_of("transactions", calibration.entry_of("transactions"), "smoke").spec)
    rows = np.split(data.indices, data.indptr[1:-1])
    path = tmp_path / "made.dat"
    path.write_text("".join(" ".join(map(str, row)) + "\n" for row in rows))
    command = ["data", "show", "transactions", "--scale", "smoke", "--trials", "2", "--path", str(path)]
    assert main([*command, "ids=all", "on_bad_line=skip"]) == 0
    out = capsys.readouterr().out
    assert "generator, files' sizes" in out
    sizes = re.search(r"│ 50 % +│ +([\d,.]+) +│ +([\d,.]+) +│ +([\d,.]+) +│", out)
    assert sizes
    assert sizes[1] == sizes[2] == sizes[3]
    assert re.search(r"│ lpa +│.*│ +1\.00 │|│ lpa +│.*│ +(0\.9\d|1\.0\d) │", out)


@pytest.mark.parametrize("width", [60, 80, 150])
def test_everything_shown_fits_the_terminal(width: int) -> None:
    """Three forms side by side keep their labels and shares, and the list a line a dataset."""
    rng = np.random.default_rng(0)
    rows = [rng.choice(5000, size, replace=False) for size in rng.zipf(1.5, 300) if size < 5000]
    data = Incidence.from_rows(rows, columns=5000)
    console = Console(width=width, file=io.StringIO())
    for table in data_show._shapes({"generator, laptop": data, "files": data, data_show.TOLD: data}, width):
        console.print(table)
    out = console.file.getvalue()
    assert "…" not in out
    assert re.search(r"^ +64 to 127 .*%.*%.*% *$", out, re.M)
    console = Console(width=width, file=io.StringIO())
    data_verb._list(argparse.Namespace(), console)
    lines = [line for line in console.file.getvalue().splitlines() if line.startswith("│ ")]
    assert width < 80 or len(lines) <= len(options("dataset")) + 2 * (width > 80)


def test_outline_and_histogram() -> None:
    values = np.array([0, 0, 1, 2, 3, 4, 700])
    outline = calibration.outline(values)
    assert (outline["number"], outline["empty"], outline["largest"], outline["mean"]) == (7, 2, 700, 142)
    assert outline["50 %"] == 3
    shares = calibration.histogram(values)
    assert list(shares)[:4] == ["0", "1", "2 to 3", "4 to 7"]
    assert shares["0"] == shares["2 to 3"] == pytest.approx(2 / 7)
    assert shares["512 to 1,023"] == pytest.approx(1 / 7)
    assert sum(shares.values()) == pytest.approx(1)


def test_the_errors_of_a_report_are_reproducible() -> None:
    data, _ = open_dataset(dataset_of("trajectory", calibration.entry_of("trajectory"), "smoke").spec)
    first, second = (calibration.errors(data, 1.0, 2) for _ in range(2))
    assert first == second
    lpa, ranks = first["lpa"], first["joint_topk"]
    assert lpa.metric == "mae"
    assert lpa.mean == pytest.approx(data.largest_row, rel=0.2)  # Δ/ε, over 1402 columns and 2 trials
    # Places in a list are no counts: they have a precision, and no error.
    assert ranks.metric == "precision_at_100"
    assert 0.1 < ranks.mean <= 1.0
    few = calibration.errors(Incidence.from_rows([[0, 1]] * 9, columns=2), 1.0, 2)
    assert few["pf_peeling"] == "there are no 100 columns to choose, only 2"


def test_experiments_run_on_original_files(dpbench: Callable, tmp_path: Path) -> None:
    """The paper's own experiment, its datasets from original files, unchanged."""
    words = ["experiment=gs/table2", "scale=smoke", "dataset=[document,transactions]", "tracking=none"]
    words += ["dataset.document.source=files", f"dataset.document.path={naive.real_data('bagofwords')}"]
    words += ["dataset.transactions.source=files"]
    done = dpbench("run", *words, f"dataset.transactions.path={naive.real_data('fimi', 'retail.dat.gz')}")
    assert done.returncode == 0, done.stderr
    assert "6906" in done.stdout.replace(",", "")
    assert "88162" in done.stdout.replace(",", "")
    plan = json.loads((tmp_path / "results" / "plans" / "gs" / "table2@smoke.json").read_text())
    assert {d["source"] for d in plan["datasets"].values()} == {"uci_bag_of_words", "fimi"}


def test_a_run_tells_of_bad_lines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bad = tmp_path / "bad.dat"
    bad.write_text("1 2\n3 four\n")
    words = ["experiment=gs/table2", "scale=smoke", "dataset=transactions", "dataset.transactions.source=files"]
    words += [f"dataset.transactions.path={bad}"]
    with pytest.raises(
        UserError, match=r"bad.dat, line 2: expected whole numbers \(items\) apart by spaces, found 'four'"
    ):
        make_plan(compose_run(words))
    with pytest.warns(SkippedLines, match=r"1 bad line was skipped; the first: .*bad.dat, line 2: ") as caught:
        assert make_plan(compose_run([*words, "dataset.transactions.on_bad_line=skip"])).cells
    assert _warning(caught[0].message, caught[0].category, "x.py", 1) == f"dpbench: {caught[0].message}\n"
    assert _warning("old", DeprecationWarning, "x.py", 1).startswith("x.py:1: DeprecationWarning: old")


def test_every_run_and_show_tells_of_bad_lines(dpbench: Callable, tmp_path: Path) -> None:
    (tmp_path / "bad.dat").write_text("1 2\n3 four\n2 3\n")
    path = "dataset.transactions.path=bad.dat"
    words = ["experiment=gs/fig9", "scale=smoke", "dataset=transactions", "dataset.transactions.source=files", path]
    words += ["mechanism=lpa", "trials=4", "tracking=none", "figure=false", "dataset.transactions.on_bad_line=skip"]
    told = f"1 bad line was skipped; the first: {tmp_path}/bad.dat, line 2: expected whole numbers"
    for _ in range(2):
        done = dpbench("run", *words, "runner.jobs=2")
        assert done.returncode == 0, done.stderr
        assert done.stderr.count(told) == 1, done.stderr
    for _ in range(2):
        done = dpbench(
            "data", "show", "transactions", "--trials=0", "--scale=smoke", "--path=bad.dat", "on_bad_line=skip"
        )
        assert done.stderr.count(told) == 1, done.stderr


def test_no_data_travels_in_the_wheel() -> None:
    """Cards do; built and downloaded data, which may not be redistributed, do not."""
    wheel = pytest.importorskip("hatchling.builders.wheel", reason="lists what a wheel would hold")
    files = [file.distribution_path for file in wheel.WheelBuilder(str(ROOT)).recurse_included_files()]
    assert "dpbench/datasets/movielens.md" in files
    assert "dpbench/conf/run.yaml" in files
    assert not [file for file in files if file.startswith("dpbench/datasets/") and not file.endswith(".md")]
