"""Reads code from files: which of dpbench's and of the user's may run, what they import, and the versions of libraries.

Of dpbench, the folders count that a trial may use (the import contracts in pyproject.toml forbid others). Of the user, the
file of a class counts, and every file outside site-packages that it imports, a package with its whole folder. Installed
libraries count by their version, those with plugins of dpbench also by their source. Imports `errors` only.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import importlib.machinery
import importlib.metadata
import importlib.util
import os
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from dpbench.errors import UserError

OURS = "dpbench"
MAIN = ("__main__", "__mp_main__")
PACKAGE = Path(__file__).parent
EXEMPT = ("dpbench.errors", "dpbench.paths", "dpbench.registry", "dpbench.identity", "dpbench.code_reader")
"""Modules that are used in every trial but affect no number: messages, paths, names of classes, and identities."""

BUILDING = ("data/*.py", "model/*.py", "numerics/*.py", "sources/*.py", "storage/files.py", "storage/seals.py")
"""The files of dpbench that may run when a dataset is built or opened, beside the folder of its source."""
CORE = (*BUILDING, "engine/failures.py", "engine/worker.py", "mechanisms/*.py", "privacy/*.py", "tasks/*.py")
"""The files of dpbench that may run in any trial, beside the folders of its source and its mechanism."""
TRIAL = (*CORE, "mechanisms/*/*.py", "sources/*/*.py")
"""The files of dpbench that code of the user may run: it can make any mechanism and source by name."""
LOADERS = {"import_module", "__import__", "spec_from_file_location", "run_path", "run_module"}

# --- the text of a file -----------------------------------------------------------------------------------------------


class SourceText(NamedTuple):
    """The code of one file."""

    digest: str
    """Of the syntax tree: comments, docstrings and layout do not count."""
    imports: frozenset[str] = frozenset()
    """Dotted names that it imports; they end with a module or with a name in one."""
    reasons: tuple[str, ...] = ()
    """Why not all that it imports is known."""


def parse(content: bytes, file: str, package: str = "") -> SourceText:
    try:
        tree = ast.parse(content)
    except (SyntaxError, ValueError):  # also a compiled module
        return SourceText(hashlib.blake2b(content, digest_size=16).hexdigest())
    imports, attributes, reasons = set(), set(), []
    for node in ast.walk(tree):
        if isinstance(body := getattr(node, "body", None), list):
            node.body = [s for s in body if not _is_docstring(s)]  # type: ignore[attr-defined]
        if isinstance(node, ast.Import):
            imports |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            imports |= {".".join([*above, *filter(None, [node.module]), alias.name]) for alias in node.names}
        elif isinstance(node, ast.Attribute):
            attributes.add(f"{OURS}.{node.attr}")
        elif isinstance(node, ast.Call) and (loader := ast.unparse(node.func).rpartition(".")[2]) in LOADERS:
            name = getattr(node.args[0], "value", None) if len(node.args) == 1 else None
            if loader == "import_module" and isinstance(name, str) and "/" not in name:
                imports.add(name)
            else:
                reasons.append(f"{file}, line {node.lineno}: loads a module by a computed name")
    imports |= attributes if OURS in imports else set()
    text = hashlib.blake2b(ast.dump(tree).encode(), digest_size=16).hexdigest()
    return SourceText(text, frozenset(imports), tuple(reasons))


def _is_docstring(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(getattr(statement.value, "value", None), str)


# --- what was loaded --------------------------------------------------------------------------------------------------

# A loaded module counts with the code that was loaded, not with what its file has become since. So the times and the size of
# a file are noted before it is loaded, and its text is read only while they are the same. They are compared with each other,
# and not with the clock, which may jump. Programs can set the time of modification, but not that of the inode. A module that
# was loaded by other means than an import is not noted: what its file was then is not known.

_STAMPS: dict[str, tuple[int, int, int]] = {}
"""Of the files of modules, as they were before they were loaded."""
_TEXTS: dict[tuple[str, tuple[int, int, int]], SourceText] = {}


class _Notes:
    """First on sys.meta_path: asks the next finders for a module that is imported or reloaded, and notes its file."""

    @classmethod
    def find_spec(cls, *asked: Any) -> Any:
        finders = list(sys.meta_path)
        for finder in finders[finders.index(cls) + 1 :] if cls in finders else ():  # type: ignore[comparison-overlap]
            if spec := getattr(finder, "find_spec", lambda *_: None)(*asked):
                _STAMPS[str(spec.origin)] = _stamp(str(spec.origin))
                return spec
        return None


def _stamp(file: str) -> tuple[int, int, int]:
    try:
        status = os.stat(file)
    except (OSError, ValueError):
        return 0, 0, 0
    return status.st_mtime_ns, status.st_ctime_ns, status.st_size


_BEFORE = [getattr(module, "__dict__", {}).get("__file__") for module in list(sys.modules.values())]
_STAMPS |= {file: _stamp(file) for file in _BEFORE if isinstance(file, str)}
sys.meta_path.insert(0, _Notes)  # type: ignore[arg-type]


def read(module: str, file: str) -> SourceText:
    """The text of a module: of a loaded one as it was loaded, of another one as its file is now."""
    loaded = module in sys.modules
    stamp = (loaded and _STAMPS.get(file)) or _stamp(file)
    if (file, stamp) not in _TEXTS:
        if stamp != _stamp(file):
            raise UserError(f"{file} has changed since {module} was loaded: restart Python, or reload the module")
        package = module if "__init__." in file else module.rpartition(".")[0]
        text = parse(Path(file).read_bytes(), file, package) if os.path.isfile(file) else SourceText("")
        _TEXTS[file, stamp] = text
    text = _TEXTS[file, stamp]
    if not text.digest or (loaded and file not in _STAMPS):
        return text._replace(reasons=(f"{module}: the source that was loaded is not known",))
    return text


# --- which files some names lead to -----------------------------------------------------------------------------------


def reach(names: Iterable[str]) -> tuple[dict[str, str], dict[str, str], list[str]]:
    """The modules of ours and of the user that module names and patterns of files lead to, each with its digest; the version
    of each library that they import; and why not everything is known."""
    modules: dict[str, str] = {}
    versions = {"python": f"{sys.version_info[0]}.{sys.version_info[1]}"}
    reasons: list[str] = []
    users: dict[str, dict[str, SourceText]] = {}  # by top-level module or package
    done: set[str] = set()
    waiting = {*names}
    while waiting := waiting - done:
        done.add(name := waiting.pop())
        top = name.partition(".")[0]
        if "/" in name:
            texts = {module: read(module, file) for file, module in _listed(name)}
            modules |= {module: text.digest for module, text in texts.items()}
            imports = frozenset().union(*(text.imports for text in texts.values()))
            waiting |= {imported for imported in imports if imported.partition(".")[0] != OURS}
        elif top == OURS:
            waiting |= {*_patterns(name)}
        elif top in MAIN:
            reasons.append(f"it uses the module {top}, whose variables are not known")
        else:
            if top not in users:
                files, owners = _located(top)
                versions |= {owner: version(owner) for owner in owners}
                users[top] = {module: read(module, file) for file, module in files}
                if not files and not owners and top in sys.modules and top not in sys.stdlib_module_names:
                    reasons.append(f"{top}: its source is not known")
                modules |= {module: text.digest for module, text in users[top].items()}
                imports = frozenset().union(*(text.imports for text in users[top].values()))
                waiting |= imports.union(*(TRIAL for n in imports if n.partition(".")[0] == OURS))
            # All files of a package count. Those that are not loaded and that no import leads to may load what they like.
            used = [text for m, text in users[top].items() if m in sys.modules or f"{name}.".startswith(f"{m}.")]
            reasons += [reason for text in used for reason in text.reasons]
    return modules, versions, reasons


@functools.cache
def _patterns(name: str) -> tuple[str, ...]:
    """The files of dpbench that may run if a class is in this module."""
    room, inner = [*name.split("."), "", ""][1:3]
    if f"{room}/*.py" in CORE:
        folder = (f"{room}/{inner}/*.py",) if inner and (PACKAGE / room / inner).is_dir() else ()
        return (*(BUILDING if f"{room}/*.py" in BUILDING else CORE), *folder)
    is_module = room and any(file.is_file() for file in (PACKAGE / f"{room}.py", PACKAGE / room / "__init__.py"))
    return ("**/*.py",) if is_module and f"{OURS}.{room}" not in EXEMPT else ()


@functools.cache
def _listed(pattern: str) -> list[tuple[str, str]]:
    """The files of dpbench that match a pattern, and their modules."""
    paths = {str(path): path.relative_to(PACKAGE.parent).with_suffix("").parts for path in PACKAGE.glob(pattern)}
    modules = [(file, ".".join(parts).removesuffix(".__init__")) for file, parts in paths.items()]
    if not modules:
        raise FileNotFoundError(f"{PACKAGE / pattern}: no such file")
    return [(file, module) for file, module in modules if module not in EXEMPT]


_LIBRARIES: dict[tuple[object, ...], tuple[str, ...]] = {}
"""Who installed a module that counts by its version: searching the path takes long."""


def _located(top: str) -> tuple[list[tuple[str, str]], tuple[str, ...]]:
    """The files of a top-level module or package, and their modules, if it counts by its source; and who installed it."""
    key = top, top in sys.modules, *sys.path
    if key in _LIBRARIES:
        return [], _LIBRARIES[key]
    try:
        spec = importlib.util.find_spec(top)
    except (ImportError, ValueError, AttributeError):
        spec = None
    folders = tuple((spec and spec.submodule_search_locations) or ())
    file = (spec.origin if spec and spec.has_location else None) or next(iter(folders), "")
    installed = {"site-packages", "dist-packages"} & {*file.split(os.sep)}
    owners = _distributions(top) if installed else ()
    standard = top in sys.stdlib_module_names and file.startswith(os.path.dirname(os.__file__) + os.sep)
    if standard or (owners and not any(map(_is_plugin, owners))):
        _LIBRARIES[key] = owners
        return [], owners
    if not file:
        return [], ()
    return [*_inside(top, folders)] or [(file, top)], owners


def _inside(top: str, folders: Iterable[str]) -> Iterator[tuple[str, str]]:
    """All files in the folders of a package, and their modules."""
    for root in folders:
        for folder, inner, names in os.walk(root):
            inner[:] = filter(str.isidentifier, inner)  # neither .venv nor lib/python3.11
            parts = [top, *Path(folder).relative_to(root).parts]
            for name in names:
                if name.endswith((".py", *importlib.machinery.EXTENSION_SUFFIXES)):
                    stem = name.partition(".")[0]
                    yield os.path.join(folder, name), ".".join(parts if stem == "__init__" else [*parts, stem])


@functools.cache
def _distributions(top: str) -> tuple[str, ...]:
    """The distributions that installed a top-level module. The one of the same name is tried first: searching all takes 0.2 s."""
    try:
        names = [importlib.metadata.distribution(top).metadata["Name"]]
    except importlib.metadata.PackageNotFoundError:
        names = importlib.metadata.packages_distributions().get(top, [])
    return tuple(sorted({re.sub(r"[-_.]+", "-", name).lower() for name in names}))


@functools.cache
def _is_plugin(distribution: str) -> bool:
    return any(p.group.startswith(f"{OURS}.") for p in importlib.metadata.distribution(distribution).entry_points)


@functools.cache
def version(distribution: str) -> str:
    """The version of a distribution, as this process first saw it: what it has loaded does not change later."""
    return importlib.metadata.version(distribution)
