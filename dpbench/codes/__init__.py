"""Which code a class runs: every module of ours and of the user that takes part, and the versions of the libraries.

A leaf: imports `errors` and `fingerprints` only. Imported by the cache of datasets and by the engine.
"""

from dpbench.codes.code import EXEMPT, Code, code_of

__all__ = ["EXEMPT", "Code", "code_of"]
