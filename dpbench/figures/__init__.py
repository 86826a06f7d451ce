"""Shared plot style and the few figure shapes. Reads frames of trials only; imports matplotlib, so only `figures` and
what draws import it."""
