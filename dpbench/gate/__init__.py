"""Compares utility numbers with the committed baselines."""
