"""The command line: one module per verb, each with `main(argv) -> exit status`."""

from dpbench.cli.dispatch import main

__all__ = ["main"]
