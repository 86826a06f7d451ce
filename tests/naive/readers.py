"""The file formats read with Python's own tools, one line at a time: the reference answers. Written from the formats'
descriptions, not from the readers; None for a line that is not well formed."""

from __future__ import annotations

import gzip
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import date, datetime, timedelta
from pathlib import Path

LARGEST = 2**31 - 2


def text_lines(path: Path) -> Iterator[str]:
    content = path.read_bytes()
    content = gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content
    for line in content.decode("latin-1").split("\n"):
        yield line.strip(" \r")


def whole(text: str, low: int = 0, high: int = LARGEST) -> int | None:
    text = text.strip(" ")
    if not re.fullmatch(r"-?[0-9]{1,18}", text):
        return None
    return int(text) if low <= int(text) <= high else None


def decimal(text: str) -> bool:
    return re.fullmatch(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?", text.strip(" ")) is not None


def when(text: str, form: str) -> datetime | None:
    found = re.fullmatch(form, text, re.ASCII)
    try:
        return found and datetime(*(int(found[part]) for part in ("Y", "m", "d", "H", "M", "S")))
    except ValueError:
        return None


CLOCK = r"(?P<H>\d\d):(?P<M>\d\d):(?P<S>\d\d)"
ISO = rf"(?P<Y>\d{{4}})-(?P<m>\d\d)-(?P<d>\d\d)T{CLOCK}Z"
LONG = rf"(?P<m>\d\d) (?P<d>\d\d) {CLOCK} \+0000 (?P<Y>\d{{4}})"
MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
WEEK = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]


def long_time(text: str) -> datetime | None:
    day, month, rest = text[:3], text[4:7], text[7:]
    if day not in WEEK or month not in MONTHS or text[3:4] != " ":
        return None
    found = when(f"{MONTHS.index(month) + 1:02}{rest}", LONG)
    return found if found is not None and WEEK[found.weekday()] == day else None


def snap(line: str) -> tuple[int, int, int] | None:
    parts = line.split("\t")
    if len(parts) != 5:
        return None
    user, time, item = whole(parts[0]), when(parts[1].strip(" "), ISO), whole(parts[4])
    if user is None or item is None or time is None or not decimal(parts[2]) or not decimal(parts[3]):
        return None
    return user, item, time.weekday()


def tsmc(line: str) -> tuple[int, str, int] | None:
    parts = line.split("\t")
    if len(parts) != 8:
        return None
    user, offset, venue = whole(parts[0]), whole(parts[6], -900, 900), parts[1].strip(" ")
    time = long_time(parts[7].strip(" "))
    if None in (user, offset, time) or not venue or not decimal(parts[4]) or not decimal(parts[5]):
        return None
    return user, venue, (time + timedelta(minutes=offset)).weekday()  # type: ignore[operator, arg-type, return-value]


def netflix(lines: Iterable[str]) -> list[tuple[int, int, int]]:
    movie, found = None, []
    for line in lines:
        if line.endswith(":"):
            movie = int(line[:-1])
        elif line:
            user, _, day = line.split(",")
            found.append((int(user), movie, date.fromisoformat(day).weekday()))
    return found  # type: ignore[return-value]


def fimi(line: str) -> set[int] | None:
    if "\r" in line.rstrip(" \t\r"):
        return None
    numbers = {whole(word) for word in re.split(r"[ \t\r]+", line) if word}
    return None if None in numbers else numbers  # type: ignore[return-value]


def incidence_rows(pairs: Iterable[tuple[int, object]]) -> list[tuple[int, ...]]:
    """Sorted rows of a matrix whose users and items are numbered in the order of their ids (or first appearance)."""
    pairs = list(pairs)
    items: dict[object, int] = {}
    kinds = {type(item) for _, item in pairs}
    for item in sorted({i for _, i in pairs}) if kinds == {int} else [i for _, i in pairs]:  # type: ignore[type-var]
        items.setdefault(item, len(items))
    rows: dict[int, set[int]] = {}
    for user, item in pairs:
        rows.setdefault(user, set()).add(items[item])
    return [tuple(sorted(rows[user])) for user in sorted(rows)]


def record_rows(triples: Iterable[tuple[int, object, int]]) -> list[Counter[tuple[int, int]]]:
    """Each user's (item, context) records with how often they occur, numbered as above."""
    triples = list(triples)
    items: dict[object, int] = {}
    kinds = {type(item) for _, item, _ in triples}
    for item in sorted({t[1] for t in triples}) if kinds == {int} else [t[1] for t in triples]:  # type: ignore[type-var]
        items.setdefault(item, len(items))
    rows: dict[int, Counter[tuple[int, int]]] = {}
    for user, item, context in triples:
        rows.setdefault(user, Counter())[items[item], context] += 1
    return [rows[user] for user in sorted(rows)]
