"""Stored trials as a table: one row a trial, with the cell's labels beside its numbers. Reads the store only.

Imported by figures, tracking, check and report.
"""

from __future__ import annotations

import json
import shlex
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpbench.errors import Damaged, UserError
from dpbench.results.store import Store

if TYPE_CHECKING:
    import pandas as pd

RESULTS = Path("results")  # where runs write unless told otherwise, as conf/run.yaml says


def manifests(results: Path, scale: str | None = None) -> dict[str, dict[str, Any]]:
    """The latest plan (of that scale) of every experiment that was run under this results folder, by experiment."""
    found: dict[str, tuple[float, dict[str, Any]]] = {}
    for path in sorted((results / "plans").glob(f"**/*@{scale or '*'}.json")):
        try:
            body = json.loads(path.read_text())
            for key in ("experiment", "scale", "trials", "datasets"):
                body[key]
            for cell in body["cells"]:
                Path(cell["id"]), dict(cell["labels"])
        except (ValueError, KeyError, TypeError):
            warnings.warn(f"{path} is damaged and passed over: run the experiment again", Damaged, stacklevel=2)
            continue
        made = path.stat().st_mtime
        if body["experiment"] not in found or made > found[body["experiment"]][0]:
            found[body["experiment"]] = (made, body)
    return {name: body for name, (_, body) in sorted(found.items())}


def stored(results: Path, scale: str | None = None) -> dict[str, dict[str, Any]]:
    """`manifests` for a verb that makes something of them: a folder without any is wrong use."""
    if found := manifests(results, scale):
        return found
    if results.exists() and not results.is_dir():
        raise UserError(f"--results {results} is a file: expected a folder that `python -m dpbench run` has written to")
    problem = "holds no run" if results.is_dir() else "does not exist"
    if scale and (others := manifests(results)):
        problem = (
            f"holds no run of scale {scale}, only of {' and '.join(sorted({m['scale'] for m in others.values()}))}"
        )
    command = run_command(None, results, scale)
    raise UserError(f"--results {results} {problem}: expected a folder that runs have written to; make one: {command}")


def run_command(experiment: str | None, results: Path, scale: str | None = None) -> str:
    """What to type to have this experiment (None: the first one) in this store."""
    words = [f"{key}={value}" for key, value in (("experiment", experiment), ("scale", scale)) if value]
    words += [f"results={results}"] if results != RESULTS else []
    return shlex.join(["python", "-m", "dpbench", "run", *words])


def remarks(manifest: dict[str, Any], trials: int, results: Path) -> list[str]:
    """What a reader of a run's figure must know: that it is not the experiment as defined, or not finished."""
    found = []
    again = run_command(manifest["experiment"], results, manifest["scale"])
    if changes := manifest.get("changes"):
        found.append(f"not as the experiment is defined ({'; '.join(changes)}); as defined: `{again}`")
    planned = len({cell["id"] for cell in manifest["cells"]}) * manifest["trials"]
    if trials < planned:
        on = "the same command goes on from there" if changes else f"`{again}` goes on from there"
        found.append(f"not finished: {trials} of {planned} trials are stored; {on}")
    return found


def load_trials(results: Path, manifest: dict[str, Any]) -> pd.DataFrame:
    """All stored trials of a plan. Columns: the labels, `cell`, `trial`, `seconds`, the metrics, `chosen.*`, `diagnostic.*`."""
    import pandas as pd

    store = Store(results, say=lambda text: warnings.warn(text, Damaged, stacklevel=2))
    frames = []
    for cell in manifest["cells"]:
        table = store.read(cell["id"], manifest["trials"])
        if table is not None:
            frame = table.replace_schema_metadata(None).to_pandas()
            labels = pd.DataFrame([{**cell["labels"], "cell": cell["id"]}] * len(frame), index=frame.index)
            frames.append(pd.concat([labels, frame], axis=1))
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()


def metric_names(frame: pd.DataFrame) -> list[str]:
    """The metric columns of a frame of trials, in stored order."""
    known = {"dataset", "mechanism", "epsilon", "task", "cell", "trial", "seconds"}
    return [c for c in frame.columns if c not in known and "." not in c]


def summarise(frame: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    """Mean, standard error and 95th percentile of every metric over trials, and the split of mse into bias and variance.

    Columns: `by`, `trials`, and for a metric m: `m`, `m_se`, `m_p95`; where mse and variance are there, `bias2`, the
    mean over the published numbers of the squared bias, and `bias`, its root.
    """
    import pandas as pd

    metrics = metric_names(frame)
    groups = frame.groupby(by, sort=False, dropna=False)
    table = groups.size().rename("trials").to_frame()
    mean, error = groups[metrics].mean(), groups[metrics].sem()
    high = groups[metrics].quantile(0.95)
    columns: list[Any] = [table]
    for name in metrics:
        columns += [mean[name], error[name].rename(f"{name}_se"), high[name].rename(f"{name}_p95")]
    result = pd.concat(columns, axis=1)
    if {"mse", "variance"} <= set(metrics):
        result["bias2"] = (result["mse"] - result["variance"]).clip(lower=0)
        result["bias"] = result["bias2"] ** 0.5
    return result.reset_index()
