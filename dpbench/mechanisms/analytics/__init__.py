"""Samples of each user's records (analytics)."""
