"""The ledger of claims: what the papers say, as data. One YAML per paper in conf/claims. Reads no results.

A claim names its experiment, a measure over the results (`expression.py`) and what the paper expects. A claim about privacy
names an audit instead (`replays.py`). A claim about a lemma or a formula names a computation
(`formulas.py`). Both need no results.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dpbench import documents
from dpbench.claims.expression import parse
from dpbench.claims.formulas import COMPUTATIONS
from dpbench.claims.replays import BadAudit, read_audit
from dpbench.claims.scope import choices
from dpbench.config import catalogue
from dpbench.config.dataset_entry import SCALES
from dpbench.errors import UserError, one_of, unknown
from dpbench.model.claim import BASES, Claim, alternatives

# Keys of a claim about runs, with their defaults: they have no effect together with an audit or a computation.
_RUNS: dict[str, Any] = {
    "experiment": "",
    "scale": "smoke",
    "where": {},
    "each": (),
    "some": (),
    "measure": "",
    "numbers": {},
    "original": "",
    "exact": False,
    "made": False,
    "untestable": "",
    "certain": (),
    "also": (),
    "also_where": {},
}


def check(claim: Claim) -> None:
    """Raises UserError if parts of a claim are wrong or do not go together."""
    one_of(f"claim {claim.id}: basis", claim.basis, BASES)
    one_of(f"claim {claim.id}: scale", claim.scale, SCALES)
    _check_where(claim, "where", claim.where)
    _check_where(claim, "also_where", claim.also_where)
    if claim.also_where and not claim.also:
        raise UserError(f"claim {claim.id}: also_where has no effect without `also`")
    for number, value in claim.numbers.items():
        if not isinstance(value, int | float) or isinstance(value, bool) or not abs(value) < 1e300:
            raise UserError(f"claim {claim.id}: numbers: {number}={value!r} is not valid: expected a number")
    if claim.each and claim.some:
        raise UserError(f"claim {claim.id}: give `each` or `some`, not both")
    if claim.audit is not None or claim.compute:
        beside = "audit" if claim.audit is not None else "compute"
        if beside == "compute" and claim.compute not in COMPUTATIONS:
            raise UserError(f"claim {claim.id}: {unknown('computation', claim.compute, COMPUTATIONS)}")
        if idle := [key for key, default in _RUNS.items() if getattr(claim, key) != default]:
            raise UserError(f"claim {claim.id}: {idle[0]} has no effect beside `{beside}`")
        if not claim.expect:
            raise UserError(f"claim {claim.id}: needs `expect` beside `{beside}`")
        _ = claim.region
    elif not claim.untestable:
        if not claim.measure or not claim.expect:
            raise UserError(f"claim {claim.id}: needs `measure` and `expect`, or `untestable` with the reason")
        _ = claim.region
        try:
            parse(claim.measure)
        except UserError as error:
            raise UserError(f"claim {claim.id}: {error}") from None


def _check_where(claim: Claim, key: str, given: Any) -> None:
    for choice in alternatives(given):
        if not isinstance(choice, Mapping):
            raise UserError(f"claim {claim.id}: {key}={given!r} is not valid: expected labels, or a list of such")
        for label, wanted in choice.items():
            if not all(value is None or isinstance(value, str | int | float) for value in choices(wanted)):
                raise UserError(f"claim {claim.id}: {key} {label}={wanted!r} is not valid: expected words or numbers")


def ledger(papers: list[str] | None = None, folder: Path | None = None) -> list[Claim]:
    """All claims of some papers (default: all, and the user's own), in the order of their files."""
    files = catalogue.claims(folder)
    for paper in papers or []:
        if paper not in files:
            raise unknown("paper", paper, files)
    claims = []
    for paper, path in files.items():
        if not papers or paper in papers:
            document = documents.read(path)
            if not isinstance(document.body, dict):
                raise UserError(f"{path}: expected claims by name")
            claims += [_claim(paper, str(name), entry, document) for name, entry in document.body.items()]
    _check_references(claims)
    return claims


def _check_references(claims: Sequence[Claim]) -> None:
    """What a claim repeats must be there and be counted itself, or nobody would count the fact."""
    known = {claim.id: claim for claim in claims}
    papers = {claim.paper for claim in claims}
    for claim in claims:
        for key, name in (("copy_of", claim.copy_of), ("same_as", claim.same_as)):
            if not name or name.partition("/")[0] not in papers:
                continue
            if name not in known:
                raise UserError(f"claim {claim.id}: {key}: {unknown('claim', name, known)}")
            if not known[name].counted:
                raise UserError(f"claim {claim.id}: {key}={name} is not valid: expected a claim that is counted itself")


# The types of a claim's values; those not listed are text.
_TYPES: dict[str, tuple[type, ...]] = {
    "where": (dict, list),
    "also_where": (dict, list),
    "each": (str, list),
    "some": (str, list),
    "audit": (dict,),
    "numbers": (dict,),
    "exact": (bool,),
    "made": (bool,),
    "ours": (bool,),
    "set_after": (bool,),
    "certain": (str, list),
    "also": (str, list),
}
_EXPECTED = {dict: "keys and values", list: "a list", str: "a text", bool: "true or false"}


def _claim(paper: str, name: str, entry: Any, document: documents.Document) -> Claim:
    valid = [f.name for f in dataclasses.fields(Claim) if f.name not in ("id", "paper")]
    at = ""  # the key that is wrong, if known
    try:
        if not isinstance(entry, dict):
            raise UserError(f"{entry!r} is not a claim: expected {', '.join(valid[:2])} and so on")
        for at, value in entry.items():
            if at not in valid:
                raise unknown("key", at, valid)
            if not isinstance(value, _TYPES.get(at, (str,))):
                expected = " or ".join(_EXPECTED[kind] for kind in _TYPES.get(at, (str,)))
                raise UserError(f"{at}={value!r} is not valid: expected {expected}")
        at = ""
        if missing := [key for key in ("place", "says") if key not in entry]:
            raise UserError(f"needs `{'` and `'.join(missing)}`: where a paper says it, and what it says")
        given = dict(entry)
        if "audit" in given:
            given["audit"] = read_audit(given["audit"])
        for key in ("each", "some", "certain", "also"):
            value = given.get(key, [])
            given[key] = tuple(map(str, [value] if isinstance(value, str) else value))
        claim = Claim(id=f"{paper}/{name}", paper=paper, **given)
        check(claim)
        return claim
    except BadAudit as error:
        raise UserError(f"claim {paper}/{name}: {error} ({document.place(name, 'audit', error.key)})") from None
    except UserError as error:
        problem = str(error).removeprefix(f"claim {paper}/{name}: ")
        at = at or next((key for key in valid if re.match(rf"(cannot read the )?{key}\b", problem)), "")
        raise UserError(f"claim {paper}/{name}: {problem} ({document.place(name, at)})") from None
