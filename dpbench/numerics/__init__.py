"""Numeric kernels used by the mechanisms: closed forms and compiled loops on numbers, without data kinds."""
