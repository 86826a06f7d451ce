"""Which modules a class's code is made of: every change that can change a number changes the digest."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

from dpbench.code_reader import EXEMPT
from dpbench.identity import code_of
from dpbench.mechanisms.base import MECHANISMS
from dpbench.sources.base import SOURCES

from support.projects import Project

# One class, and a module behind every way to reach one.
FILES = {
    "shop____init__": "from shop.counter import *\nfrom .front import Front as Door\nfrom shop import apart\n",
    "shop__front": "from .deep import Deep\nclass Front:\n    size = Deep\n",
    "shop__counter": "from shop.till import price\nfrom shop.idle import idle\n",
    "shop__till": "def price():\n    return 1\n",
    "shop__idle": "def idle():\n    return 1\n",
    "shop__apart": "def apart():\n    return 1\n",
    "shop__deep____init__": "try:\n    from ._fast import Deep\nexcept ImportError:\n    from ._slow import Deep\n",
    "shop__deep___slow": "Deep = 1\n",
    "shop__tools____init__": "from shop.tools import hammer, saw\nSIZE = 1\n",
    "shop__tools__hammer": "def hit():\n    return 1\n",
    "shop__tools__saw": "def cut():\n    return 1\n",
    "open_space__part": "def part():\n    return 1\n",
    "literal": "def answer():\n    return 1\n",
    "lazy": "def answer():\n    return 1\n",
    "checked": "class Checked:\n    size = 1\n",
    "base": "class Base:\n    size = 1\n",
    "meta": "class Meta(type):\n    size = 1\n",
    "mine": '''
        """What it is."""
        import importlib
        from typing import TYPE_CHECKING

        import shop.tools as tools
        import open_space.part
        from base import Base
        from meta import Meta
        from shop import Door, price

        if TYPE_CHECKING:
            from checked import Checked

        class Mine(Base, metaclass=Meta):
            """What it does."""

            size: int = 1
            """How large."""

            def run(self):
                """What comes out."""
                from lazy import answer

                importlib.import_module("literal")
                return answer() + tools.hammer.hit() + open_space.part.part()
    ''',
}


@pytest.fixture
def mine(project: Project) -> Project:
    project.write(**FILES)
    return project


@pytest.mark.parametrize(
    ("file", "before", "after"),
    [
        ("mine.py", "size: int = 1", "size: int = 2"),
        ("base.py", "1", "2"),
        ("meta.py", "1", "2"),
        ("lazy.py", "1", "2"),
        ("literal.py", "1", "2"),
        ("open_space/part.py", "1", "2"),
        ("shop/front.py", "size", "width"),
        ("shop/till.py", "1", "2"),
        ("shop/deep/_slow.py", "1", "2"),
        ("shop/tools/hammer.py", "1", "2"),
        ("shop/tools/__init__.py", "SIZE = 1", "SIZE = 2"),
        ("shop/__init__.py", "from .front import Front", "from .other import Front"),
    ],
)
def test_what_takes_part_counts(mine: Project, file: str, before: str, after: str) -> None:
    mine.write(shop__other="class Front:\n    pass\n")
    first = mine.code("mine:Mine")
    assert first.resumable
    assert first.digest == mine.code("mine:Mine").digest
    mine.change(file, before, after)
    assert mine.code("mine:Mine").digest != first.digest


@pytest.mark.parametrize(
    ("file", "before", "after"),
    [
        ("mine.py", '"""What it is."""', "# a comment"),
        ("mine.py", '"""What it does."""', '"""What it\n    really does."""'),
        ("mine.py", '"""How large."""', ""),
        ("mine.py", '"""What comes out."""', ""),
        ("mine.py", "(Base, metaclass=Meta)", "(\n    Base, metaclass=Meta  # bases\n)"),
        ("base.py", "class", "\n\n# a comment\nclass"),
    ],
)
def test_words_and_layout_do_not_count(mine: Project, file: str, before: str, after: str) -> None:
    first = mine.code("mine:Mine")
    mine.change(file, before, after)
    assert mine.code("mine:Mine").digest == first.digest


def test_modules_are_named(mine: Project) -> None:
    """A package counts with its whole folder."""
    assert set(mine.code("mine:Mine").modules) == {
        *("mine", "base", "meta", "lazy", "literal", "checked", "open_space.part"),
        *("shop", "shop.front", "shop.counter", "shop.till", "shop.idle", "shop.apart", "shop.deep", "shop.deep._slow"),
        *("shop.tools", "shop.tools.hammer", "shop.tools.saw"),
    }


def test_a_name_that_a_package_makes_at_run_time(project: Project) -> None:
    project.write(
        firm____init__="""
            import importlib
            def __getattr__(name):
                if name != "Lazy":
                    raise AttributeError(name)
                return importlib.import_module("firm.lazy").Lazy
        """,
        firm__lazy="class Lazy:\n    size = 1\n",
        mine="from firm import Lazy\nclass A(Lazy):\n    pass\n",
    )
    assert "firm.lazy" in project.code("mine:A").modules


def test_a_name_of_both_a_module_and_a_function(project: Project) -> None:
    project.write(
        firm____init__="from firm.both import both\n",
        firm__both="def both():\n    return 1\n",
        mine="from firm import both\nfrom firm.both import both as again\nclass A:\n    pass\n",
    )
    assert set(project.code("mine:A").modules) == {"mine", "firm", "firm.both"}


def test_modules_that_import_each_other(project: Project) -> None:
    project.write(one="import two\nclass A:\n    pass\n", two="import one\n")
    assert set(project.code("one:A").modules) == {"one", "two"}


def test_functions_put_into_a_class_and_objects_held_by_it(project: Project) -> None:
    project.write(
        plain="class A:\n    def __init__(self, held=None):\n        self.held = held\n    def f(self):\n        return 1\n",
        patch="def f(self):\n    return 2\n",
        inner="class Inner:\n    pass\n\ndef g():\n    return 1\n",
    )
    cls = project.load("plain:A")
    import inner
    import patch

    assert set(code_of(cls).modules) == {"plain"}
    assert set(code_of(cls(held=[inner.Inner()])).modules) == {"plain", "inner"}
    assert set(code_of(cls(held=inner.g)).modules) == {"plain", "inner"}
    cls.f = patch.f
    assert set(code_of(cls).modules) == {"plain", "patch"}


def test_a_module_loaded_by_a_computed_name_is_never_resumed(project: Project) -> None:
    project.write(
        mine="import importlib\nclass A:\n    def f(self, name):\n        return importlib.import_module(name)\n"
    )
    code = project.code("mine:A")
    assert not code.resumable
    assert "mine.py, line 4: loads a module by a computed name" in code.reasons[0]


def test_a_mechanism_by_name_brings_its_family(project: Project) -> None:
    """Code that can make any mechanism by name may run any of them."""
    project.write(
        wraps="import dpbench\nclass A:\n    def f(self):\n        return dpbench.mechanism('gs')\n",
        hidden="from dpbench.mechanisms import base\nclass A:\n    def f(self):\n        return base.MECHANISMS.make('gs')\n",
    )
    for path in ("wraps:A", "hidden:A"):
        assert "dpbench.mechanisms.gs.grouping" in project.code(path).modules


def test_ours_are_independent_of_each_other() -> None:
    lpa = code_of(MECHANISMS.get("lpa"))
    assert "dpbench.data.columns" in lpa.modules
    assert not any("gs" in name.split(".") for name in lpa.modules)
    assert "dpbench.mechanisms.gs._tuning" in code_of(MECHANISMS.get("gs")).modules
    assert not any(name in EXEMPT for name, _ in MECHANISMS.items() for name in code_of(MECHANISMS.get(name)).modules)
    source = code_of(SOURCES.get("incidence")).modules
    assert not {name for name in source if name.startswith(("dpbench.mechanisms", "dpbench.sources.readers"))}


def test_kernels_count_numba() -> None:
    assert "numba" in code_of(MECHANISMS.get("gs")).distributions
    assert "numba" in code_of(MECHANISMS.get("lpa")).distributions  # the kernels of exact noise
    assert "clarabel" not in code_of(MECHANISMS.get("lpa")).distributions
    assert "clarabel" in code_of(MECHANISMS.get("s_dpdp")).distributions


def test_other_libraries_with_mechanisms_count_by_their_version() -> None:
    """They are loaded when they are first used, so no import statement names them."""
    for library in ("opendp", "diffprivlib"):
        if find_spec(library):
            assert library in code_of(MECHANISMS.get(f"{library}_laplace")).distributions


def test_a_script_that_starts_its_own_run(project: Project) -> None:
    project.write(
        study="import dpbench\nclass A(dpbench.Mechanism):\n    pass\n\ndef main():\n    dpbench.run(A()); dpbench.load('x')\n"
    )
    engine = {name for name in project.code("study:A").modules if name.startswith("dpbench.engine")}
    assert engine == {"dpbench.engine.worker", "dpbench.engine.failures"}


def test_what_is_below_a_package_is_followed(project: Project) -> None:
    """All files count, and what they import. Those that no import leads to may load modules by computed names."""
    project.write(
        firm____init__="",
        firm__used="import helper\nclass A:\n    def f(self):\n        from firm.late import g\n        return g()\n",
        firm__late="import other\n",
        firm__command="import importlib, sys\nimport unused\nimportlib.import_module(sys.argv[1])\n",
        **dict.fromkeys(("helper", "other", "unused"), "SIZE = 1\n"),
    )
    code = project.code("firm.used:A")
    assert set(code.modules) == {"firm", "firm.used", "firm.late", "firm.command", "helper", "other", "unused"}
    assert code.resumable, "nothing that may run loads a module by a computed name"


def test_a_user_of_our_machine_room_counts_all_of_it(project: Project) -> None:
    project.write(mine="from dpbench.config.compose import compose\nclass A:\n    pass\n")
    assert {"dpbench.config.schema", "dpbench.cli.run", "dpbench.mechanisms.gs.grouping"} <= set(
        project.code("mine:A").modules
    )
