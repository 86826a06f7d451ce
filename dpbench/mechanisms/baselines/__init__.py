"""The papers' baselines, and modern competitors."""
