"""Mechanisms of other libraries, run, timed and audited beside ours: `pip install 'dpbench-repro[peers]'`."""
