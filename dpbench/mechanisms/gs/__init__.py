"""Grouping and smoothing (gs)."""
