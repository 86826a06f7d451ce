"""Where a setting of a composed run was written: in an override of the command line, or in a line of a YAML file.

Hydra forgets this when it merges. Error messages need it, and so do checks of what the user asked for. Imported by `checks`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from dpbench.config import catalogue
from dpbench.config.overrides import key_of
from dpbench.documents import Document
from dpbench.model.setting import Dataset, Variant


@dataclass(frozen=True)
class Objects:
    """What a program passed as objects, beside names."""

    datasets: tuple[Dataset, ...] = ()
    mechanisms: tuple[Variant, ...] = ()
    tasks: tuple[Variant, ...] = ()

    def names(self, group: str) -> list[str]:
        return [part.name for part in getattr(self, f"{group}s")]


@dataclass(frozen=True)
class Origins:
    """The overrides of a run and the files it is composed of."""

    words: Sequence[str] = ()
    """Overrides as they were given: `trials=5`, `++mechanism.gs.w=3`."""
    experiment: str | None = None
    choices: dict[str, str] = field(default_factory=dict)
    """The chosen option of each group that has one: scale, runner, tracking."""
    folders: Sequence[Path] = ()
    """The user's own configuration folders."""
    objects: Objects = Objects()

    def word(self, *keys: str) -> str:
        """The override that sets this key or a key above it; empty if there is none."""
        for word in reversed(self.words):
            parts = key_of(word).split(".")
            if tuple(parts) == keys[: len(parts)] and not (len(parts) == 1 and parts[0] in catalogue.GROUPS):
                return word
        return ""

    def given(self, *keys: str) -> bool:
        """Whether an override sets this key, a key above it, or one inside it."""
        return bool(self.word(*keys)) or any(tuple(key_of(w).split("."))[: len(keys)] == keys for w in self.words)

    @cached_property
    def experiments(self) -> list[Document]:
        """The YAML files of the experiment, its bases first."""
        return catalogue.chain(self.experiment, *self.folders) if self.experiment else []

    def place(self, *keys: str) -> str:
        """`FILE, line N` of a setting; empty if an override sets it, or no file has it."""
        if self.word(*keys):
            return ""
        for document, inside in self._documents(keys):
            if inside and document.has(*inside):
                return document.place(*inside)
        return ""

    def _documents(self, keys: tuple[str, ...]) -> Iterator[tuple[Document, tuple[str, ...]]]:
        """The files that may hold a setting, highest priority first, and the keys under which they hold it."""
        for document in reversed(self.experiments):
            yield document, keys
        group = keys[0]
        name = self.choices.get(group) or (keys[1] if group in catalogue.ENTRIES and len(keys) > 1 else None)
        for option_group, option in ((group, name), ("scale", self.choices.get("scale"))):
            chosen = catalogue.option(option_group, option, *self.folders) if option else None
            if chosen is not None:
                yield chosen, keys  # under `# @package _global_`
                yield chosen, keys[1:]
