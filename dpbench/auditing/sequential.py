"""The sequential black-box test: is a mechanism, of which only `release` is known, (ε, δ)-private on some pairs?

Draw a batch of releases of both neighbours, bet on scores that were learned from earlier batches, then learn again. Pairs,
scores and directions may change from batch to batch, because all of them are fixed before the draws they are used on. There
is one wealth per mechanism; when it reaches 1/α, privacy is rejected, at any time (e_process.py). The test never proves privacy.
Imported by `audit` and by claims of losses; imports data kinds only.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dpbench.auditing.e_process import STATED, Wealth, grid, smallest_factor
from dpbench.auditing.neighbours import Neighbours
from dpbench.auditing.observed import Observed, released
from dpbench.auditing.scores import Learned, learn, promise, values_of
from dpbench.errors import UserError

WAYS = 3
"""Scoring methods: one number, the numbers' likelihood ratio, boosting."""
EXPLORED = 100
"""Draws per pair before anything is known about it."""
BATCH = 2500
"""Most draws per batch."""
GROWTH = 1.5
"""Learn again when the number of draws has grown by this factor."""
KEPT = 15000
"""Most draws per pair to learn from: the latest ones."""
EXPLORING = 0.35
"""The largest share of the time for pairs about which nothing is known."""
WORTH = 2.0
"""How certain an event must be to be bet on, in standard errors: what looks best by chance would cost wealth."""
OTHERS = 4
"""Every this many batches, a pair other than the worst is examined again."""


class Releases(Protocol):
    """All that the test knows about a mechanism."""

    def release(self, data: Any, epsilon: float, rng: np.random.Generator) -> Any: ...


@dataclass(frozen=True)
class SequentialResult:
    """The result of the test."""

    rejected: bool
    """Whether (ε, δ)-privacy is rejected, with error probability alpha."""
    loss: float
    """A lower bound of the loss at δ, with the same confidence; 0 if nothing was found."""
    pair: str
    """The pair that looks worst."""
    event: str
    """The event that shows it."""
    draws: int
    """Releases of each neighbour, over all pairs."""
    pairs: int
    """Number of pairs examined."""
    seconds: float
    reason: str
    """Why it stopped, or why nothing was measured."""
    factor: float = math.inf
    """If nothing was found: noise that is too small by this factor would probably have been."""


@dataclass
class Candidate:
    """A pair, its draws so far, and what was learned from them."""

    pair: Neighbours
    before: list[Observed] = field(default_factory=list)
    after: list[Observed] = field(default_factory=list)
    drawn: int = 0
    bet: int = 0
    """Draws that were bet on."""
    learned: Learned | None = None
    learned_at: int = 0

    def keep(self, before: list[Observed], after: list[Observed]) -> None:
        self.before, self.after = (self.before + before)[-KEPT:], (self.after + after)[-KEPT:]
        self.drawn += len(before)

    @property
    def refused(self) -> bool:
        """Whether all releases of both sides have ended with the same error so far. An error on one side only, or in other
        words, is an output."""
        errors = {tuple(draw.items.get("raised", ())) for draw in (*self.before, *self.after)}
        return len(errors) < 2 and () not in errors


class Test:
    """One run of the test; call `run`."""

    __test__ = False  # not a pytest test case

    def __init__(
        self,
        mechanism: Releases,
        pairs: Sequence[Neighbours],
        *,
        epsilon: float,
        delta: float = 0.0,
        alpha: float = 0.01,
        seconds: float = math.inf,
        draws: float = math.inf,
        seed: int = 0,
        boosting: bool = True,
        until_sure: bool = True,
    ) -> None:
        """until_sure: stop as soon as (ε, δ) is rejected; otherwise all draws are used, for a better bound of the loss."""
        if math.isinf(seconds) and math.isinf(draws):
            raise UserError("a sequential test needs a limit: expected seconds or draws")
        self.mechanism, self.epsilon, self.delta, self.alpha = mechanism, epsilon, delta, alpha
        self.seconds, self.most, self.boosting, self.until_sure = seconds, draws, boosting, until_sure
        self.rng = np.random.default_rng(np.random.SeedSequence([seed, 20]))
        self.levels = grid(epsilon)
        self.stated = STATED
        self.wealth = Wealth(self.levels, delta, WAYS)
        self.candidates = [Candidate(pair) for pair in pairs]
        self.started, self.draws = time.monotonic(), 0
        self.shown: tuple[str, str] = ("", "")

    def run(self) -> SequentialResult:
        """Draw and bet until it is sure, or its time or draws are used up."""
        explored = self._explore()
        known = [candidate for candidate in explored if not candidate.refused]
        if not known:
            error = [*explored[-1].after[-1].items["raised"]][-1] if explored else ""
            reason = f"every release raised {error}" if explored else "there is no pair to test"
            return self._result(known, reason)
        active, turn = known, 0
        while not self._over():
            if len(active) > 1:
                for candidate in active:
                    self._play(candidate)
                active = sorted(active, key=self._promise, reverse=True)[: (len(active) + 1) // 2]
                continue
            ranked = sorted(known, key=self._promise, reverse=True)
            turn += 1
            other = turn % OTHERS == 0 and len(ranked) > 1
            self._play(ranked[1 + turn // OTHERS % (len(ranked) - 1)] if other else ranked[0])
        return self._result(known, self._why())

    def _explore(self) -> list[Candidate]:
        """A few draws of each pair, without bets."""
        size = int(min(EXPLORED, max(10, self.most // (4 * max(1, len(self.candidates))))))
        for number, candidate in enumerate(self.candidates):
            if number and (self._over() or self._passed() > EXPLORING * self.seconds):
                return self.candidates[:number]  # out of time, which the reason states
            candidate.keep(*self._draw(candidate, size))
            if not candidate.refused:
                self._learn(candidate)
        return self.candidates

    def _play(self, candidate: Candidate) -> None:
        """One batch of a pair: draw, bet using what was learned before, learn."""
        if self._over():
            return
        learned, size = candidate.learned, int(min(BATCH, max(EXPLORED, (GROWTH - 1) * candidate.drawn)))
        before, after = self._draw(candidate, size)
        if learned is not None and before:
            self.wealth.bet(self._terms(learned, before, after))
            winner = learned.events[self.wealth.winner(self.stated)]
            candidate.bet += len(before)
            if winner is not None and (not self.shown[0] or self.wealth.most[self.stated] > 1):
                self.shown = (candidate.pair.name, winner.said(self.stated))
        candidate.keep(before, after)
        if candidate.drawn >= GROWTH * candidate.learned_at or candidate.drawn >= candidate.learned_at + BATCH:
            self._learn(candidate)

    def _learn(self, candidate: Candidate) -> None:
        candidate.learned = learn(candidate.before, candidate.after, self.levels, self.delta, boosting=self.boosting)
        candidate.learned_at = candidate.drawn

    def _terms(self, learned: Learned, before: list[Observed], after: list[Observed]) -> NDArray[np.float64]:
        """Levels x methods x draws: what each draw adds, both directions in one term."""
        terms = np.zeros((self.levels.size, WAYS, len(before)))
        factor = np.exp(self.levels)[:, None]
        scores = zip(learned.events, values_of(learned, before), values_of(learned, after), strict=True)
        for way, (events, without, with_row) in enumerate(scores):
            if events is None or without is None or with_row is None:
                continue
            weights = ((events.gain > 0) & (events.certain >= WORTH)).astype(np.float64)
            weights /= np.maximum(weights.sum(axis=0), 1)
            for direction, (likely, rare) in enumerate([(without, with_row), (with_row, without)]):
                won = events.happened(likely, direction) - factor * events.happened(rare, direction) - self.delta
                terms[:, way] += weights[direction][:, None] * won
        return terms

    def _draw(self, candidate: Candidate, size: int) -> tuple[list[Observed], list[Observed]]:
        """This many releases of both neighbours, or fewer if the time or the draws are used up."""
        before: list[Observed] = []
        after: list[Observed] = []
        while len(before) < size and not self._over():
            for data, side in ((candidate.pair.before, before), (candidate.pair.after, after)):
                side.append(released(self.mechanism, data, self.epsilon, self.rng))
            self.draws += 1
        return before, after

    def _promise(self, candidate: Candidate) -> tuple[float, float]:
        events = () if candidate.learned is None else candidate.learned.events
        return max((promise(event, self.levels) for event in events if event is not None), default=(-2.0, 0.0))

    def _passed(self) -> float:
        return time.monotonic() - self.started

    def _sure(self) -> bool:
        return self.until_sure and self.wealth.rejects(self.stated, self.alpha)

    def _over(self) -> bool:
        return self._sure() or self.draws >= self.most or self._passed() >= self.seconds

    def _why(self) -> str:
        if self.wealth.rejects(self.stated, self.alpha):
            return f"sure after {self.draws} draws"
        seen = (
            f"would have found {self._factor():.3g} times ε"
            if math.isfinite(self._factor())
            else "too few to find much"
        )
        if self.draws >= self.most:
            return f"nothing found in {self.draws} draws, {seen}"
        return f"nothing found in {self.draws} draws, ended by the limit of {self.seconds:.3g} s, {seen}"

    def _factor(self) -> float:
        most = max((candidate.bet for candidate in self.candidates), default=0)
        return smallest_factor(self.epsilon, self.delta, most, self.alpha, WAYS)

    def _result(self, known: Sequence[Candidate], reason: str) -> SequentialResult:
        rejected = self.wealth.rejects(self.stated, self.alpha)
        loss = self.wealth.bound(self.alpha)
        return SequentialResult(
            rejected=rejected,
            loss=max(loss, self.epsilon) if rejected else loss,
            pair=self.shown[0],
            event=self.shown[1],
            draws=self.draws,
            pairs=len(known),
            seconds=self._passed(),
            reason=reason,
            factor=math.inf if rejected else self._factor(),
        )


def sequential_test(
    mechanism: Releases, pairs: Sequence[Neighbours], *, epsilon: float, **options: Any
) -> SequentialResult:
    """The test of one mechanism on these pairs; `options` as `Test` takes them."""
    return Test(mechanism, pairs, epsilon=epsilon, **options).run()
