"""Names, anchors and numbers as the page writes them. Templates escape them. Imported by the report and the docs."""

from __future__ import annotations

import math


def slug(value: object) -> str:
    return "".join(c if c.isalnum() else "-" for c in str(value))


def anchor(kind: str, name: object) -> str:
    """The HTML id of an element by its kind and name."""
    return f"{kind}-{slug(name)}"


def printable(value: object) -> str:
    """A stored text on one line without control characters, which could affect the user's terminal."""
    return "".join(c if c.isprintable() else " " for c in str(value))


def number(value: float) -> str:
    """Four significant digits, commas between thousands, an exponent only if needed."""
    if not math.isfinite(value):
        return "" if math.isnan(value) else "∞" if value > 0 else "-∞"
    if float(value).is_integer() and abs(value) < 1e12:
        return f"{int(value):,}"
    if abs(value) >= 1000:
        return f"{value:,.0f}" if abs(value) < 1e9 else f"{value:.3e}"
    return f"{value:.4g}"


def minutes(written: str) -> str:
    """A stored time, to the minute."""
    return written[:16].replace("T", " ")


def plural(count: int, word: str) -> str:
    """`1 pair`, `2 pairs`."""
    return f"{count:,} {word}{'s' * (count != 1)}"


def expected(expect: str) -> str:
    """The range that a claim expects, with the signs of a text."""
    return expect.replace("<=", "≤").replace(">=", "≥")


def listed(names: list[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))
