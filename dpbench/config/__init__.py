"""From YAML and the command line to a checked, typed run."""
