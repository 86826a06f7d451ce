"""The audit of each mechanism: by replay if its steps can be followed, otherwise by the sequential test of its releases.

Imported by the `audit` verb and everything that needs findings; imports both methods and the registry.
"""

from __future__ import annotations

import ast
import dataclasses
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from dpbench.auditing.foreign import fit, is_foreign
from dpbench.auditing.forms import COMPARED
from dpbench.auditing.neighbours import Neighbours
from dpbench.auditing.replay import Depth, audit_by_replay, cannot_replay, fitting_pairs
from dpbench.auditing.row_shapes import ROW_SHAPES
from dpbench.auditing.samplers import DRAWS, SINGLE
from dpbench.auditing.sequential import sequential_test
from dpbench.auditing.variants import further
from dpbench.config import catalogue
from dpbench.config.entries import axes
from dpbench.data import KINDS
from dpbench.errors import UserError, unknown
from dpbench.identity import parameters
from dpbench.mechanisms.base import MECHANISMS
from dpbench.model.finding import AuditVerdict, Finding
from dpbench.model.setting import DECLARED, Variant
from dpbench.privacy import FORMS

PAIRS = 200
"""Pairs replayed per mechanism, shared by its choices of parameters."""
LEAST = 3 * len(ROW_SHAPES)
"""Least number of pairs per choice of parameters: all shapes of rows, three times."""
TESTED = 24
"""Pairs per mechanism for the sequential test, if no number is given."""
TEST_DRAWS = 20_000
"""Draws of either neighbour in the sequential test, over all pairs of a mechanism."""
SECONDS = 120.0
"""The time limit of a sequential test, for releases that take long."""
EPSILONS = (1.0, 0.1, 10.0)
"""The budgets that are tried if none is given."""
LAW_DRAWS = 100_000
"""Draws of the distributions of a mechanism, shared by its choices of parameters."""
SEVERAL = 20
"""How many times as many pairs, draws and releases a thorough audit takes."""
SMALL_ROWS = 3
"""The bound used for mechanisms that take the dataset's declared bound."""
ALPHA = 0.01
"""The probability that the sequential test calls a private mechanism violated."""


@dataclass(frozen=True)
class Options:
    """How to audit."""

    epsilon: float = 1.0
    """The budget; the first of them if there are several."""
    delta: float | None = None
    """The δ for mechanisms that state no guarantee. None: 0."""
    pairs: int | None = None
    """Pairs per mechanism. None: 200 by replay, 24 by the sequential test."""
    seconds: float | None = None
    """The time limit of a sequential test. None: 120, which only very slow releases reach."""
    seed: int = 0
    epsilons: tuple[float, ...] = ()
    """Several budgets, tried in turn. Empty: only `epsilon`."""
    thorough: bool = False
    """Twenty times as many pairs, draws and releases."""

    def depth(self, variant: AuditedVariant) -> Depth:
        """How far the audit of one choice of parameters goes."""
        times = SEVERAL if self.thorough else 1
        return Depth(
            epsilons=self.epsilons,
            forms=FORMS,
            climbs=(3 if variant.further else 8) * times,
            draws=DRAWS if self.thorough or not variant.further else DRAWS // 5,
            single=SINGLE * times // (5 if variant.further and not self.thorough else 1),
            law_draws=LAW_DRAWS
            if self.thorough
            else LAW_DRAWS // (10 * variant.share if variant.further else variant.share),
            compared=COMPARED * times // (2 if variant.further else 1),
        )


@dataclass(frozen=True)
class AuditedVariant:
    """A mechanism with one choice of parameters, under the name by which it was requested."""

    name: str
    mechanism: Any
    share: int = 1
    """Number of choices of parameters that share its pairs."""
    further: bool = False
    """Whether it is a further choice of parameters, which the class does not list."""

    @property
    def written(self) -> Any:
        """The object of the user's class, also if its calls of numpy are recorded."""
        return getattr(self.mechanism, "inner", self.mechanism)

    @property
    def guarantee(self) -> str:
        """The guarantee that it states; empty if none."""
        return str(getattr(self.mechanism, "privacy", ""))

    @property
    def declared(self) -> str:
        """Why it says that it is not private."""
        ask = getattr(self.mechanism, "not_private", None)
        return str(ask()) if callable(ask) else ""


@dataclass(frozen=True)
class InForm:
    """A mechanism whose releases have one form of noise."""

    mechanism: Any
    form: str

    def release(self, data: Any, epsilon: float, rng: Any) -> Any:
        more = {"noise": self.form} if self.form == "exact" else {}
        return self.mechanism.release(data, epsilon, rng, **more)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.mechanism, name)


def chosen(names: Sequence[str]) -> list[AuditedVariant]:
    """The mechanisms meant by names of the registry or dotted paths, either with parameters: `lpa(bound=3)`. A name of the
    registry stands for all variants of its mechanism."""
    variants: list[AuditedVariant] = []
    for text in names:
        name, given = parsed(text)
        ways = (given,) if given is not None else getattr(MECHANISMS.get(name), "audited", ({},))
        variants += [AuditedVariant(name, MECHANISMS.make(name, **way), len(ways)) for way in ways]
    for variant in variants:
        _check_kinds(variant)
    return variants


def with_further(variants: Sequence[AuditedVariant]) -> list[AuditedVariant]:
    """Also the further choices of parameters of the first private one of each mechanism."""
    found: list[AuditedVariant] = []
    seen: set[tuple[str, str]] = set()
    for variant in variants:
        first = variant.name not in {each.name for each in found if not each.declared}
        found.append(variant)
        seen.add((variant.name, repr(variant.mechanism)))
        if variant.declared or not first or cannot_replay(variant.mechanism):
            continue  # each choice of a class that must be tested would take as long as the first
        for changed in further(variant.mechanism):
            key = variant.name, repr(changed)
            if key not in seen and repr(changed) not in {repr(each.mechanism) for each in variants}:
                seen.add(key)
                found.append(AuditedVariant(variant.name, changed, variant.share, further=True))
    return found


def named(text: str) -> list[AuditedVariant]:
    """What is meant by a name of the registry, of a YAML, or by a dotted path, with parameters or without."""
    name, names = text.partition("(")[0], MECHANISMS.names()
    own = [option for option in catalogue.options("mechanism") if option not in names]
    if "." not in name and name not in (*names, *own):
        raise unknown("mechanism", text, [*names, *own])
    return own_mechanism(text, catalogue.mechanism(name)) if name in own else chosen([text])


def given(thing: Any) -> AuditedVariant:
    """A mechanism that a program passes as an object, or as a class that needs no parameters."""
    mechanism = thing() if isinstance(thing, type) else thing
    if not callable(getattr(mechanism, "release", None)):
        raise UserError(f"mechanism={thing!r} is not valid: expected a name, or an object with `release`")
    variant = AuditedVariant(getattr(mechanism, "name", "") or type(mechanism).__name__, mechanism, 1)
    _check_kinds(variant)
    return variant


def own_mechanism(text: str, entry: Variant) -> list[AuditedVariant]:
    """A mechanism of a user's own YAML, with its parameters there and those given after its name. A list gives several."""
    given_too = {**entry.params, **(parsed(text)[1] or {})}
    # Datasets declare a number; random pairs have small rows.
    ways = [*axes({k: SMALL_ROWS if v == DECLARED else v for k, v in given_too.items()})]
    mechanisms = (MECHANISMS.make(entry.cls, **way) for way in ways)
    return [dataclasses.replace(given(mechanism), name=entry.name, share=len(ways)) for mechanism in mechanisms]


def _check_kinds(variant: AuditedVariant) -> None:
    for kind in getattr(variant.mechanism, "kinds", ()):
        if kind not in KINDS:
            raise unknown(f"data kind of {variant.name}", kind, KINDS)


def parsed(text: str) -> tuple[str, dict[str, Any] | None]:
    """`name`, or `name(key=value, ...)` with plain values."""
    match = re.fullmatch(r"([^()]+)\((.*)\)", text.strip(), re.DOTALL)
    if match is None:
        return text, None
    try:
        call = ast.parse(f"f({match[2]})", mode="eval").body
        if not isinstance(call, ast.Call) or call.args or any(word.arg is None for word in call.keywords):
            raise ValueError
        return match[1], {str(word.arg): ast.literal_eval(word.value) for word in call.keywords}
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        hint = "expected parameters as in lpa(bound=3)"
        raise UserError(f"cannot read the parameters of {text!r}: {hint}") from None


def findings(
    asked: Sequence[AuditedVariant], options: Options | None = None, own: Sequence[Neighbours] | None = None
) -> Iterator[Finding]:
    """The findings about each, in order.

    own: the user's pairs, instead of random ones.
    """
    options = options or Options()
    for variant in asked:
        finding, fitting = None, None
        if own is not None:
            fitting, refusal = _fitting(variant, own)
            if not fitting:
                yield dataclasses.replace(by_test(variant, options, []), reason=refusal)
                continue
        if options.delta is None or variant.guarantee:
            finding = _by_replay(variant, options, fitting)
        if finding is None:
            why = cannot_replay(variant.mechanism) or _bypassing(variant) or "its noise bypasses `noise`"
            finding = _with_reason(by_test(variant, options, fitting), why)
        elif finding.verdict == "violated" and not finding.followed and is_foreign(type(variant.written)):
            finding = _confirmed(variant, options, finding, fitting)
        yield finding


def _with_reason(tested: Finding, why: str) -> Finding:
    """An inconclusive test says why nothing better was possible."""
    return tested if tested.verdict != "inconclusive" else dataclasses.replace(tested, reason=f"{why}; {tested.reason}")


def _confirmed(
    variant: AuditedVariant, options: Options, replayed: Finding, own: Sequence[Neighbours] | None
) -> Finding:
    """A user's class may be private in a way that replay cannot follow: its releases decide."""
    options = dataclasses.replace(options, epsilon=replayed.epsilon)
    released = dataclasses.replace(variant, mechanism=InForm(variant.mechanism, replayed.forms.split(", ")[-1]))
    if own is None:
        own = list(fitting_pairs(variant.mechanism, options.pairs or TESTED, options.seed))
    tested = by_test(released, options, own)
    tested = dataclasses.replace(tested, parameters=replayed.parameters)
    if tested.verdict == "violated":
        return dataclasses.replace(tested, reason=f"{replayed.reason}; {tested.reason}")
    why = _bypassing(variant) or f"{replayed.step}: {replayed.reason}"
    return _with_reason(tested, f"replay cannot follow it ({why})")


def _bypassing(variant: AuditedVariant) -> str:
    """What a class drew without being recorded; empty if nothing."""
    drawn = list(getattr(variant.mechanism, "unrecorded", ()))
    return f"what {' and '.join(drawn)} draws is not recorded" if drawn else ""


def _fitting(variant: AuditedVariant, own: Sequence[Neighbours]) -> tuple[list[Neighbours], str]:
    """The pairs that fit a mechanism, and why the last of the others does not."""
    mechanism, refusal = variant.mechanism, ""
    fitting = []
    for pair in own:
        if fit(mechanism, pair.before) and fit(mechanism, pair.after):
            fitting.append(pair)
        else:
            refusal = mechanism.unfit(pair.before) or mechanism.unfit(pair.after)
    return fitting, refusal


def _by_replay(variant: AuditedVariant, options: Options, own: Sequence[Neighbours] | None) -> Finding | None:
    count = options.pairs or (len(ROW_SHAPES) if variant.further else max(LEAST, PAIRS // variant.share))
    count *= SEVERAL if options.thorough and not options.pairs else 1
    return audit_by_replay(
        variant.mechanism,
        options.epsilon,
        0 if own is not None else count,
        options.seed,
        name=variant.name,
        own=tuple(own or ()),
        depth=options.depth(variant),
    )


def by_test(variant: AuditedVariant, options: Options, own: Sequence[Neighbours] | None = None) -> Finding:
    """The finding of the sequential test, which sees only releases."""
    mechanism = variant.mechanism
    guarantee = variant.guarantee or ("(ε, δ)" if options.delta else "ε")
    stated = getattr(mechanism, "delta", options.delta) if guarantee == "(ε, δ)" else 0.0
    delta = float(stated or 0.0)
    tried = own if own is not None else list(fitting_pairs(mechanism, options.pairs or TESTED, options.seed))
    tested = sequential_test(
        mechanism,
        tried,
        epsilon=options.epsilon,
        delta=delta,
        alpha=ALPHA,
        draws=TEST_DRAWS * (SEVERAL if options.thorough else 1),
        seconds=options.seconds or SECONDS * (SEVERAL if options.thorough else 1),
        seed=options.seed,
    )
    verdict: AuditVerdict = "inconclusive"
    reason = tested.reason
    if tested.rejected:
        public = variant.declared or guarantee == "none"
        verdict, reason = ("declared not private", variant.declared) if public else ("violated", tested.reason)
    return Finding(
        mechanism=variant.name,
        parameters=", ".join(f"{key}={value}" for key, value in parameters(mechanism).items()),
        method="sequential test",
        guarantee=guarantee,
        epsilon=options.epsilon,
        delta=delta,
        loss=tested.loss,
        verdict=verdict,
        pairs=tested.pairs if tested.draws else 0,
        pair=tested.pair if tested.loss > 0 else "",
        step=tested.event if tested.loss > 0 else "",
        reason=reason,
        seconds=tested.seconds,
    )
