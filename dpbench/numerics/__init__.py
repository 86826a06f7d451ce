"""Named kernels below the mechanisms: closed forms and compiled loops that know numbers only, no data kinds."""
