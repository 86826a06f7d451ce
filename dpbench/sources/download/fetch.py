"""Download original files from their official addresses. pooch checks and stores them; interrupted transfers resume.

Everything happens in a temporary folder that is renamed when it is complete, so a folder that exists is complete.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from dpbench.errors import UserError
from dpbench.sources.cards import RECORD, UNKNOWN, Address, Card, downloads
from dpbench.sources.download import integrity
from dpbench.sources.download.transfer import PART, TAG, Continued, DownloadProgress
from dpbench.storage.files import untouched
from dpbench.storage.seals import seal, unseal


class FetchError(Exception):
    """The files could not be downloaded. The message says why and what to do."""


def fetch(
    card: Card, *, mirror: str | None = None, again: bool = False, progress: DownloadProgress = lambda *_: None
) -> tuple[Path, dict[str, str]]:
    """Fetch all files of a card into the cache. Returns the folder, and the SHA-256 of each file.

    Files fetched before are checked against their checksums, not fetched. `again` fetches them anew and keeps the old ones
    until the new ones are complete. `mirror` is another address of the same files; the checksums hold for it too.
    """
    folder = downloads() / card.name
    if folder.is_dir() and not again:
        return folder, _still_holds(folder, card)
    if not card.files:
        where = f": see {card.page}" if card.page else ""
        raise UserError(f"{card.name}: there is no address to fetch it from{where}")
    aside, old = downloads() / f".{card.name}", downloads() / f".{card.name}.old"
    _sweep_others(card.name)
    aside.mkdir(parents=True, exist_ok=True)
    with _alone(aside, card.name):
        if old.is_dir() and not folder.is_dir():  # the process was killed between the two renames below
            os.rename(old, folder)
            if not again:
                return folder, _still_holds(folder, card)
        _sweep_leftovers(aside, card, whole=again)
        checksums = {file.name: _fetch_one(file, card, mirror, aside, progress) for file in card.files}
        _unpack(aside, card)
        record = {
            "sha256": checksums,
            "checksums": {file.name: file.checksum for file in card.files},
            "files": _contents(aside, card),
            "addresses": [file.address for file in card.files],
            "mirror": mirror,
        }
        (aside / RECORD).write_text(seal(record))
        (aside / integrity.LOCK).unlink(missing_ok=True)
        shutil.rmtree(old, ignore_errors=True)
        if folder.is_dir():
            os.rename(folder, old)
        os.rename(aside, folder)
        shutil.rmtree(old, ignore_errors=True)
    return folder, checksums


def _contents(folder: Path, card: Card) -> dict[str, str]:
    """The SHA-256 of every file that the reader will find, by its path inside the folder."""
    own = {integrity.LOCK, RECORD} | {file.name + end for file in card.files for end in (PART, PART + TAG)}
    paths = (path for path in sorted(folder.rglob("*")) if path.is_file() and not path.is_symlink())
    names = ((path.relative_to(folder).as_posix(), path) for path in paths)
    return {name: _sha256(path) for name, path in names if name not in own}


def _sha256(path: Path) -> str:
    import pooch

    return str(pooch.file_hash(path))


def _still_holds(folder: Path, card: Card) -> dict[str, str]:
    """Hash again what was fetched before. Returns the SHA-256 of each downloaded file; raises if anything has changed."""
    anew = f"python -m dpbench data get {card.name} --again fetches it anew"
    try:
        record = unseal((folder / RECORD).read_bytes())
        came, checksums, files = (dict(record[key]) for key in ("sha256", "checksums", "files"))
    except (OSError, ValueError, TypeError, KeyError):
        what = f"{folder} cannot be checked, because its {RECORD} does not say what was fetched: {anew}"
        raise FetchError(what) from None
    for name, sha256 in files.items():
        if not (folder / name).is_file():
            raise FetchError(f"{folder / name} is missing, it was fetched before: {anew}")
        if (now := _sha256(folder / name)) != sha256:
            changed = f"was changed since it was fetched (sha256:{now}, expected {sha256})"
            raise FetchError(f"{folder / name} {changed}: {anew}")
    for file in card.files:
        if file.name not in came:
            raise FetchError(f"{folder} has no {file.name}, which the card names: {anew}")
        if file.checksum not in (UNKNOWN, checksums.get(file.name), f"sha256:{came[file.name]}"):
            raise FetchError(f"{file.name} was fetched when its card had a checksum other than {file.checksum}: {anew}")
    if card.open and not (folder / card.open).exists():
        raise FetchError(f"{folder / card.open} is missing, the reader opens it: {anew}")
    return came


def _sweep_leftovers(aside: Path, card: Card, *, whole: bool = False) -> None:
    """Remove what a killed transfer left and the next one cannot use: pooch's temporary file and partly unpacked archives;
    with `whole` also complete files. What remains is kept when the folder is renamed."""
    ends = (PART, PART + TAG) if whole else ("", PART, PART + TAG)
    kept = {integrity.LOCK} | {file.name + end for file in card.files for end in ends}
    for entry in aside.iterdir():
        if entry.name not in kept:
            shutil.rmtree(entry) if entry.is_dir() and not entry.is_symlink() else entry.unlink()


def _sweep_others(name: str) -> None:
    """Remove what transfers of other datasets left more than a day ago. An old folder that was never replaced is put back,
    because it is complete."""
    for entry in downloads().glob(".*"):
        own = entry.name.removeprefix(".").removesuffix(".old")
        if not entry.is_dir() or own == name or not untouched(entry):
            continue
        if entry.name.endswith(".old") and not (downloads() / own).exists():
            os.rename(entry, downloads() / own)
        else:
            shutil.rmtree(entry, ignore_errors=True)


@contextlib.contextmanager
def _alone(folder: Path, name: str) -> Iterator[None]:
    """Allow only one transfer at a time: two would write into the same file."""
    try:
        import fcntl
    except ImportError:  # no such locks on this system
        yield
        return
    with (folder / integrity.LOCK).open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise UserError(f"{name} is being fetched by another process") from None
        yield


def _fetch_one(file: Address, card: Card, mirror: str | None, aside: Path, progress: DownloadProgress) -> str:
    import pooch
    import requests

    url = f"{mirror.rstrip('/')}/{file.name}" if mirror else file.address
    known = None if file.checksum == UNKNOWN else file.checksum
    pooch.get_logger().setLevel("ERROR")
    _drop_if_unfit(aside / file.name, file)
    transfer = Continued(file.name, aside, progress, vouched=known is not None, stated=file.bytes)
    try:
        return _sha256(Path(pooch.retrieve(url, known, fname=file.name, path=aside, downloader=transfer)))
    except integrity.Unfit as error:
        what = file.name if isinstance(error, integrity.UnsafeArchive) else f"an incomplete {file.name}"
        raise FetchError(f"{url} sent {what}: {error}; it is removed. {_elsewhere(card)}") from None
    except requests.HTTPError as error:
        answer = error.response
        status = f"{answer.status_code} {answer.reason}" if answer is not None else "an error"
        hint = f"; is it still on {card.page}? --from takes another address" if card.page else ""
        raise FetchError(f"{url} answers {status}: expected the file{hint}") from None
    except (requests.exceptions.MissingSchema, requests.exceptions.InvalidSchema, requests.exceptions.InvalidURL):
        raise FetchError(f"{url} is not a valid address: expected one like https://host/folder") from None
    except requests.TooManyRedirects:
        raise FetchError(f"{url} redirects in circles: expected the file. {_elsewhere(card)}") from None
    except (requests.RequestException, OSError) as error:
        what = "broke off" if transfer.answered else "does not answer"
        next_time = "continues where it stopped" if transfer.continues else "starts from the beginning"
        hint = "" if transfer.answered else f". {_elsewhere(card)}"
        raise FetchError(f"{url} {what}: {_reason(error)}; the same command {next_time}{hint}") from None
    except ValueError:  # raised by pooch for a wrong checksum, after it removed the file
        why = "the file was changed or damaged in transfer, and is removed"
        raise FetchError(f"the checksum of {url} is not {file.checksum}: {why}") from None


def _drop_if_unfit(path: Path, file: Address) -> None:
    """Remove an earlier file that is not valid: pooch would reuse it, and every attempt would fail."""
    try:
        if path.is_file():
            integrity.check(path, path.name, measured=True, stated=file.bytes)
    except integrity.Unfit:
        path.unlink()


def _unpack(aside: Path, card: Card) -> None:
    """Unpack the archives among a card's files, and check that what the reader opens is there."""
    for file in card.files:
        try:
            integrity.unpack(aside / file.name, stated=file.bytes)
        except integrity.Unfit as error:
            what = "" if isinstance(error, integrity.UnsafeArchive) else " is not a complete archive"
            raise FetchError(f"{file.name}{what}: {error}; it is removed. {_elsewhere(card)}") from None
        except OSError as error:
            what = f"{file.name} could not be unpacked: {_reason(error)}"
            raise FetchError(f"{what}; the same command tries again") from None
    if card.open and not (aside / card.open).exists():
        names = ", ".join(file.name for file in card.files)
        what = f"{names}: expected {card.open} in it, but it is missing; it is removed. {_elsewhere(card)}"
        _sweep_leftovers(aside, card, whole=True)
        raise FetchError(what)


def _elsewhere(card: Card) -> str:
    """Advice for when an address does not deliver the file."""
    page = f"Is it still on {card.page}? " if card.page else ""
    return f"{page}--from takes another address"


def _reason(error: BaseException) -> str:
    """Why a transfer failed, in a few words: the system's own message, extracted from the libraries' messages."""
    text = " ".join(str(error).split())
    if system := re.search(r"\[Errno -?\d+\] ([\w ,]+)", text):
        return system[1]
    return text if len(text) < 160 else type(error).__name__
