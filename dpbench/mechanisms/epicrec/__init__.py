"""Personal perturbation (epicrec)."""
