"""A user's source is built again when a file that it reads has other content, without any action by its author."""

from __future__ import annotations

import gzip
import importlib.util
import os
import re
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpbench.model.setting import Dataset
from dpbench.sources import cache
from dpbench.sources.cache import Opened, open_dataset
from dpbench.sources.recording import recording

HEAD = """
import gzip, os, pkgutil, sqlite3, sys
from dataclasses import dataclass
from pathlib import Path
import numpy as np
from dpbench.data import Incidence
from dpbench.sources import Source

def rows(lines):
    return Incidence.from_rows([[int(word) for word in line.split(",")] for line in lines if line.strip()], columns=100)

@dataclass(frozen=True, kw_only=True)
class Mine(Source):
"""

# How a source may read visits.csv: its fields, the body of `build`, and the parameters of the test.
WAYS = {
    "open": ("", "return rows(open('visits' + '.csv'))"),
    "read_text": ("", "return rows(Path('visits' + '.csv').read_text().splitlines())"),
    "os.open": ("", "f = os.open('visits' + '.csv', os.O_RDONLY); return rows(os.read(f, 9999).decode().splitlines())"),
    "computed name": ("year: int = 2010", "return rows(open('vis' + 'its' + '.csv'))"),
    "pandas": (
        "",
        "import pandas; return self.of(pandas.read_csv(os.sep.join(['.', 'visits' + '.csv']), header=None))",
    ),
    "pandas, pyarrow": (
        "",
        "import pandas; return self.of(pandas.read_csv('visits' + '.csv', header=None, engine='pyarrow'))",
    ),
    "loadtxt": ("", "return rows(str(int(v)) for v in np.loadtxt('visits' + '.csv', ndmin=1))"),
    "genfromtxt": ("", "return rows(str(int(v)) for v in np.atleast_1d(np.genfromtxt('visits' + '.csv')))"),
    "fromfile": ("", "return rows(str(v) for v in np.fromfile('visits' + '.csv', dtype=np.int64, sep=chr(10)))"),
    "module's constant": ("", "import pyarrow.csv as c; return self.arrow(c, PLACE)"),
    "string in the code": ("", "import pyarrow.csv as c; return self.arrow(c, 'visits.csv')"),
    "pyarrow.csv": ("file: str = 'visits.csv'", "import pyarrow.csv as c; return self.arrow(c, self.file)"),
    "a list of files": (
        "files_: tuple = ('visits.csv',)",
        "import pyarrow.csv as c; return self.arrow(c, *self.files_)",
    ),
    "a folder": (
        "folder: str = '.'",
        "import pyarrow.csv as c; return self.arrow(c, self.folder + '/' + 'visits' + '.csv')",
    ),
    "pkgutil": ("", "return rows(pkgutil.get_data('mine', 'visits' + '.csv').decode().splitlines())"),
    "memmap": ("", "return rows(bytes(np.memmap('visits' + '.csv', mode='r')).decode().splitlines())"),
    "threads": (
        "",
        "from concurrent.futures import ThreadPoolExecutor as P; "
        "return rows(P(2).submit(lambda: Path('visits' + '.csv').read_text()).result().splitlines())",
    ),
    "a file named in another": ("", "return rows(open(open('list' + '.txt').read().strip()))"),
    "files()": (
        "",
        "import pyarrow.csv as c; return self.arrow(c, self.files()[0])\n    def files(self): return ['visits.csv']",
    ),
}
HELPERS = """
    def of(self, frame):
        return rows(str(v) for v in frame[0])
    def arrow(self, c, path):
        table = c.read_csv(path, read_options=c.ReadOptions(column_names=['a']))
        return rows(str(v) for v in table['a'].to_pylist())
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty folder to work in, from which modules are imported, and a cache elsewhere."""
    monkeypatch.setenv("DPBENCH_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(str(folder))
    yield folder
    sys.modules.pop("mine", None)


def define(place: Path, fields: str, body: str) -> None:
    constant = "PLACE = Path(__file__).parent / 'visits.csv'" if "PLACE" in body else ""
    code = f"{HEAD}    {fields or 'pass'}\n    def build(self, rng):\n        {body}\n{HELPERS}{constant}\n"
    (place / "mine.py").write_text(code)
    sys.modules.pop("mine", None)
    importlib.invalidate_caches()


class Use:
    """Opens the dataset again and again; `said` is what was told the last time."""

    def __init__(self, **params: Any) -> None:
        self.dataset, self.said = Dataset("mine", "mine.Mine", params), [""]

    def __call__(self) -> Opened:
        self.said = []
        return open_dataset(self.dataset, say=self.said.append)

    @property
    def counts(self) -> list[int]:
        return np.flatnonzero(self().data.counts).tolist()


@pytest.mark.parametrize("way", WAYS)
def test_changed_content_is_read_again(place: Path, way: str) -> None:
    define(place, *WAYS[way])
    visits = place / "visits.csv"
    visits.write_text("1\n2\n3\n")
    (place / "list.txt").write_text("visits.csv")
    use = Use()
    assert use.counts == [1, 2, 3]
    assert use.said == ["building mine"]
    assert use.counts == [1, 2, 3]
    assert use.said == []
    visits.write_text("1\n2\n4\n")  # of the same size
    assert use.counts == [1, 2, 4]
    assert use.said == ["building mine again: visits.csv changed"]
    before = use().fingerprint
    os.utime(visits, (1, 1))
    assert use().fingerprint == before
    assert use.said == []
    shutil.copy(visits, place / "copy.txt")
    visits.unlink()
    os.rename(place / "copy.txt", visits)  # another file, the same bytes
    assert use().fingerprint == before
    assert use.said == []
    visits.unlink()
    with pytest.raises(Exception, match=r"visits\.csv|No such file"):
        use()


def test_times_do_not_hide_a_change(place: Path) -> None:
    """The same size and time of change as before, as `cp -p` or a quick editor leave them: the system's own time tells."""
    define(place, "", "return rows(open('visits.csv'))")
    visits = place / "visits.csv"
    visits.write_text("1\n2\n")
    use = Use()
    assert use.counts == [1, 2]
    then = visits.stat()
    visits.write_text("1\n3\n")
    os.utime(visits, ns=(then.st_atime_ns, then.st_mtime_ns))
    assert use.counts == [1, 3]


def test_gzip_parquet_and_sqlite(place: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    def write(values: list[int]) -> None:
        text = "".join(f"{v}\n" for v in values)
        (place / "visits.csv.gz").write_bytes(gzip.compress(text.encode(), mtime=0))
        pq.write_table(pa.table({"a": values}), place / "visits.parquet")
        with sqlite3.connect(place / "visits.db") as base:
            base.execute("drop table if exists t")
            base.execute("create table t (a)")
            base.executemany("insert into t values (?)", [(v,) for v in values])
        base.close()

    for file, body in {
        "visits.csv.gz": "return rows(gzip.open('visits.' + 'csv.gz', 'rt'))",
        "visits.parquet": "import pyarrow.parquet as p; return rows(str(v) for v in p.read_table(self.file)['a'].to_pylist())",
        "visits.db": "return rows(str(v) for v, in sqlite3.connect('visits' + '.db').execute('select a from t'))",
    }.items():
        write([1, 2, 3])
        define(place, "file: Path = None", body)
        use = Use(file=str(place / file))
        assert use.counts == [1, 2, 3]
        write([1, 2, 5])
        assert use.counts == [1, 2, 5]
        assert use.said == [f"building mine again: {file} changed"]
        assert use.counts == [1, 2, 5]
        assert use.said == []


def test_a_folder_that_is_listed(place: Path) -> None:
    """Files that come and go, in a folder that is a parameter and in one that is not."""
    for fields, folder in (("", "'par' + 'ts'"), ("folder: str = 'parts'", "self.folder")):
        shutil.rmtree(place / "parts", ignore_errors=True)
        (place / "parts").mkdir()
        (place / "parts" / "1.csv").write_text("1\n")
        define(
            place,
            fields,
            f"return rows(l for p in sorted(Path({folder}).glob('*.csv')) for l in p.read_text().split())",
        )
        use = Use()
        assert use.counts == [1]
        (place / "parts" / "2.csv").write_text("2\n")
        assert use.counts == [1, 2]
        assert use.said[0].startswith("building mine again: ")
        (place / "parts" / "1.csv").unlink()
        assert use.counts == [2]
        assert use.counts == [2]
        assert use.said == []


def test_the_same_name_in_another_folder(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A relative path means another file when one works in another folder."""
    for fields, body in (
        (WAYS["computed name"]),
        (WAYS["open"]),
        ("file: str = 'visits.csv'", "return rows(open(self.file))"),
    ):
        monkeypatch.chdir(place)
        define(place, fields, body)
        (place / "visits.csv").write_text("1\n")
        (place / "other").mkdir(exist_ok=True)
        (place / "other" / "visits.csv").write_text("2\n")
        assert Use().counts == [1]
        monkeypatch.chdir(place / "other")
        assert Use().counts == [2]
        monkeypatch.chdir(place)
        assert Use().counts == [1]


def test_what_does_not_count(place: Path) -> None:
    """Modules, libraries, the build's own files, results, and words that only happen to name a folder."""
    (place / "helper.py").write_text("VALUE = 3\n")
    define(
        place,
        "sep: str = '.'\n    root: str = '/'",
        "import helper, json.tool, email.mime.text, xml.sax\n"
        "        Path('scratch').write_text('1'); text = open('scratch').read(); os.remove('scratch')\n"
        "        Path('kept.txt').write_text(text); open('kept.txt').read(); os.listdir(os.path.dirname(os.__file__))\n"
        "        return rows(open('visits' + '.csv'))",
    )
    (place / "visits.csv").write_text("1\n")
    use = Use()
    assert use.counts == [1]
    meta = cache.stored.read_meta(cache.folder(use.dataset))
    assert [(Path(one.path).name, one.made) for one in meta.files] == [("kept.txt", True), ("visits.csv", False)]
    (place / "kept.txt").write_text("changed by somebody")
    (place / "results" / "trials").mkdir(parents=True)
    (place / "results" / "runs").mkdir()
    (place / "results" / "trials" / "1.parquet").write_text("1")
    assert use.counts == [1]
    assert use.said == []


def test_a_file_that_changes_while_it_is_read(place: Path) -> None:
    """It is read again next time, as nobody knows which of the two was read."""
    define(place, "", "d = rows(open('visits.csv')); os.system('echo 2 >> visits.csv'); return d")
    (place / "visits.csv").write_text("1\n")
    use = Use()
    assert use.counts == [1]
    define(place, "", "d = rows(open('visits.csv')); os.system('echo 2 >> visits.csv'); return d")
    assert use.counts == [1, 2]
    assert use.said == ["building mine again: visits.csv changed"]


def test_expected_data_is_taken_though_its_file_changed(place: Path) -> None:
    """A worker that is asked for the data of the plan does not build another in the middle of a run."""
    define(place, "", "return rows(open('visits.csv'))")
    (place / "visits.csv").write_text("1\n")
    use = Use()
    planned = use().fingerprint
    (place / "visits.csv").write_text("2\n")
    assert open_dataset(use.dataset, expected=planned).fingerprint == planned
    assert use().fingerprint != planned
    with pytest.raises(cache.OtherData):
        open_dataset(use.dataset, expected=planned)


def test_only_the_building_thread_is_recorded(place: Path) -> None:
    (place / "mine.csv").write_text("1")
    (place / "others.csv").write_text("2")
    with ThreadPoolExecutor(1) as pool:
        pool.submit(int).result()  # its thread is there before
        with recording() as recorder:
            pool.submit((place / "others.csv").read_text).result()
            (place / "mine.csv").read_text()
    (place / "others.csv").read_text()
    assert set(recorder.read) == {str(place / "mine.csv")}


def test_a_source_on_top_of_another(place: Path) -> None:
    """Its data come from the cache; the file behind them counts for both."""
    define(place, "", "return rows(open('visits' + '.csv'))")
    code = (
        (place / "mine.py").read_text()
        + """
from dpbench.sources.cache import open_dataset
from dpbench.model.setting import Dataset
class Above(Source):
    def build(self, rng):
        return open_dataset(Dataset("below", "mine.Mine")).data
"""
    )
    (place / "mine.py").write_text(code)
    below, above = Dataset("below", "mine.Mine"), Dataset("above", "mine.Above")
    for value in (1, 2):
        (place / "visits.csv").write_text(f"{value}\n")
        open_dataset(below)
        assert np.flatnonzero(open_dataset(above).data.counts).tolist() == [value]


def test_a_reader_takes_what_comes_into_its_folder(write: Callable[..., Path], place: Path) -> None:
    """Files of the format count, a readme beside them does not."""
    path = write("work/training_set/mv_0000001.txt", "1:\n5,3,2005-12-26\n").parent
    spec = Dataset("netflix", "netflix_prize", {"path": str(path)})
    said: list[str] = []
    open_dataset(spec, say=said.append)
    write("work/training_set/readme.md", "words")
    open_dataset(spec, say=said.append)
    assert said == ["building netflix"]
    write("work/training_set/mv_0000002.txt", "2:\n5,3,2005-12-26\n")
    assert open_dataset(spec, say=said.append).data.columns == 2
    assert said[1:] == ["building netflix again: mv_0000002.txt is new"]


# Through the front door: new numbers when the file has other content, the same ones when it has not.

MODULE = """
from dataclasses import dataclass
from dpbench.data import Incidence
from dpbench.sources import Source

@dataclass(frozen=True, kw_only=True)
class Mine(Source):
    def build(self, rng):
        {body}
        return Incidence.from_rows([[int(value)] for value in values], columns=50)
"""
DATASET = "mine: {kind: incidence, source: generator, generator: mine.Mine}\n"
RUN = ("run", "--config-dir", "conf", "dataset=[mine]", "mechanism=[lpa]", "epsilon=[1]", "trials=2", "tracking=none")

BODIES = {
    "open": "values = open('visits.csv').read().split()",
    "pandas": "import pandas; values = pandas.read_csv('visits.csv', header=None)[0]",
    "loadtxt": "import numpy; values = numpy.loadtxt('visits.csv')",
}


@pytest.mark.parametrize("way", BODIES)
def test_new_content_gives_new_numbers(
    dpbench: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    monkeypatch.setenv("DPBENCH_CACHE", str(tmp_path / "cache"))
    (tmp_path / "conf" / "dataset").mkdir(parents=True)
    (tmp_path / "conf" / "dataset" / "mine.yaml").write_text(DATASET)
    (tmp_path / "mine.py").write_text(MODULE.replace("{body}", BODIES[way]))
    visits = tmp_path / "visits.csv"

    def run() -> tuple[int, int, str]:
        """Trials computed and found, and what was said."""
        ran = dpbench(*RUN, "scale=smoke", "runner.jobs=1", "figure=false")
        output = ran.stdout + ran.stderr
        assert ran.returncode == 0, output
        numbers = re.search(r"(\d+) (?:trials )?computed, (\d+) found finished", output)
        assert numbers, output
        return int(numbers[1]), int(numbers[2]), output

    visits.write_text("1\n2\n3\n")
    first = run()
    assert first[:2] == (2, 0)
    assert "mine: own data, read from visits.csv" in first[2], "not: generated"
    assert run()[:2] == (0, 2)
    visits.write_text("1\n2\n2\n")
    computed, finished, output = run()
    assert (computed, finished) == (2, 0)
    assert "building mine again: visits.csv changed" in output
    os.utime(visits, (1, 1))
    computed, finished, output = run()
    assert (computed, finished) == (0, 2)
    assert "building" not in output
    visits.write_text("1\n2\n3\n")
    assert run()[:2] == (0, 2)  # the trials of these very data are there
