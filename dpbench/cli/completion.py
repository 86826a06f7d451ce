"""`completion`: the shell completion script. eval "$(python -m dpbench completion bash)"

The script calls this verb again for the matching words (`completion words LINE`), so it never becomes outdated. It completes
`dpbench` and `python -m dpbench`: verbs, settings, lists of names, parameters, and your own files in ./conf.
"""

from __future__ import annotations

import re
from pathlib import Path

from dpbench.cli.common import parser_of
from dpbench.cli.dispatch import VERBS
from dpbench.config.catalogue import ENTRIES, GROUPS, options, settings
from dpbench.config.selection import ALL, papers
from dpbench.model.world import ALL as EVERY
from dpbench.model.world import DEFAULT

SCRIPT = Path(__file__).parent / "templates" / "completion.bash"
RUN_FLAGS = ("--cfg", "--config-dir", "--help", "--verbose", "-m")
PREFIX = re.compile(r"^\S+\s+-m\s+dpbench(?=\s)")
DATASET_KEYS = ("path", "source", "bound", "world")


def main(argv: list[str]) -> int:
    parser = parser_of("completion", __doc__)
    parser.add_argument("what", choices=("bash", "zsh", "words"))
    parser.add_argument("line", nargs="?", default="")
    args = parser.parse_args(argv)
    if args.what == "words":
        print("\n".join(candidates(args.line)))
    else:
        if args.what == "zsh":
            print("autoload -U +X bashcompinit && bashcompinit")
        print(SCRIPT.read_text(encoding="utf-8"))
    return 0


def candidates(line: str) -> list[str]:
    """The words that may complete a command line."""
    done, _, current = PREFIX.sub("dpbench", line).rpartition(" ")
    words = done.split()[1:]
    if not words:
        return [verb for verb in VERBS if verb.startswith(current)]
    if words[0] == "run":
        return _run(current)
    return [word for word in _listed(words) if word.startswith(current)]


def _listed(words: list[str]) -> list[str]:
    """The names that a verb accepts."""
    verb, count = words[0], len(words)
    if verb == "list":
        return ["mechanisms", "datasets", "experiments", "tasks", "readings", "--json"]
    if verb == "new":
        return ["mechanism", "dataset", "task", "experiment"] if count == 1 else []
    if verb == "data":
        return ["list", "show", "get", "where"] if count == 1 else options("dataset") if count == 2 else []
    if verb in ("figures", "check", "track"):
        return options("experiment")
    if verb == "reproduce":
        return papers()
    if verb == "claims":
        return options("claims")
    if verb in ("audit", "compare"):
        return options("mechanism")
    return []


def _run(current: str) -> list[str]:
    """Settings, lists of names and parameters. A quote before the word is kept."""
    quote = current[:1] if current[:1] in ("'", '"') else ""
    bare = current[len(quote) :]
    group, equals, value = bare.partition("=")
    if equals and group in GROUPS:
        # An experiment of one's own, without a paper before it, is in both lists.
        names = list(dict.fromkeys([*options(group), *([*papers(), ALL] if group == "experiment" else ())]))
        *before, last = value.lstrip("[").split(",")  # several experiments, datasets and so on are separated by commas
        start = bare[: len(bare) - len(last)]
        matching = [f"{start}{name}" for name in names if name.startswith(last) and name not in before]
        # Offer how the list can continue; otherwise the shell would close the quote.
        if len(matching) == 1 and value.startswith("["):
            matching = [f"{matching[0]}{sign}" for sign in ("]", ",")]
    elif equals and group == "reading":
        matching = [f"{group}={name}" for name in _reading_names() if name.startswith(value)]
    elif equals and group.rpartition(".")[2] == "world":
        matching = [f"{group}={name}" for name in _worlds(group.split(".")) if name.startswith(value)]
    elif not equals and bare.count(".") and bare.partition(".")[0] in ENTRIES:
        matching = [word for word in _parameters(*bare.split(".", 2)[:2]) if word.startswith(bare)]
    else:
        words = (*(f"{g}=" for g in GROUPS), *(f"{g}." for g in ENTRIES))
        words += (*(f"{key}=" for key in settings()), "runner.jobs=", *RUN_FLAGS)
        matching = [word for word in words if word.startswith(bare)]
    return [quote + word for word in matching]


def _reading_names() -> list[str]:
    """The names of all papers' readings: which of them an experiment has is said when it is run."""
    from dpbench.config.readings import papers as with_readings
    from dpbench.config.readings import readings
    from dpbench.model.reading import ALL as EVERY

    return list(dict.fromkeys([EVERY, *(name for paper in with_readings() for name in readings(paper).names)]))


def _worlds(keys: list[str]) -> list[str]:
    """The worlds of the dataset of `dataset.NAME.world=`; for `world=`, those of all datasets."""
    from dpbench.config import catalogue

    names = [name for name in options("dataset") if len(keys) == 1 or name == keys[1]]
    return [*dict.fromkeys(world for name in names for world in catalogue.dataset(name).worlds), DEFAULT, EVERY]


def _parameters(group: str, name: str) -> list[str]:
    """`mechanism.gs.w=` and so on; before the second dot, the names themselves."""
    names = options(group)
    if name not in names:
        return [f"{group}.{known}." for known in names]
    from dpbench.config import catalogue
    from dpbench.config.entries import REGISTRIES

    if group == "dataset":
        entry = catalogue.dataset(name)
        classes = [cls for cls in (entry.generator, entry.files) if cls]
        more: tuple[str, ...] = DATASET_KEYS
    else:
        entry = getattr(catalogue, group)(name)
        classes, more = [entry.cls], tuple(entry.params)
    # A user's own class is not imported: a keypress runs no code.
    installed = (cls for cls in classes if REGISTRIES[group].known(cls))
    parameters = {parameter for cls in installed for parameter in REGISTRIES[group].parameters(cls) or ()}
    return sorted(f"{group}.{name}.{parameter}=" for parameter in {*parameters, *more})
