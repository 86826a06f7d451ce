"""The types that travel from the plan to the report, as plain data."""
