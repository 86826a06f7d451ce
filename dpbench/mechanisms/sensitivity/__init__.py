"""Sensitivity control (sensitivity)."""
