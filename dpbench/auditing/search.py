"""A small evolutionary search: pairs of neighbours that lose more privacy than the random ones they come from.

The pairs with the largest losses are changed a little, again and again: a row more or less, another entry, another new row.
What loses more replaces its parent. Imported by the audit by replay; imports data kinds.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from dpbench.auditing.foreign import fit
from dpbench.auditing.neighbours import Neighbours
from dpbench.auditing.transcripts import Judged
from dpbench.data import Contingency, Incidence, Records
from dpbench.mechanisms.base import Bounded

KEPT = 4
"""Pairs that have descendants."""

Examine = Callable[[Neighbours, float], Judged | None]


def climb(
    losses: Sequence[tuple[Judged, Neighbours]],
    examine: Examine,
    count: int,
    rng: np.random.Generator,
    mechanism: Any,
) -> Iterator[Judged]:
    """The result of every changed pair, until one certainly exceeds ε."""
    kept = sorted(losses, key=lambda both: both[0].weight, reverse=True)[:KEPT]
    for number in range(count):
        place = number % len(kept)
        parent, pair = kept[place]
        changed = _changed(pair, rng)
        if changed is None or not all(_allowed(mechanism, data) for data in (changed.before, changed.after)):
            continue
        found = examine(changed, parent.epsilon)
        if found is None:
            continue
        yield found
        if found.sure and found.exceeds:
            return
        if found.weight >= parent.weight:  # equal ones, too: they lead away from where it is flat
            kept[place] = found, changed


def _allowed(mechanism: Any, data: Any) -> bool:
    """Whether a class takes this data. Only our own classes say how they treat rows above their bound."""
    bound = getattr(mechanism, "bound", None)
    if bound is not None and not isinstance(mechanism, Bounded) and getattr(data, "largest_row", 0) > bound:
        return False
    return fit(mechanism, data)


def _changed(pair: Neighbours, rng: np.random.Generator) -> Neighbours | None:
    """A similar pair, or None if this kind of data is not changed."""
    before, after = pair.before, pair.after
    name = f"found by search from {pair.name.removeprefix('found by search from ')}"
    if isinstance(before, Contingency) and isinstance(after, Contingency):
        counts = dict(zip(before.cells.tolist(), before.counts.tolist(), strict=True))
        now = dict(zip(after.cells.tolist(), after.counts.tolist(), strict=True))
        moved = {cell: now.get(cell, 0) - counts.get(cell, 0) for cell in {*counts, *now}}
        for _ in range(int(rng.integers(1, 3))):
            cell = int(rng.integers(before.size))
            counts[cell] = max(0, counts.get(cell, 0) + int(rng.choice([-1, 1, 2, 10])))
        counts |= {cell: max(counts.get(cell, 0), -step) for cell, step in moved.items()}
        tables = (counts, {cell: counts.get(cell, 0) + moved.get(cell, 0) for cell in {*counts, *moved}})
        return Neighbours(name, *(_table(table, before) for table in tables))
    if isinstance(before, Incidence) and isinstance(after, Incidence):
        rows = _rows(after.indptr, after.indices.tolist())
        d = before.columns

        def entry() -> int:
            return int(rng.integers(d))

        rows = _mutated(rows, entry, rng, repeats=False)
        return Neighbours(name, *(Incidence.from_rows(part, columns=d) for part in (rows[:-1], rows)))
    if isinstance(before, Records) and isinstance(after, Records):
        items, contexts, repeats = before.n_items, before.n_contexts, before.repeats
        users = _rows(after.indptr, [*zip(after.items.tolist(), after.contexts.tolist(), strict=True)])

        def record() -> tuple[int, int]:
            return int(rng.integers(items)), int(rng.integers(contexts))

        users = _mutated(users, record, rng, repeats=repeats)
        return Neighbours(
            name,
            *(Records.from_rows(part, items=items, contexts=contexts, repeats=repeats) for part in (users[:-1], users)),
        )
    return None


def _table(counts: dict[int, int], like: Contingency) -> Contingency:
    cells = np.array(sorted(cell for cell, count in counts.items() if count > 0), dtype=np.int64)
    return Contingency(
        cells, np.array([counts[cell] for cell in cells.tolist()], dtype=np.int64), like.size, like.shape
    )


def _rows(indptr: Any, entries: list[Any]) -> list[list[Any]]:
    ends = indptr.tolist()
    return [entries[start:stop] for start, stop in itertools.pairwise(ends)]


def _mutated(
    rows: list[list[Any]], entry: Callable[[], Any], rng: np.random.Generator, *, repeats: bool
) -> list[list[Any]]:
    """One or two changes; the last row stays the last."""
    for _ in range(int(rng.integers(1, 3))):
        what, at = rng.integers(6), int(rng.integers(len(rows)))
        if what == 0 and len(rows) > 1:
            del rows[int(rng.integers(len(rows) - 1))]
        elif what == 1:
            rows.insert(0, [*rows[at]])
        elif what == 2 and rows[at]:
            del rows[at][int(rng.integers(len(rows[at])))]
        elif what == 3 and rows[at]:
            rows[at][int(rng.integers(len(rows[at])))] = entry()
        elif what == 4:
            rows[:0] = [[entry()] for _ in range(int(rng.integers(1, 20)))]
        else:
            rows[at].append(entry())
    if repeats:
        return rows
    # No item or column twice.
    once = ({(one[0] if isinstance(one, tuple) else one): one for one in row} for row in rows)
    return [sorted(row.values()) for row in once]
