"""Hydra at the door: turns command-line words into a checked run, and Hydra's errors into one line of ours.

Imported by the verbs that need a run (`run`, `check`, `claims`); everything behind it sees `RunConfig` only.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpbench.config.changes import altered, changes
from dpbench.config.schema import RunConfig, check, check_shapes
from dpbench.errors import UserError, nearest
from dpbench.paths import CONF

if TYPE_CHECKING:
    from omegaconf import DictConfig

GROUPS = ("dataset", "mechanism", "task", "experiment", "scale", "runner", "tracking")
NESTED = ("runner.jobs", "runner.chunk", "runner.address", "runner.backend", "tracking.uri", "tracking.enabled")
# Overrides that choose the experiment and its scale, or say how the trials are carried out: none changes what is run.
UNCHANGING = ("experiment", "scale", "results", "figure", "dry", "metrics", "runner", "tracking", *NESTED)


def options(group: str, *folders: Path) -> list[str]:
    """The names a group offers: `gs/fig9` for experiments, plain names for the others."""
    found: set[str] = set()
    for folder in (CONF, *folders):
        root = folder / group
        found |= {p.relative_to(root).with_suffix("").as_posix() for p in root.glob("**/*.yaml")}
    return sorted(found)


# Flags of Hydra that take a value in the next word.
VALUED = ("--config-dir", "-cd", "--config-name", "-cn", "--config-path", "-cp", "--cfg", "-c", "--package", "-p")


def words(argv: list[str]) -> list[str]:
    """Command-line words as Hydra wants them: flags before overrides, wherever the user wrote them.

    A parameter of a mechanism, dataset or task may be given although its YAML does not list it, because its default
    lives in the class (`check` catches a wrong name).
    """
    flags: list[str] = []
    overrides: list[str] = []
    rest = iter(argv)
    for word in rest:
        if word.startswith("-"):
            flags.append(word)
            flags.extend([value for value in [next(rest, None)] if value is not None] if word in VALUED else [])
        else:
            overrides.append(f"++{word}" if re.match(r"(dataset|mechanism|task)\.[^=]+=", word) else word)
    return flags + overrides


def hydra_main(argv: list[str], job: Callable[[RunConfig], int]) -> int:
    """Run `job` on what `argv` describes, through Hydra's own front door (overrides, -m, --cfg, --info, --help)."""
    import hydra

    os.environ["HYDRA_FULL_ERROR"] = "1"  # gives us the exception instead of printing it
    status: list[int] = []
    problems: list[BaseException] = []
    folders = config_dirs(argv)

    def task(cfg: DictConfig) -> None:
        # Kept and raised outside: Hydra would print a line of its own about an exception that passes through it.
        try:
            if not problems:
                status.append(job(_checked(cfg)))
        except UserError as problem:
            problems.append(problem)
        except (Exception, KeyboardInterrupt) as problem:
            problems.append(_translate(problem, folders) if isinstance(problem, Exception) else problem)

    before, sys.argv = sys.argv, ["dpbench run", *words(argv)]
    try:
        hydra.main(config_path=str(CONF), config_name="run", version_base="1.3")(task)()
    except UserError:
        raise
    except Exception as error:
        raise _translate(error, folders) from error
    finally:
        sys.argv = before
    if problems:
        raise problems[0]
    return max(status, default=0)


def compose_run(argv: list[str]) -> RunConfig:
    """The run that `argv` describes, without Hydra's command line: for verbs that plan runs themselves."""
    import hydra

    folders = config_dirs(argv)
    try:
        with hydra.initialize_config_dir(config_dir=str(CONF), version_base="1.3", job_name="dpbench"):
            # The compose API knows no flags: a folder of the user's own goes on the search path instead.
            own = (
                [f"hydra.searchpath=[{','.join(f'file://{folder.resolve()}' for folder in folders)}]"]
                if folders
                else []
            )
            cfg = hydra.compose("run", overrides=[*own, *words(_without_flags(argv))], return_hydra_config=True)
            return _checked(cfg, cfg.hydra)
    except UserError:
        raise
    except Exception as error:
        raise _translate(error, folders) from error


def _checked(cfg: DictConfig, hydra_cfg: Any = None) -> RunConfig:
    from hydra.core.hydra_config import HydraConfig

    about = hydra_cfg if hydra_cfg is not None else HydraConfig.get()
    experiment = about.runtime.choices.get("experiment")
    overrides = list(about.overrides.task)
    plain = _plain(cfg)
    check_shapes(plain, overrides)
    run = check(plain, str(experiment or "adhoc"), overrides)
    searched = [word for word in about.overrides.hydra if word.startswith("hydra.searchpath=")]
    return _compared(run, overrides, searched) if experiment else run


def _compared(run: RunConfig, overrides: list[str], searched: list[str]) -> RunConfig:
    """The run, with how its overrides make it differ from its experiment as it is defined."""
    import hydra

    kept = [word for word in overrides if word.partition("=")[0] in UNCHANGING]
    rest = [word for word in overrides if word not in kept]
    if not rest:
        return run
    try:
        # Through the Hydra that is open now, so that the user's own folders count.
        whole = check(_plain(hydra.compose("run", overrides=[*searched, *kept])), run.experiment, kept)
        return replace(run, changes=changes(run, whole), altered=altered(run, whole))
    except UserError:  # as defined it needs what is not here, such as original files: then the words themselves
        words = tuple(word.lstrip("+") for word in rest)
        return replace(run, changes=words, altered=tuple(w for w in words if w.startswith(("mechanism.", "task."))))


def _plain(cfg: DictConfig) -> dict[str, Any]:
    from omegaconf import OmegaConf

    body = {key: value for key, value in cfg.items() if key != "hydra"}
    plain: Any = OmegaConf.to_container(OmegaConf.create(body), resolve=True)
    return plain


def config_dirs(argv: list[str]) -> list[Path]:
    """The user's own configuration folders; their classes can be imported from there too."""
    found = []
    for i, word in enumerate(argv):
        if word in ("--config-dir", "-cd") and i + 1 < len(argv):
            found.append(Path(argv[i + 1]))
        elif word.startswith("--config-dir="):
            found.append(Path(word.partition("=")[2]))
    for folder in found:
        if not folder.is_dir():
            raise UserError(f"--config-dir {folder}: there is no such folder")
        sys.path.append(str(folder.resolve()))
    return found


def _without_flags(argv: list[str]) -> list[str]:
    valued = {i + 1 for i, word in enumerate(argv) if word in VALUED}
    return [word for i, word in enumerate(argv) if i not in valued and not word.startswith("-")]


def _translate(error: Exception, folders: list[Path]) -> Exception:
    """A user's mistake that Hydra or OmegaConf noticed, as one line; anything else as it is."""
    text = str(error)
    if "Config group override must be a string or a list" in text:
        return UserError("a group cannot be null: leave it out, or give one of its options (see run --help)")
    if not type(error).__module__.startswith(("hydra", "omegaconf", "yaml")) and not isinstance(
        error, UnicodeDecodeError
    ):
        return error
    if found := re.search(r"Could not (?:load|find) '(\w+)/([^']+)'", text):
        group, name = found.groups()
        return UserError(f"unknown {group} {name!r}: {nearest(name, _near(group, name, folders))}")
    if found := re.search(r"Could not override '([^']+)'", text):
        return UserError(f"unknown setting {found[1]!r}: {nearest(found[1], _settings())}")
    if type(error).__name__ == "OverrideParseException":
        word = getattr(error, "override", "") or ""
        return UserError(f"cannot read {word!r}: expected key=value or key=[a,b]; are brackets and quotes closed?")
    return UserError(" ".join(text.split("\n")[0].split()) or type(error).__name__)


def _near(group: str, name: str, folders: list[Path]) -> Iterator[str]:
    names = options(group, *folders)
    # `fig9` alone is near to `gs/fig9`, which the letters do not show.
    ends = [n for n in names if n.rpartition("/")[2] == name]
    yield from ends or names


def _settings() -> list[str]:
    from omegaconf import OmegaConf

    base = OmegaConf.load(CONF / "run.yaml")
    top = [str(k) for k in base if k not in ("defaults", "hydra")]  # type: ignore[union-attr]
    return [*top, *NESTED, *GROUPS]
