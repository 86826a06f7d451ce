"""A server of our own for `data get`: good, lying, breaking off or empty; and what it serves."""

from __future__ import annotations

import hashlib
import io
import tarfile
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from dpbench.sources.cards import Address, Card

CONTENT = b"".join(b"%d %d %d\n" % (i, i + 7, 3 * i) for i in range(60_000))
PAGE = b"\n<!-- portal -->\n<!DOCTYPE html>\n<html><body>Log in</body></html>\n"


class Server(ThreadingHTTPServer):
    """Serves `files`; `cut` bytes after which the line breaks, `times` how often it does so.

    `told`: whether it tells the length; `shift`: by how many bytes a range is another one than was asked for.
    """

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.files: dict[str, bytes] = {}
        self.tags: dict[str, str] = {}
        self.cut = 0
        self.times = 0
        self.ranges = True
        self.told = True
        self.shift = 0
        self.asked: list[tuple[str, str | None]] = []

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        name, wanted = self.path.lstrip("/"), self.headers.get("Range")
        self.server.asked.append((name, wanted))
        if name == "loop":
            self.send_response(302)
            self.send_header("Location", "/loop")
            self.end_headers()
            return
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
            start += self.server.shift
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
        else:
            self.send_response(200)
        body = content[start:]
        if self.server.told:
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


def card(server: Server, *names: str, checksum: str | None = None) -> Card:
    def sum_of(name: str) -> str:
        return checksum or f"sha256:{hashlib.sha256(server.files.get(name, b'')).hexdigest()}"

    return Card("transactions", files=tuple(Address(f"{server.address}/{name}", sum_of(name)) for name in names))


def left(cache: Path) -> list[str]:
    """Every file of the downloads that somebody could take for a whole one."""
    return sorted(p.name for p in cache.rglob("*") if p.is_file() and not p.name.endswith((".part", ".tag", ".lock")))


def zipped(content: bytes = b"1 2\n" * 1000, method: int = zipfile.ZIP_DEFLATED) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", method) as archive:
        archive.writestr("retail.dat", content)
    return packed.getvalue()


def tarred(mode: str, content: bytes = CONTENT) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode=f"w:{mode}") as archive:
        for name in ("retail.dat", "more.dat"):
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return packed.getvalue()
