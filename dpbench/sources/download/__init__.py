"""Fetching original files, whole and checked."""
