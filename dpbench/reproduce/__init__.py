"""Reproduces a paper: run, draw, judge, record, and compare with the record. Imported by the verbs."""
