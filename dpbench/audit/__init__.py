"""Measures the privacy loss of mechanisms."""

from dpbench.doors import opens

opens(__name__, "dpbench.api.shelf", "audit")
