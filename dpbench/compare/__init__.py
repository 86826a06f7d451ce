"""Mechanisms against each other, and generators against original files."""

from dpbench.doors import opens

opens(__name__, "dpbench.api.compare", "compare")
