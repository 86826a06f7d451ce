"""Output for terminals that lack some characters: these are replaced by readable ones.

Imported by `dispatch` before anything is written, and by the consoles in `common`.
"""

from __future__ import annotations

import codecs
import sys
import unicodedata

# Replacements for characters that a terminal does not have: each character, an equals sign, and its replacement.
REPLACEMENTS = (
    "ε=eps λ=lambda ±=+- ∞=inf ∫=integral ⁻=- ≥=>= ≤=<= ≪=<< ≠=!= ≈=~ →=-> ×=x ·=* •=* …=... █=# ▏=| ━=- ─=- │=| "
    "–=- —=- −=- ‖=|| ⌊=floor( ⌋=) ⌈=ceil( ⌉=) ⟨=< ⟩=> ∝=~ ∼=~ †=+ ●=* ◐=o ✓=yes ²=^2"
)
PLAIN = {pair[0]: pair[2:] for pair in REPLACEMENTS.split()}
PLAIN |= {"√": "sqrt ", "’": "'", "‘": "'", "“": '"', "”": '"'}
HANDLER = "dpbench.plain"


def _plain(error: UnicodeError) -> tuple[str | bytes, int]:
    """A handler of encoding errors: readable replacements for characters that cannot be written."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(plain(letter) for letter in error.object[error.start : error.end]), error.end


def plain(letter: str) -> str:
    """A readable ASCII replacement for a character."""
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
    """Make standard output and error replace characters that their encoding lacks, instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)  # streams of tests and notebooks have none, and need none
        if reconfigure is not None:
            reconfigure(errors=HANDLER)


def writable(text: str, encoding: str) -> str:
    """The text with readable replacements for characters that an encoding lacks."""
    try:
        return text.encode(encoding, HANDLER).decode(encoding)
    except LookupError:
        return text
