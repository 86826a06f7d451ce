"""The only module that uses Hydra: from overrides or typed settings to a checked run, with Hydra's errors as one line.

`compose` is for verbs that plan runs themselves, `hydra_main` for `run`, with Hydra's own command line. All other modules see
only `RunConfig`.
"""

from __future__ import annotations

import logging
import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpbench.config import catalogue
from dpbench.config.catalogue import ENTRIES, GROUPS
from dpbench.config.changes import altered, changes
from dpbench.config.checks import check
from dpbench.config.dataset_entry import SCALES
from dpbench.config.entries import classes_without_yaml
from dpbench.config.messages import section_keys, translated
from dpbench.config.origins import Objects, Origins
from dpbench.config.overrides import OverrideValue, config_dirs, key_of, names_of, override, quoted, split
from dpbench.config.schema import RunConfig
from dpbench.config.selection import each_run
from dpbench.documents import check_bounds
from dpbench.errors import Failed, UserError
from dpbench.identity import digest
from dpbench.paths import CONF

if TYPE_CHECKING:
    from omegaconf import DictConfig

NOTHING = Objects()
SweepJob = Callable[[RunConfig | Exception, Sequence[str]], float]
"""One job of a sweep: its run, or why there is none, and its swept overrides. Returns what an optimising sweeper gets."""
UNCHANGING = ("experiment", "name", "scale", "results", "figure", "dry", "metrics", "releases", "runner", "tracking")
"""Overrides that choose the experiment and its scale, or how trials are executed: none changes what is run."""


def compose(
    experiment: str | None = None,
    scale: str | None = None,
    overrides: Mapping[str, OverrideValue] | Sequence[str] = (),
    folders: Sequence[Path] = (),
    objects: Objects = NOTHING,
) -> RunConfig:
    """The run of an experiment at a scale (None: as in conf/run.yaml), without Hydra's command line.

    `overrides`: settings and their values, such as `{"runner.jobs": 1, "dataset": ["netflix"]}`, or overrides as a user
    types them. `folders`: configuration folders besides ours. `objects`: objects passed by a program.
    """
    given = (
        [override(key, value) for key, value in overrides.items()] if isinstance(overrides, Mapping) else [*overrides]
    )
    chosen = [override(key, value) for key, value in (("experiment", experiment), ("scale", scale)) if value]
    folders = list(dict.fromkeys((*folders, *catalogue.own())))
    for folder in folders:
        catalogue.add_folder(folder)
    runs = each_run([*chosen, *given], folders)
    if len(runs) > 1:
        raise UserError(f"{experiment} stands for {len(runs)} experiments: expected one")
    return _composed(runs[0], folders, objects)


def _composed(given: Sequence[str], folders: Sequence[Path], objects: Objects = NOTHING) -> RunConfig:
    """The run that these overrides describe, without Hydra's command line."""
    import hydra

    words = _hydra_words(given, folders)
    with hydra.initialize_config_dir(config_dir=str(CONF), version_base="1.3", job_name="dpbench"):
        try:
            cfg = hydra.compose("run", overrides=[*_searched(folders), *words], return_hydra_config=True)
        except Exception as error:  # any error of Hydra is caused by the user's input
            raise translated(error, words, folders) from error
        return _checked(cfg, cfg.hydra, objects)


def hydra_main(argv: list[str], job: Callable[[RunConfig], int]) -> int:
    """Run `job` on what `argv` describes, through Hydra's own command line (overrides, --cfg, --info, --help)."""
    flags, words = split(argv)
    folders = config_folders(argv)
    runs = [[]] if "--hydra-help" in flags else each_run(words, folders)  # that is about Hydra, not our configuration
    return max(_hydra_run(flags, overrides, folders, job) for overrides in runs)


def is_sweep(argv: Sequence[str]) -> bool:
    """Whether Hydra makes several runs of `argv`."""
    return bool({"-m", "--multirun"} & {*split(argv)[0]})


def hydra_sweep(argv: list[str], job: SweepJob) -> None:
    """Let Hydra's sweeper and launcher run `job` once for every combination of the swept values, maybe in other processes."""
    flags, words = split(argv)
    given = words if any(key_of(word) == "experiment" for word in words) else each_run(words, ())[0]
    folders = config_folders(argv)

    def task(cfg: DictConfig) -> float:
        swept: list[str] = []
        try:
            swept = _swept(given)
            return job(_named_by(_checked(cfg), swept, given), swept)
        except (UserError, Failed, OSError) as problem:
            return job(problem, swept)

    _hydra_app(flags, given, folders, task)


def _swept(given: Sequence[str]) -> list[str]:
    """The overrides of this job that its sweep varies."""
    from hydra.core.hydra_config import HydraConfig
    from hydra.core.override_parser.overrides_parser import OverridesParser

    parsed = OverridesParser.create().parse_overrides([*given])
    fixed = {key_of(word) for word, part in zip(given, parsed, strict=True) if not part.is_sweep_override()}
    words = [word.lstrip("+") for word in HydraConfig.get().overrides.task]
    return [word for word in words if key_of(word) not in fixed]


def _named_by(run: RunConfig, swept: Sequence[str], given: Sequence[str]) -> RunConfig:
    """The run under a name that holds the swept overrides: otherwise the jobs of a sweep would replace each other."""
    made = not run.experiment and not any(key_of(word) == "name" for word in given)  # from its mechanisms and datasets
    told = {"experiment", "name", "results", *(ENTRIES if made else ())}
    words = [word for word in swept if key_of(word) not in told]
    if not words:
        return run
    parts = []
    for word in words:
        key, _, value = word.partition("=")
        if re.fullmatch(r"[\w.-]{1,60}", value):
            parts.append(f"{key}-{value}")
        else:
            parts.append(f"{key}-{re.sub(r'[^0-9a-zA-Z.]+', '-', value).strip('-')[:40]}-{digest(word, 3)}")
    title = f"{run.title or run.name} ({', '.join(words)})"
    return replace(run, name=f"{run.name}.{'.'.join(parts)}", title=title)


def config_folders(argv: Sequence[str]) -> list[Path]:
    """The user's own folders: those given by options, and `conf` in the current folder."""
    return catalogue.own_folders(config_dirs(split(argv)[0])[0])


def _searched(folders: Sequence[Path]) -> list[str]:
    """The override that makes Hydra search the user's own folders."""
    listed = ",".join(quoted(f"file://{folder.resolve()}") for folder in folders)
    return [f"hydra.searchpath=[{listed}]"] if folders else []


def compose_each(argv: list[str]) -> dict[str, RunConfig | UserError]:
    """The runs that `argv` describes, by experiment, if there are several, each with its error if it cannot be composed.
    Empty if it describes one run, or uses another feature of Hydra."""
    flags, words = split(argv)
    folders = config_folders(argv)
    if config_dirs(flags)[1]:
        return {}
    runs = each_run(words, folders)
    if len(runs) == 1:
        return {}
    if named := [word for word in words if key_of(word) == "name"]:
        raise UserError(f"{named[-1]} names one run, and {len(runs)} experiments are chosen: leave out one of them")
    composed: dict[str, RunConfig | UserError] = {}
    for overrides in runs:
        name = overrides[0].partition("=")[2]
        try:
            composed[name] = compose(overrides=overrides, folders=folders)
        except UserError as problem:
            composed[name] = problem
    problems = [problem for problem in composed.values() if isinstance(problem, UserError)]
    if len(problems) == len(composed):
        raise problems[0]
    return composed


def _hydra_run(flags: list[str], given: list[str], folders: list[Path], job: Callable[[RunConfig], int]) -> int:
    own_words = not any(key_of(word).partition(".")[0].partition("/")[0] == "hydra" for word in given)
    if own_words and not config_dirs(flags)[1]:
        return job(_composed(given, folders))  # Hydra's command line would compose everything twice
    status: list[int] = []
    problems: list[BaseException] = []

    def task(cfg: DictConfig) -> None:
        # Stored and raised outside: Hydra would print an additional line about an exception that passes through it.
        try:
            status.append(job(_checked(cfg)))
        except (Exception, KeyboardInterrupt) as problem:
            problems.append(problem)

    _hydra_app(flags, given, folders, task)
    if problems:
        raise problems[0]
    return max(status, default=0)


def _hydra_app(flags: list[str], given: list[str], folders: list[Path], task: Callable[[DictConfig], Any]) -> None:
    """Hydra's own command line on these flags and overrides."""
    import hydra

    os.environ["HYDRA_FULL_ERROR"] = "1"  # gives us the exception instead of printing it
    words = _hydra_words(given, folders)
    before, sys.argv = sys.argv, ["dpbench run", *config_dirs(flags)[1], *_searched(folders), *words]
    log = logging.getLogger()
    logged = list(log.handlers), log.level  # `--info` makes Hydra log every step from then on
    try:
        hydra.main(config_path=str(CONF), config_name="run", version_base="1.3")(task)()
    except Exception as error:
        raise translated(error, words, folders) from error
    finally:
        sys.argv = before
        log.handlers[:], log.level = logged


def _hydra_words(overrides: Sequence[str], folders: Sequence[Path]) -> list[str]:
    """Overrides in Hydra's form; the classes that they choose and that have no YAML are made known to Hydra.

    A parameter of a mechanism, dataset or task, or a setting of a runner, may be given although its YAML does not list it,
    because its default is in the class (`check` catches wrong names).
    """
    from hydra.core.config_store import ConfigStore

    for path in (path for folder in folders for group in GROUPS for path in (folder / group).glob("**/*.yaml")):
        if path.is_file():
            check_bounds(path)  # Hydra reads without a limit
    experiment = next((names_of(word) for word in overrides if key_of(word) == "experiment"), iter(()))
    for group, name, entry in classes_without_yaml(overrides, next(experiment, None), folders):
        ConfigStore.instance().store(group=group, name=name, node=entry)
    words = []
    for word in overrides:
        key = key_of(word)
        if key in GROUPS and key not in ENTRIES and word.partition("=")[2].lstrip().startswith("["):
            raise UserError(f"{word} is not valid: expected one {key}, such as {key}={catalogue.options(key)[0]}")
        # Hydra's grammar allows only ASCII outside of quotes, but folder names may contain other characters.
        start, equals, value = word.partition("=")
        if start.isascii() and re.fullmatch(r"[^\[\]{}(),'\"\\$]+", value) and not value.isascii():
            word = f"{start}{equals}'{value}'"
        added = re.match(rf"({'|'.join(ENTRIES)})\.[^=]+=", word) or key in section_keys()
        words.append(f"++{word.lstrip('+')}" if added else word)
    return words


# What Hydra composed.


def _checked(cfg: DictConfig, hydra_cfg: Any = None, objects: Objects = NOTHING) -> RunConfig:
    from hydra.core.hydra_config import HydraConfig
    from omegaconf import OmegaConf

    about = hydra_cfg if hydra_cfg is not None else HydraConfig.get()
    choices = {str(group): name for group, name in about.runtime.choices.items() if isinstance(name, str)}
    folders = [Path(s.path) for s in about.runtime.config_sources if s.schema == "file" and Path(s.path) != CONF]
    # As typed: an interpolation in an override would be resolved here, and fail.
    as_typed: Any = OmegaConf.to_container(about.overrides, resolve=False)
    words: list[str] = as_typed["task"]
    origins = Origins(words, choices.get("experiment"), choices, folders, objects)
    run = check(_plain(cfg, origins), origins)
    searched = [word for word in as_typed["hydra"] if word.startswith("hydra.searchpath=")]
    return _compared(run, origins, searched) if origins.experiment else run


def _compared(run: RunConfig, origins: Origins, searched: list[str]) -> RunConfig:
    """The run, with the differences that its overrides make to its experiment."""
    import hydra

    kept = [word for word in origins.words if key_of(word).partition(".")[0] in UNCHANGING]
    rest = [word for word in origins.words if word not in kept]
    if not rest and origins.objects == NOTHING:
        return run
    kept = [word for word in kept if key_of(word) != "metrics"]  # they may belong to another task
    own = replace(origins, words=kept, objects=NOTHING)
    try:
        # With the Hydra instance that is open now, so that the user's own folders are searched.
        whole = check(_plain(hydra.compose("run", overrides=[*searched, *kept]), own), own)
        return replace(run, changes=changes(run, whole), altered=altered(run, whole))
    except UserError:  # as defined it needs something missing, such as original files: then list the overrides
        words = tuple(word.lstrip("+") for word in rest)
        return replace(run, changes=words, altered=tuple(w for w in words if w.startswith(("mechanism.", "task."))))


def _by_scale(
    smoke: OverrideValue, laptop: OverrideValue, paper: OverrideValue, *, _root_: DictConfig
) -> OverrideValue:
    """`${by_scale:6,30,50}` in an experiment: the value for the scale of the run."""
    chosen: OverrideValue = dict(zip(SCALES, (smoke, laptop, paper), strict=True)).get(_root_.scale)
    return chosen


def _no_environment(name: str, *_: object) -> str:
    """`${oc.env:NAME}`: a YAML of somebody else could put a password into results that are sent to others."""
    raise UserError(f"${{oc.env:{name}}} is not read: a run is stored with its settings; give the value by an override")


def _plain(cfg: DictConfig, origins: Origins) -> dict[str, Any]:
    from omegaconf import OmegaConf
    from omegaconf.resolvers.oc import env as environment

    OmegaConf.register_new_resolver("by_scale", _by_scale, replace=True)
    OmegaConf.register_new_resolver("oc.env", _no_environment, replace=True)
    try:
        body = {key: value for key, value in cfg.items() if key != "hydra"}
        plain: Any = OmegaConf.to_container(OmegaConf.create(body), resolve=True, throw_on_missing=True)
    except Exception as error:  # an interpolation that fails, or a missing value (???)
        raise translated(error, origins.words, origins.folders) from error
    finally:
        OmegaConf.register_new_resolver("oc.env", environment, replace=True)
    return {str(key): value for key, value in plain.items()}
