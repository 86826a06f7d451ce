"""Utility numbers against the committed baselines."""
