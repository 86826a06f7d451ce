"""What `data get` unpacks, and what it does not: damaged files, bombs, and names that lead elsewhere."""

from __future__ import annotations

import dataclasses
import gzip
import io
import zipfile
from pathlib import Path

import numpy as np
import pytest

from dpbench.sources import SOURCES, cards
from dpbench.sources.download import fetch, integrity

from support.server import CONTENT, PAGE, Server, card, left, tarred, zipped


def test_archives_are_unpacked(server: Server, own_cache: Path) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("ml/retail.dat", "1 2\n")
        archive.writestr("./ml//more/", "")
    server.files["ml.zip"] = packed.getvalue()
    folder, _ = fetch.fetch(card(server, "ml.zip"))
    assert (folder / "ml" / "retail.dat").read_text() == "1 2\n"
    assert (folder / "ml" / "more").is_dir()
    assert not (folder / "ml.zip").exists()
    assert SOURCES.make("fimi", path=str(folder)).build(np.random.default_rng(0)).rows == 1


@pytest.mark.parametrize("mode", ["", "gz", "bz2", "xz"])
def test_every_compression_of_tar(server: Server, own_cache: Path, mode: str) -> None:
    name = f"ml.tar.{mode}".rstrip(".")
    server.files[name] = tarred(mode)
    folder, _ = fetch.fetch(card(server, name))
    assert (folder / "more.dat").read_bytes() == CONTENT
    assert left(folder) == ["fetched.json", "more.dat", "retail.dat"]


def test_a_damaged_archive(server: Server, own_cache: Path) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("retail.dat", "1 2\n" * 1000)
    server.files["ml.zip"] = packed.getvalue().replace(b"1 2\n1 2", b"1 2\n9 9", 1)
    with pytest.raises(fetch.FetchError, match=r"ml.zip: as zip it cannot be read to its end .*; it is removed"):
        fetch.fetch(card(server, "ml.zip"))
    assert cards.fetched("transactions") is None


def patched(content: bytes, *changes: tuple[int, int]) -> bytes:
    """The content with other bytes at some places."""
    new = bytearray(content)
    for place, byte in changes:
        new[place] = byte
    return bytes(new)


ZIP = zipped()
DIRECTORY = ZIP.index(b"PK\x01\x02")
TAR = tarred("")
SMALL = b"1 2\n" * 1000
GOOD = {"dat": SMALL, "gz": gzip.compress(SMALL), "zip": ZIP, "tar": tarred("", SMALL), "tar.gz": tarred("gz", SMALL)}
UNFIT = {
    "empty": ("retail.dat", b"", "it is empty"),
    "empty gzip": ("retail.dat.gz", b"", "it is empty"),
    "nothing in gzip": ("retail.dat.gz", gzip.compress(b""), "its content is empty"),
    "portal": ("retail.dat", PAGE, "it is a web page"),
    "portal for gzip": ("retail.dat.gz", PAGE, "it is a web page"),
    "portal in gzip": ("retail.dat.gz", gzip.compress(PAGE), "its content is a web page"),
    "portal for zip": ("ml.zip", PAGE, "it is a web page"),
    "text for gzip": ("retail.dat.gz", CONTENT, "as gzip it cannot be read"),
    "text for zip": ("ml.zip", CONTENT, "as zip it cannot be read"),
    "text for tar": ("ml.tar", CONTENT, "as tar it cannot be read"),
    "half gzip": ("retail.dat.gz", gzip.compress(CONTENT)[:50_000], "as gzip it cannot be read"),
    "changed gzip": ("retail.dat.gz", patched(gzip.compress(CONTENT), (-6, 0), (-7, 0)), "as gzip it cannot be read"),
    "half zip": ("ml.zip", zipped(CONTENT)[:50_000], "as zip it cannot be read"),
    "damaged zip": ("ml.zip", patched(ZIP, (40, 255), (41, 255), (42, 255)), "as zip it cannot be read"),
    "encrypted zip": ("ml.zip", patched(ZIP, (6, 1), (DIRECTORY + 8, 1)), "as zip it cannot be read"),
    "unknown method": ("ml.zip", patched(ZIP, (8, 99), (DIRECTORY + 10, 99)), "as zip it cannot be read"),
    "half tar": ("ml.tar", TAR[: len(TAR) // 2], "as tar it cannot be read"),
    "one of two in tar": ("ml.tar", TAR[: TAR.index(b"more.dat")], "as tar it cannot be read"),
    "second header damaged": ("ml.tar", patched(TAR, (TAR.index(b"more.dat"), 0)), "as tar it cannot be read"),
    "half tar.gz": ("ml.tar.gz", tarred("gz")[:50_000], "as tar it cannot be read"),
}


@pytest.mark.parametrize("case", UNFIT)
@pytest.mark.parametrize("told", [True, False])
@pytest.mark.parametrize("checksum", ["unknown", None])
def test_what_is_no_whole_file_never_enters_the_cache(
    server: Server, own_cache: Path, case: str, told: bool, checksum: str | None
) -> None:
    """Whether or not a length or even a checksum says that it is all there; and the next attempt is not blocked."""
    name, content, reason = UNFIT[case]
    server.files[name], server.told = content, told
    with pytest.raises(
        fetch.FetchError, match=rf"^http.*{name}: {reason}.*; it is removed\. --from takes.*$"
    ) as caught:
        fetch.fetch(card(server, name, checksum=checksum))
    assert "\n" not in str(caught.value)
    assert cards.fetched("transactions") is None
    assert [p.name for p in own_cache.rglob("*") if p.is_file()] == [".lock"]
    server.files[name] = GOOD[name.partition(".")[2].removeprefix("dat.")]
    folder, _ = fetch.fetch(card(server, name, checksum=checksum if told else None))
    assert SOURCES.make("fimi", path=str(next(folder.glob("retail.dat*")))).build(np.random.default_rng(0)).rows > 0


def test_what_is_opened_must_have_come(server: Server, own_cache: Path) -> None:
    server.files["ml.zip"] = ZIP
    other = dataclasses.replace(card(server, "ml.zip"), open="ml/NYC.txt")
    with pytest.raises(fetch.FetchError, match=r"^ml.zip: expected ml/NYC.txt in it, but it is missing; it is removed"):
        fetch.fetch(other)
    assert left(own_cache) == []
    folder, _ = fetch.fetch(dataclasses.replace(other, open="retail.dat"))
    assert left(folder) == ["fetched.json", "retail.dat"]


def test_a_bad_file_that_was_left_aside_is_fetched_anew(server: Server, own_cache: Path) -> None:
    """As a former version did, which then failed on it for ever."""
    server.files["ml.zip"] = ZIP
    aside = own_cache / "downloads" / ".transactions"
    aside.mkdir(parents=True)
    (aside / "ml.zip").write_bytes(UNFIT["encrypted zip"][1])
    folder, _ = fetch.fetch(card(server, "ml.zip", checksum="unknown"))
    assert left(folder) == ["fetched.json", "retail.dat"]


def test_a_full_disk_is_not_the_archives_fault(
    server: Server, own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.files["ml.zip"] = ZIP

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(integrity, "_write", full)
        with pytest.raises(fetch.FetchError, match=r"ml.zip could not be unpacked: No space left on device; the same"):
            fetch.fetch(card(server, "ml.zip"))
    fetch.fetch(card(server, "ml.zip"))
    assert len(server.asked) == 1
