"""The kinds of faults that the campaign tries, by name. Imported by its main module."""

from __future__ import annotations

from collections.abc import Callable

from campaign import accidents, attacks
from campaign.world import World

KINDS: dict[str, Callable[[World], None]] = {
    "damaged results": accidents.damaged_results,
    "damaged data": accidents.damaged_cache,
    "kill": accidents.killed,
    "SIGSTOP": accidents.stopped,
    "failing disk (EIO, ENOSPC, EDQUOT, EROFS, EACCES)": accidents.failing_disk,
    "full disk": accidents.full_disk,
    "kernel out of memory": accidents.out_of_memory,
    "clock jumps": accidents.clock_jumps,
    "another user's permissions": accidents.other_user,
    "processes in one folder": accidents.crowd,
    "containers in one folder": accidents.containers,
    "200,000 trial files": accidents.many_files,
    "hostile run files": attacks.run_files,
    "hostile trial files": attacks.trial_files,
    "hostile failures and audits": attacks.failures,
    "hostile folders in merge": attacks.merged,
    "hostile record": attacks.record,
    "hostile baselines": attacks.baselines,
    "hostile YAML": attacks.configuration,
    "hostile data files": attacks.data_files,
    "inside a hostile folder": attacks.foreign_folder,
    "hostile servers": attacks.server,
    "command lines": attacks.command_lines,
}
