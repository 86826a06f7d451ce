"""Code in no importable module: scripts, notebooks, and what is typed in or made; and files that changed after loading."""

from __future__ import annotations

import functools
import importlib
import importlib.util
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path
from textwrap import dedent
from types import ModuleType
from typing import Any

import pytest

from dpbench import code_reader
from dpbench.errors import UserError
from dpbench.identity import code_of

from support.paths import ROOT
from support.projects import Project

SCRIPT = '''
    """A study."""
    import json, sys
    from dpbench.identity import code_of
    import helper

    def scale():
        return 2

    class Mine:
        def f(self):
            return scale() + helper.g()

    if __name__ == "__main__":
        code = code_of(Mine)
        print(json.dumps([code.digest, dict(code.modules), code.resumable]))
'''

# What IPython does: each cell is compiled under a name of its own, and its text is kept in linecache.
NOTEBOOK = """
    import json, linecache, pickle, sys
    from pathlib import Path
    import cloudpickle
    import __main__
    from dpbench.identity import code_of

    def run(number, text):
        name = f"<ipython-input-{number}>"
        linecache.cache[name] = (len(text), None, text.splitlines(True), name)
        exec(compile(text, name, "exec"), vars(__main__))

    for number, text in enumerate(json.loads(sys.argv[1])):
        run(number, text)
    code = code_of(Mine)
    Path("mine.pickle").write_bytes(cloudpickle.dumps(Mine))
    print(json.dumps([code.digest, dict(code.modules), code.resumable, code.reasons]))
"""

CELLS = [
    "import numpy as np\nimport helper as h\nSIZES = {'a': [1, 2.5], 'b': {'x', 'y', 'z'}}\n"
    "WEIGHTS = np.arange(3)\nunused = object()\n",
    "def scale(data):\n    return 2\n",
    "data = object()\nrng = object()\n",
    "class Mine:\n    size = 1\n    def f(self, data, rng):\n"
    "        return scale(data) + SIZES['a'][0] + WEIGHTS.sum() + h.g()\n",
    "other = 7\n",
]
HELPER = "def g():\n    return 1\n"


def python(folder: Path, *words: str) -> Any:
    environment = os.environ | {"PYTHONPATH": f"{ROOT}{os.pathsep}{folder}", "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run([sys.executable, *words], cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def script(folder: Path, text: str = SCRIPT, helper: str = HELPER) -> Any:
    (folder / "helper.py").write_text(helper)
    (folder / "study.py").write_text(dedent(text))
    return python(folder, "study.py")


def test_a_class_of_a_script_counts_by_what_it_uses(tmp_path: Path) -> None:
    digest, modules, resumable = script(tmp_path)
    assert resumable
    assert {name.split()[0] for name in modules if not name.startswith("dpbench.")} == {"__main__.Mine", "helper"}
    assert script(tmp_path, SCRIPT.replace('"""A study."""', "# words")) == [digest, modules, True]
    assert script(tmp_path, SCRIPT.replace("return 2", "return 3"))[0] != digest
    assert script(tmp_path, helper=HELPER.replace("1", "2"))[0] != digest


def notebook(folder: Path, cells: list[str], helper: str = HELPER) -> Any:
    (folder / "helper.py").write_text(helper)
    (folder / "kernel.py").write_text(dedent(NOTEBOOK))
    return python(folder, "kernel.py", json.dumps(cells))


def edited(cell: int, before: str, after: str) -> list[str]:
    assert before in CELLS[cell]
    return [text.replace(before, after) if i == cell else text for i, text in enumerate(CELLS)]


def test_a_class_of_a_notebook_counts_by_its_cells(tmp_path: Path) -> None:
    """The class's own cell, those of functions it calls, the variables it reads; parameters are no variables."""
    digest, modules, resumable, reasons = notebook(tmp_path, CELLS)
    assert resumable, reasons
    assert "helper" in modules
    same = [[*CELLS, "more = 3"], edited(3, "class Mine:", "# words\nclass Mine:"), edited(4, "7", "8")]
    for cells in [*same, edited(2, "object()", "3"), [CELLS[1], CELLS[0], *CELLS[2:]]]:
        assert notebook(tmp_path, cells)[0] == digest
    changes = [(0, "2.5", "2"), (0, "SIZES = {'a': [1", "SIZES = {'a': [3"), (0, "arange(3)", "ones(3)")]
    for change in [*changes, (1, "2", "3"), (3, "size = 1", "size = 2")]:
        assert notebook(tmp_path, edited(*change))[0] != digest
    assert notebook(tmp_path, [*CELLS, "SIZES['a'][0] = 9"])[0] != digest
    assert notebook(tmp_path, CELLS, HELPER.replace("1", "2"))[0] != digest


def test_what_cannot_be_read_is_told(tmp_path: Path) -> None:
    _, _, resumable, reasons = notebook(tmp_path, edited(0, "np.arange(3)", "open(__file__)"))
    assert not resumable
    assert "Mine: its content is not known" in reasons[0]


def test_a_compiled_function_counts_by_its_library(tmp_path: Path) -> None:
    digest, _, resumable, reasons = notebook(tmp_path, edited(0, "np.arange(3)", "np.sin"))
    assert resumable, reasons
    assert notebook(tmp_path, edited(0, "np.arange(3)", "np.cos"))[0] != digest


@pytest.mark.parametrize("way", ["eval('SIZES')", "globals()['SIZES']", "__import__('json')", "__main__.SIZES"])
def test_what_no_name_leads_to_is_not_resumed(way: str, tmp_path: Path) -> None:
    _, _, resumable, reasons = notebook(tmp_path, ["import __main__\n", *edited(3, "h.g()", way)])
    assert not resumable
    assert "not known" in reasons[0]


def test_values_at_the_time_of_definition_count(tmp_path: Path) -> None:
    """Of class attributes, of default values and factories, and of variables of an outer function."""
    variants = [
        "class Mine:\n    size = SIZE\n    def f(self):\n        return 1\n",
        "from dataclasses import dataclass, field\n"
        "@dataclass\nclass Mine:\n    size: int = field(default_factory=lambda: SIZE)\n    def f(self):\n        return 1\n",
        "def make(size):\n    class Inner:\n        def f(self):\n            return size\n    return Inner\n"
        "Mine = make(SIZE)\n",
        "import functools\ndef twice(size):\n    def outer(g):\n        @functools.wraps(g)\n        def inner(self):\n"
        "            return size * g(self)\n        return inner\n    return outer\n\n"
        "class Mine:\n    @property\n    @twice(SIZE)\n    def f(self):\n        return 1\n",
        "import contextlib\nclass Mine:\n    @contextlib.contextmanager\n    def f(self, size=SIZE):\n        yield size\n",
    ]
    for cell in variants:
        digest, _, resumable, reasons = notebook(tmp_path, ["SIZE = 1\n", cell])
        assert resumable, reasons
        assert notebook(tmp_path, ["SIZE = 1\n", cell])[0] == digest
        assert notebook(tmp_path, ["SIZE = 2\n", cell])[0] != digest


def test_functions_that_call_each_other(tmp_path: Path) -> None:
    cells = ["def g(n):\n    return h(n - 1)\n", "def h(n):\n    return g(n) if n else Mine\n"]
    cells += ["class Mine:\n    def f(self):\n        return g(1)\n"]
    digest, _, resumable, reasons = notebook(tmp_path, cells)
    assert resumable, reasons
    assert notebook(tmp_path, [cells[0], cells[1].replace("if n", "if n > 1"), cells[2]])[0] != digest


def test_a_class_that_travels_keeps_its_name(tmp_path: Path) -> None:
    """A worker has no cells; the modules that the class imports it compares with its own files."""
    load = (
        "import pickle, json; from dpbench.identity import code_of; c = code_of(pickle.load(open('mine.pickle', 'rb')))"
    )
    worker = f"{load}; print(json.dumps([c.digest, dict(c.modules), c.resumable, c.reasons]))"
    there = notebook(tmp_path, CELLS)
    assert python(tmp_path, "-c", worker) == there
    (tmp_path / "helper.py").write_text(HELPER.replace("1", "2"))
    assert python(tmp_path, "-c", worker)[0] != there[0]


def test_without_source_nothing_is_resumed(tmp_path: Path) -> None:
    """Typed in, or made by `exec`. Other code has another name also in the same session; and the same code has the same one."""
    digests = set()
    for text in ("return 1", "return 2"):
        for scope in ({}, {"__name__": __name__}):
            made: dict[str, Any] = dict(scope)
            again: dict[str, Any] = dict(scope)
            for names in (made, again):
                exec(f"class Mine:\n    def f(self):\n        {text}\n", names)
            assert code_of(made["Mine"]).digest == code_of(again["Mine"]()).digest
            for thing in (made["Mine"], type("Patched", (), {"f": made["Mine"].f})):
                code = code_of(thing)
                assert not code.resumable
                assert any("its source is not known" in reason for reason in code.reasons)
                digests.add(code.digest)
    assert len(digests) == 6
    assert code_of(type("Lost", (), {"__module__": "no_such_module"})).resumable, "it has no code"
    typed = "import json; from dpbench.identity import code_of\nclass A:\n  def f(self): return 1\n"
    typed += "print(json.dumps([code_of(A).digest, code_of(A).resumable]))"
    first = python(tmp_path, "-c", typed)
    assert first[1] is False
    assert python(tmp_path, "-c", typed) == first
    assert python(tmp_path, "-c", typed.replace("return 1", "return 2"))[0] != first[0]
    # Python 3.13 knows the text after -c, under the name that code run by `exec` has as well.
    both = "import json; from dpbench.identity import code_of; made = {'__name__': '__main__'}; seen = []\n"
    both += "for n in '12':\n  exec('class A:\\n  def f(self): return ' + n, made)\n"
    both += "  code = code_of(made['A']); seen.append([code.digest, code.resumable])\n"
    seen = python(tmp_path, "-c", f"{both}print(json.dumps(seen))")
    assert [resumable for _, resumable in seen] == [False, False]
    assert seen[0][0] != seen[1][0]


def test_what_was_put_into_a_class_from_elsewhere_counts(project: Project) -> None:
    """A function, a property or another wrapped function of a script, a notebook or `exec` in a class of a module."""
    project.write(patched="class A:\n    size = 1\n")
    cls = project.load("patched:A")
    digests = {code_of(cls).digest}
    for number, wrap in enumerate((lambda f: f, property, staticmethod, functools.cache)):
        for name in ("__main__", "nowhere"):
            made: dict[str, Any] = {"__name__": name}
            exec(f"def f(self):\n    return {number}, 'in {name}'\n", made)
            cls.f = wrap(made["f"])
            code = code_of(cls)
            assert not code.resumable
            digests.add(code.digest)
    assert len(digests) == 9


def test_a_class_of_a_notebook_that_derives_from_a_changed_class(tmp_path: Path) -> None:
    """The function of the notebook is in a class of the helper's, whose source does not show it."""
    cells = [
        "import helper\n",
        "def f(self):\n    return 1\nhelper.Base.f = f\n",
        "class Mine(helper.Base):\n    pass\n",
    ]
    text = "class Base:\n    size = 1\n"
    digest, _, resumable, reasons = notebook(tmp_path, cells, text)
    assert resumable, reasons
    assert notebook(tmp_path, [cells[0], cells[1].replace("1", "2"), cells[2]], text)[0] != digest


def test_a_variable_of_a_class_inside_a_function(tmp_path: Path) -> None:
    """The body of a class reads variables by other steps than a function."""
    inner = "class Mine:\n    def f(self):\n        class Inner:\n            size = SIZE\n        return Inner\n"
    attribute = inner.replace("return Inner", "return self.SIZE").replace("= SIZE", "= 1")
    for cell, counts in ((inner, True), (attribute, False)):
        digest, _, resumable, reasons = notebook(tmp_path, ["SIZE = 1\n", cell])
        assert resumable, reasons
        assert (notebook(tmp_path, ["SIZE = 2\n", cell])[0] != digest) is counts


def test_relative_imports_of_code_that_a_function_makes(project: Project) -> None:
    """Their names mean nothing outside the package."""
    project.write(
        firm____init__="",
        firm__factory="def make():\n    class Inner:\n        def f(self):\n            from . import inner\n"
        "            from .other import g\n            return inner, g\n    return Inner\n",
        firm__inner="SIZE = 1\n",
        firm__other="def g():\n    return 1\n",
    )
    make = project.load("firm.factory:make")
    assert {"firm.inner", "firm.other"} <= set(code_of(make()).modules)


def test_a_module_that_was_not_imported_has_no_known_source(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """It was made by hand, or loaded from a file that may have changed since."""
    project.write(by_path="class A:\n    size = 1\n")
    spec = importlib.util.spec_from_file_location("by_path", project.folder / "by_path.py")
    assert spec is not None
    assert spec.loader is not None
    made, by_path = ModuleType("made_by_hand"), importlib.util.module_from_spec(spec)
    exec("class A:\n    size = 1\n", vars(made))
    spec.loader.exec_module(by_path)
    assert not code_of(type("User", (), {"module": made})).resumable
    for module in (made, by_path):
        monkeypatch.setitem(sys.modules, module.__name__, module)
        assert not code_of(module.A).resumable


def test_a_module_in_an_archive_has_no_known_source(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    archive = project.folder / "archive.zip"
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("zipped.py", "class A:\n    size = 1\n")
    monkeypatch.syspath_prepend(archive)
    assert not code_of(importlib.import_module("zipped").A).resumable


def test_two_readers_do_not_ask_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """As after `importlib.reload(code_reader)`."""
    second = type("Second", (code_reader._Notes,), {})
    monkeypatch.setattr(sys, "meta_path", [second, *sys.meta_path])
    assert importlib.util.find_spec("no_such_module") is None


def test_content_that_cannot_be_read_shares_no_name() -> None:
    """Two such classes in one session, and one that is defined again."""
    digests = {code_of(type("Mine", (), {"f": (n for n in range(size))})).digest for size in (1, 2, 2)}
    assert len(digests) == 3


def test_a_variable_that_changes_between_two_plans(tmp_path: Path) -> None:
    """In one cell, in which the source is the same. What a trial changes does not count before the next plan."""
    loop = "digests, others = [], []\nfor SIZE in (1, 2, 1):\n    begin_plan()\n    digests.append(planned())\n"
    loop += "    others.append(code_of(Mine).digest)\n"
    loop += "KEPT['a'] = 1\nassert code_of(Mine).digest not in others\n"
    loop += "assert planned() == digests[-1]\nassert digests[0] == digests[2] != digests[1]\n"
    loop += "begin_plan()\nassert planned() not in digests\n"
    cells = [
        "from dpbench.identity import begin_plan, setting_code\nKEPT = {}\n"
        "def planned():\n    return setting_code((), Mine, ()).digest\n"
    ]
    notebook(tmp_path, [*cells, "class Mine:\n    def f(self):\n        return SIZE, KEPT\n", loop])


def test_a_value_that_was_read_from_a_file_counts(tmp_path: Path) -> None:
    """The cells are the same in both sessions."""
    cells = ["SIZE = Path('size').read_text()\n", "class Mine:\n    def f(self):\n        return SIZE\n"]
    digests = []
    for size in "121":
        (tmp_path / "size").write_text(size)
        digests.append(notebook(tmp_path, cells)[0])
    assert digests[0] == digests[2] != digests[1]


def load(project: Project, text: str) -> ModuleType:
    project.write(edit_me=text)
    project.forget()
    return importlib.import_module("edit_me")


TEXT = "SIZE = 1\n\nclass A:\n    size: int = 1\n\n    def f(self):\n        '''Words.'''\n        return 1\n"


@pytest.mark.parametrize("change", ["SIZE = 1", "size: int = 1", "return 1"])
def test_what_was_loaded_counts_not_what_its_file_became(project: Project, change: str) -> None:
    module = load(project, TEXT)
    first = code_of(module.A).digest
    project.change("edit_me.py", change, change.replace("1", "2"))
    assert code_of(module.A).digest == first
    assert code_of(importlib.reload(module).A).digest != first


@pytest.mark.parametrize("change", ["SIZE = 1", "size: int = 1", "return 1"])
def test_a_file_changed_after_loading_and_before_the_first_look_is_refused(project: Project, change: str) -> None:
    module = load(project, TEXT)
    project.change("edit_me.py", change, change.replace("1", "2"))
    with pytest.raises(UserError, match=r"edit_me.py has changed since edit_me was loaded"):
        code_of(module.A)
    code_of(importlib.reload(module).A)


def test_a_class_with_fields_only_counts_by_them(tmp_path: Path) -> None:
    cells = ["class Base:\n    def f(self):\n        return 1\n", "class Mine(Base):\n    size = 1\n"]
    digest, _, resumable, reasons = notebook(tmp_path, cells)
    assert resumable, reasons
    assert notebook(tmp_path, [cells[0], cells[1].replace("1", "2")])[0] != digest
    assert notebook(tmp_path, [cells[0].replace("1", "2"), cells[1]])[0] != digest


def test_a_cell_that_is_run_again_under_its_name_counts_as_it_is(tmp_path: Path) -> None:
    """Some kernels reuse the names of cells; and a default value is the one at the time of definition."""
    cells = ["SIZE = 1", "class Mine:\n    def f(self):\n        return g()\n", "def g(size=SIZE):\n    return size\n"]
    digest = notebook(tmp_path, cells)[0]
    assert notebook(tmp_path, ["SIZE = 2", *cells[1:]])[0] != digest


def test_a_class_that_a_function_makes_counts_by_what_it_was_made_from(project: Project) -> None:
    """Its module is the same for all of them. The name travels with the class, so workers need not find the values."""
    project.write(
        factory="def make(size, wide=False):\n    class Inner:\n        width = 2 if wide else 1\n"
        "        def f(self):\n            return size\n    return Inner\n\n"
        "def plain(size):\n    return type('Plain', (), {'size': size})\n"
    )
    make, plain = project.load("factory:make"), sys.modules["factory"].plain
    digests = [code_of(cls).digest for cls in (make(1), make(2), make(1, wide=True), plain(1), plain(2))]
    assert len(set(digests)) == 5
    again = make(1)
    assert [code_of(again).digest, code_of(again()).digest] == [digests[0]] * 2
    assert code_of(again).resumable
    assert "factory" in code_of(again).modules
    again.width = 3
    assert code_of(again).digest not in digests
