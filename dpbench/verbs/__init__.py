"""One module a verb, each with `main(argv) -> exit status`. They put the pieces together; nothing imports them but cli."""
