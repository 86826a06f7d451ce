"""What the papers say, and whether the stored trials confirm it."""
