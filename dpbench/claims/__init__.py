"""What the papers say, and whether the stored trials bear it out."""
