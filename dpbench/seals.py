"""Text files that reveal accidental damage: JSON whose last key is a checksum of the rest. Also digests of files.

A seal finds damage, not forgery: anyone who can write the file can also seal it. Imported by whatever stores files (the
cache of datasets, the results); of ours it imports only errors.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from dpbench.errors import UserError

KEY = "seal"
SIZE = 16  # bytes of every digest here


class Broken(ValueError):
    """A sealed text is not what was sealed. The message says how this was detected."""


def seal(body: Mapping[str, Any]) -> str:
    """`body` as JSON text, indented for people, with its checksum under the last key.

    The order of the keys is kept and is part of the checksum. All keys must be strings, the values plain JSON; tuples
    come back as lists. The text is ASCII, so no encoding can change it.
    """
    _check(body)
    if KEY in body:
        raise ValueError(f"the key {KEY!r} is taken by the checksum")
    text = json.dumps(body, indent=1)
    return _joined(text[:-1].rstrip("\n"), text_digest(text), bool(body))


def unseal(text: str | bytes) -> dict[str, Any]:
    """The body of a sealed text. Raises Broken unless it is, byte for byte, what `seal` wrote.

    Pass the bytes of the file: decoding it first may hide damage or raise an error of its own.
    """
    try:
        text = text.decode("ascii") if isinstance(text, bytes) else text
        body = json.loads(text, object_pairs_hook=_pairs)
    except (ValueError, RecursionError) as error:
        raise Broken(f"it cannot be read ({error})" if str(error) else "it cannot be read") from None
    if not isinstance(body, dict):
        raise Broken("it is not a JSON object")
    if not body or next(reversed(body)) != KEY:
        raise Broken("it does not end with its checksum")
    told = body.pop(KEY)
    # The text itself is compared, not its parsed value: 1.0 is not 1, and no space may be added.
    head, mark, _ = text.rpartition(f'{"," if body else ""}\n "{KEY}":')
    found = text_digest(head + ("\n}" if body else "}"))
    if not mark or told != found:
        raise Broken("its checksum does not match")
    if text != _joined(head, found, bool(body)):
        raise Broken("there is extra text before or after it")
    return body


def file_digest(path: str | os.PathLike[str]) -> str:
    """The hexadecimal digest of a file's bytes."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=SIZE)).hexdigest()


def text_digest(text: str) -> str:
    """The hexadecimal digest of a text, as UTF-8."""
    return hashlib.blake2b(text.encode(), digest_size=SIZE).hexdigest()


def files_digest(paths: Iterable[str | os.PathLike[str]]) -> str:
    """One digest of the content of several files, in the order given. A folder counts with all its files and their names.

    The location of the files does not matter: the same content elsewhere has the same digest.
    """
    parts: list[Any] = []
    for given in paths:
        path = Path(given).expanduser()
        try:
            if path.is_dir():
                inside = sorted(file for file in path.rglob("*") if file.is_file())
                parts.append([[file.relative_to(path).as_posix(), file_digest(file)] for file in inside])
            else:
                parts.append(file_digest(path))
        except OSError as error:
            raise UserError(f"{path}: cannot be read: {error.strerror}: expected a file or a folder") from None
    return text_digest(json.dumps(parts))


def _joined(head: str, checksum: str, filled: bool) -> str:
    return f'{head}{"," if filled else ""}\n "{KEY}": "{checksum}"\n}}\n'


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key occurs twice")
    return found


def _check(value: Any) -> None:
    """Require string keys: JSON would turn others into strings, so that two keys could become one."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            if not isinstance(key, str):
                raise TypeError(f"the key {key!r} is not a string")
            _check(item)
    elif isinstance(value, list | tuple):
        for item in value:
            _check(item)
