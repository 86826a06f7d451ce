"""The verbs: finds the module of a verb and turns errors into one line and an exit status.

0: done. 1: the work failed. 2: wrong use. 130, 143: interrupted. Each verb is a module of dpbench/cli, imported only when used.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import os
import signal
import sys
import warnings
from pathlib import Path
from typing import Any

from dpbench.cli.streams import prepare_streams
from dpbench.errors import Failed, UserError, unknown
from dpbench.paths import results_above
from dpbench.registry import search

VERBS = {
    "run": "run an experiment: datasets x mechanisms x epsilons, repeated, stored, logged, drawn",
    "reproduce": "reproduce a paper: run, figures, claims, report; compare with the record",
    "figures": "draw every figure and table from the stored trials",
    "claims": "each claim of the papers: reproduced, contradicted or not testable, with the numbers",
    "check": "compare utility with the committed baselines, for continuous integration",
    "data": "datasets: list, cards and calibration, original files",
    "report": "one self-contained HTML page of figures, numbers, claims, datasets and errata",
    "compare": "how a mechanism ranks among those with its guarantee, or which one to use on your data",
    "board": "enter your mechanism into a board, verified; show and publish the boards",
    "advise": "which mechanism to use for counts of a given shape, from public facts alone",
    "audit": "how much privacy each mechanism loses, and whether it keeps its guarantee",
    "merge": "join results folders by trial into a new one",
    "new": "write a working file to start from: mechanism, dataset, task or experiment, with its test",
    "list": "mechanisms, datasets, experiments or tasks",
    "track": "log stored trials to MLflow",
    "bench": "measure the speed floors, as ratios",
    "completion": "print the shell completion script for bash or zsh",
}

COLLECT_AFTER = 300_000
"""New objects after which Python looks for cycles. With its default of 700 that is a fifth of the time of a report."""


def usage() -> str:
    width = max(map(len, VERBS))
    lines = "\n".join(f"  {verb:<{width}}  {text}" for verb, text in VERBS.items())
    return (
        "dpbench: reproduce, compare and guard experiments on publishing counts under differential privacy.\n\n"
        f"usage: python -m dpbench VERB ...\n\n{lines}\n\n"
        "python -m dpbench VERB --help says more about each. Start with: python -m dpbench run scale=smoke\n"
        "Your own configuration in ./conf is found by every verb; --config-dir FOLDER names another one."
    )


def main(argv: list[str] | None = None) -> int:
    args = sys.argv[1:] if argv is None else argv
    prepare_streams()
    gc.set_threshold(COLLECT_AFTER)
    if not args or args[0] in ("-h", "--help", "help"):
        print(usage())
        return 0
    if args[0] == "--version":
        from dpbench import __version__

        print(f"dpbench {__version__}")
        return 0
    verb, rest = args[0], args[1:]
    warnings.formatwarning = _warning
    # joblib replaces a worker whose memory has grown, which is harmless, and warns whenever it does.
    warnings.filterwarnings("ignore", "A worker stopped while some jobs were given to the executor")
    # A user's own classes are named by dotted path and are in the folder where the command is started.
    if results_above(Path.cwd()) is None:
        search(Path.cwd())
    try:
        if argv is None:
            signal.signal(signal.SIGTERM, _terminated)
        if verb.startswith("-"):
            raise UserError(f"{verb} comes before the verb: expected python -m dpbench VERB {verb} and so on")
        if verb not in VERBS:
            raise unknown("verb", verb, VERBS)
        return int(importlib.import_module(f"dpbench.cli.{verb}").main(_with_own(verb, rest)))
    except UserError as error:
        print(f"dpbench: {' '.join(str(error).split())}", file=sys.stderr)
        return 2
    except KeyboardInterrupt as stop:
        rest_of_it = str(stop) or "finished trials are kept, and the same command continues from there"
        print(f"dpbench: interrupted; {rest_of_it}", file=sys.stderr)
        return 143 if isinstance(stop, Terminated) else 130
    except BrokenPipeError:
        # The program that reads our output (head, less) has ended: stop quietly.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (Failed, OSError) as error:
        print(f"dpbench: {error}", file=sys.stderr)
        return 1


def _with_own(verb: str, words: list[str]) -> list[str]:
    """The arguments of a verb, after its configuration folders were set: `./conf`, and those given by --config-dir.

    `run` and `check` do this themselves.
    """
    if verb == "run":
        return words
    from dpbench.config import catalogue
    from dpbench.config.catalogue import HERE, own_folders

    if verb == "check":
        named = any(word.partition("=")[0] == "--config-dir" for word in words)
        return words if named or not own_folders() else [*words, "--config-dir", HERE]
    parser = argparse.ArgumentParser(prog=f"python -m dpbench {verb}", add_help=False, allow_abbrev=False)
    parser.add_argument("--config-dir", action="append", default=[])
    given, rest = parser.parse_known_args(words)
    if verb == "new":  # `new` creates the folder if it does not exist yet
        catalogue.use(*own_folders([folder for folder in given.config_dir if Path(folder).is_dir()]))
        return words
    catalogue.use(*own_folders(given.config_dir))
    return rest


class Terminated(KeyboardInterrupt):
    """SIGTERM, sent by `kill` and time limits: handled like Ctrl-C, including workers and temporary folders."""


def _terminated(*_: Any) -> None:
    raise Terminated


_plain_warning = warnings.formatwarning


def _warning(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> str:
    """Show our own warnings as messages to the user, without the place in the code."""
    own = category.__module__.partition(".")[0] == "dpbench"
    return f"dpbench: {message}\n" if own else _plain_warning(message, category, *where, **more)
