"""Stored numbers: computed once for all processes, never taken from other data, other code or a damaged file."""

import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest

from dpbench import Incidence
from dpbench.data import Records
from dpbench.sources.facts import StoredFacts

Owner = Incidence
"""Whose code computes the numbers. (The tests load modules by computed names, so that their own code is never resumed.)"""


@pytest.fixture
def facts(tmp_path):
    return StoredFacts(tmp_path / "facts", "content-1")


def test_a_number_is_computed_once_and_read_by_another_process(facts):
    assert facts.get(("rho", 0.5), Owner, lambda: 17) == 17
    assert facts.get(("rho", 0.5), Owner, lambda: pytest.fail("computed again")) == 17
    assert StoredFacts(facts.folder, "content-1").get(("rho", 0.5), Owner, lambda: 99) == 17


def test_other_keys_and_other_data_have_their_own_numbers(facts):
    facts.get(("rho", 0.5), Owner, lambda: 17)
    assert facts.get(("rho", 0.25), Owner, lambda: 3) == 3
    assert StoredFacts(facts.folder, "content-2").get(("rho", 0.5), Owner, lambda: 4) == 4


def test_other_code_computes_it_again(facts, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "owned.py").write_text("class Mine:\n    step = 1\n")
    program = f"""
        from pathlib import Path
        import owned
        from dpbench.sources.facts import StoredFacts
        print(StoredFacts(Path({str(facts.folder)!r}), "content-1").get("x", owned.Mine, lambda: owned.Mine.step))
    """

    def printed():
        run = [sys.executable, "-c", textwrap.dedent(program)]
        return subprocess.run(run, cwd=tmp_path, capture_output=True, text=True, check=True).stdout.strip()

    assert printed() == "1"
    (tmp_path / "owned.py").write_text(
        "class Mine:\n    step = 12\n"
    )  # another size: Python compiles it again within a second
    assert printed() == "12"


def test_a_damaged_file_is_computed_again(facts):
    facts.get("x", Owner, lambda: 17)
    (path,) = facts.folder.glob("*.json")
    path.write_text(path.read_text().replace("17", "18"))
    assert facts.get("x", Owner, lambda: 17) == 17
    assert "17" in path.read_text()


def test_where_nothing_can_be_written_it_is_computed(tmp_path):
    (tmp_path / "file").write_text("")
    assert StoredFacts(tmp_path / "file" / "facts", "content").get("x", Owner, lambda: 5) == 5


def test_of_two_that_ask_at_once_one_computes(facts):
    computed, start = [], threading.Barrier(2)

    def compute():
        computed.append(1)
        threading.Event().wait(0.2)
        return 7

    def ask():
        start.wait()
        assert facts.get("x", Owner, compute) == 7

    threads = [threading.Thread(target=ask) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(computed) == 1


def test_data_without_a_store_remember_facts_for_themselves():
    data = Incidence.from_rows([[0], [1]], columns=2)
    assert data.fact("x", Owner, lambda: 1) == 1
    assert data.fact("x", Owner, lambda: 2) == 1


def test_items_and_edges_of_records_have_their_own_facts(facts):
    data = Records.from_rows([[(0, 1), (1, 0)]], items=2, contexts=2)
    data.store_facts(facts)
    assert data.item_columns().fact("x", Owner, lambda: 1) == 1
    assert data.edge_columns().fact("x", Owner, lambda: 2) == 2


def test_fpa_chooses_rho_once_for_all_that_open_the_dataset(facts):
    from dpbench.mechanisms.baselines.fourier import FPA

    calls = []

    class Counted:
        """The stored facts, with a note of each one that is computed."""

        def get(self, key, owner, compute):
            return facts.get(key, owner, lambda: calls.append(1) or compute())

    rng = np.random.default_rng(3)
    rows = [np.flatnonzero(rng.random(40) < 0.2).tolist() for _ in range(50)]
    released = []
    for _ in range(2):  # as in two workers
        data = Incidence.from_rows(rows, columns=40)
        data.store_facts(Counted())
        released.append(FPA(bound=40).release(data, epsilon=1.0, rng=np.random.default_rng(1)))
    assert len(calls) == 1
    assert released[0].chosen == released[1].chosen
