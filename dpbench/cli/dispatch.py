"""The verbs: finds the module of a verb and turns errors into one line and an exit status.

0: done. 1: the work failed. 2: wrong use. 130, 143: interrupted. Each verb lives in dpbench/cli and is imported only when used.
"""

from __future__ import annotations

import argparse
import importlib
import os
import signal
import sys
import warnings
from pathlib import Path
from typing import Any

from dpbench.cli.streams import prepare_streams
from dpbench.errors import Failed, UserError, unknown

VERBS = {
    "run": "run an experiment: datasets x mechanisms x epsilons, repeated, stored, logged, drawn",
    "reproduce": "everything of a paper: run, figures, claims, report; compared with the record",
    "figures": "draw every figure and table from the stored trials",
    "claims": "each claim of the papers: reproduced, contradicted or not testable, with the numbers",
    "check": "utility against the committed baselines, as continuous integration runs it",
    "data": "datasets: list, cards and calibration, original files",
    "report": "one self-contained HTML page of figures, numbers, claims, datasets and errata",
    "compare": "where a mechanism stands among those of its guarantee, or which one to use on your data",
    "audit": "how much privacy each mechanism loses, and whether that is what it states",
    "new": "a working file of your own to start from: mechanism, dataset, task or experiment, with its test",
    "list": "mechanisms, datasets, experiments or tasks",
    "track": "log stored trials to MLflow that it does not have yet",
    "bench": "measure the speed floors, as ratios",
    "completion": "print the shell completion script for bash or zsh",
}


def usage() -> str:
    width = max(map(len, VERBS))
    lines = "\n".join(f"  {verb:<{width}}  {text}" for verb, text in VERBS.items())
    return (
        "dpbench: reproduce, compare and guard experiments on publishing counts under differential privacy.\n\n"
        f"usage: python -m dpbench VERB ...\n\n{lines}\n\n"
        "python -m dpbench VERB --help says more of each. Start with: python -m dpbench run scale=smoke\n"
        "Your own configuration in ./conf is found by every verb; --config-dir FOLDER names another one."
    )


def main(argv: list[str] | None = None) -> int:
    args = sys.argv[1:] if argv is None else argv
    prepare_streams()
    if not args or args[0] in ("-h", "--help", "help"):
        print(usage())
        return 0
    if args[0] == "--version":
        from dpbench import __version__

        print(f"dpbench {__version__}")
        return 0
    verb, rest = args[0], args[1:]
    warnings.formatwarning = _warning
    # A user's own classes are named by dotted path and live in the folder the command is started in.
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        if argv is None:
            signal.signal(signal.SIGTERM, _terminated)
        if verb not in VERBS:
            raise unknown("verb", verb, VERBS)
        return int(importlib.import_module(f"dpbench.cli.{verb}").main(_with_own(verb, rest)))
    except UserError as error:
        print(f"dpbench: {' '.join(str(error).split())}", file=sys.stderr)
        return 2
    except KeyboardInterrupt as stop:
        rest_of_it = str(stop) or "what is finished is kept, and the same command goes on from here"
        print(f"dpbench: interrupted; {rest_of_it}", file=sys.stderr)
        return 143 if isinstance(stop, Terminated) else 130
    except BrokenPipeError:
        # The reader (head, less) has gone: nothing is left to say.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (Failed, OSError) as error:
        print(f"dpbench: {error}", file=sys.stderr)
        return 1


def _with_own(verb: str, words: list[str]) -> list[str]:
    """The words of a verb, after the user's own configuration was made known to it: `./conf`, and what --config-dir names.

    `run` and `check` look for it themselves.
    """
    if verb == "run":
        return words
    from dpbench.config.folders import HERE, is_own, own_folders

    if verb == "check":
        given = any(word.partition("=")[0] == "--config-dir" for word in words)
        return words if given or not is_own(Path(HERE)) else [*words, "--config-dir", HERE]
    from dpbench.config import catalogue

    parser = argparse.ArgumentParser(prog=f"python -m dpbench {verb}", add_help=False, allow_abbrev=False)
    parser.add_argument("--config-dir", action="append", default=[])
    found, rest = parser.parse_known_args(words)
    if verb == "new":  # writes there: the folder need not be there yet
        catalogue.use(*own_folders([folder for folder in found.config_dir if Path(folder).is_dir()]))
        return words
    catalogue.use(*own_folders(found.config_dir))
    return rest


class Terminated(KeyboardInterrupt):
    """SIGTERM, as `kill` and time limits send it: ends as Ctrl-C does, workers and temporary folders included."""


def _terminated(*_: Any) -> None:
    raise Terminated


_plain_warning = warnings.formatwarning


def _warning(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> str:
    """Our own warnings are messages to the user: where in the code they arise says nothing."""
    own = category.__module__.partition(".")[0] == "dpbench"
    return f"dpbench: {message}\n" if own else _plain_warning(message, category, *place, **more)
