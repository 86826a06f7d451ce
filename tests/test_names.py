"""A name means one thing: no two public types of the package share it."""

import ast
from collections import defaultdict

from dpbench.paths import PACKAGE


def public_types(tree):
    """The classes and type aliases that a module defines itself."""
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            names = [node.name]
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            # A constant is written in capitals, a type alias like a class.
            names = [
                name.id
                for name in targets
                if isinstance(name, ast.Name) and name.id[0].isupper() and not name.id.isupper()
            ]
        else:
            continue
        yield from (name for name in names if not name.startswith("_"))


def test_no_two_public_types_have_one_name():
    modules = defaultdict(list)
    for path in sorted(PACKAGE.rglob("*.py")):
        for name in public_types(ast.parse(path.read_text(encoding="utf-8"))):
            modules[name].append(str(path.relative_to(PACKAGE)))
    assert {"Setting", "Law", "Floats"} <= set(modules)
    assert {name: where for name, where in modules.items() if len(where) > 1} == {}
