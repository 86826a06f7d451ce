"""`data get`: original files from a server of our own that is good, lies, breaks off or is empty."""

from __future__ import annotations

import gzip
import hashlib
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from dpbench.cli import main
from dpbench.config import catalogue
from dpbench.config.entries import dataset_of
from dpbench.sources import SOURCES, cards
from dpbench.sources.cache import open_dataset
from dpbench.sources.cards import Address, Card
from dpbench.sources.download import fetch, transfer

from support.paths import ROOT
from support.server import CONTENT, PAGE, Server, card, left, zipped


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
    assert 300_000 - transfer.PIECE < int(second.strip("bytes=-")) <= 300_000


def test_cut_off_for_good_leaves_a_part_that_the_next_command_continues(server: Server, own_cache: Path) -> None:
    server.files["retail.dat"] = CONTENT
    server.cut, server.times = 100_000, transfer.ATTEMPTS
    with pytest.raises(fetch.FetchError, match=r"broke off: .* the same command continues"):
        fetch.fetch(card(server, "retail.dat"))
    assert left(own_cache) == []
    assert cards.fetched("transactions") is None
    folder, _ = fetch.fetch(card(server, "retail.dat"))
    assert (folder / "retail.dat").read_bytes() == CONTENT
    assert int(server.asked[-1][1].strip("bytes=-")) > transfer.ATTEMPTS * (100_000 - transfer.PIECE)
    assert left(folder) == ["fetched.json", "retail.dat"]


def test_a_killed_transfer_is_continued_and_leaves_nothing_behind(server: Server, own_cache: Path) -> None:
    """Killed for good, at any point: nobody tidies up. The next command does, and goes on where it was."""
    server.files["retail.dat"] = CONTENT
    killed = """
import os, sys
from dpbench.sources import cards
from dpbench.sources.download import fetch
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
    server.cut, server.times = 100_000, transfer.ATTEMPTS
    unknown = card(server, "retail.dat", checksum="unknown")
    with pytest.raises(fetch.FetchError):
        fetch.fetch(unknown)
    server.files["retail.dat"], server.tags["retail.dat"] = CONTENT[::-1], '"2"'
    folder, _ = fetch.fetch(unknown)
    assert (folder / "retail.dat").read_bytes() == CONTENT[::-1]


def test_a_folder_that_somebody_took_files_from(server: Server, own_cache: Path) -> None:
    server.files["retail.dat"] = CONTENT
    folder, _ = fetch.fetch(card(server, "retail.dat"))
    for content in ("{", "[]", '{"sha256": {}}'):
        (folder / "fetched.json").write_text(content)
        with pytest.raises(
            fetch.FetchError, match=r"transactions cannot be checked, .* get transactions --again fetches"
        ):
            fetch.fetch(card(server, "retail.dat"))


def own_card(folder: Path, monkeypatch: pytest.MonkeyPatch, facts: str) -> None:
    """The card of transactions, as the commands read it."""
    folder.mkdir(exist_ok=True)
    (folder / "transactions.md").write_text(f"---\n{facts}\n---\nA card.\n")
    monkeypatch.setattr(cards.load, "__defaults__", (folder,))


@pytest.mark.parametrize("checksum", ["known", "unknown"])
@pytest.mark.parametrize("name", ["retail.dat.gz", "ml.zip"])
@pytest.mark.parametrize("opened", [True, False])
def test_get_looks_at_what_was_fetched_before(
    server: Server,
    own_cache: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    checksum: str,
    name: str,
    opened: bool,
) -> None:
    server.files[name] = zipped() if name == "ml.zip" else gzip.compress(CONTENT)
    known = f"md5:{hashlib.md5(server.files[name]).hexdigest()}" if checksum == "known" else "unknown"
    file = own_cache / "downloads" / "transactions" / ("retail.dat" if name == "ml.zip" else name)
    facts = f"files: [{{address: '{server.address}/{name}', checksum: '{known}'}}]"
    own_card(tmp_path / "cards", monkeypatch, facts + (f"\nopen: {file.name}" if opened else ""))

    def listed() -> bool:
        assert main(["data", "list"]) == 0
        return bool(re.search(r"transactions.*files.*fetched", capsys.readouterr().out))

    assert main(["data", "get", "transactions"]) == 0
    assert listed()
    assert main(["data", "get", "transactions"]) == 0
    out = capsys.readouterr().out
    if checksum == "known":
        assert (
            f"{known} {'held when it was unpacked, and its files are unchanged' if name == 'ml.zip' else 'holds'};"
            in out
        )
    good = file.read_bytes()
    file.write_bytes(good + b"x")
    assert main(["data", "get", "transactions"]) == 1
    out = capsys.readouterr()
    assert re.search(
        rf"dpbench: .*{file.name} was changed since .*data get transactions --again fetches it anew\n$", out.err
    )
    assert "holds" not in out.out
    assert "unchanged" not in out.out
    file.unlink()
    assert not listed()
    assert main(["data", "get", "transactions"]) == 1
    assert re.search(
        rf"{file.name} is missing, .* data get transactions --again fetches it anew", capsys.readouterr().err
    )
    assert main(["data", "get", "transactions", "--again"]) == 0
    assert "transactions is here now" in capsys.readouterr().out
    assert file.read_bytes() == good
    assert listed()
    assert [p.name for p in (own_cache / "downloads").iterdir()] == ["transactions"]


def test_again_keeps_the_old_until_the_new_is_whole(
    server: Server, own_cache: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    server.files["retail.dat"] = CONTENT
    own_card(tmp_path / "cards", monkeypatch, f"licence: mine\nfiles: [{{address: '{server.address}/retail.dat'}}]")
    assert main(["data", "get", "transactions", "--again"]) == 0  # nothing was here
    file = own_cache / "downloads" / "transactions" / "retail.dat"
    capsys.readouterr()
    for bad in (b"", PAGE):
        server.files["retail.dat"] = bad
        assert main(["data", "get", "transactions", "--again"]) == 1
        assert "the files fetched before are kept" in capsys.readouterr().err
        assert file.read_bytes() == CONTENT
        assert main(["data", "get", "transactions"]) == 0
    server.files["retail.dat"] = CONTENT[::-1]
    assert main(["data", "get", "transactions", "--again"]) == 0
    assert "licence: mine" in capsys.readouterr().out
    assert file.read_bytes() == CONTENT[::-1]
    assert left(own_cache) == ["fetched.json", "retail.dat"]


def test_killed_while_the_new_takes_the_place_of_the_old(server: Server, own_cache: Path) -> None:
    server.files["retail.dat"] = CONTENT
    folder, found = fetch.fetch(card(server, "retail.dat"))
    folder.rename(folder.with_name(".transactions.old"))
    assert fetch.fetch(card(server, "retail.dat")) == (folder, found)
    assert len(server.asked) == 1


def test_a_card_that_changed_since(server: Server, own_cache: Path) -> None:
    server.files |= {"retail.dat": CONTENT, "more.dat": CONTENT}
    fetch.fetch(card(server, "retail.dat", checksum="unknown"))
    fetch.fetch(card(server, "retail.dat"))
    with pytest.raises(
        fetch.FetchError, match=r"retail.dat was fetched when its card had a checksum other than sha256:0"
    ):
        fetch.fetch(card(server, "retail.dat", checksum="sha256:" + 64 * "0"))
    with pytest.raises(fetch.FetchError, match=r"has no more.dat, which the card names: .* --again"):
        fetch.fetch(card(server, "retail.dat", "more.dat"))


def test_no_address(server: Server, own_cache: Path) -> None:
    for mirror in ("nonsense", "http://", "ftp://x/y"):
        with pytest.raises(fetch.FetchError, match=r"is not a valid address: expected one like https://"):
            fetch.fetch(card(server, "retail.dat"), mirror=mirror)


def test_missing_file(server: Server, own_cache: Path) -> None:
    server.files["adult.data"] = b"x"
    with pytest.raises(fetch.FetchError, match=r"/nothing.dat answers 404 Not Found: expected the file"):
        fetch.fetch(card(server, "adult.data", "nothing.dat"))
    assert cards.fetched("transactions") is None


def test_what_happened_is_said(server: Server, own_cache: Path) -> None:
    refused = r"/x does not answer: Connection refused; the same command starts from the beginning\. --from takes"
    with pytest.raises(fetch.FetchError, match=refused):
        fetch.fetch(Card("telecom", files=(Address("http://127.0.0.1:9/x"),)))
    with pytest.raises(fetch.FetchError, match=r"/loop redirects in circles: expected the file\. --from takes another"):
        fetch.fetch(card(server, "loop"))
    server.files["retail.dat"], server.tags["retail.dat"] = CONTENT, 'W/"1"'
    server.cut, server.times = 100_000, transfer.ATTEMPTS
    with pytest.raises(fetch.FetchError, match=r"broke off: .*; the same command starts from the beginning$"):
        fetch.fetch(card(server, "retail.dat"))


def test_half_a_file_of_unknown_length(server: Server, own_cache: Path) -> None:
    """Only a form that knows its own end, or a checksum, can tell that all of it came."""
    server.told = False
    server.files |= {"retail.dat": CONTENT, "retail.dat.gz": gzip.compress(CONTENT)}
    server.cut, server.times = 50_000, 2
    with pytest.raises(fetch.FetchError, match=r"as gzip it cannot be read to its end \(Compressed file ended"):
        fetch.fetch(card(server, "retail.dat.gz", checksum="unknown"))
    with pytest.raises(fetch.FetchError, match=r"gave no length and the card has no checksum, so it may be incomplete"):
        fetch.fetch(card(server, "retail.dat", checksum="unknown"))
    folder, _ = fetch.fetch(card(server, "retail.dat.gz", checksum="unknown"))
    assert gzip.decompress((folder / "retail.dat.gz").read_bytes()) == CONTENT


def test_text_of_unknown_length_is_taken_by_its_checksum(server: Server, own_cache: Path) -> None:
    server.files["retail.dat"], server.told = CONTENT, False
    folder, _ = fetch.fetch(card(server, "retail.dat"))
    assert (folder / "retail.dat").read_bytes() == CONTENT


@pytest.mark.parametrize("shift", [-1000, 1000])
def test_another_range_than_asked_for_starts_over(server: Server, own_cache: Path, shift: int) -> None:
    server.files["retail.dat"] = CONTENT
    server.cut, server.times, server.shift = 300_000, 1, shift
    folder, _ = fetch.fetch(card(server, "retail.dat", checksum="unknown"))
    assert (folder / "retail.dat").read_bytes() == CONTENT
    assert [wanted is None for _, wanted in server.asked] == [True, False, True]


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
    assert "does not answer: Connection refused; the same command" in out.err
    assert "Traceback" not in out.err
    assert main(["data", "get", "transactions", "--from", server.address]) == 0
    out = capsys.readouterr().out
    assert out.index("for research") < out.index("checksum sha256:" + known + " holds")
    assert "transactions is here now" in out
    data = open_dataset(dataset_of(catalogue.dataset("transactions").from_files(), "smoke")).data
    assert data.rows == 60_000
    assert main(["data", "list"]) == 0
    assert re.search(r"transactions.*files.*fetched", capsys.readouterr().out)
    assert main(["data", "get", "transactions"]) == 0
    assert "was fetched before" in capsys.readouterr().out
    assert main(["data", "where"]) == 0
    assert str(own_cache) in capsys.readouterr().out.replace("\n", "")


def test_what_other_transfers_left_is_swept(server: Server, own_cache: Path) -> None:
    """After a day; an old folder whose new one never came is put back, and nothing of today is touched."""
    server.files["retail.dat"] = CONTENT
    downloads = own_cache / "downloads"

    def make(name: str, hours: float) -> None:
        (downloads / name).mkdir(parents=True)
        (downloads / name / "x.part").write_bytes(b"1")
        then = time.time() - hours * 3600
        for path in (downloads / name / "x.part", downloads / name):
            os.utime(path, (then, then))

    make(".kos", 25)
    make(".adult", 23)
    make(".gowalla.old", 25)
    make(".retail.old", 25)
    make("retail", 25)
    make(".transactions", 25)  # of this very dataset: it is continued, not swept
    fetch.fetch(card(server, "retail.dat"))
    assert sorted(path.name for path in downloads.iterdir()) == [".adult", "gowalla", "retail", "transactions"]


def test_a_damaged_record_is_seen(server: Server, own_cache: Path) -> None:
    server.files["retail.dat"] = CONTENT
    folder, _ = fetch.fetch(card(server, "retail.dat"))
    record = folder / cards.RECORD
    record.write_text(record.read_text().replace('"retail.dat"', '"retail.dau"'))
    assert cards.fetched("transactions") is None
    with pytest.raises(fetch.FetchError, match=r"cannot be checked, .*--again fetches it anew"):
        fetch.fetch(card(server, "retail.dat"))
    fetch.fetch(card(server, "retail.dat"), again=True)
    assert cards.fetched("transactions") == folder
