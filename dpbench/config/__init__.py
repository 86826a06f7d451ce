"""From YAML and command-line words to a checked, typed run."""
