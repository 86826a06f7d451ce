"""Downloads of original files, complete and checked."""
