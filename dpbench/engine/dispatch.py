"""Decides which chunk goes to which worker of a cluster, and which chunk is to blame when a worker dies. Independent of Dask.

Every chunk is sent to one worker by name, so that a refusal or a death belongs to that worker. Imported by `cluster` only.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from dpbench.engine.failures import Failure
from dpbench.engine.worker import DIED, Chunk, Outcome

AHEAD = 2  # chunks sent per thread of a worker, so that the next one is there when one is done
EXCUSES = 5  # workers that a chunk may lose for reasons that are not its fault
TRIES = 2  # workers that a chunk may kill while it is alone on them


@dataclass(eq=False)
class Job:
    """A chunk that is to be computed on the cluster."""

    chunk: Chunk
    ground: str
    """What a refusal of this chunk applies to: its data, mechanism and task."""
    company: int = 0
    """How many chunks may be on a worker together with it, itself included; 0: any number."""
    blame: int = 0
    """Suspicion from the deaths of its workers."""
    alone: int = 0
    """Workers that died while this was their only chunk."""
    excused: int = 0
    """Workers that ended for another reason."""

    @classmethod
    def of(cls, chunk: Chunk) -> Job:
        setting = chunk.setting
        parts = [setting.dataset.name, setting.dataset.fingerprint]
        for variant in (setting.mechanism, setting.task):
            parts += [str(variant.cls), json.dumps(dict(variant.params), sort_keys=True, default=str)]
        return cls(chunk, "\n".join(parts))


class Dispatch:
    """The waiting chunks, those sent to workers, and what is known about the workers."""

    def __init__(self, work: Iterable[Chunk]) -> None:
        self.fresh: dict[str, deque[Job]] = {}
        """Waiting chunks without suspicion, by ground."""
        self.suspects: list[Job] = []
        """Chunks of workers that died. They are sent last and with few others, so that another death affects few chunks."""
        self.flying: dict[str, list[Job]] = {}
        """The chunks that each worker has, in the order in which they were sent."""
        self.workers: dict[str, int] = {}
        """The workers that are there, with their threads."""
        self.barred: dict[str, str] = {}
        """Workers that cannot read our chunks at all, and why."""
        self.refused: dict[tuple[str, str], str] = {}
        """Why a worker refuses a ground."""
        for chunk in work:
            self._wait(Job.of(chunk))

    @property
    def busy(self) -> bool:
        return any(self.flying.values())

    @property
    def over(self) -> bool:
        return not (self.fresh or self.suspects or self.busy)

    def summary(self) -> str:
        """Which workers are at work, in a few words."""
        foreign = {worker for worker, _ in self.refused} | set(self.barred)
        refusing = len(foreign & set(self.workers))
        count = len(self.workers)
        return f"{count} worker{'' if count == 1 else 's'}" + (
            f", {refusing} of them refusing work" if refusing else ""
        )

    def assign(self) -> Iterator[tuple[str, Job]]:
        """Chunks for workers with free capacity, the least loaded first. What this yields counts as sent."""
        able = set(self.workers) - set(self.barred)
        while able:
            worker = min(able, key=lambda w: (len(self.flying.get(w, ())) / max(1, self.workers[w]), w))
            job = self._next(worker)
            if job is None:
                able.discard(worker)
                continue
            self.flying.setdefault(worker, []).append(job)
            yield worker, job

    def finished(self, worker: str, job: Job) -> None:
        self.flying[worker].remove(job)

    def returned(self, worker: str, job: Job) -> None:
        """The chunk was lost in transit, which is not its fault."""
        self.flying[worker].remove(job)
        self._wait(job)

    def refuse(self, worker: str, job: Job, reason: str) -> bool:
        """The worker refuses the chunk, which goes elsewhere. True if this worker gives this reason for the first time."""
        new = reason not in (r for (w, _), r in self.refused.items() if w == worker)
        self.refused[worker, job.ground] = reason
        self.returned(worker, job)
        return new

    def bar(self, worker: str, job: Job, reason: str) -> bool:
        """The worker cannot read our chunks and gets none. True if this is new."""
        self.returned(worker, job)
        return self.barred.setdefault(worker, reason) is reason

    def gone(self, worker: str, excused: bool = False) -> tuple[list[Job], list[Outcome]]:
        """A worker died. Returns the chunks that it had, and the outcomes of those that are now found guilty.

        `excused`: as far as we know, it died of something else. This is accepted a few times per chunk: a chunk that takes
        longer than a worker may live must not be resent forever.
        """
        jobs, threads = self.flying.pop(worker, []), self.workers.pop(worker, 1)
        guilty = []
        for place, job in enumerate(jobs):
            if excused and job.excused < EXCUSES:
                job.excused += 1
                self._wait(job)
                continue
            job.blame += 2 if place < threads else 1  # those sent first were running, the others probably were not
            job.company = max(1, len(jobs) // 4)
            job.alone += len(jobs) == 1
            if job.alone < TRIES:
                self._wait(job)
            else:
                guilty.append(_failed(job.chunk, f"{DIED}; {TRIES} workers that ran nothing else died of it"))
        return jobs, guilty

    def give_up(self) -> Iterator[Outcome]:
        """The outcomes of all waiting chunks, if no worker takes them."""
        waiting = [job for jobs in self.fresh.values() for job in jobs] + self.suspects
        self.fresh, self.suspects = {}, []
        for job in waiting:
            told = [(w, reason) for (w, ground), reason in self.refused.items() if ground == job.ground]
            worker, reason = next(iter(told or self.barred.items()), ("", ""))
            if reason:
                yield Outcome(job.chunk, refused=reason, worker=worker)
            elif job.blame:
                yield _failed(job.chunk, f"{DIED}, and there is no other worker")
            else:
                yield _failed(job.chunk, "the cluster has no worker")

    def _wait(self, job: Job) -> None:
        if job.blame:
            self.suspects.append(job)
            self.suspects.sort(key=lambda job: job.blame)
        else:
            self.fresh.setdefault(job.ground, deque()).append(job)

    def _next(self, worker: str) -> Job | None:
        """The next chunk for a worker; None if it has enough, or refuses all that wait."""
        there = self.flying.get(worker, [])
        limit = min([AHEAD * self.workers[worker], *(job.company for job in there if job.company)])
        if len(there) >= limit:
            return None
        for ground, jobs in self.fresh.items():
            if (worker, ground) not in self.refused:
                job = jobs.popleft()
                if not jobs:
                    del self.fresh[ground]
                return job
        for job in self.suspects:
            if (worker, job.ground) not in self.refused and len(there) < job.company:
                self.suspects.remove(job)
                return job
        return None


def _failed(chunk: Chunk, reason: str) -> Outcome:
    return Outcome(chunk, failures=[Failure(trial, reason) for trial in chunk.trials])
