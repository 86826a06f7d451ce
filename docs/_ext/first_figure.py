"""Draws the figures of the README and of the first pages into docs/_static: `python docs/_ext/first_figure.py`."""

from __future__ import annotations

import tempfile
from pathlib import Path

from PIL import Image

import dpbench
from dpbench.figures.draw import save_record
from dpbench.storage.record import read

STATIC = Path(__file__).resolve().parents[1] / "_static"


def main() -> None:
    with tempfile.TemporaryDirectory() as results:
        run = dpbench.run("gs/fig9", scale="smoke", results=results)
        figure = run.figure()
        recorded = read("gs/fig10")
        assert recorded is not None
        picture = next(path for path in save_record(recorded, Path(results), ["png"]) if path.suffix == ".png")
        # 256 colours are enough for markers and letters, in a third of the bytes.
        Image.open(picture).convert("RGB").quantize(256).save(STATIC / "fig10-record.png", optimize=True)
    assert figure is not None
    figure.savefig(STATIC / "fig9-smoke.png", dpi=150, bbox_inches="tight", metadata={"Software": None})
    for path in sorted(STATIC.glob("fig*.png")):
        print(f"{path.name}: {path.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
