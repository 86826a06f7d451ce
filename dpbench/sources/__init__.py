"""WHERE data comes from: generators calibrated to the papers' tables, readers of the original file formats."""

from dpbench.sources.base import SOURCES, SkippedLines, Source

__all__ = ["SOURCES", "SkippedLines", "Source"]
