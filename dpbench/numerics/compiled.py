"""`@kernel`: a loop compiled by numba at its first call, so that importing a kernel costs nothing.

numba takes half a second to import; `list` and `--help` never need it. Machine code is stored beside our other caches,
because the package may be installed in a read-only folder.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any

from dpbench.paths import cache

_LOCK = threading.RLock()


class Kernel:
    """A function that is compiled when first called. Kernels may only call kernels of the same module: numba's disk
    cache does not notice a change in another file."""

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        self.function, self.options = function, options
        self.__name__, self.__doc__ = function.__name__, function.__doc__
        self._compiled: Any = None
        self._ready = False

    @property
    def compiled(self) -> Any:
        """The numba function. The kernels it calls are compiled, too."""
        if not self._ready:
            with _LOCK:
                self._compile()
                self._ready = True
        return self._compiled

    def _compile(self) -> Any:
        if self._compiled is None:
            os.environ.setdefault("NUMBA_CACHE_DIR", str(cache() / "numba"))
            import numba

            self._compiled = numba.njit(cache=True, nogil=True, **self.options)(self.function)
            scope = self.function.__globals__
            # All at once: another thread must not find a compiled function that calls one not yet compiled.
            scope.update({name: value._compile() for name, value in list(scope.items()) if isinstance(value, Kernel)})
        return self._compiled

    def __call__(self, *args: Any) -> Any:
        return self.compiled(*args)


def kernel(**options: Any) -> Callable[[Callable[..., Any]], Kernel]:
    """Decorator: `@kernel()`, or with numba options (`fastmath=True`)."""
    return lambda function: Kernel(function, options)
