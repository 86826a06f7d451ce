"""Sealed texts: whatever happens to the file is seen, or has changed nothing."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from dpbench.errors import UserError
from dpbench.seals import Broken, file_digest, files_digest, seal, unseal

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


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "cannot be read"),
        ("[]", "not a JSON object"),
        ("{}", "does not end with its checksum"),
        ('{"seal": "0", "a": 1}', "does not end with its checksum"),
        (seal({"a": 1}).replace(" 1,", " 1.0,"), "checksum does not match"),
        (seal({"a": 1}).replace(' "a"', ' "a": 1,\n "a"'), "a key occurs twice"),
        (seal({"a": 1}) + " ", "before or after"),
        (" " + seal({"a": 1}), "checksum does not match"),
        (seal({"a": 1}) * 2, "cannot be read"),
        ("[" * 100_000, "cannot be read"),
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


def test_digests_of_files(tmp_path: Path) -> None:
    one, two, folder = tmp_path / "one", tmp_path / "two", tmp_path / "folder"
    folder.mkdir()
    one.write_bytes(b"1")
    two.write_bytes(b"2")
    (folder / "three").write_bytes(b"3")
    assert len(file_digest(one)) == 32
    before = files_digest([one, str(two), folder])
    assert before == files_digest([one, two, folder])
    assert before != files_digest([two, one, folder])
    copy = tmp_path / "copy"
    copy.write_bytes(b"1")
    assert before == files_digest([copy, two, folder])
    (folder / "three").rename(folder / "four")
    assert before != files_digest([one, two, folder])
    with pytest.raises(UserError, match="missing: cannot be read: No such file"):
        files_digest([tmp_path / "missing"])
