"""A user's own folder of modules, written for one test and imported anew after every change."""

from __future__ import annotations

import importlib
import sys
import time
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from dpbench.identity import Code, code_of


class Project:
    """Files in a folder on sys.path. Their top-level names must be the test's own."""

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        folder.mkdir(exist_ok=True, parents=True)
        patch.syspath_prepend(folder)

    def write(self, **files: str) -> None:
        """`pkg__part="..."` writes pkg/part.py; a package's own text is `pkg____init__`."""
        for name, text in files.items():
            head, init, _ = name.partition("____init__")
            path = self.folder / (head.replace("__", "/") + ("/__init__.py" if init else ".py"))
            path.parent.mkdir(exist_ok=True, parents=True)
            path.write_text(dedent(text))

    def change(self, file: str, before: str, after: str) -> None:
        path = self.folder / file
        text = path.read_text()
        assert before in text
        time.sleep(0.02)  # the clock of a file system may stand still for so long
        path.write_text(text.replace(before, after))

    def load(self, path: str) -> Any:
        """An object, `module:Name`, with all modules of this folder loaded anew, as another process would."""
        self.forget()
        module, _, name = path.partition(":")
        for known in list(sys.modules):  # another test may have left a module of the same name
            if known.partition(".")[0] in {file.stem for file in self.folder.iterdir()}:
                del sys.modules[known]
        return getattr(importlib.import_module(module), name)

    def code(self, path: str) -> Code:
        return code_of(self.load(path))

    def forget(self) -> None:
        importlib.invalidate_caches()
        for name, module in list(sys.modules.items()):
            places = [getattr(module, "__file__", None), *getattr(module, "__path__", ())]
            if any(place and Path(place).is_relative_to(self.folder) for place in places):
                del sys.modules[name]
