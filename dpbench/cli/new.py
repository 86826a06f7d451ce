"""`new`: writes a small, working file to start from, with its test: a mechanism, a dataset, a task or an experiment."""

from __future__ import annotations

import argparse
import keyword
import os
import re
import sys
from importlib.machinery import PathFinder
from pathlib import Path

from dpbench.cli import templates
from dpbench.config import catalogue
from dpbench.errors import Failed, UserError

WHAT = ("mechanism", "dataset", "task", "experiment")


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m dpbench new", description=__doc__)
    parser.add_argument("what", choices=WHAT)
    parser.add_argument(
        "name", help="lower-case letters, digits and _; for an experiment FOLDER/NAME, such as mine/sweep"
    )
    args = parser.parse_args(argv)
    files = written(args.what, args.name)
    for path in files:
        if path.exists():
            raise UserError(f"{path} already exists: choose another name, or remove it")
    for path, text in files.items():
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        except OSError as error:
            raise Failed(f"{path} cannot be written: {error.strerror}") from None
        print(f"wrote {path}")
    print("Try it:")
    for command in templates.NEXT[args.what]:
        print(f"  {command.format(name=args.name, module=_module(args.name), cls=_class(args.name))}")
    return 0


def written(what: str, name: str) -> dict[Path, str]:
    """The files by path, with their contents."""
    form = r"[a-z]\w*(/[a-z]\w*)?" if what == "experiment" else r"[a-z]\w*"
    if not re.fullmatch(form, name, re.ASCII) or keyword.iskeyword(name):
        example = "mine/sweep" if what == "experiment" else "rounded"
        raise UserError(
            f"{what} name {name!r} is not valid: expected lower-case letters, digits and _, such as {example}"
        )
    if name in catalogue.options(what):
        raise UserError(f"{what} {name!r} already exists: choose another name")
    if what != "experiment":  # which is no module
        _require_free(what, name)
    words = {"name": name, "module": _module(name), "cls": _class(name)}
    return {
        Path(place.format(**words)): text.replace("NAME", name)
        .replace("CLASS", words["cls"])
        .replace("MODULE", words["module"])
        for place, text in templates.FILES[what].items()
    }


def _require_free(what: str, module: str) -> None:
    """A file numpy.py in the folder one works in would be taken for numpy, by everything that runs there."""
    here = {os.path.realpath(folder or ".") for folder in ("", os.getcwd())}
    places = [place for place in sys.path if os.path.realpath(place or ".") not in here]
    if module in sys.stdlib_module_names or PathFinder.find_spec(module, places) is not None:
        raise UserError(f"{what} {module!r} would hide the installed module {module}: choose another name")


def _module(name: str) -> str:
    return name.replace("/", "_")


def _class(name: str) -> str:
    """The class name of `my_rounding`: MyRounding."""
    return "".join(part.capitalize() for part in re.split(r"[_/]", name) if part)
