"""Dataset cards: datasets/NAME.md, a text for people that begins with a few facts for the `data` verb.

The facts are YAML between two lines of `---`:

    title       what it is, in a few words
    publisher   who publishes the original; empty if it is not available
    page        address of the publisher's page
    licence     the terms, in one sentence
    files       list of {address, checksum, size}; checksum is algorithm:hexdigits, or unknown; size in words
    open        which of the downloaded files the reader opens (default: the folder)
    paper       {table: where in the paper, and its statistics, named as in our data kinds}
    original    {of: which files were counted, and their statistics}
    known       list of {statistic, printed, published, source}: further numbers, named as `data calibration` names them
    ratios      {mechanism: its error on generated data of the files' sizes over that on the files, at ε = ln 2}

Imported by the `data` verb, by `fetch`, and by the configuration (where downloaded files are).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from dpbench.errors import UserError, unknown
from dpbench.paths import CARDS, cache
from dpbench.storage.seals import Broken, unseal

UNKNOWN = "unknown"
RECORD = "fetched.json"  # written by `data get` beside the files
RATIOS = "errors on generated data over those on the files, ε = ln 2"


@dataclass(frozen=True)
class Address:
    """One file at its official address, with its checksum."""

    address: str
    checksum: str = UNKNOWN
    size: str = ""

    @property
    def name(self) -> str:
        return self.address.rpartition("/")[2]

    @property
    def bytes(self) -> int | None:
        """The size as a number, roughly; None when the card does not state it."""
        size = re.search(r"(\d+(?:\.\d+)?)\s*([kKMGT]?)B", self.size)
        return int(float(size[1]) * 1000 ** "_KMGT".index(size[2].upper() or "_")) if size else None


@dataclass(frozen=True)
class Known:
    """A number about the original: printed in a paper of ours, or published elsewhere."""

    statistic: str
    source: str
    printed: float | str | None = None
    published: float | str | None = None


@dataclass(frozen=True)
class Card:
    """What is known of a dataset's original."""

    name: str
    title: str = ""
    publisher: str = ""
    page: str = ""
    licence: str = ""
    files: tuple[Address, ...] = ()
    open: str = ""
    paper: Mapping[str, Any] = field(default_factory=dict)
    original: Mapping[str, Any] = field(default_factory=dict)
    known: tuple[Known, ...] = ()
    ratios: Mapping[str, float] = field(default_factory=dict)
    text: str = ""
    """The card without its facts."""

    @property
    def shown_ratios(self) -> str:
        """The ratios in one line."""
        return ", ".join(f"{name} {ratio:.2f}" for name, ratio in self.ratios.items())

    def markdown(self) -> str:
        """The card as a page: its text, followed by the facts as a list."""
        facts = {"publisher": self.publisher, "page": self.page and f"<{self.page}>", "licence": self.licence}
        lines = [f"- {name}: {fact}" for name, fact in facts.items() if fact]
        lines += [
            f"- file: <{file.address}>, {file.size or 'size unknown'}, checksum {file.checksum}" for file in self.files
        ]
        lines += [f"- {RATIOS}: {self.shown_ratios}"] if self.ratios else []
        return self.text + ("\n" + "\n".join(lines) + "\n" if lines else "")


def load(name: str, folder: Path = CARDS) -> Card:
    """The card of a dataset; an empty one if there is no card yet."""
    from dpbench import documents  # YAML is slow to import

    path = folder / f"{name}.md"
    if not path.is_file():
        return Card(name)
    content = path.read_text(encoding="utf-8")
    if not content.startswith("---\n"):
        return Card(name, text=content)
    head, mark, text = content[4:].partition("\n---\n")
    document = documents.parse(path, f"\n{head}") if mark else None  # the lines of the file: its first one is ---
    facts = None if document is None else document.body
    known = [f.name for f in fields(Card) if f.name not in ("name", "text")]
    if document is None or not isinstance(facts, dict):
        raise UserError(f"{path}: expected facts between two lines of ---")
    for key in facts:
        if key not in known:
            raise unknown("fact", key, known, document.place(key))
    files = tuple(Address(**entry) for entry in facts.pop("files", None) or ())
    known_facts = tuple(Known(**entry) for entry in facts.pop("known", None) or ())
    return Card(name, files=files, known=known_facts, text=text.strip() + "\n", **facts)


def downloads() -> Path:
    """Where `data get` puts files."""
    return cache() / "downloads"


def fetched(name: str) -> Path | None:
    """The path that the reader opens of what `data get` fetched; None if nothing was fetched or it is gone."""
    folder = downloads() / name
    if not folder.is_dir():
        return None
    if inside := load(name).open:
        return folder / inside if (folder / inside).exists() else None
    return folder if _complete(folder) else None


def _complete(folder: Path) -> bool:
    """Whether all files are still there: with some of them missing, the folder would be read as another dataset."""
    try:
        names = list(unseal((folder / RECORD).read_bytes())["files"])
    except FileNotFoundError:  # the user put the files there: accept them
        return any(path.is_file() for path in folder.rglob("*"))
    except (OSError, Broken, TypeError, KeyError):  # `data get` reports what is wrong
        return False
    return all((folder / name).is_file() for name in names)
