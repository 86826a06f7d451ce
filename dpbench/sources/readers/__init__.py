"""Readers of the original file formats."""
