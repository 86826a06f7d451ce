"""`audit`: an empirical lower bound of epsilon for each mechanism. Above the stated epsilon it proves a fault."""

from __future__ import annotations

import argparse

from rich.table import Table

from dpbench.audit.blackbox import audit
from dpbench.cli.common import console
from dpbench.errors import positive, unknown
from dpbench.mechanisms.base import MECHANISMS, parse_epsilon


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m dpbench audit", description=__doc__)
    parser.add_argument("mechanism", nargs="*", help="names; none: all")
    parser.add_argument("--epsilon", default="1", help="the stated budget (default: 1)")
    parser.add_argument("--trials", type=int, default=5000, help="releases a dataset and half (default: 5000)")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args(argv)
    positive("trials", args.trials, whole=True)
    epsilon = parse_epsilon(args.epsilon)
    for name in args.mechanism:
        if name not in MECHANISMS.names():
            raise unknown("mechanism", name, MECHANISMS.names())
    table = Table(title=f"Privacy loss that is certainly there, of a stated ε = {epsilon:.4g} (99 % confidence each)")
    for head in ("mechanism", "at least", "verdict", "shown by"):
        table.add_column(head)
    faults = 0
    for name in args.mechanism or MECHANISMS.names():
        finding = audit(name, epsilon, args.trials, args.seed)
        verdict = "within ε"
        if not finding.pairs:
            verdict, faults = "[red]nothing was measured: it takes none of the pairs", faults + 1
        elif finding.not_private:
            verdict = f"declared not private: {finding.not_private}"
        elif MECHANISMS.get(name).privacy == "(ε, δ)":
            verdict = "(ε, δ): a loss above ε may be the δ"
        elif finding.violated:
            verdict, faults = "[red]ABOVE ε", faults + 1
        shown = f"{finding.pair}: {finding.event}" if finding.pair else "nothing found"
        table.add_row(name, f"{max(0.0, finding.bound):.3f}", verdict, shown)
    console().print(table)
    return 1 if faults else 0
