"""Privacy of mechanisms, measured."""

from dpbench.doors import opens

opens(__name__, "dpbench.api.shelf", "audit")
