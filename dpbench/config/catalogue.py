"""The only reader of raw YAML: what there is in conf/ and in a user's own folders, as typed entries.

Read with YAML's safe loader, so that no file can run code, and with the line of every key, so that an error can name it.
Imported by the configuration, the claims, the report and the verbs; imports errors and paths only.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from dpbench.errors import UserError, unknown
from dpbench.paths import CONF

SCALES = ("smoke", "laptop", "paper")
GROUPS = ("dataset", "mechanism", "task", "experiment", "scale", "runner", "tracking")
ENTRIES = ("dataset", "mechanism", "task")
"""The groups of which several options may be chosen, each nested under its own name."""
MARKERS = {"dataset": "source", "mechanism": "class", "task": "class"}
"""The key that every entry of such a group has."""


_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the safe one, in C where it is there


@dataclass(frozen=True)
class Document:
    """One YAML file: its content, and where each of its keys stands."""

    path: Path
    body: Any
    node: Any = field(repr=False)
    """The same with the line of every key."""

    @property
    def mapping(self) -> Mapping[str, Any]:
        """The content, which must be keys and values."""
        if self.body is None:
            return {}
        if not isinstance(self.body, Mapping):
            raise UserError(f"{self.path}: expected keys and values, found a {_kind(self.body)}")
        return {str(key): value for key, value in self.body.items()}

    def has(self, *keys: str) -> bool:
        body = self.body
        for key in keys:
            if not isinstance(body, Mapping) or key not in body:
                return False
            body = body[key]
        return True

    def place(self, *keys: object) -> str:
        """`FILE, line N` of a key inside keys; of the innermost that is there."""
        line, node = 0, self.node
        for key in keys:
            found = _child(node, str(key))
            if found is None:
                break
            line, node = found
        return f"{self.path}, line {line}" if line else str(self.path)

    @property
    def bases(self) -> list[str]:
        """The experiments it builds upon, of its `defaults`."""
        return [name for entry in self._defaults() if isinstance(entry, str) and (name := entry) != "_self_"]

    def chosen(self, group: str) -> list[str] | None:
        """The options of a group that its `defaults` choose; None when they choose none."""
        for entry in self._defaults():
            for key, value in entry.items() if isinstance(entry, Mapping) else ():
                if str(key).removeprefix("override ").strip().lstrip("/") == group and value is not None:
                    return [str(name) for name in (value if isinstance(value, list) else [value])]
        return None

    def _defaults(self) -> list[Any]:
        found = self.mapping.get("defaults") or []
        if not isinstance(found, list):
            raise UserError(f"{self.place('defaults')}: expected a list of defaults, found a {_kind(found)}")
        return found


def _child(node: Any, key: str) -> tuple[int, Any] | None:
    if not isinstance(node, yaml.MappingNode):
        return None
    for name, value in reversed(node.value):  # what is merged by `<<` stands first, and counts less
        if getattr(name, "value", None) == key:
            return name.start_mark.line + 1, value
    return None


def _refuse_doubles(node: Any, seen: set[int]) -> None:
    """Of two equal keys YAML keeps the last and says nothing of the first."""
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
                    problem = f"the key {key.value!r} is there twice, first in line {lines[key.value]}"
                    raise yaml.constructor.ConstructorError(None, None, problem, key.start_mark)
                lines[key.value] = key.start_mark.line + 1
            _refuse_doubles(value, seen)


def _kind(value: Any) -> str:
    return {list: "list", str: "word", bool: "truth value"}.get(type(value), "value")


def read(path: Path) -> Document:
    """A YAML file; UserError with file and line when it is none."""
    try:
        loader = _LOADER(path.read_text(encoding="utf-8"))
        node = loader.get_single_node()
        _refuse_doubles(node, set())
        body = None if node is None else loader.construct_document(node)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"{path}, line {mark.line + 1}" if mark else str(path)
        problem = getattr(error, "problem", None) or " ".join(str(error).split())
        raise UserError(f"{where}: {problem}") from None
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from None
    except (
        ValueError,
        TypeError,
        RecursionError,
    ) as error:  # odd bytes, odd dates, unhashable keys, bottomless nesting
        raise UserError(f"{path}: cannot be read: {' '.join(str(error).split())}") from None
    return Document(path, body, node)


def value(text: str) -> Any:
    """One value as a YAML would have it: a number, a word, a list."""
    try:
        return yaml.load(text, Loader=_LOADER)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        problem = getattr(error, "problem", None) or " ".join(str(error).split())
        raise UserError(f"cannot read {text!r}: {problem}") from None


def options(group: str, *folders: Path) -> list[str]:
    """The names a group offers, ours and those of the user's own folders: `gs/fig9` for experiments, else plain names."""
    found: set[str] = set()
    for folder in (CONF, *folders):
        root = folder / group
        found |= {p.relative_to(root).with_suffix("").as_posix() for p in root.glob("**/*.yaml")}
    return sorted(found)


def option(group: str, name: str, *folders: Path) -> Document | None:
    """The YAML of an option, a user's own before ours; None when there is none."""
    for folder in (*folders, CONF):
        path = folder / group / f"{name}.yaml"
        if path.is_file():
            return read(path)
    return None


def settings() -> list[str]:
    """The keys of a run besides the groups, as conf/run.yaml has them."""
    return [key for key in read(CONF / "run.yaml").mapping if key not in ("defaults", "hydra")]


# A dataset, a mechanism, a task.


@dataclass(frozen=True)
class DatasetEntry:
    """A dataset as its YAML describes it: a generator with sizes by scale, a reader of original files, or both."""

    name: str
    kind: str = ""
    source: str = ""
    """`generator` or `files`: which of the two is taken."""
    generator: str = ""
    files: str = ""
    path: str | None = None
    sizes: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Parameters of the generator by scale."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """Parameters at every scale, of the generator or of the reader."""

    @classmethod
    def of(cls, name: str, body: Any, place: str = "") -> DatasetEntry:
        """The entry that a YAML or a composed configuration holds, its shape checked."""
        at = f"{place}: " if place else ""
        if not isinstance(body, Mapping):
            raise UserError(f"{at}dataset {name!r}: expected kind, source and so on, found a {_kind(body)}")
        words: dict[str, str] = {}
        for key in ("kind", "source", "generator", "files"):
            value = body.get(key)
            if value is not None and not isinstance(value, str):
                raise UserError(f"{at}dataset.{name}.{key}={value!r} is not valid: expected a name")
            words[key] = value or ""
        path = body.get("path")
        if (path is not None and not isinstance(path, str | int | float)) or isinstance(path, bool):
            raise UserError(f"{at}dataset.{name}.path={path!r} is not valid: expected one file or folder")
        known = (*words, "path", "sizes")
        parameters = {str(key): value for key, value in body.items() if key not in known}
        return cls(
            name,
            **words,
            path=None if path is None or path == "" else str(path),
            sizes=_sizes(name, body.get("sizes"), at),
            parameters=parameters,
        )

    def changed(self, given: Mapping[str, Any]) -> DatasetEntry:
        """The same with some of its keys given anew, as overrides do."""
        own = {"kind": self.kind, "source": self.source, "generator": self.generator, "files": self.files}
        body: dict[str, Any] = {**own, "path": self.path, "sizes": self.sizes, **self.parameters}
        return DatasetEntry.of(self.name, body | dict(given))

    def from_files(self, path: Path | str | None = None) -> DatasetEntry:
        """The same, read from original files: from these, or from those that `data get` fetched."""
        return self.changed({"source": "files", "path": None if path is None else str(path)})

    def generated(self) -> DatasetEntry:
        """The same, made by its generator."""
        return self.changed({"source": "generator", "path": None})


def _sizes(name: str, sizes: Any, at: str) -> dict[str, Mapping[str, Any]]:
    if sizes is None:
        return {}
    if not isinstance(sizes, Mapping):
        raise UserError(f"{at}dataset.{name}.sizes={sizes!r} is not valid: expected parameters by scale")
    for scale, size in sizes.items():
        if scale not in SCALES:
            raise unknown(f"scale in dataset.{name}.sizes", scale, SCALES, at.removesuffix(": "))
        if size is not None and not isinstance(size, Mapping):
            raise UserError(f"{at}dataset.{name}.sizes.{scale}={size!r} is not valid: expected parameters")
    return {str(scale): {str(k): v for k, v in (size or {}).items()} for scale, size in sizes.items()}


@dataclass(frozen=True)
class VariantEntry:
    """A mechanism or a task as its YAML describes it: a class, and parameters of which lists are axes."""

    name: str
    cls: str
    parameters: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, group: str, name: str, body: Any, place: str = "") -> VariantEntry:
        at = f"{place}: " if place else ""
        if not isinstance(body, Mapping):
            raise UserError(f"{at}{group} {name!r}: expected class and parameters, found a {_kind(body)}")
        if not isinstance(body.get("class"), str):
            raise UserError(
                f"{at}{group}.{name}.class={body.get('class')!r} is not valid: expected a name or dotted path"
            )
        return cls(name, body["class"], {str(key): value for key, value in body.items() if key != "class"})


def _entry(group: str, name: str, folders: Sequence[Path]) -> tuple[Any, str]:
    """The content of an entry's YAML, which stands under its own name, and its place."""
    document = option(group, name, *folders)
    if document is None:
        raise unknown(group, name, options(group, *folders))
    if name not in document.mapping:
        raise UserError(f"{document.path}: expected `{name}: {{{MARKERS[group]}: ...}}`, as every {group} has")
    return document.mapping[name], document.place(name)


def dataset(name: str, *folders: Path) -> DatasetEntry:
    """A dataset of conf/dataset, or of a user's own folders."""
    return DatasetEntry.of(name, *_entry("dataset", name, folders))


def mechanism(name: str, *folders: Path) -> VariantEntry:
    return VariantEntry.of("mechanism", name, *_entry("mechanism", name, folders))


# An experiment.


@dataclass(frozen=True)
class Axes:
    """What an experiment is about, by its own definition. Empty: it says nothing of that."""

    datasets: tuple[str, ...] = ()
    mechanisms: tuple[str, ...] = ()
    tasks: tuple[str, ...] = ()
    epsilons: tuple[float | str, ...] = ()


def chain(experiment: str, *folders: Path) -> list[Document]:
    """The YAML of an experiment after those it builds upon; empty when there is none."""
    return list(_chain(experiment, folders, ()))


def _chain(experiment: str, folders: Sequence[Path], above: tuple[str, ...]) -> Iterator[Document]:
    document = option("experiment", experiment, *folders)
    if document is None or experiment in above:
        return
    for base in document.bases:
        yield from _chain(base.removeprefix("/experiment/"), folders, (*above, experiment))
    yield document


def axes(experiment: str, *folders: Path) -> Axes:
    """The datasets, mechanisms, tasks and budgets of an experiment, as its YAML and those it builds upon give them."""
    chosen: dict[str, list[str]] = {}
    epsilons: list[float | str] = []
    for document in chain(experiment, *folders):
        for group in ENTRIES:
            names = document.chosen(group)
            chosen[group] = chosen.get(group, []) if names is None else names
        if document.has("epsilon"):
            given = document.mapping["epsilon"]
            epsilons = given if isinstance(given, list) else [given]
    datasets, mechanisms, tasks = (tuple(chosen.get(group, ())) for group in ENTRIES)
    return Axes(datasets, mechanisms, tasks, tuple(epsilons))


def title(experiment: str, *folders: Path) -> str:
    """What an experiment shows, in its own words; empty when it does not say."""
    titles = [document.mapping["title"] for document in chain(experiment, *folders) if document.has("title")]
    return str(titles[-1] or "") if titles else ""


# Claims.


def claims(folder: Path = CONF / "claims") -> dict[str, Path]:
    """The files of claims, by paper."""
    return {path.stem: path for path in sorted(folder.glob("*.yaml"))}
