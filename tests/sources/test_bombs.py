"""Archives that are made to do harm: they are refused with a clear message and leave nothing behind."""

from __future__ import annotations

import bz2
import dataclasses
import gzip
import io
import shutil
import struct
import subprocess
import sys
import tarfile
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from dpbench.sources.cards import Address
from dpbench.sources.download import archives, fetch, integrity

from support.server import Server, card, zipped

MB = 1_000_000
BIG = bytes(300 * MB)  # untouched pages: no memory
ZEROS = bytes(60 * MB)


def tar_of(*entries: tarfile.TarInfo, content: bytes = b"", mode: str = "") -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode=f"w:{mode}", format=tarfile.GNU_FORMAT) as archive:
        for entry in entries:
            entry.size = len(content) if entry.isreg() else 0
            archive.addfile(entry, io.BytesIO(content))
    return packed.getvalue()


def entry(name: str, kind: bytes = tarfile.REGTYPE, target: str = "") -> tarfile.TarInfo:
    found = tarfile.TarInfo(name)
    found.type, found.linkname = kind, target
    return found


def overlapping() -> bytes:
    """A zip of 300 entries that all share one compressed stream: 30 MB declared each, 30 KB in all."""
    stream = zlib.compressobj(9, zlib.DEFLATED, -15)
    data = stream.compress(ZEROS[: 30 * MB]) + stream.flush()
    crc = zlib.crc32(ZEROS[: 30 * MB])
    body, directory, name = b"", b"", b"retail.dat"
    sizes = struct.pack("<III", crc, len(data), 30 * MB)
    local = struct.pack("<IHHHHH", 0x04034B50, 20, 0, 8, 0, 0) + sizes + struct.pack("<HH", len(name), 0) + name
    body = local + data
    for _ in range(300):  # every one points at the same place
        head = struct.pack("<IHHHHHH", 0x02014B50, 20, 20, 0, 8, 0, 0) + sizes
        directory += head + struct.pack("<HHHHHII", len(name), 0, 0, 0, 0, 0, 0) + name
    end = struct.pack("<IHHHHIIH", 0x06054B50, 0, 0, 300, 300, len(directory), len(body), 0)
    return body + directory + end


def lying() -> bytes:
    """A zip that declares 10 bytes for its 60 MB: it is not believed either way."""
    packed = zipped(ZEROS)
    for start in (packed.index(b"PK\x03\x04") + 22, packed.index(b"PK\x01\x02") + 24):
        packed = packed[:start] + struct.pack("<I", 10) + packed[start + 4 :]
    return packed


def sparse() -> bytes:
    """A tar whose only file is a hole of a terabyte."""
    packed = bytearray(tar_of(entry("retail.dat"), content=b"1 2\n"))
    packed[156:157] = tarfile.GNUTYPE_SPARSE
    packed[386 : 386 + 24] = b"%011o\0%011o\0" % (0, 4)
    packed[483 : 483 + 12] = b"\x80" + (10**12).to_bytes(11, "big")
    packed[148:156] = b" " * 8
    packed[148:156] = b"%06o\0 " % sum(packed[:512])
    return bytes(packed)


def long_header() -> bytes:
    """A tar whose first name is 60 MB long."""
    head = tarfile.TarInfo("././@LongLink")
    head.type, head.size = tarfile.GNUTYPE_LONGNAME, len(ZEROS)
    return gzip.compress(head.tobuf(tarfile.GNU_FORMAT) + ZEROS + bytes(1024))


def many() -> bytes:
    block = entry("a").tobuf(tarfile.GNU_FORMAT)
    return gzip.compress(block * 2001 + bytes(1024))


MORE = "it unpacks to more than .* (MB|GB), (200 times its own size|the limit for a file of its size)"
BOMBS: dict[str, tuple[str, Callable[[], bytes], str]] = {
    "zip": ("ml.zip", lambda: zipped(BIG), MORE),
    "zip, bzip2": ("ml.zip", lambda: zipped(ZEROS, zipfile.ZIP_BZIP2), MORE),
    "zip, lzma": ("ml.zip", lambda: zipped(ZEROS, zipfile.ZIP_LZMA), MORE),
    "overlapping zip": ("ml.zip", overlapping, MORE),
    "lying zip": ("ml.zip", lying, "as zip it cannot be read to its end"),
    "tar.gz": ("ml.tar.gz", lambda: tar_of(entry("retail.dat"), content=ZEROS, mode="gz"), MORE),
    "tar.bz2": ("ml.tar.bz2", lambda: tar_of(entry("retail.dat"), content=ZEROS, mode="bz2"), MORE),
    "tar.xz": ("ml.tar.xz", lambda: tar_of(entry("retail.dat"), content=ZEROS, mode="xz"), MORE),
    "gzip": ("retail.dat.gz", lambda: gzip.compress(ZEROS), MORE),
    "sparse tar": ("ml.tar", sparse, MORE),
    "endless header": ("ml.tar.gz", long_header, "it has a header that does not end"),
    "members": ("ml.tar.gz", many, "it has more than 2,000 members"),
    "absolute": ("ml.tar", lambda: tar_of(entry("/tmp/retail.dat"), content=b"1"), "outside of its folder"),
    "above": ("ml.tar", lambda: tar_of(entry("a/../../retail.dat"), content=b"1"), "outside of its folder"),
    "device": ("ml.tar", lambda: tar_of(entry("zero", tarfile.CHRTYPE)), "'zero' in it is a device or a pipe"),
    "pipe": ("ml.tar", lambda: tar_of(entry("pipe", tarfile.FIFOTYPE)), "'pipe' in it is a device or a pipe"),
    "link": ("ml.tar", lambda: tar_of(entry("a", tarfile.SYMTYPE, "/etc/passwd")), "'a' in it is a link out of"),
    "link above": ("ml.tar", lambda: tar_of(entry("b/a", tarfile.SYMTYPE, "../../x")), "'b/a' in it is a link out of"),
    "hard link": ("ml.tar", lambda: tar_of(entry("a", tarfile.LNKTYPE, "../x")), "'a' in it is a link out of"),
}
for name in ("../retail.dat", "/tmp/retail.dat", "a\\..\\..\\b", "C:/x"):
    BOMBS[f"zip, {name}"] = ("ml.zip", lambda name=name: named(name), "in it is outside of its folder")  # type: ignore[misc]


def named(name: str, content: str = "1", mode: int = 0) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        info = zipfile.ZipInfo(name)
        info.filename, info.external_attr = name, mode << 16
        archive.writestr("good.dat", "1 2\n")
        archive.writestr(info, content)
    return packed.getvalue()


@pytest.mark.parametrize("case", BOMBS)
def test_bombs_are_refused(server: Server, own_cache: Path, monkeypatch: pytest.MonkeyPatch, case: str) -> None:
    """At the check, when the file came; and by `unpack` alone, should a check ever miss it."""
    assert archives.MEMBERS == 100_000
    monkeypatch.setattr(archives, "MEMBERS", 2000)  # as many would take seconds
    name, make, reason = BOMBS[case]
    server.files[name] = make()
    with pytest.raises(fetch.FetchError, match=rf"{name}: .*{reason}.*; it is removed"):
        fetch.fetch(card(server, name))
    assert [path.name for path in own_cache.rglob("*") if path.is_file()] == [".lock"]
    if name.endswith(".dat.gz"):
        return  # stays as it is
    alone = own_cache / "alone"
    alone.mkdir()
    (alone / name).write_bytes(server.files[name])
    with pytest.raises(integrity.Unfit):
        integrity.unpack(alone / name)
    assert list(alone.iterdir()) == []


def test_a_bomb_takes_no_memory(tmp_path: Path) -> None:
    """Less than a kilobyte of bzip2 in a zip that holds 600 MB, all of which zipfile would unpack at one read."""
    code = """
import sys, resource
from pathlib import Path
from dpbench.sources.download import integrity
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    integrity.check(Path(sys.argv[1]), "ml.zip", measured=True)
except integrity.UnsafeArchive:
    print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024)
"""
    stream = bz2.BZ2Compressor(9)
    packed = stream.compress(BIG) + stream.compress(BIG) + stream.flush()
    content = bytearray(zipped(packed, zipfile.ZIP_STORED))
    for place, offset in ((content.index(b"PK\x03\x04"), 8), (content.index(b"PK\x01\x02"), 10)):
        content[place + offset : place + offset + 2] = struct.pack("<H", zipfile.ZIP_BZIP2)
        content[place + offset + 14 : place + offset + 18] = struct.pack("<I", 600 * MB)
    assert len(content) < 2000
    (tmp_path / "ml.zip").write_bytes(content)
    command = [sys.executable, "-c", code, str(tmp_path / "ml.zip")]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert int(run.stdout) < 250 * MB


def test_the_stated_size_counts(server: Server, own_cache: Path) -> None:
    """50 times what the card states, for what is unpacked and for what is sent."""
    packed = zipped(BIG[: 100 * MB], zipfile.ZIP_STORED)
    server.files["ml.zip"] = packed
    for size, reason in (("1 MB", "it is larger than 50 MB, 50 times the size that its card states"), ("3 MB", "")):
        stated = dataclasses.replace(card(server, "ml.zip"), files=(Address(f"{server.address}/ml.zip", size=size),))
        if reason:
            with pytest.raises(fetch.FetchError, match=reason):
                fetch.fetch(stated)
            assert [path.name for path in own_cache.rglob("*") if path.is_file()] == [".lock"]
        else:
            assert (fetch.fetch(stated)[0] / "retail.dat").stat().st_size == 100 * MB
    budget = archives.UnpackLimit(10 * MB, 2 * MB)
    assert (budget.most, budget.why) == (100 * MB, "50 times the size that its card states")
    assert archives.UnpackLimit(10 * MB, 20 * MB).most == 1000 * MB


@pytest.mark.parametrize(
    ("size", "number"),
    [("4 MB", 4 * MB), ("about 1.9 GB", 1900 * MB), ("1 kB", 1000), ("7 B", 7), ("", None), ("?", None)],
)
def test_sizes_in_words(size: str, number: int | None) -> None:
    assert Address("http://here/x", size=size).bytes == number


def test_the_disk_keeps_a_gigabyte_free(server: Server, own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """That is not the archive's fault: it stays, and the same command tries again."""
    server.files["ml.zip"] = zipped(ZEROS[: 10 * MB])
    with monkeypatch.context() as patch:
        patch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=(1 << 30) + 5 * MB))
        with pytest.raises(
            fetch.FetchError, match="could not be unpacked: 5 MB of disk space may be used, it needs more"
        ):
            fetch.fetch(card(server, "ml.zip"))
        assert sorted(p.name for p in own_cache.rglob("*") if p.is_file()) == [".lock", "ml.zip"]
    fetch.fetch(card(server, "ml.zip"))
    assert len(server.asked) == 1


def test_links_inside_become_copies(server: Server, own_cache: Path) -> None:
    packed = tar_of(
        entry("data/retail.dat"),
        entry("data/soft.dat", tarfile.SYMTYPE, "retail.dat"),
        entry("hard.dat", tarfile.LNKTYPE, "data/retail.dat"),
        content=b"1 2\n",
    )
    server.files["ml.tar"] = packed
    folder, _ = fetch.fetch(card(server, "ml.tar"))
    for name in ("data/soft.dat", "hard.dat"):
        assert (folder / name).read_bytes() == b"1 2\n"
        assert not (folder / name).is_symlink()
        assert (folder / name).stat().st_nlink == 1
    server.files["ml.zip"] = named("soft.dat", "good.dat", 0o120777)
    folder, _ = fetch.fetch(card(server, "ml.zip"), again=True)
    assert (folder / "soft.dat").read_bytes() == b"1 2\n"
    server.files["ml.zip"] = named("soft.dat", "/etc/passwd", 0o120777)
    with pytest.raises(fetch.FetchError, match=r"'soft.dat' in it is a link out of its folder"):
        fetch.fetch(card(server, "ml.zip"), again=True)


def test_names_that_contradict_each_other(server: Server, own_cache: Path) -> None:
    server.files["ml.zip"] = named("good.dat/more.dat")
    with pytest.raises(
        fetch.FetchError, match=r"ml.zip is not a complete archive: it cannot be unpacked \(.*\); it is removed"
    ):
        fetch.fetch(card(server, "ml.zip"))


def test_an_honest_archive_that_shrinks_well(server: Server, own_cache: Path) -> None:
    """Text of which one part in a hundred remains is no bomb."""
    numbers = np.random.default_rng(1).integers(0, 1 << 60, 20_000)
    text = b"".join(b"%d %s\n" % (number, b" 1" * 1000) for number in numbers)
    packed = zipped(text)
    assert 50 < len(text) / len(packed) < 200
    server.files["ml.zip"] = packed
    folder, _ = fetch.fetch(card(server, "ml.zip"))
    assert (folder / "retail.dat").stat().st_size == len(text)
