"""Which trials of a plan belong to which shard. Depends only on the plan, never on what is stored.

Every shard gets whole pairs of trials, adjacent ones, of every setting: as many as any other shard, up to one pair, both per
setting and in total. Imported by `execute`, by the progress displays and by the verb `run`.
"""

from __future__ import annotations

from dpbench.config.schema import Shard
from dpbench.engine.plan import Plan
from dpbench.storage.store import Store


def trials_of(plan: Plan, shard: Shard | None = None) -> dict[str, range]:
    """The trials of a shard (None: of the whole plan), by the key of the setting."""
    # Sorted by key, which is unrelated to mechanisms and epsilons, so that no shard gets all the slow ones.
    wanted: dict[str, int] = {}
    for setting in plan.run.settings:
        wanted[setting.key] = max(wanted.get(setting.key, 0), plan.run.repetitions_of(setting))
    keys = sorted(wanted)
    if shard is None:
        return {key: range(wanted[key]) for key in keys}
    return {key: _part(position, wanted[key], shard.number - 1, shard.count) for position, key in enumerate(keys)}


def planned(plan: Plan) -> int:
    """The number of trials that this process should finish."""
    return sum(map(len, trials_of(plan, plan.config.runner.part).values()))


def _part(position: int, repetitions: int, index: int, count: int) -> range:
    """The trials that the shard `index` of `count` gets of the setting at `position`.

    The pairs are assigned from shard `position` on, cyclically. Left-over pairs go to the next `extra` shards after those that
    had them in the previous setting.
    """
    each, extra = divmod((repetitions + 1) // 2, count)
    first = position * extra % count  # the first shard with one pair more
    before = (index - position) % count  # shards whose pairs come before those of this one
    turn = (position - first) % count
    begin = each * before + _extras(turn + before, extra, count) - _extras(turn, extra, count)
    size = each + ((index - first) % count < extra)
    return range(2 * begin, min(2 * (begin + size), repetitions))


def _extras(steps: int, extra: int, count: int) -> int:
    """How many of the first `steps` shards, cyclically, have one pair more if the first `extra` have."""
    rounds, rest = divmod(steps, count)
    return rounds * extra + min(rest, extra)


def stored_trials(plan: Plan, store: Store) -> dict[str, set[int]]:
    """The stored trials by the key of the setting, according to the names of the files."""
    return {setting.key: store.named(setting.id) if setting.id else set() for setting in plan.run.settings}


def done(trials: dict[str, range], stored: dict[str, set[int]]) -> tuple[int, int]:
    """How many of these trials are stored, and how many there are."""
    return sum(len(stored[key].intersection(part)) for key, part in trials.items()), sum(map(len, trials.values()))


def overview(plan: Plan, store: Store, count: int) -> list[tuple[int, int]]:
    """For each of `count` shards, how many of its trials are stored, and how many it has."""
    stored = stored_trials(plan, store)
    return [done(trials_of(plan, Shard(number, count)), stored) for number in range(1, count + 1)]
