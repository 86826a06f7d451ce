"""An HTTP transfer that resumes where it was interrupted, and delivers the file only when it is complete."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from dpbench.sources.download import integrity
from dpbench.sources.download.archives import SMALLEST, STATED, shown

ATTEMPTS = 3
TIMEOUT = (10, 60)  # seconds to connect, and between two pieces
PART, TAG = ".part", ".tag"  # suffixes: an incomplete file, and the server's tag (ETag) of it
PIECE = 1 << 14  # bytes lost at most when a transfer is interrupted

DownloadProgress = Callable[[str, int, int | None], None]
"""Called with the file's name, the bytes received and the total (None: unknown)."""


class Continued:
    """A downloader for pooch that keeps what has arrived and asks the server only for the rest.

    The server's tag of the file is stored beside it: if the file has changed since, it is fetched anew (If-Range).
    `vouched`: a checksum is compared afterwards, so a server may omit the length.
    `stated`: size stated on the card, in bytes; a transfer that becomes very much larger is stopped.
    """

    def __init__(
        self, name: str, folder: Path, progress: DownloadProgress, *, vouched: bool, stated: int | None
    ) -> None:
        self.name, self.progress, self.vouched = name, progress, vouched
        self.most = math.inf if stated is None else max(STATED * stated, SMALLEST)
        self.part, self.tag_file = folder / f"{name}{PART}", folder / f"{name}{PART}{TAG}"
        self.stated = stated
        self.answered = False
        """Whether the server sent (part of) the file in the last attempt."""

    def __call__(self, url: str, output_file: str, pooch: Any = None, check_only: bool = False) -> None:
        import requests

        for attempt in range(ATTEMPTS):
            try:
                measured = self._rest(url)
                break
            except (requests.ConnectionError, requests.exceptions.ChunkedEncodingError, requests.Timeout):
                if attempt == ATTEMPTS - 1:
                    raise
        try:
            integrity.check(self.part, self.name, measured=measured or self.vouched, stated=self.stated)
        except integrity.Unfit:
            self._start_over()
            raise
        os.replace(self.part, output_file)
        self.tag_file.unlink(missing_ok=True)

    @property
    def continues(self) -> bool:
        """Whether the next attempt can resume from the stored part."""
        return self._have() > 0 and self._tag() != ""

    def _rest(self, url: str) -> bool:
        """Fetch what is missing. Returns whether the server said where the file ends."""
        import requests

        have, headers = self._have(), {"Accept-Encoding": "identity"}
        if self.continues:
            headers |= {"Range": f"bytes={have}-", "If-Range": self._tag()}
        self.answered = False
        with requests.get(url, headers=headers, stream=True, timeout=TIMEOUT) as answer:
            if answer.status_code == 416:  # nothing follows what we have, or the file has changed
                self._start_over()
                raise requests.ConnectionError("the stored part no longer fits the file")
            answer.raise_for_status()
            self.answered = True
            length = answer.headers.get("Content-Length", "")
            total = int(length) if length.isdecimal() else None
            have = have if answer.status_code == 206 else 0
            if answer.status_code == 206:
                start, total = _range(answer.headers.get("Content-Range", ""))
                if start != have:  # joined, they would not be the file
                    self._start_over()
                    raise requests.ConnectionError(f"asked for the bytes from {have} on, the server sent others")
            self.tag_file.write_text(answer.headers.get("ETag") or answer.headers.get("Last-Modified") or "")
            with self.part.open("ab" if have else "wb") as out:
                for piece in answer.iter_content(PIECE):
                    out.write(piece)
                    have += len(piece)
                    if have > self.most:
                        self._start_over()
                        limit = f"{shown(self.most)}, {STATED} times the size that its card states"
                        raise integrity.UnsafeArchive(f"it is larger than {limit}")
                    self.progress(self.name, have, total)
            # The last chunk is marked as last; for a range this says nothing about the file's end.
            ended = answer.status_code != 206 and answer.headers.get("Transfer-Encoding", "").lower() == "chunked"
        if total is not None and have != total:
            raise requests.ConnectionError(f"{have} of {total} bytes came")
        return total is not None or ended

    def _have(self) -> int:
        return self.part.stat().st_size if self.part.is_file() else 0

    def _tag(self) -> str:
        """The server's tag when the part was received. Weak tags are ignored: they do not guarantee equal bytes."""
        tag = self.tag_file.read_text() if self.tag_file.is_file() else ""
        return "" if tag.startswith("W/") else tag

    def _start_over(self) -> None:
        self.part.unlink(missing_ok=True)
        self.tag_file.unlink(missing_ok=True)


def _range(header: str) -> tuple[int | None, int | None]:
    """From a Content-Range header: where the bytes begin and the size of the whole file (None: not given)."""
    match = re.fullmatch(r"\s*bytes\s+(\d+)-\d+/(\d+|\*)\s*", header, re.I)
    if not match:
        return None, None
    return int(match[1]), None if match[2] == "*" else int(match[2])
