"""Original files from their official address: pooch checks and keeps them, transfers that broke off are continued.

Everything happens in a folder aside that is renamed when it is whole, so a folder that exists is complete.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from dpbench.errors import UserError
from dpbench.sources.cards import UNKNOWN, Address, Card, downloads

ATTEMPTS = 3
TIMEOUT = (10, 60)  # seconds to connect, and between two pieces
PART, TAG = ".part", ".tag"  # of a file that is not whole yet, and what the server called it
PIECE = 1 << 14  # what is lost at most when a transfer breaks off

Progress = Callable[[str, int, int | None], None]
"""Called with the file's name, the bytes that are here and all bytes (None: not known)."""


class FetchError(Exception):
    """The files could not be had; the message says why and what to do."""


def fetch(
    card: Card, *, mirror: str | None = None, progress: Progress = lambda *_: None
) -> tuple[Path, dict[str, str]]:
    """Fetch all files of a card into the cache. Returns the folder, and the SHA-256 of each file.

    `mirror` is an address under which the same files are; the checksums hold for it too.
    """
    folder = downloads() / card.name
    if folder.is_dir():
        return folder, _recorded(folder)
    if not card.files:
        where = f": see {card.page}" if card.page else ""
        raise UserError(f"{card.name}: there is no address to fetch it from{where}")
    aside = downloads() / f".{card.name}"
    aside.mkdir(parents=True, exist_ok=True)
    with _alone(aside, card.name):
        _sweep_leftovers(aside, card)
        found = {file.name: _fetch_one(file, card, mirror, aside, progress) for file in card.files}
        for file in card.files:
            _unpack(aside / file.name)
        record = {"sha256": found, "addresses": [file.address for file in card.files], "mirror": mirror}
        (aside / "fetched.json").write_text(json.dumps(record, indent=1))
        (aside / ".lock").unlink(missing_ok=True)
        os.rename(aside, folder)
    return folder, found


def _recorded(folder: Path) -> dict[str, str]:
    """The SHA-256 of each file when it was fetched."""
    try:
        return dict(json.loads((folder / "fetched.json").read_text())["sha256"])
    except (OSError, ValueError, TypeError, KeyError):
        raise FetchError(f"{folder} is not as it was fetched: remove the folder to fetch it again") from None


def _sweep_leftovers(aside: Path, card: Card) -> None:
    """Remove what a killed transfer left aside and the next one does not build upon: pooch's own temporary file, and what
    was unpacked so far. What remains is kept for good when the folder is renamed."""
    kept = {".lock"} | {file.name + end for file in card.files for end in ("", PART, PART + TAG)}
    for entry in aside.iterdir():
        if entry.name not in kept:
            shutil.rmtree(entry) if entry.is_dir() and not entry.is_symlink() else entry.unlink()


@contextlib.contextmanager
def _alone(folder: Path, name: str) -> Iterator[None]:
    """Two transfers into one file would mix; the second one is turned away."""
    try:
        import fcntl
    except ImportError:  # no such locks on this system
        yield
        return
    with (folder / ".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise UserError(f"{name} is being fetched by another process") from None
        yield


def _fetch_one(file: Address, card: Card, mirror: str | None, aside: Path, progress: Progress) -> str:
    import pooch
    import requests

    url = f"{mirror.rstrip('/')}/{file.name}" if mirror else file.address
    known = None if file.checksum == UNKNOWN else file.checksum
    pooch.get_logger().setLevel("ERROR")
    try:
        path = pooch.retrieve(url, known, fname=file.name, path=aside, downloader=Continued(file.name, progress))
    except requests.HTTPError as error:
        answer = error.response
        status = f"{answer.status_code} {answer.reason}" if answer is not None else "an error"
        hint = f"; is it still on {card.page}? --from takes another address" if card.page else ""
        raise FetchError(f"{url} answers {status}: expected the file{hint}") from None
    except (requests.exceptions.MissingSchema, requests.exceptions.InvalidSchema, requests.exceptions.InvalidURL):
        raise FetchError(f"{url} is no address to fetch from: expected one like https://host/folder") from None
    except (requests.RequestException, OSError) as error:
        raise FetchError(f"{url} broke off: {_reason(error)}; the same command continues from where it was") from None
    except ValueError:  # what pooch raises for a wrong checksum, when it has removed the file
        what = (
            f"the checksum of {url} is not {file.checksum}: the file was changed or damaged on its way, and is removed"
        )
        raise FetchError(what) from None
    return str(pooch.file_hash(path))


def _reason(error: BaseException) -> str:
    """Why a transfer failed, in a few words: what the system said, where it is buried in what libraries say."""
    text = " ".join(str(error).split())
    if system := re.search(r"\[Errno -?\d+\] ([\w ,]+)", text):
        return system[1]
    return text if len(text) < 160 else type(error).__name__


class Continued:
    """A downloader for pooch that keeps what has come so far and asks the server for the rest only.

    The server's tag of the file is kept beside it: a file that changed since is fetched anew (If-Range).
    """

    def __init__(self, name: str, progress: Progress) -> None:
        self.name, self.progress = name, progress

    def __call__(self, url: str, output_file: str, pooch: Any = None, check_only: bool = False) -> None:
        import requests

        part = Path(output_file).parent / f"{self.name}{PART}"
        for attempt in range(ATTEMPTS):
            try:
                self._rest(url, part)
                break
            except (requests.ConnectionError, requests.exceptions.ChunkedEncodingError, requests.Timeout):
                if attempt == ATTEMPTS - 1:
                    raise
        os.replace(part, output_file)
        _tag_file(part).unlink(missing_ok=True)

    def _rest(self, url: str, part: Path) -> None:
        import requests

        have, tag = part.stat().st_size if part.is_file() else 0, _tag(part)
        headers = {"Accept-Encoding": "identity"}
        if have and tag:
            headers |= {"Range": f"bytes={have}-", "If-Range": tag}
        with requests.get(url, headers=headers, stream=True, timeout=TIMEOUT) as answer:
            if answer.status_code == 416:  # nothing is left after what we have, or it is another file
                part.unlink()
                raise requests.ConnectionError("the part does not fit the file any more")
            answer.raise_for_status()
            continues = answer.status_code == 206
            have = have if continues else 0
            length = answer.headers.get("Content-Length")
            total = have + int(length) if length else None
            _tag_file(part).write_text(answer.headers.get("ETag") or answer.headers.get("Last-Modified") or "")
            with part.open("ab" if continues else "wb") as out:
                for piece in answer.iter_content(PIECE):
                    out.write(piece)
                    have += len(piece)
                    self.progress(self.name, have, total)
        if total is not None and have != total:
            raise requests.ConnectionError(f"{have} of {total} bytes came")


def _tag_file(part: Path) -> Path:
    return part.with_name(part.name + TAG)


def _tag(part: Path) -> str:
    """What the server called the file when the part came; weak tags do not vouch for bytes."""
    try:
        tag = _tag_file(part).read_text()
    except OSError:
        return ""
    return "" if tag.startswith("W/") else tag


def _unpack(path: Path) -> None:
    """An archive becomes its content; a single gzip file stays as it is, because readers take it."""
    try:
        if zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive:
                archive.extractall(path.parent)
        elif path.name.endswith((".tar", ".tar.gz", ".tgz")):
            with tarfile.open(path) as archive:
                archive.extractall(path.parent, filter="data")
        else:
            return
    except (zipfile.BadZipFile, tarfile.TarError, EOFError, OSError) as error:
        path.unlink(missing_ok=True)
        raise FetchError(f"{path.name} cannot be unpacked ({error}): it is removed") from None
    path.unlink()


def remove(name: str) -> bool:
    """Forget what was fetched for a dataset, and what was begun."""
    found = False
    for folder in (downloads() / name, downloads() / f".{name}"):
        if folder.is_dir():
            shutil.rmtree(folder)
            found = True
    return found
