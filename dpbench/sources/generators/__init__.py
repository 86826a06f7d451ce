"""Calibrated generators: data with the statistics that the papers print."""
