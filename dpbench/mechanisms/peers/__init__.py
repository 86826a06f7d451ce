"""Opponents from other projects: mechanisms of other libraries, run by `pip install 'dpbench-repro[peers]'`, and AIM and MST,
which stand in no library that can be installed and are written here from their papers."""
