"""What the papers compare with, and modern competitors."""
