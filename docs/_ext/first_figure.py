"""Draws docs/_static/fig9-smoke.png, the figure of the README and of the first page: `python docs/_ext/first_figure.py`."""

from __future__ import annotations

import tempfile
from pathlib import Path

import dpbench

FILE = Path(__file__).resolve().parents[1] / "_static" / "fig9-smoke.png"


def main() -> None:
    with tempfile.TemporaryDirectory() as results:
        run = dpbench.run("gs/fig9", scale="smoke", results=results)
        figure = run.figure()
    assert figure is not None
    figure.savefig(FILE, dpi=150, bbox_inches="tight", metadata={"Software": None})
    print(f"{FILE.name}: {FILE.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
