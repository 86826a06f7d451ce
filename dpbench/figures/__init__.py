"""Shared plot style and the few figure types. Reads frames of trials only. Imports matplotlib, so only `figures` and
other drawing code import it."""
