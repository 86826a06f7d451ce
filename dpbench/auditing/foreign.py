"""What a class from outside dpbench brings along that an audit would otherwise have to believe. Imported by the audit.

Our own hooks are part of the code that is tested: `stepwise` states an equal distribution, `unfit` and `refusal` say which data
a mechanism takes. A class outside dpbench may say anything there, so each of its answers is compared on both neighbours, or
named in the verdict.
"""

from __future__ import annotations

from typing import Any

from dpbench.mechanisms.base import Mechanism

PACKAGE = "dpbench"
ANSWERS = ("unfit", "refusal")
"""Hooks whose answer is an output: it is shown to whoever asks for a release."""


def is_foreign(cls: type) -> bool:
    return cls.__module__.partition(".")[0] != PACKAGE


def overrides(mechanism: Any, hook: str) -> bool:
    """Whether a hook is defined by a class outside dpbench."""
    owner = next((cls for cls in type(mechanism).__mro__ if hook in vars(cls)), None)
    return owner is not None and is_foreign(owner)


def fit(mechanism: Any, data: Any) -> bool:
    """Whether data is in the domain of a mechanism, as far as our classes say: that is public."""
    for cls in type(mechanism).__mro__:
        if "unfit" in vars(cls) and not is_foreign(cls):
            return not vars(cls)["unfit"](mechanism, data)
    return True


def answers(mechanism: Any, data: Any, epsilon: float) -> dict[str, str]:
    """What the hooks answer that a class outside dpbench defines."""
    given = {"unfit": (data,), "refusal": (data, epsilon)}
    return {hook: _answer(mechanism, hook, *given[hook]) for hook in ANSWERS if overrides(mechanism, hook)}


def _answer(mechanism: Any, hook: str, *given: Any) -> str:
    try:
        return str(getattr(mechanism, hook)(*given))
    except Exception as error:  # whoever asks for a release sees this as well
        return f"{type(error).__name__}: {error}"


def differing(mechanism: Any, before: Any, after: Any, epsilon: float) -> tuple[str, str]:
    """The hook that answers differently on neighbours, and how; empty if none does."""
    one, other = answers(mechanism, before, epsilon), answers(mechanism, after, epsilon)
    if overrides(mechanism, "zcdp"):  # it decides which ε a budget of zCDP buys
        one["zcdp"], other["zcdp"] = (_answer(mechanism, "zcdp", data, epsilon) for data in (before, after))
    for hook in one:
        if one[hook] != other[hook]:
            texts = " and ".join(repr(text) if text else "nothing" for text in (one[hook], other[hook]))
            return hook, f"`{hook}` answers {texts}"
    return "", ""


def believed(mechanism: Any) -> list[str]:
    """What cannot be followed in a class: what it states and no step shows."""
    found = []
    if isinstance(mechanism, Mechanism) and overrides(mechanism, "stepwise"):
        found.append("its own `stepwise`, which is not used: it is audited as it is released")
    found += [f"what {name} draws, which is not recorded" for name in getattr(mechanism, "unrecorded", ())]
    return found
