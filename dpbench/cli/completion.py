"""`completion`: the shell completion script. eval "$(python -m dpbench completion bash)"

The script calls this verb again for the matching words (`completion words LINE`), so it never becomes outdated. It completes
`dpbench` and `python -m dpbench`: verbs, settings, lists of names, parameters, and your own files in ./conf.
"""

from __future__ import annotations

import argparse
import re

from dpbench.cli.dispatch import VERBS
from dpbench.config.catalogue import ENTRIES, GROUPS, options
from dpbench.config.selection import ALL, papers

BASH = """_dpbench() {
  local IFS=$'\\n'
  # `=` and `,` stay inside a word, so that experiment=gs/fi<TAB> completes.
  local line="${COMP_LINE:0:COMP_POINT}"
  local current="${line##* }"
  COMPREPLY=($(python -m dpbench completion words "$line" 2>/dev/null))
  local cut="${current%"${current##*[=:]}"}"
  case "$current" in  # bash treats a quoted word as one word, without its quote
    \\'*|\\"*) cut="${current:0:1}" ;;
  esac
  COMPREPLY=("${COMPREPLY[@]#"$cut"}")
}
_dpbench_python() {
  if [[ "$COMP_LINE" =~ ^[^\\ ]+\\ +-m\\ +dpbench\\  ]]; then
    compopt -o nospace
    _dpbench
  fi
}
complete -o nospace -F _dpbench dpbench
complete -o default -o bashdefault -F _dpbench_python python python3
"""
ZSH = "autoload -U +X bashcompinit && bashcompinit\n" + BASH

RUN_KEYS = (
    "name=",
    "epsilon=",
    "trials=",
    "seed=",
    "data_seed=",
    "data_seeds=",
    "noise=exact",
    "results=",
    "dry=true",
    "figure=false",
    "runner.jobs=",
)
RUN_FLAGS = ("--cfg", "--config-dir", "--help", "--verbose", "-m")
PREFIX = re.compile(r"^\S+\s+-m\s+dpbench(?=\s)")
DATASET_KEYS = ("path", "source", "bound")


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m dpbench completion", description=__doc__)
    parser.add_argument("what", choices=("bash", "zsh", "words"))
    parser.add_argument("line", nargs="?", default="")
    args = parser.parse_args(argv)
    if args.what == "words":
        print("\n".join(candidates(args.line)))
    else:
        print(BASH if args.what == "bash" else ZSH)
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
        return ["mechanisms", "datasets", "experiments", "tasks", "--json"]
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
        found = [f"{start}{name}" for name in names if name.startswith(last) and name not in before]
        # Offer how the list can continue; otherwise the shell would close the quote.
        if len(found) == 1 and value.startswith("["):
            found = [f"{found[0]}{sign}" for sign in ("]", ",")]
    elif not equals and bare.count(".") and bare.partition(".")[0] in ENTRIES:
        found = [word for word in _parameters(*bare.split(".", 2)[:2]) if word.startswith(bare)]
    else:
        words = (*(f"{g}=" for g in GROUPS), *(f"{g}." for g in ENTRIES), *RUN_KEYS, *RUN_FLAGS)
        found = [word for word in words if word.startswith(bare)]
    return [quote + word for word in found]


def _parameters(group: str, name: str) -> list[str]:
    """`mechanism.gs.w=` and so on; before the second dot, the names themselves."""
    names = options(group)
    if name not in names:
        return [f"{group}.{one}." for one in names]
    from dpbench.config import catalogue
    from dpbench.config.classes import REGISTRIES

    if group == "dataset":
        entry = catalogue.dataset(name)
        classes = [cls for cls in (entry.generator, entry.files) if cls]
        more: tuple[str, ...] = DATASET_KEYS
    else:
        document = catalogue.option(group, name)
        classes, more = [str(document.mapping[name]["class"])] if document else [], ()
    found = {parameter for cls in classes for parameter in REGISTRIES[group].parameters(cls) or ()}
    return sorted(f"{group}.{name}.{parameter}=" for parameter in {*found, *more})
