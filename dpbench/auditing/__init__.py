"""Measures the privacy loss of mechanisms."""
