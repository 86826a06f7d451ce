"""A drawn figure as the page needs it: a small PNG, a PDF, and the positions of its points, to show numbers on hover.

Imported by `gather`.
"""

from __future__ import annotations

import base64
import contextlib
import functools
import io
import json
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from dpbench import paths
from dpbench.figures.draw import script
from dpbench.figures.metadata import About
from dpbench.identity import digest
from dpbench.model.record import Record
from dpbench.storage import seals
from dpbench.storage.files import files_digest, read_whole, write_atomic

COLOURS = 128  # of an embedded picture; line drawings lose nothing and shrink to a third
ALMOST = 251  # what counts as full: the fast search for colours makes white a little grey
PAD = 0.08  # inches around a figure
MOST_POINTS = 800  # of a figure; more would only overlap
WIDE = 2.2  # a picture with a larger ratio of width to height stands above its claims, not beside them
PER_PIXEL = 1.45  # pixels of the picture per pixel of the page: sharp on dense screens, text as large as on the page
LONG = 60  # a line with more points and no markers is a curve, whose points are not measurements


@dataclass(frozen=True)
class Point:
    """A measured point of a picture: its position in parts of width and height, from the upper left, and its description."""

    x: float
    y: float
    text: str


@dataclass(frozen=True)
class Drawn:
    """One figure of an experiment."""

    name: str
    """Its name among the figures of the experiment; empty for the first."""
    png: bytes
    pdf: bytes
    """Empty for a figure of the record: `figures` writes its PDF."""
    points: tuple[Point, ...]

    @property
    def width(self) -> int:
        return int.from_bytes(self.png[16:20], "big")

    @property
    def height(self) -> int:
        return int.from_bytes(self.png[20:24], "big")

    @property
    def shown_width(self) -> int:
        return round(self.width / PER_PIXEL)

    @property
    def wide(self) -> bool:
        return self.width / self.height > WIDE

    @property
    def hover(self) -> str:
        """The points, for the text on hover, as JSON: [[x, y, text], ...]."""
        return json.dumps([[p.x, p.y, p.text] for p in self.points], ensure_ascii=False, separators=(",", ":"))


def drawn(name: str, figure: Any, about: About, *, with_pdf: bool = True) -> Drawn:
    """Draw a figure into files in memory. A PDF takes as long as all the rest."""
    import numpy as np
    from PIL import Image
    from PIL.PngImagePlugin import PngInfo

    from dpbench.figures.layout import Canvas, tight_box
    from dpbench.figures.style import DPI

    canvas = Canvas(figure)
    box = tight_box(figure, PAD)
    pdf, small = io.BytesIO(), io.BytesIO()
    figure.savefig(io.BytesIO(), format="raw", dpi=DPI, bbox_inches=box)
    pixels = Image.fromarray(np.asarray(canvas.buffer_rgba()))
    if with_pdf:
        figure.savefig(pdf, format="pdf", bbox_inches=box, metadata=about.metadata("pdf"))
    metadata = PngInfo()
    for key, value in about.metadata("png").items():
        metadata.add_itxt(key, value or "")
    few = pixels.convert("RGB").quantize(COLOURS, method=Image.Quantize.FASTOCTREE)
    few.putpalette([255 if value > ALMOST else value for value in few.getpalette() or []])
    few.save(small, format="PNG", pnginfo=metadata)
    return Drawn(name, small.getvalue(), pdf.getvalue(), tuple(points(figure, box)))


def cached(record: Record, draw: Callable[[], list[Drawn]]) -> list[Drawn]:
    """The pictures of a record, drawn once for the same numbers, code and versions. A damaged file is drawn again."""
    path = script(record.experiment)
    if path is None or not path.is_relative_to(paths.EXPERIMENTS):
        return draw()  # a script of the user's own may use anything
    key = digest([seals.plain(record), _code(), files_digest([path]), version("matplotlib"), version("pillow")])
    file = paths.cache() / "pictures" / f"{key}.json"
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        return [_unpacked(entry) for entry in seals.unseal(read_whole(file))["pictures"]]
    pictures = draw()
    entries = [
        {
            "name": picture.name,
            "png": base64.b64encode(picture.png).decode(),
            "points": [[point.x, point.y, point.text] for point in picture.points],
        }
        for picture in pictures
    ]
    with contextlib.suppress(OSError):
        write_atomic(file, seals.seal({"pictures": entries}).encode())
    return pictures


def _unpacked(entry: dict[str, Any]) -> Drawn:
    points = tuple(Point(float(x), float(y), str(text)) for x, y, text in entry["points"])
    return Drawn(entry["name"], base64.b64decode(entry["png"], validate=True), b"", points)


@functools.cache
def _code() -> str:
    """One digest of the whole package: names, looks and captions come from many modules, and reading them all is quick."""
    return files_digest(sorted(Path(paths.PACKAGE).rglob("*.py")))


def points(figure: Any, box: Any) -> list[Point]:
    """Where the points of a figure are inside `box` (inches), each with its panel, its series and its numbers."""
    found = []
    for ax in figure.axes:
        for label, x, y in _measured(ax):
            across, down = figure.dpi_scale_trans.inverted().transform(ax.transData.transform((x, y)))
            inside = ax.bbox.padded(2).contains(*ax.transData.transform((x, y)))
            if inside and math.isfinite(across) and math.isfinite(down):
                place = (across - box.x0) / box.width, (box.y1 - down) / box.height
                found.append(Point(round(place[0], 4), round(place[1], 4), _text(ax, label, x, y)))
    return found[:: math.ceil(len(found) / MOST_POINTS) or 1]


def _measured(ax: Any) -> Iterator[tuple[str, float, float]]:
    """The labelled points of a panel: those of lines, of error bars and of bars."""
    from matplotlib.container import BarContainer, ErrorbarContainer

    seen = set()
    for one in ax.containers:
        label = str(one.get_label())
        if isinstance(one, BarContainer):
            for bar in one.patches:
                yield label, bar.get_x() + bar.get_width() / 2, bar.get_y() + bar.get_height()
        elif isinstance(one, ErrorbarContainer) and one.lines[0] is not None:
            seen.add(one.lines[0])
            yield from _data(label, one.lines[0])
    for line in ax.lines:
        label = str(line.get_label())
        marked = line.get_marker() not in ("", "None", None)
        if line in seen or label.startswith("_") or line.get_transform() != ax.transData:
            continue
        if marked or 2 < len(line.get_xdata()) <= LONG:
            yield from _data(label, line)


def _data(label: str, line: Any) -> Iterator[tuple[str, float, float]]:
    for x, y in zip(*line.get_data(), strict=True):
        yield label, float(x), float(y)


def _text(ax: Any, label: str, x: float, y: float) -> str:
    from dpbench.figures.ticks import short

    named = _category(ax, x) or f"{ax.get_xlabel().strip() or 'x'} = {short(x)}"
    parts = [ax.get_title() or ax.get_title("left"), "" if label.startswith("_") else label, named]
    measure = f"{ax.get_ylabel().strip()} " if ax.get_ylabel().strip() else ""
    return f"{', '.join(' '.join(part.split()) for part in parts if part)}: {measure}{short(y)}"


def _category(ax: Any, x: float) -> str:
    """The label of the nearest tick, after the name of the axis; empty if the script has not named the ticks."""
    from matplotlib.ticker import FixedLocator, ScalarFormatter

    axis = ax.xaxis
    named = isinstance(axis.get_major_locator(), FixedLocator) and not isinstance(
        axis.get_major_formatter(), ScalarFormatter
    )
    if ax.get_xscale() != "linear" or not named:
        return ""
    ticks = list(zip(ax.get_xticks(), ax.get_xticklabels(), strict=False))
    _, nearest = min(ticks, key=lambda tick: abs(float(tick[0]) - x), default=(0, None))
    name = ax.get_xlabel().strip()
    return f"{f'{name} = ' if name else ''}{nearest.get_text()}" if nearest is not None else ""
