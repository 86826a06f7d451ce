"""`new`: writes a small, working file to start from, with its test: a mechanism, a dataset, a task or an experiment.

The files are copied from templates/, with the user's names in place of NAME, MODULE and CLASS.
"""

from __future__ import annotations

import importlib.machinery
import keyword
import re
import sys
from pathlib import Path
from shlex import quote

from dpbench.cli.common import parser_of
from dpbench.config import catalogue
from dpbench.config.catalogue import HERE
from dpbench.errors import Failed, UserError, output_folder

WHAT = ("mechanism", "dataset", "task", "experiment")
TEMPLATES = Path(__file__).parent / "templates"


def main(argv: list[str]) -> int:
    parser = parser_of("new", __doc__.partition("\n")[0])
    add = parser.add_argument
    add("what", choices=WHAT)
    add("name", help="lower-case letters, digits and _; for an experiment FOLDER/NAME, such as mine/sweep")
    add("--config-dir", type=Path, default=Path(HERE), help="your configuration folder (default: conf)")
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
    own = "" if args.config_dir == Path(HERE) else f" --config-dir {quote(str(args.config_dir))}"
    for command in _filled(args.what, "next", args.name).splitlines():
        print(f"  {command}{own if 'dpbench' in command else ''}")
    return 0


def written(what: str, name: str, conf: Path = Path(HERE)) -> dict[Path, str]:
    """The files by path, with their contents."""
    form = r"[a-z]\w*(/[a-z]\w*)?" if what == "experiment" else r"[a-z]\w*"
    if not re.fullmatch(form, name, re.ASCII) or keyword.iskeyword(name):
        example = "mine/sweep" if what == "experiment" else "rounded"
        expected = f"expected lower-case letters, digits and _, such as {example}"
        raise UserError(f"{what} name {name!r} is not valid: {expected}")
    if name in catalogue.options(what):
        raise UserError(f"{what} {name!r} already exists: choose another name")
    module = _module(name)
    if what != "experiment" and (hidden := _hidden(module)):
        raise UserError(f"{what} name {name!r} is not valid: {name}.py would hide {hidden}: choose another name")
    paths = {
        "module.py": Path(f"{module}.py"),
        "config.yaml": conf / what / f"{name}.yaml",
        "test.py": Path(f"test_{module}.py"),
    }
    if what == "experiment":  # it needs no code
        del paths["module.py"]
    return {path: _filled(what, template, name) for template, path in paths.items()}


def _filled(what: str, template: str, name: str) -> str:
    """A template with the user's names."""
    text = (TEMPLATES / what / f"{template}.txt").read_text(encoding="utf-8")
    cls = "".join(part.capitalize() for part in re.split(r"[_/]", name) if part)  # my_rounding: MyRounding
    return text.replace("NAME", name).replace("CLASS", cls).replace("MODULE", _module(name))


def _module(name: str) -> str:
    return name.replace("/", "_")


def _hidden(module: str) -> str:
    """The module that a file of this name would hide from every import in this folder; empty if there is none."""
    if module in sys.stdlib_module_names:
        return "a module of Python itself"
    here = Path.cwd().resolve()
    elsewhere = [folder for folder in sys.path if Path(folder or ".").resolve() != here]
    spec = importlib.machinery.PathFinder.find_spec(module, elsewhere)
    return "" if spec is None or spec.loader is None else "the installed package of that name"
