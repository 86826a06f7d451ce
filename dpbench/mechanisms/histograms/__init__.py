"""Mechanisms for sparse histograms and ranges that are in none of the five papers; each names its reference."""
