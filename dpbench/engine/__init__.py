"""plan -> run -> store -> track. Knows nothing about privacy, and no mechanism, task or source by name."""
