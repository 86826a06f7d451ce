"""Which runs a command line means: one experiment, several, those of a paper, all, or an ad-hoc run.

An ad-hoc run chooses datasets, mechanisms or tasks without an experiment. It gets its own name, so that it never replaces an
experiment's run. Imported by `compose` and `checks`; imports the catalogue.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from dpbench.config import catalogue
from dpbench.config.catalogue import ENTRIES
from dpbench.config.overrides import key_of
from dpbench.errors import UserError, unknown

FIRST = "gs/fig9"
"""What `run` runs by default."""
ALL = "all"
ADHOC = "adhoc"
"""Ad-hoc runs are named `adhoc/...`."""
USUAL_TASKS = {
    "incidence": "column_counts",
    "records": "record_analytics",
    "contingency": "range_queries",
    "catalogue": "category_aggregates",
}
"""The task of an ad-hoc run for each kind of data, unless the user chose tasks."""
SHOWN = 4  # most names that are part of the name of an ad-hoc run
NAME = re.compile(r"\w[\w.-]*")
_IDS = re.compile(r"\[?\s*[\w/.-]+(\s*,\s*[\w/.-]+)*\s*\]?|\[\s*\]")


def papers(*folders: Path) -> list[str]:
    """The names that stand for several experiments: `gs` for `gs/fig7`, `gs/fig8` and so on."""
    return list(dict.fromkeys(name.partition("/")[0] for name in catalogue.options("experiment", *folders)))


def each_run(words: Sequence[str], folders: Sequence[Path]) -> list[list[str]]:
    """The overrides of every run, including its experiment, if there is one."""
    chosen = [word for word in words if key_of(word) == "experiment"]
    if not chosen:
        return [[*words]] if is_adhoc(words) else [[f"experiment={FIRST}", *words]]
    value = chosen[-1].partition("=")[2].replace("'", "").replace('"', "")
    if not _IDS.fullmatch(value):
        return [[*words]]  # Hydra reports what is wrong
    names = list(_named([name for part in value.strip("[] ").split(",") if (name := part.strip())], folders))
    if not names:
        raise UserError(f"{chosen[-1]} is not valid: expected at least one experiment")
    rest = [word for word in words if word not in chosen]
    return [[f"experiment={name}", *rest] for name in dict.fromkeys(names)]


def _named(asked: Iterable[str], folders: Sequence[Path]) -> Iterator[str]:
    known = catalogue.options("experiment", *folders)
    for name in asked:
        mine = [known_id for known_id in known if name in (ALL, known_id, known_id.partition("/")[0])]
        if not mine:
            # `fig9` means `gs/fig9`, although the two strings are not similar.
            ends = [known_id for known_id in known if known_id.rpartition("/")[2] == name]
            raise unknown("experiment", name, ends or dict.fromkeys([*known, *papers(*folders), ALL]))
        yield from mine


def is_adhoc(words: Iterable[str]) -> bool:
    """Whether overrides choose datasets, mechanisms or tasks, but no experiment."""
    keys = {key_of(word) for word in words}
    return "experiment" not in keys and bool(keys & {*ENTRIES})


def usual_tasks(kinds: Iterable[str], given: Mapping[str, Any], folders: Sequence[Path]) -> dict[str, Any]:
    """The entries of the tasks that fit these kinds of data; `given`: parameters that the user gave them."""
    entries: dict[str, Any] = {}
    for name in dict.fromkeys(USUAL_TASKS[kind] for kind in kinds if kind in USUAL_TASKS):
        task, own = catalogue.task(name, *folders), given.get(name)
        entries[name] = {"class": task.cls, **task.params, **(own if isinstance(own, Mapping) else {})}
    return entries


# Names and titles.


def check_name(name: Any, folders: Sequence[Path]) -> str:
    """The name that the user gave a run; empty if none. It must not be the name of an experiment."""
    if name is None:
        return ""
    text = str(name)
    if isinstance(name, bool | list | Mapping) or not NAME.fullmatch(text) or len(text) > 100:
        raise UserError(f"name={text} is not valid: expected letters, digits, `_`, `.` and `-`, at most 100 of them")
    taken = (*catalogue.options("experiment", *folders), *papers(*folders), ALL, ADHOC)
    if text in taken:
        raise UserError(f"name={text} is not valid: {text} stands for experiments: give the run a name of its own")
    return text


def adhoc_name(mechanisms: Iterable[str], datasets: Iterable[str]) -> str:
    """The name of an ad-hoc run, by what it is about: `adhoc/lpa-gs-on-netflix`."""
    return f"{ADHOC}/{_joined(mechanisms)}-on-{_joined(datasets)}"


def _joined(names: Iterable[str]) -> str:
    """All names if they are few; otherwise the first ones, how many more, and a hash of all of them."""
    names = [name.replace("/", ".") for name in dict.fromkeys(names)]
    whole = "-".join(names)
    if len(names) <= SHOWN and len(whole) <= 80:
        return whole
    mark = hashlib.blake2b("\n".join(names).encode(), digest_size=3).hexdigest()
    first = names[: SHOWN - 1] if len("-".join(names[: SHOWN - 1])) <= 60 else []
    return "-".join([*first, f"{len(names) - len(first)}-more" if first else f"{len(names)}-names", mark])


def title_of(
    given: str, own: bool, name: str, experiment: str, mechanisms: Iterable[str], datasets: Iterable[str]
) -> str:
    """The title of a run. `given`: the experiment's or the user's title; `own`: whether it is the user's."""
    if own or name == experiment:
        return given
    if experiment:
        return f"{name}, a variation of {experiment}" + (f": {given}" if given else "")
    lists = (", ".join(dict.fromkeys(names)) for names in (mechanisms, datasets))
    return given or "Ad-hoc run: {} on {}".format(*lists)
