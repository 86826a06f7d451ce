"""Sealed texts: whatever happens to the file is seen, or has changed nothing."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from dpbench.storage.seals import Broken, checked, decode, plain, seal, text_digest, unseal

RUN: dict[str, Any] = {
    "title": "Error for ε in 0.1 … 1.0",
    "epsilon": [0.1, 1.0, 1, 1e-300, float("inf"), -0.0],
    "settings": [{"key": f"{i:032x}", "mechanism": "gs", "params": {"w": i, "on": i % 2 == 0}} for i in range(40)],
    "environment": {"commit": None, "versions": {"numpy": "2.4.6", "": 'a "quoted" \\ name\n\x00'}},
}
META: dict[str, Any] = {
    "kind": "incidence",
    "scalars": {"columns": 1000, "labels": ["a", "b", "seal"]},
    "arrays": {"indptr": "00ff", "indices": "ff00"},
    "files": [],
}
DOCUMENTS: tuple[dict[str, Any], ...] = (RUN, META, {}, {"one": 1.0}, {"deep": [[[{"seal": {"seal": "x"}}]]]})


def damaged(text: bytes, rng: random.Random) -> bytes:
    """The text after one random accident."""
    at = rng.randrange(len(text))
    kind = rng.choice(("flip", "replace", "cut", "insert", "append", "remove", "double", "lines"))
    if kind == "flip":
        return text[:at] + bytes([text[at] ^ (1 << rng.randrange(8))]) + text[at + 1 :]
    if kind == "replace":
        return (
            text[:at] + bytes([rng.choice((rng.randrange(256), rng.choice(b'0123456789,:"{}[] \n')))]) + text[at + 1 :]
        )
    if kind == "cut":
        return text[:at]
    if kind == "insert":
        return text[:at] + rng.choice((b" ", b"\n", b"0", b".0", b",", b'"x": 1, ', b"\x00", b"\xff")) + text[at:]
    if kind == "append":
        return text + rng.choice((b" ", b"\n", b"{}", text, b"\x00"))
    length = rng.randrange(1, 40)
    if kind == "remove":
        return text[:at] + text[at + length :]
    if kind == "double":
        return text[: at + length] + text[at:]
    lines = text.splitlines(keepends=True)
    first, second = rng.randrange(len(lines)), rng.randrange(len(lines))
    lines[first], lines[second] = lines[second], lines[first]
    return b"".join(lines)


def silent(read: Any, write: Any, times: int = 10_000) -> int:
    """How many of the random accidents gave another body without being noticed."""
    rng, found = random.Random(11), 0
    for number in range(times):
        body = DOCUMENTS[number % len(DOCUMENTS)]
        text = write(body).encode()
        try:
            again = read(damaged(text, rng))
        except Broken:
            continue
        found += json.dumps(again) != json.dumps(json.loads(json.dumps(body)))
    return found


def test_no_accident_is_silent() -> None:
    """No false alarm is possible: an accident that changes nothing (a swap of a line with itself) is no accident."""
    assert silent(unseal, seal) == 0


def test_the_accidents_would_be_silent_without_a_seal() -> None:
    def plain(text: bytes) -> Any:
        try:
            return json.loads(text)
        except ValueError as error:
            raise Broken from error

    assert silent(plain, lambda body: json.dumps(body, indent=1), times=1000) > 50


def test_every_single_byte_counts() -> None:
    text = seal(META).encode()
    for at in range(len(text)):
        for value in {0, 32, 48, 49, 255, text[at] ^ 1, text[at] ^ 32, text[at] ^ 128} - {text[at]}:
            with pytest.raises(Broken):
                unseal(text[:at] + bytes([value]) + text[at + 1 :])
        with pytest.raises(Broken):
            unseal(text[:at])


@pytest.mark.parametrize("body", DOCUMENTS)
def test_there_and_back(body: dict[str, Any]) -> None:
    text = seal(body)
    assert json.dumps(unseal(text)) == json.dumps(body)
    assert unseal(text.encode()) == unseal(text)
    assert text == seal(json.loads(json.dumps(body))) == seal(unseal(text))
    assert text.isascii()
    assert list(json.loads(text))[-1] == "seal"


def test_it_is_readable() -> None:
    assert seal({"a": 1, "b": [2.0]}).startswith('{\n "a": 1,\n "b": [\n  2.0\n ],\n "seal": "')


def sealed(text: str) -> str:
    """Any text that ends like an object, sealed properly, as anybody can."""
    return f'{text[:-2]},\n "seal": "{text_digest(text)}"\n}}\n'


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "does not end with its checksum"),
        ("[]", "does not end with its checksum"),
        ("{}", "does not end with its checksum"),
        ('{"seal": "0", "a": 1}', "does not end with its checksum"),
        (seal({"a": 1}).replace(" 1,", " 1.0,"), "checksum does not match"),
        (sealed('{\n "a": 1,\n "a": 1\n}'), "a key occurs twice"),
        (seal({"a": 1}) + " ", "does not end with its checksum"),
        (" " + seal({"a": 1}), "checksum does not match"),
        (seal({"a": 1}) * 2, "checksum does not match"),
        (sealed('{\n "a": ' + "[" * 100_000 + "]" * 100_000 + "\n}"), "cannot be read"),
    ],
)
def test_the_reason_is_given(text: str, reason: str) -> None:
    with pytest.raises(Broken, match=reason):
        unseal(text)


def test_what_would_not_come_back_is_refused() -> None:
    with pytest.raises(TypeError, match="key 1 is not a string"):
        seal({"a": [{1: 2}]})
    with pytest.raises(ValueError, match="taken by the checksum"):
        seal({"seal": 1})


# Typed content


@dataclass(frozen=True)
class Part:
    name: str
    weights: Mapping[str, int | float] = field(default_factory=dict)


@dataclass(frozen=True)
class Whole:
    count: int
    share: float
    parts: tuple[Part, ...]
    pairs: tuple[tuple[str, str], ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    limit: int | None = None
    folder: Path = field(default=Path("here"), metadata={"stored": False})


WHOLE = Whole(3, 0.5, (Part("ε"), Part("b", {"x": 1, "y": 2.5})), (("a", "b"),), {"deep": [1, {"k": None}]}, 7)


def changed(change: Callable[[dict[str, Any]], object], **options: bool) -> Whole:
    body = plain(WHOLE)
    change(body)
    return decode(Whole, checked(seal(body)), **options)


def test_what_is_stored_comes_back_with_its_types() -> None:
    back = changed(lambda body: None)
    assert back == WHOLE
    assert [type(x) for x in back.parts[1].weights.values()] == [int, float]
    assert back.folder == Path("here")
    assert repr(back) == repr(WHOLE)


WRONG: dict[str, Callable[[dict[str, Any]], object]] = {
    "count: Field required": lambda body: body.pop("count"),
    "limit: Field required": lambda body: body.pop("limit"),
    "parts.0.weights: Field required": lambda body: body["parts"][0].pop("weights"),
    "more: Unexpected": lambda body: body.update(more=1),
    "folder: Unexpected": lambda body: body.update(folder="/tmp"),
    "parts.1.more: Unexpected": lambda body: body["parts"][1].update(more=1),
    "count: Input should be a valid integer": lambda body: body.update(count="3"),
    "count: Input should be a valid integer ": lambda body: body.update(count=True),
    "count: Input should be a valid integer  ": lambda body: body.update(count=3.0),
    "share: Input should be a valid number": lambda body: body.update(share="0.5"),
    "limit: Input should be a valid integer": lambda body: body.update(limit="7"),
    "pairs.0": lambda body: body.update(pairs=[["a", "b", "c"]]),
    "parts: Input should be": lambda body: body.update(parts="ab"),
    "parts.0: Input should be an object": lambda body: body.update(parts=["a"]),
    "parts.0.weights.x": lambda body: body["parts"][0].update(weights={"x": "many"}),
}


@pytest.mark.parametrize("reason", WRONG)
def test_other_content_is_refused(reason: str) -> None:
    with pytest.raises(Broken, match=reason.strip()):
        changed(WRONG[reason])


def test_fields_that_an_earlier_version_lacks() -> None:
    def older(body: dict[str, Any]) -> None:
        del body["limit"], body["parts"][1]["weights"]

    back = changed(older, defaults=True)
    assert (back.limit, back.parts[1].weights) == (None, {})
    with pytest.raises(Broken, match="share: Field required"):
        changed(lambda body: body.pop("share"), defaults=True)
    with pytest.raises(Broken, match="more: Unexpected"):
        changed(lambda body: body.update(more=1), defaults=True)


def test_control_characters_are_replaced() -> None:
    """In values and in keys; tabs, lines, backslashes and characters of two halves stay."""
    for text, shown in {
        "a\x1b[2J\x00\x7f\x9b\r": "a?[2J????",
        "tab\t line\n": "tab\t line\n",
        "\ud800 \udc00\ud800": "? ??",
        "\U0001f600ε": "\U0001f600ε",
        "\\u001b \\\\u001b \\\x1b \\r": "\\u001b \\\\u001b \\? \\r",
    }.items():
        back = changed(lambda body, text=text: body.update(options={text: [{text: text}]}))
        assert back.options == {shown: [{shown: shown}]}


def test_deep_nesting_is_refused() -> None:
    text = json.dumps(plain(WHOLE)).replace('"deep": [', '"deep": [' + "[" * 100_000 + "]" * 100_000 + ",")
    with pytest.raises(Broken, match=r"recursion|too long"):
        decode(Whole, text)
