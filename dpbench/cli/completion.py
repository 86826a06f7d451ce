"""`completion`: the shell completion script. eval "$(python -m dpbench completion bash)"

The script asks this verb again for the words that fit (`completion words CURRENT PREVIOUS...`), so it never goes stale.
"""

from __future__ import annotations

import argparse

from dpbench.cli.dispatch import VERBS
from dpbench.config.catalogue import GROUPS, options
from dpbench.config.selection import ALL, papers

BASH = """_dpbench() {
  local IFS=$'\\n'
  # `=` and `,` stay inside a word, so that experiment=gs/fi<TAB> completes.
  local line="${COMP_LINE:0:COMP_POINT}"
  local current="${line##* }"
  COMPREPLY=($(python -m dpbench completion words "$line" 2>/dev/null))
  local cut="${current%"${current##*[=:]}"}"
  COMPREPLY=("${COMPREPLY[@]#"$cut"}")
}
complete -o nospace -F _dpbench dpbench
"""
ZSH = "autoload -U +X bashcompinit && bashcompinit\n" + BASH

RUN_KEYS = (
    "name=",
    "epsilon=",
    "trials=",
    "seed=",
    "data_seed=",
    "noise=exact",
    "results=",
    "dry=true",
    "figure=false",
    "runner.jobs=",
)
RUN_FLAGS = ("--cfg", "--config-dir", "--help", "--verbose", "-m")


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
    """The words that may stand at the end of a command line."""
    done, _, current = line.rpartition(" ")
    words = done.split()[1:]
    if not words:
        return [verb for verb in VERBS if verb.startswith(current)]
    if words[0] == "list":
        return [w for w in ("mechanisms", "datasets", "experiments", "tasks") if w.startswith(current)]
    if words[0] == "data":
        names = ("list", "show", "get", "where") if len(words) == 1 else options("dataset") if len(words) == 2 else ()
        return [w for w in names if w.startswith(current)]
    if words[0] in ("figures", "check"):
        return [e for e in options("experiment") if e.startswith(current)]
    if words[0] == "claims":
        return [p for p in options("claims") if p.startswith(current)]
    if words[0] != "run":
        return []
    group, equals, value = current.partition("=")
    if equals and group in GROUPS:
        names = [*options(group), *([*papers(), ALL] if group == "experiment" else ())]
        *before, last = value.lstrip("[").split(",")  # several experiments, datasets and so on are divided by commas
        start = current[: len(current) - len(last)]
        return [f"{start}{name}" for name in names if name.startswith(last) and name not in before]
    return [w for w in (*(f"{g}=" for g in GROUPS), *RUN_KEYS, *RUN_FLAGS) if w.startswith(current)]
