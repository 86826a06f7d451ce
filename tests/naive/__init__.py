"""Independent, slow versions of what dpbench computes, written from the papers alone."""
