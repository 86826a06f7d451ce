"""Facts from the text of one module: a hash of its code, and what it uses from other modules. Reads no other file.

Comments, docstrings, layout and imports for type checkers do not count. Imported by `codes.graph` and `codes.live`.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

Use = tuple[str, tuple[str, ...]]
"""A module and the nested attributes used from it; `*` means all of them."""

OURS = "dpbench"

# Calls that load a module: with a literal name they are imports; with a computed name the module is unknown.
_LOADERS = {"import_module", "__import__"}
_FILE_LOADERS = {"spec_from_file_location", "run_path", "run_module"}


@dataclass(frozen=True)
class Facts:
    """The code of a module. For a package's `__init__` that only exports, `digest` and `uses` are empty."""

    digest: str
    uses: frozenset[Use] = frozenset()
    exports: Mapping[str, tuple[Use, ...]] = field(default_factory=dict)
    """For a package: each imported name, and where it comes from."""
    stars: tuple[str, ...] = ()
    """For a package: modules from which everything is imported."""
    names: frozenset[str] = frozenset()
    """Every name bound at the top level."""
    computed: tuple[int, ...] = ()
    """Lines that load a module by a computed name."""


def opaque(content: bytes) -> Facts:
    """A file that is not Python source: its bytes count, and its imports are unknown."""
    return Facts(hashlib.blake2b(content, digest_size=16).hexdigest())


def read(text: str | bytes, package: str, *, is_package: bool = False, bound: Mapping[str, Use] | None = None) -> Facts:
    """The facts of a module's text. `package` resolves relative imports; `bound`: modules that are known under other names."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):  # cannot be imported like this, so its imports do not matter
        return opaque(text.encode() if isinstance(text, str) else text)
    _strip(tree)
    everything = list(ast.walk(tree))  # walked once, because walking takes longer than parsing
    known: dict[str, list[Use]] = {name: [use] for name, use in (bound or {}).items()}
    for node in everything:
        for name, use in _bindings(node, package):
            known.setdefault(name, []).append(use)
    lazy = is_package and package.partition(".")[0] == OURS
    own: list[ast.stmt] = [s for s in tree.body if not _exports(s, lazy)] if is_package else tree.body
    nodes = [node for statement in own for node in ast.walk(statement)] if is_package else everything
    uses = {use for node in nodes for use in (*_imported(node, package), *_loaded(node, package))}
    uses |= set(_chains(nodes, known))
    exports: dict[str, list[Use]] = {}
    stars: list[str] = []
    for node in _top_level(tree.body):
        for name, use in _bindings(node, package):
            exports.setdefault(name, []).append(use)
        stars += [use[0] for use in _imported(node, package) if use[1] == ("*",)]
    return Facts(
        digest=hashlib.blake2b(ast.dump(ast.Module(own, [])).encode(), digest_size=16).hexdigest() if own else "",
        uses=frozenset(uses),
        exports={name: tuple(found) for name, found in exports.items()},
        stars=tuple(stars),
        names=frozenset(_names(tree.body)),
        computed=tuple(node.lineno for node in nodes if isinstance(node, ast.Call) and _is_computed(node)),
    )


def _strip(tree: ast.AST) -> None:
    """Remove what does not run: bare strings (docstrings), and `if TYPE_CHECKING:`."""
    for node in ast.walk(tree):
        for part in ("body", "orelse", "finalbody"):
            statements = getattr(node, part, None)
            if isinstance(statements, list):
                kept = [s for statement in statements for s in _running(statement)]
                if not kept and part == "body" and not isinstance(node, ast.Module):
                    kept = [ast.Pass()]
                setattr(node, part, kept)


def _running(statement: ast.stmt) -> Iterator[ast.stmt]:
    if isinstance(statement, ast.If) and _last_name(statement.test) == "TYPE_CHECKING":
        for other in statement.orelse:
            yield from _running(other)
    elif not (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    ):
        yield statement


def _last_name(node: ast.AST) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _exports(statement: ast.stmt, lazy: bool) -> bool:
    """Whether a statement of an `__init__` only exports: an import, `__all__`, a constant such as `__version__`.

    Ours may also export lazily (`lazy`): a `__getattr__` with its private table, and no other code.
    """
    if isinstance(statement, ast.Import | ast.ImportFrom | ast.Pass):
        return True
    if isinstance(statement, ast.Try | ast.If):  # `except ImportError`, or imports that depend on the Python version
        handlers = [s for handler in getattr(statement, "handlers", []) for s in handler.body]
        parts = [*statement.body, *statement.orelse, *getattr(statement, "finalbody", []), *handlers]
        return all(_exports(part, lazy) for part in parts)
    if isinstance(statement, ast.Assign | ast.AnnAssign | ast.AugAssign):
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        names = [_last_name(target) for target in targets]
        if lazy and all(name.startswith("_") for name in names):
            return True
        if not all(name.startswith("__") and name.endswith("__") for name in names):
            return False
        return "__all__" in names or statement.value is None or isinstance(statement.value, ast.Constant)
    return lazy and isinstance(statement, ast.FunctionDef) and statement.name in ("__getattr__", "__dir__")


def _absolute(node: ast.ImportFrom, package: str) -> str:
    if not node.level:
        return node.module or ""
    parts = package.split(".")
    above = ".".join(parts[: len(parts) - node.level + 1])
    return ".".join(filter(None, [above, node.module]))


def _imported(node: ast.AST, package: str) -> Iterator[Use]:
    if isinstance(node, ast.Import):
        yield from ((alias.name, ()) for alias in node.names)
    elif isinstance(node, ast.ImportFrom) and node.module != "__future__":
        yield from ((_absolute(node, package), (alias.name,)) for alias in node.names)


def _bindings(node: ast.AST, package: str) -> Iterator[tuple[str, Use]]:
    """The local names that an import statement binds, and to what."""
    if isinstance(node, ast.Import):
        for alias in node.names:
            top = alias.name.partition(".")[0]
            yield (alias.asname, (alias.name, ())) if alias.asname else (top, (top, ()))
    elif isinstance(node, ast.ImportFrom) and node.module != "__future__":
        for alias in node.names:
            if alias.name != "*":
                yield alias.asname or alias.name, (_absolute(node, package), (alias.name,))


def _loaded(node: ast.AST, package: str) -> Iterator[Use]:
    """`importlib.import_module("literal")`."""
    if isinstance(node, ast.Call) and _last_name(node.func) in _LOADERS and node.args:
        name = node.args[0]
        if isinstance(name, ast.Constant) and isinstance(name.value, str):
            level = len(name.value) - len(name.value.lstrip("."))
            given = node.args[1] if len(node.args) > 1 else next((k.value for k in node.keywords), None)
            if level and isinstance(given, ast.Constant) and isinstance(given.value, str):
                package = given.value
            yield _absolute(ast.ImportFrom(name.value[level:] or None, [], level), package), ()


def _is_computed(node: ast.Call) -> bool:
    called = _last_name(node.func)
    if called in _LOADERS and node.args:
        return not (isinstance(node.args[0], ast.Constant) and isinstance(node.args[0].value, str))
    return called in _FILE_LOADERS


def _chains(nodes: Iterable[ast.AST], known: Mapping[str, list[Use]]) -> Iterator[Use]:
    """`pkg.part.name` for every imported name: which attributes are used. A name used alone counts as everything."""
    inner: set[int] = set()
    for node in nodes:  # outer nodes come before inner ones
        if id(node) in inner or not isinstance(node, ast.Attribute | ast.Name):
            continue
        attributes: list[str] = []
        base: ast.expr = node
        while isinstance(base, ast.Attribute):
            attributes.insert(0, base.attr)
            base = base.value
            inner.add(id(base))
        if isinstance(base, ast.Name):
            for module, taken in known.get(base.id, ()):
                yield module, (*taken, *(attributes or ("*",)))


def _top_level(statements: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """Statements that run when the module is loaded, including those in `if`, `try` and `with`."""
    for statement in statements:
        yield statement
        if not isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            for part in ("body", "orelse", "finalbody"):
                yield from _top_level(getattr(statement, part, []))
            for handler in getattr(statement, "handlers", []):
                yield from _top_level(handler.body)


def _names(body: list[ast.stmt]) -> Iterator[str]:
    for statement in _top_level(body):
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield statement.name
        elif isinstance(statement, ast.Import | ast.ImportFrom):
            yield from (name for name, _ in _bindings(statement, ""))
        else:
            for node in ast.walk(statement):
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                    yield node.id
