"""Which code a class runs: every module of ours and of the user that is used, and the versions of the libraries.

Imports `errors` and `fingerprints` only. Imported by the cache of datasets and by the engine.
"""

from dpbench.codes.code import EXEMPT, Code, code_of

__all__ = ["EXEMPT", "Code", "code_of"]
