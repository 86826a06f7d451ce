"""Which files of the package run: every function that is called is noted by its file, compiled kernels too."""

from __future__ import annotations

import inspect
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any

import dpbench
from dpbench.numerics.compiled import Kernel

PACKAGE = Path(dpbench.__file__).parent


@contextmanager
def files_that_run() -> Iterator[set[str]]:
    """The modules of ours whose functions are called meanwhile. Loading a module does not count: what it defines is
    in its code, and whoever uses it imports it."""
    files: set[str] = set()

    def note(frame: FrameType, event: str, _: Any) -> None:
        # Bodies of modules and classes are not optimised code; functions are.
        if event == "call" and frame.f_code.co_flags & inspect.CO_OPTIMIZED:
            files.add(frame.f_code.co_filename)

    _arm(files)
    before = sys.getprofile()
    threading.setprofile(note)
    sys.setprofile(note)
    names: set[str] = set()
    try:
        yield names
    finally:
        sys.setprofile(before)
        threading.setprofile(None)
        _disarm()
        names |= {_name(Path(file)) for file in files if Path(file).is_relative_to(PACKAGE)}


def _name(file: Path) -> str:
    parts = [PACKAGE.name, *file.relative_to(PACKAGE).with_suffix("").parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


class Noted(Kernel):
    """A kernel whose Python function never runs: its calls are noted here. While it runs, its module is as numba wants
    it, because numba looks the other kernels up when it compiles."""

    def __init__(self, kernel: Any, files: set[str]) -> None:
        super().__init__(kernel.function if isinstance(kernel, Kernel) else kernel.py_func, {})
        self.kernel, self.files = kernel, files

    def __call__(self, *args: Any) -> Any:
        self.files.add(self.function.__code__.co_filename)
        scope = self.function.__globals__
        noted = {name: value for name, value in scope.items() if isinstance(value, Noted)}
        inner = {name: value.kernel for name, value in noted.items()}
        scope.update(inner)
        # Also those that were compiled before: for other types, numba looks them up again.
        scope.update({name: kernel.compiled for name, kernel in inner.items() if isinstance(kernel, Kernel)})
        try:
            return self.kernel(*args)
        finally:
            scope.update(noted)


def _modules() -> Iterator[ModuleType]:
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == PACKAGE.name and name != Kernel.__module__:
            yield module


def _arm(files: set[str]) -> None:
    for module in _modules():
        for name, value in list(vars(module).items()):
            if isinstance(value, Kernel) or hasattr(value, "py_func"):
                setattr(module, name, Noted(value, files))
            clear: Callable[[], None] | None = getattr(value, "cache_clear", None)
            if clear is not None and module.__name__ != "dpbench.identity":
                clear()  # an answer from before would hide the file that gives it


def _disarm() -> None:
    for module in _modules():
        for name, value in list(vars(module).items()):
            if isinstance(value, Noted):
                setattr(module, name, value.kernel)
