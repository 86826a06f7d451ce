"""The contexts of records in the papers' data, defined once for the generators and the readers."""

from __future__ import annotations

DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
GROUPS = tuple(f"{gender}, {age}" for gender in ("M", "F") for age in ("under 25", "25-34", "above 34"))
"""MovieLens' raters by gender and age band (analytics, Section 6.3)."""
