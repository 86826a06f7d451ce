"""Output that survives terminals which know few letters: readable ones stand for those that they lack.

Imported by `dispatch` before anything is written, and by the consoles in `common`.
"""

from __future__ import annotations

import codecs
import sys
import unicodedata

# What stands for a letter that a terminal does not have.
PLAIN = {
    "ε": "eps",
    "λ": "lambda",
    "±": "+-",
    "∞": "inf",
    "∫": "integral",
    "⁻": "-",
    "≥": ">=",
    "≤": "<=",
    "≠": "!=",
    "≈": "~",
    "→": "->",
    "×": "x",
    "·": "*",
    "•": "*",
    "…": "...",
    "█": "#",
    "▏": "|",
    "━": "-",
    "─": "-",
    "│": "|",
    "–": "-",
    "—": "-",
    "−": "-",
    "’": "'",
    "‘": "'",
    "“": '"',
    "”": '"',
    "√": "sqrt ",
    "‖": "||",
    "⌊": "floor(",
    "⌋": ")",
    "⌈": "ceil(",
    "⌉": ")",
    "⟨": "<",
    "⟩": ">",
    "∝": "~",
    "†": "+",
    "●": "*",
    "◐": "o",
    "✓": "yes",
    "²": "^2",
}
HANDLER = "dpbench.plain"


def _plain(error: UnicodeError) -> tuple[str | bytes, int]:
    """A handler of encoding errors: readable letters for those that cannot be written."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(plain(letter) for letter in error.object[error.start : error.end]), error.end


def plain(letter: str) -> str:
    """Something in ASCII that can be read in place of a letter."""
    if letter in PLAIN:
        return PLAIN[letter]
    name = unicodedata.name(letter, "")
    for case, written in (("GREEK SMALL LETTER ", str.lower), ("GREEK CAPITAL LETTER ", str.title)):
        if name.startswith(case):
            return written(name.removeprefix(case))
    simple = unicodedata.normalize("NFKD", letter).encode("ascii", "ignore").decode()
    return simple or ("" if unicodedata.combining(letter) else "?")


codecs.register_error(HANDLER, _plain)


def prepare_streams() -> None:
    """Make standard output and error write what their encoding lacks in other letters, instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)  # a test's or notebook's stream has none, and needs none
        if reconfigure is not None:
            reconfigure(errors=HANDLER)


def writable(text: str, encoding: str) -> str:
    """The text with readable letters for those that an encoding lacks."""
    try:
        return text.encode(encoding, HANDLER).decode(encoding)
    except LookupError:
        return text
