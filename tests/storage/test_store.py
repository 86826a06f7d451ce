"""The store: each trial once, whatever the history, and no file that is not what it should be."""

from __future__ import annotations

import os
import random
from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dpbench.errors import Failed
from dpbench.storage.store import PLAIN, Conflict, Store, TrialFile, _checksum

from support.stores import name_of, row, rows

ID, OTHER = name_of(0), name_of(1)


class Told(list[str]):
    """What the store says."""

    def __call__(self, text: str) -> None:
        self.append(text)


def store_of(folder: Path) -> tuple[Store, Told]:
    told = Told()
    return Store(folder, say=told), told


def numbers(table: pa.Table | None) -> list[dict[str, object]]:
    """Rows without their time."""
    return [] if table is None else table.drop_columns("seconds").to_pylist()


def made(trials: Iterable[int]) -> list[dict[str, object]]:
    """The same of rows that were never stored."""
    return [{name: value for name, value in r.items() if name != "seconds"} for r in rows(trials)]


def put(store: Store, trials: Iterable[int], seconds: float = 0.25) -> Path:
    before = set(files(store))
    store.write(ID, rows(trials, seconds=seconds), "about")
    (path,) = set(files(store)) - before
    return path


def files(store: Store) -> list[Path]:
    return sorted(store.root.rglob("*.parquet"))


def sealed(store: Store, first: int, last: int, content: bytes) -> Path:
    """A file with the right name for this content, as anybody can make one."""
    path = store.folder(ID) / f"{first:06d}-{last:06d}.{_checksum(ID, first, last, content)}.parquet"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def test_what_is_written_is_read(tmp_path: Path) -> None:
    store, told = store_of(tmp_path)
    assert store.read(ID) is None
    assert store.done(ID) == set()
    store.write(ID, rows([5, 3, 2, 9]), "about")
    assert [p.name[:13] for p in files(store)] == ["000002-000003", "000005-000005", "000009-000009"]
    assert store.done(ID) == store.named(ID) == {2, 3, 5, 9}
    assert numbers(store.read(ID)) == made([2, 3, 5, 9])
    assert [r["trial"] for r in numbers(store.read(ID, 5))] == [2, 3]
    assert store.read(ID, 2) is None
    assert told == []


@pytest.mark.parametrize("seed", range(20))
def test_any_history_gives_each_trial_once(tmp_path: Path, seed: int) -> None:
    """Writers that overlap in any way, in any order: the rows of a single writer."""
    dice = random.Random(seed)
    store, told = store_of(tmp_path)
    for _ in range(dice.randrange(2, 8)):
        first = dice.randrange(0, 20)
        store.write(ID, rows(range(first, dice.randrange(first + 1, 31)), seconds=dice.random()), "about")
    done = store.done(ID)
    assert numbers(store.read(ID)) == made(sorted(done))
    assert numbers(store.read(ID, 12)) == made(sorted(t for t in done if t < 12))
    assert told == []


def test_chunks_of_15_then_of_8(tmp_path: Path) -> None:
    store, _ = store_of(tmp_path)
    for first, last in ((0, 14), (15, 19), (0, 7), (8, 15), (16, 19)):
        put(store, range(first, last + 1), seconds=first / 7)
    assert [r["trial"] for r in numbers(store.read(ID))] == list(range(20))


def test_a_slow_writer_of_10_outlived_by_a_fast_one_of_20(tmp_path: Path) -> None:
    store, _ = store_of(tmp_path)
    put(store, range(20), seconds=0.1)
    put(store, range(10), seconds=9.0)
    assert len(numbers(store.read(ID))) == 20
    assert len(numbers(store.read(ID, 10))) == 10


def test_two_copies_that_differ_are_an_error_that_names_both(tmp_path: Path) -> None:
    store, _ = store_of(tmp_path)
    first = put(store, range(4))
    store.write(ID, [{**row(2), "metric.mae": 0.5, "seconds": 1.0}], "about")
    (second,) = set(files(store)) - {first}
    with pytest.raises(Conflict, match=r"trial 2 has metric\.mae") as caught:
        store.read(ID)
    assert str(first) in str(caught.value)
    assert str(second) in str(caught.value)
    second.unlink()
    assert len(numbers(store.read(ID))) == 4


@pytest.mark.parametrize("missing", ["metric.mse", "chosen.scale"])
def test_a_number_that_one_copy_lacks_is_a_difference(tmp_path: Path, missing: str) -> None:
    store, _ = store_of(tmp_path)
    put(store, range(4))
    store.write(ID, [{k: v for k, v in row(2, seconds=3).items() if k != missing}], "about")
    with pytest.raises(Conflict, match=missing):
        store.read(ID)


@pytest.mark.parametrize("late", [True, False])
def test_a_pair_that_one_copy_lacks_is_filled_in(tmp_path: Path, late: bool) -> None:
    store, _ = store_of(tmp_path)
    half = [row(0), row(1, pair=False, seconds=2.0)]
    for content in (half, rows(range(2)))[:: 1 if late else -1]:
        store.write(ID, content, "about")
    assert numbers(store.read(ID)) == made(range(2))


def test_not_a_number_agrees_with_itself(tmp_path: Path) -> None:
    store, _ = store_of(tmp_path)
    for seconds in (1.0, 2.0):
        store.write(ID, [{"trial": 0, "seconds": seconds, "metric.mae": float("nan")}], "about")
    assert len(numbers(store.read(ID))) == 1


def test_words_and_numbers_in_one_column(tmp_path: Path) -> None:
    """A trial that tells a word and one that tells a number: the same table whatever was stored together."""
    cells = [3, "auto", 2.5, 0.1, None, "nan"]
    told = [{"trial": i, "seconds": 0.0} | ({} if c is None else {"chosen.w": c}) for i, c in enumerate(cells)]
    histories = ([told], [[r] for r in told], [told[:2], told[1:4], told[2:]], [told[::2], told[1::2], told])
    tables = []
    for number, history in enumerate(histories):
        store, _ = store_of(tmp_path / str(number))
        for part in history:
            store.write(ID, [{**r, "seconds": number} for r in part], "about")
        tables.append([store.read(ID).drop_columns("seconds"), store.read(ID, 1).drop_columns("seconds")])
        assert store.read(ID)["chosen.w"].to_pylist() == ["3.0", "auto", "2.5", "0.1", None, "nan"]
        assert store.read(ID, 1)["chosen.w"].to_pylist() == [3.0]
    assert all(a.equals(b) for found in tables for a, b in zip(found, tables[0], strict=True))


def damages(path: Path) -> dict[str, bytes]:
    content = path.read_bytes()
    flipped = {f"byte {i}": content[:i] + bytes([content[i] ^ 1]) + content[i + 1 :] for i in range(len(content))}
    cuts = {f"cut at {i}": content[:i] for i in range(0, len(content), 97)}
    return {**flipped, **cuts, "longer": content + b"\0", "empty": b""}


def test_every_byte_counts(tmp_path: Path) -> None:
    """A bit changed anywhere, footer included, or a cut: the file is set aside, named, and its trials are missing."""
    store, told = store_of(tmp_path)
    path = put(store, range(4))
    content, fine = path.read_bytes(), store.read(ID)
    cases = damages(path)
    assert len(cases) > 1000
    for what, damage in cases.items():
        store, told = store_of(tmp_path)
        path.write_bytes(damage)
        assert store.done(ID) == set(), what
        assert store.read(ID) is None, what
        assert len(told) == 1
        assert str(path) in told[0]
        assert not path.exists()
    assert len(list((tmp_path / "damaged").iterdir())) == len(cases)
    path.write_bytes(content)
    assert store.read(ID).equals(fine)


@pytest.mark.parametrize(
    "name",
    [
        "000000-000004.{sum}.parquet",
        "000001-000003.{sum}.parquet",
        "000004-000007.{sum}.parquet",
        "000003-000000.{sum}.parquet",
        "000000-000003.0{sum}.parquet",
        "000000-000003.{turned}.parquet",
        "000000-000003.{upper}.parquet",
        "000000-000003.parquet",
        "000000-000003.{sum}.parquet~",
        "٠٠٠٠٠٠-000003.{sum}.parquet",
        "notes.txt",
        "000000-999999999999999.{sum}.parquet",
    ],
)
def test_a_renamed_file_is_set_aside(tmp_path: Path, name: str) -> None:
    store, told = store_of(tmp_path)
    path = put(store, range(4))
    checksum = path.name.split(".")[1]
    turned, upper = checksum[::-1], checksum.upper()
    path.rename(path.with_name(name.format(sum=checksum, turned=turned, upper=upper)))
    assert store.done(ID) == set()
    assert len(told) == 1
    assert list(store.folder(ID).iterdir()) == []


def test_a_file_copied_to_another_setting_is_set_aside(tmp_path: Path) -> None:
    store, told = store_of(tmp_path)
    path = put(store, range(4))
    store.folder(OTHER).mkdir(parents=True)
    copy = store.folder(OTHER) / path.name
    copy.write_bytes(path.read_bytes())
    assert store.read(OTHER) is None
    assert store.done(OTHER) == set()
    assert str(copy) in told[0]
    assert store.done(ID) == {0, 1, 2, 3}


def parquet(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, **PLAIN)
    return sink.getvalue().to_pybytes()


def test_a_file_with_the_right_name_and_other_content_is_set_aside(tmp_path: Path) -> None:
    """As somebody else can make one: it ends nothing with a traceback."""
    good = pa.Table.from_pylist(rows(range(2)))
    cases = [
        b"PAR1 no parquet",
        parquet(good.slice(0, 1)),
        parquet(good.drop_columns("trial")),
        parquet(good.set_column(0, "trial", [["0", "1"]])),
        parquet(good.set_column(0, "trial", pa.array([0, 7]))),
        parquet(good.set_column(2, "metric.mae", [["many", "few"]])),
        parquet(good.append_column("info.list", pa.array([[1], [2]]))),
        parquet(good.append_column("metric.mae", pa.array([1.0, 2.0]))),
    ]
    for content in cases:
        store, told = store_of(tmp_path)
        path = sealed(store, 0, 1, content)
        assert store.read(ID) is None
        assert len(told) == 1
        assert not path.exists()
    sealed(store, 0, 1, parquet(good))
    assert store.read(ID) is not None


def test_links_are_not_followed(tmp_path: Path) -> None:
    """A folder from somebody else may hold links to the reader's own files: none is opened or moved."""
    outside = tmp_path / "outside"
    elsewhere, _ = store_of(outside)
    path = put(elsewhere, range(4))
    store, told = store_of(tmp_path / "results")
    store.folder(ID).mkdir(parents=True)
    (store.folder(ID) / path.name).symlink_to(path)
    assert store.read(ID) is None
    assert len(told) == 1
    (store.folder(ID)).rmdir()
    store.folder(ID).symlink_to(path.parent)
    for look in (store.read, store.done, store.named):
        with pytest.raises(Failed, match="link"):
            look(ID)
    with pytest.raises(Failed, match="link"):
        store.write(ID, rows(range(2)), "about")
    assert files(elsewhere) == [path]
    assert len(numbers(elsewhere.read(ID))) == 4


def test_a_link_for_the_damaged_is_not_followed(tmp_path: Path) -> None:
    store, told = store_of(tmp_path / "results")
    path = put(store, range(4))
    path.write_bytes(b"")
    (tmp_path / "outside").mkdir()
    (tmp_path / "results" / "damaged").symlink_to(tmp_path / "outside")
    assert store.done(ID) == set()
    assert "cannot be moved" in told[0]
    assert list((tmp_path / "outside").iterdir()) == []


def test_pipes_and_folders_are_no_files(tmp_path: Path) -> None:
    store, told = store_of(tmp_path)
    path = put(store, range(4))
    name = path.name
    path.unlink()
    os.mkfifo(path)
    assert store.done(ID) == set()
    (store.folder(ID) / name).mkdir()
    assert store.done(ID) == set()
    assert len(list((tmp_path / "damaged").iterdir())) == 2
    assert len(told) == 1, "a file is told of once"


def test_what_cannot_be_read_is_told_and_not_moved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A temporary disk error must not cost good data."""
    store, told = store_of(tmp_path)
    path = put(store, range(4))

    def refuse(self: Path) -> bytes:
        raise PermissionError(13, "Permission denied", str(self))

    with monkeypatch.context() as patch:
        patch.setattr(Path, "read_bytes", refuse)
        assert store.done(ID) == set()
        assert store.read(ID) is None
    assert told == [f"{path} cannot be read (Permission denied): its trials count as missing"]
    assert store.done(ID) == {0, 1, 2, 3}
    with monkeypatch.context() as patch:
        patch.setattr(os, "scandir", lambda place: refuse(Path(place)))
        assert store.done(ID) == set()
    assert f"{store.folder(ID)} cannot be read" in told[1]


def test_a_folder_that_may_only_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store, told = store_of(tmp_path)
    path = put(store, range(4))
    path.write_bytes(path.read_bytes()[:-1])

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "replace", refuse)
    assert store.done(ID) == set()
    assert store.done(ID) == set()
    assert [("cannot be moved" in text) for text in told] == [True]
    with pytest.raises(Failed, match=r"cannot be stored in .*Permission denied"):
        store.write(ID, rows(range(4)), "about")
    assert [p.name for p in store.folder(ID).iterdir()] == [path.name], "nothing is left aside"


def test_a_writer_that_fails_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store, _ = store_of(tmp_path)

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(Failed, match="No space left on device"):
        store.write(ID, rows(range(4)), "about")
    assert [p for p in tmp_path.rglob("*") if p.is_file()] == []


def test_names_are_parsed_back() -> None:
    path = Path("000010-000019." + "a" * 24 + ".parquet")
    file = TrialFile.parse(path)
    assert file is not None
    assert list(file.trials()) == list(range(10, 20))
    assert file.checksum == "a" * 24
