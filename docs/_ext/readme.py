"""The parts of the README that scripts write, between two marks. Imported by `ledger` and `winners`, and by their tests."""

from __future__ import annotations

from pathlib import Path

README = Path(__file__).resolve().parents[2] / "README.md"


def _marks(name: str) -> tuple[str, str]:
    return f"<!-- {name}: written by `python docs/_ext/{name}.py` -->\n", f"<!-- end of {name} -->\n"


def read_part(name: str) -> str:
    """What the README has between the marks."""
    begin, end = _marks(name)
    return README.read_text(encoding="utf-8").partition(begin)[2].partition(end)[0]


def write_part(name: str, content: str) -> None:
    begin, end = _marks(name)
    before, _, rest = README.read_text(encoding="utf-8").partition(begin)
    README.write_text(f"{before}{begin}\n{content}\n{end}{rest.partition(end)[2]}", encoding="utf-8")
