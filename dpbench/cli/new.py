"""`new`: writes a small, working file to start from, with its test: a mechanism, a dataset, a task or an experiment."""

from __future__ import annotations

import argparse
import importlib.machinery
import keyword
import re
import sys
from pathlib import Path
from shlex import quote

from dpbench.cli import templates
from dpbench.config import catalogue
from dpbench.config.folders import HERE
from dpbench.errors import Failed, UserError, output_folder

WHAT = ("mechanism", "dataset", "task", "experiment")


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m dpbench new", description=__doc__)
    parser.add_argument("what", choices=WHAT)
    parser.add_argument(
        "name", help="lower-case letters, digits and _; for an experiment FOLDER/NAME, such as mine/sweep"
    )
    parser.add_argument("--config-dir", type=Path, default=Path(HERE), help="your configuration folder (default: conf)")
    args = parser.parse_args(argv)
    output_folder("--config-dir ", args.config_dir)
    files = written(args.what, args.name, args.config_dir)
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
        words = command.format(name=args.name, module=_module(args.name), cls=_class(args.name))
        own = (
            ""
            if args.config_dir == Path(HERE) or "dpbench" not in words
            else f" --config-dir {quote(str(args.config_dir))}"
        )
        print(f"  {words}{own}")
    return 0


def written(what: str, name: str, conf: Path = Path(HERE)) -> dict[Path, str]:
    """The files, by their places, with their contents."""
    form = r"[a-z]\w*(/[a-z]\w*)?" if what == "experiment" else r"[a-z]\w*"
    if not re.fullmatch(form, name, re.ASCII) or keyword.iskeyword(name):
        example = "mine/sweep" if what == "experiment" else "rounded"
        raise UserError(
            f"{what} name {name!r} is not valid: expected lower-case letters, digits and _, such as {example}"
        )
    if name in catalogue.options(what):
        raise UserError(f"{what} {name!r} already exists: choose another name")
    if what != "experiment" and (taken := _hidden(_module(name))):
        raise UserError(f"{what} name {name!r} is not valid: {name}.py would hide {taken}: choose another name")
    words = {"name": name, "module": _module(name), "cls": _class(name)}
    return {
        Path(place.format(conf=conf, **words)): text.replace("NAME", name)
        .replace("CLASS", words["cls"])
        .replace("MODULE", words["module"])
        for place, text in templates.FILES[what].items()
    }


def _module(name: str) -> str:
    return name.replace("/", "_")


def _hidden(module: str) -> str:
    """The module that a file of this name would hide from every import in this folder; empty if there is none."""
    if module in sys.stdlib_module_names:
        return "a module of Python itself"
    here = Path.cwd().resolve()
    elsewhere = [place for place in sys.path if Path(place or ".").resolve() != here]
    found = importlib.machinery.PathFinder.find_spec(module, elsewhere)
    return "" if found is None or found.loader is None else "the installed package of that name"


def _class(name: str) -> str:
    """The class name of `my_rounding`: MyRounding."""
    return "".join(part.capitalize() for part in re.split(r"[_/]", name) if part)
