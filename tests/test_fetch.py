"""`data get`: original files from a server of our own that is good, lies, breaks off or is empty."""

from __future__ import annotations

import hashlib
import io
import os
import re
import subprocess
import sys
import threading
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest
from conftest import ROOT

from dpbench import calibration
from dpbench.cli import main
from dpbench.config import dataset_of
from dpbench.sources import SOURCES, cards, fetch
from dpbench.sources.cache import open_dataset
from dpbench.sources.cards import Address, Card

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


def test_a_killed_transfer_is_continued_and_leaves_nothing_behind(server: Server, own_cache: Path) -> None:
    """Killed for good, at any point: nobody tidies up. The next command does, and goes on where it was."""
    server.files["retail.dat"] = CONTENT
    killed = """
import os, sys
from dpbench.sources import cards, fetch
card = cards.Card("transactions", files=(cards.Address(sys.argv[1]),))
def progress(name, have, total):
    if have > 100_000:
        os.kill(os.getpid(), 9)
fetch.fetch(card, progress=progress)
"""
    done = subprocess.run([sys.executable, "-c", killed, f"{server.address}/retail.dat"], env=os.environ, cwd=ROOT)
    assert done.returncode == -9
    aside = own_cache / "downloads" / ".transactions"
    assert [entry for entry in aside.iterdir() if entry.name.startswith("tmp")], "what pooch leaves when it is killed"
    assert cards.fetched("transactions") is None
    (aside / "half unpacked").mkdir()
    folder, _ = fetch.fetch(card(server, "retail.dat"))
    assert left(folder) == ["fetched.json", "retail.dat"]
    assert (folder / "retail.dat").read_bytes() == CONTENT
    assert int(server.asked[-1][1].strip("bytes=-")) > 90_000


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


def test_a_folder_that_somebody_took_files_from(server: Server, own_cache: Path) -> None:
    server.files["retail.dat"] = CONTENT
    folder, _ = fetch.fetch(card(server, "retail.dat"))
    for content in ("{", "[]"):
        (folder / "fetched.json").write_text(content)
        with pytest.raises(
            fetch.FetchError, match=r"transactions is not as it was fetched: remove the folder to fetch"
        ):
            fetch.fetch(card(server, "retail.dat"))


def test_no_address(server: Server, own_cache: Path) -> None:
    for mirror in ("nonsense", "http://", "ftp://x/y"):
        with pytest.raises(fetch.FetchError, match=r"is no address to fetch from: expected one like https://"):
            fetch.fetch(card(server, "retail.dat"), mirror=mirror)


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
    assert "broke off: Connection refused; the same command" in out.err
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
