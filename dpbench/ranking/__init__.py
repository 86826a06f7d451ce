"""Mechanisms against each other, and generators against original files."""
