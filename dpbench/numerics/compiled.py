"""`@kernel`: a loop compiled by numba at its first call, so that importing a kernel costs nothing.

numba takes half a second to import; `list` and `--help` never need it. Machine code is kept beside our other caches,
because the package itself may be installed where nobody may write.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from dpbench.paths import cache


class Kernel:
    """A function that is compiled when first called. Kernels may call kernels of their own module only: numba's disk
    cache does not notice a change in another file."""

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        self.function, self.options = function, options
        self.__name__, self.__doc__ = function.__name__, function.__doc__
        self._compiled: Any = None

    @property
    def compiled(self) -> Any:
        if self._compiled is None:
            os.environ.setdefault("NUMBA_CACHE_DIR", str(cache() / "numba"))
            import numba

            self._compiled = numba.njit(cache=True, nogil=True, **self.options)(self.function)
            scope = self.function.__globals__
            for name, value in list(scope.items()):
                if isinstance(value, Kernel):
                    scope[name] = value.compiled
        return self._compiled

    def __call__(self, *args: Any) -> Any:
        return self.compiled(*args)


def kernel(**options: Any) -> Callable[[Callable[..., Any]], Kernel]:
    """Decorator: `@kernel()`, or with numba options (`fastmath=True`)."""
    return lambda function: Kernel(function, options)
