"""Random damage to stored files, as disks, copies and people do it, and a way to undo it."""

from __future__ import annotations

import random
import shutil
from dataclasses import dataclass
from pathlib import Path

KINDS = ("bit", "bit", "byte", "byte", "bytes", "cut", "insert", "remove", "zeros", "rename", "swap", "copy", "delete")


@dataclass
class Tree:
    """The files of a folder, as they were."""

    root: Path
    files: dict[Path, bytes]

    @classmethod
    def of(cls, root: Path) -> Tree:
        return cls(root, {path: path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()})

    def restore(self) -> None:
        for path in sorted(self.root.rglob("*"), reverse=True):
            if path.is_file() and path not in self.files:
                path.unlink()
        for path, content in self.files.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            if not path.is_file() or path.read_bytes() != content:
                path.write_bytes(content)


def harm(dice: random.Random, files: list[Path]) -> tuple[str, list[Path]]:
    """Do one damage to one of these files (to two, in a swap). Returns what it was, and the files that it took."""
    path, kind = dice.choice(files), dice.choice(KINDS)
    other = dice.choice([file for file in files if file != path] or [path])
    if kind == "rename":
        path.rename(path.with_name(_renamed(dice, path.name)))
        return kind, [path]
    if kind == "delete":
        path.unlink()
        return kind, [path]
    if kind == "swap":
        one, two = path.read_bytes(), other.read_bytes()
        path.write_bytes(two)
        other.write_bytes(one)
        return kind, [path, other]
    if kind == "copy":  # over another file, or beside it under its own name
        target = other if dice.random() < 0.5 else other.with_name(path.name)
        if target != path:
            shutil.copyfile(path, target)
        return kind, [other]
    path.write_bytes(_harmed(dice, kind, path.read_bytes()))
    return kind, [path]


def _harmed(dice: random.Random, kind: str, content: bytes) -> bytes:
    place = dice.randrange(len(content))
    length = dice.randrange(1, 20)
    before, after = content[:place], content[place:]
    if kind == "bit":
        return before + bytes([after[0] ^ (1 << dice.randrange(8))]) + after[1:]
    if kind == "byte":
        return before + bytes([(after[0] + dice.randrange(1, 256)) % 256]) + after[1:]
    if kind == "bytes":
        return before + dice.randbytes(length) + after[length:]
    if kind == "zeros":
        return before + b"\0" * len(after[:length]) + after[length:]
    if kind == "insert":
        return before + dice.randbytes(length) + after
    return before if kind == "cut" else before + after[length:]


def _renamed(dice: random.Random, name: str) -> str:
    """One character changed, added or lost."""
    place = dice.randrange(len(name))
    letter = dice.choice("0123456789abcdef-._@+")
    return dice.choice([name[:place] + letter + name[place + 1 :], name[:place] + letter + name[place:], name + "~"])
