"""YAML files: their content, and the line of every key for error messages.

The only module that reads YAML, with its safe loader, so that no file can run code. Imported by the catalogue and by the cards
of datasets, which know what the files mean.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from dpbench.errors import UserError

Locate = Callable[..., str]
"""Gives the file and line of a nested key; empty if it is in no file."""


def nowhere(*keys: str) -> str:
    """The place of a key that is in no file."""
    return ""


DEEPEST = 100  # levels of lists and mappings in each other
MOST_VALUES = 1_000_000

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the safe loader, in C if available


@dataclass(frozen=True)
class Document:
    """One YAML file: its content, and the line of each key."""

    path: Path
    body: Any
    node: Any = field(repr=False)
    """The same with the line of every key."""

    @property
    def mapping(self) -> Mapping[str, Any]:
        """The content, which must be a mapping."""
        if self.body is None:
            return {}
        if not isinstance(self.body, Mapping):
            raise UserError(f"{self.path}: expected keys and values, found a {kind_of(self.body)}")
        return {str(key): value for key, value in self.body.items()}

    def has(self, *keys: str) -> bool:
        body = self.body
        for key in keys:
            if not isinstance(body, Mapping) or key not in body:
                return False
            body = body[key]
        return True

    def place(self, *keys: object) -> str:
        """`FILE, line N` of a nested key, or of the innermost one that exists."""
        line, node = 0, self.node
        for key in keys:
            found = _child(node, str(key))
            if found is None:
                break
            line, node = found
        return f"{self.path}, line {line}" if line else str(self.path)

    @property
    def bases(self) -> list[str]:
        """The experiments it is based on, from its `defaults`."""
        return [entry for entry in self._defaults() if isinstance(entry, str) and entry != "_self_"]

    def chosen(self, group: str) -> list[str] | None:
        """The options of a group that its `defaults` choose; None if they choose none."""
        for entry in self._defaults():
            for key, value in entry.items() if isinstance(entry, Mapping) else ():
                if str(key).removeprefix("override ").strip().lstrip("/") == group and value is not None:
                    return [str(name) for name in (value if isinstance(value, list) else [value])]
        return None

    def _defaults(self) -> list[Any]:
        found = self.mapping.get("defaults") or []
        if not isinstance(found, list):
            raise UserError(f"{self.place('defaults')}: expected a list of defaults, found a {kind_of(found)}")
        return found


def _child(node: Any, key: str) -> tuple[int, Any] | None:
    if not isinstance(node, yaml.MappingNode):
        return None
    for name, value in reversed(node.value):  # keys merged by `<<` come first and have lower priority
        if getattr(name, "value", None) == key:
            return name.start_mark.line + 1, value
    return None


class _Excess(yaml.constructor.ConstructorError):
    """A YAML file holds more than any of ours."""


_DEEP = re.compile(rf"^[ \t?:-]{{{DEEPEST},}}", re.MULTILINE)


def _refuse_depth(text: str) -> None:
    """Raise for a text that is nested too deeply: the parser in C would end the process."""
    if text.count("[") + text.count("{") < DEEPEST and not _DEEP.search(text):
        return
    depth = 0
    for event in yaml.parse(text, Loader=_LOADER):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > DEEPEST:
            raise _Excess(None, None, "it is nested too deeply", event.start_mark)


def _size(node: Any, sizes: dict[int, int]) -> int:
    """How many values a node holds where each alias (`*name`) counts as what it stands for: a few lines can hold billions."""
    if not isinstance(node, yaml.CollectionNode):
        return 1
    if id(node) not in sizes:
        sizes[id(node)] = MOST_VALUES + 1  # while it is counted: an alias in it that stands for itself has no end
        parts = itertools.chain.from_iterable(node.value) if isinstance(node, yaml.MappingNode) else node.value
        sizes[id(node)] = 1 + sum(_size(part, sizes) for part in parts)
    return sizes[id(node)]


def _refuse_size(node: Any) -> None:
    if _size(node, {}) > MOST_VALUES:
        raise _Excess(
            None, None, f"it has more than {MOST_VALUES:,} values where its aliases are used", node.start_mark
        )


def _refuse_doubles(node: Any, seen: set[int]) -> None:
    """Raise for a duplicate key: YAML silently keeps only the last one."""
    if id(node) in seen:
        return
    seen.add(id(node))
    if isinstance(node, yaml.SequenceNode):
        for item in node.value:
            _refuse_doubles(item, seen)
    elif isinstance(node, yaml.MappingNode):
        lines: dict[str, int] = {}
        for key, value in node.value:
            if isinstance(key, yaml.ScalarNode):
                if key.value in lines:
                    problem = f"the key {key.value!r} occurs twice, first in line {lines[key.value]}"
                    raise yaml.constructor.ConstructorError(None, None, problem, key.start_mark)
                lines[key.value] = key.start_mark.line + 1
            _refuse_doubles(value, seen)


def kind_of(value: Any) -> str:
    return {list: "list", str: "word", bool: "truth value"}.get(type(value), "value")


def read(path: Path) -> Document:
    """Read a YAML file; UserError with file and line if it is not valid."""
    return parse(path, _text(path))


def check_bounds(path: Path) -> None:
    """UserError if a YAML file could keep another reader busy for ever: nested too deeply, or with too many aliases."""
    text = _text(path)
    try:
        _refuse_depth(text)
        if "*" in text:
            _refuse_size(yaml.compose(text, Loader=_LOADER))
    except _Excess as error:
        raise UserError(f"{path}: {error.problem}") from None
    except (yaml.YAMLError, ValueError):  # whoever reads it will say so
        return


def _text(path: Path) -> str:
    if path.exists() and not path.is_file():  # a pipe, which nobody may ever write to
        raise UserError(f"{path}: expected a file")
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from None
    except ValueError as error:  # invalid bytes
        raise UserError(f"{path}: cannot be read: {' '.join(str(error).split())}") from None


def parse(path: Path, text: str) -> Document:
    """The YAML of a file, given as text, from its first line on; UserError with file and line if it is not valid."""
    try:
        _refuse_depth(text)
        loader = _LOADER(text)
        node = loader.get_single_node()
        _refuse_size(node)
        _refuse_doubles(node, set())
        body = None if node is None else loader.construct_document(node)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"{path}, line {mark.line + 1}" if mark else str(path)
        problem = getattr(error, "problem", None) or " ".join(str(error).split())
        raise UserError(f"{where}: {problem}") from None
    except (ValueError, TypeError, RecursionError) as error:  # invalid dates, unhashable keys, too deep nesting
        raise UserError(f"{path}: cannot be read: {' '.join(str(error).split())}") from None
    return Document(path, body, node)


def value(text: str) -> Any:
    """Parse one value as YAML: a number, a word, a list."""
    try:
        _refuse_depth(text)
        return yaml.load(text, Loader=_LOADER)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        problem = getattr(error, "problem", None) or " ".join(str(error).split())
        raise UserError(f"cannot read {text!r}: {problem}") from None
