"""How heavy the package is: lines and modules by package, and what one trial passes through. Run: python tests/support/weight.py

Lines are those with code: no blanks, comments or docstrings. The path of one trial is counted by tracing
`run dataset=[trajectory] mechanism=[gs]` with one trial in this process: the files and functions of dpbench that are entered,
up to and including its figure.
"""

from __future__ import annotations

import ast
import io
import sys
import tempfile
import tokenize
from collections import Counter
from pathlib import Path
from types import FrameType
from typing import Any

PACKAGE = Path(__file__).resolve().parents[2] / "dpbench"
HARNESS = ("(top)", "api", "cli", "config", "engine", "model", "reproduce", "storage")
"""The machine room. The plumbing of sources (all but generators and readers) is counted with it."""
SKIPPED = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
TRIAL = ["dataset=[trajectory]", "mechanism=[gs]", "epsilon=[1.0]", "trials=1", "scale=smoke", "runner.jobs=1"]


def code_lines(source: str) -> int:
    """The number of lines with code."""
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    docstrings: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, documented) and ast.get_docstring(node, clean=False) is not None:
            docstrings.update(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in SKIPPED:
            lines.update(range(token.start[0], token.end[0] + 1))
    return len(lines - docstrings)


def weights(package: Path = PACKAGE) -> tuple[Counter[str], Counter[str]]:
    """Lines and modules by package."""
    lines: Counter[str] = Counter()
    modules: Counter[str] = Counter()
    for path in package.rglob("*.py"):
        inner = path.relative_to(package).parts
        name = inner[0] if len(inner) > 1 else "(top)"
        if name == "sources" and inner[1] not in ("generators", "readers"):
            name = "sources (plumbing)"
        lines[name] += code_lines(path.read_text(encoding="utf-8"))
        modules[name] += 1
    return lines, modules


def path_of_a_trial() -> tuple[set[str], set[tuple[str, str]]]:
    """The files and functions of the package that one trial enters, from the command line to its figure."""
    from dpbench.cli import main

    files: set[str] = set()
    functions: set[tuple[str, str]] = set()
    inside = str(PACKAGE)

    def enter(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(inside):
            files.add(frame.f_code.co_filename)
            if not frame.f_code.co_name.startswith("<"):
                functions.add((frame.f_code.co_filename, frame.f_code.co_qualname))

    with tempfile.TemporaryDirectory() as folder:
        main(
            ["run", *TRIAL, "tracking=none", "name=weighed", f"results={folder}/built"]
        )  # so that data and kernels exist
        sys.setprofile(enter)
        try:
            main(["run", *TRIAL, "tracking=none", "name=weighed", f"results={folder}/traced"])
        finally:
            sys.setprofile(None)
    return files, functions


def report() -> str:
    """The counts as text."""
    lines, modules = weights()
    harness = [name for name in lines if name in (*HARNESS, "sources (plumbing)")]
    rows = [f"{lines[name]:7,} lines {modules[name]:4} modules  {name}" for name in sorted(lines)]
    rows.append(f"{sum(lines.values()):7,} lines {sum(modules.values()):4} modules  in all")
    harness_modules = sum(modules[name] for name in harness)
    rows.append(f"{sum(lines[name] for name in harness):7,} lines {harness_modules:4} modules  harness")
    return "\n".join(rows)


if __name__ == "__main__":
    files, functions = path_of_a_trial()
    print(report())
    print(f"one trial enters {len(files)} files and {len(functions)} functions")
