"""Summaries of sparse histograms (sparse)."""
