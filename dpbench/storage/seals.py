"""JSON files that reveal accidental damage, and their content as types: imported by whatever stores JSON.

The last key of a sealed file is a checksum of the rest. It finds damage, not forgery: anyone who can write the file can also
seal it. So a file that may come from somebody else is read by `decode`: every field must be present and of its type, there is no
other field, and control characters, which could affect a terminal, are replaced. Nothing named in it is imported, called or
opened.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

if TYPE_CHECKING:
    from pydantic_core import SchemaValidator

KEY = "seal"
T = TypeVar("T")
_END = re.compile(rf'(,?)\n "{KEY}": "([0-9a-f]{{32}})"\n}}\n\Z')
# Escapes of control characters other than tab and newline, of marks that change the order in which letters are shown, and of half
# a surrogate pair, in JSON. The first group is left as it is: an escaped backslash is no escape, a whole pair one character.
_CONTROL = re.compile(
    r"(\\\\|\\u[dD][89aAbB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})"
    r"|\\[bfr]|\\u00(?:0[0-8b-fB-F]|1[0-9a-fA-F]|7[fF]|[89][0-9a-fA-F])"
    r"|\\u20(?:0[eEfF]|2[89a-eA-E]|6[6-9])|\\u[dD][89a-fA-F][0-9a-fA-F]{2}|\x7f"
)
# A number that is no float, or a text that no table or figure can show. JSON has no line breaks in texts.
_EXCESS = re.compile(r'\d{300}|[^"\n]{20000}')


class Broken(ValueError):
    """A sealed file is not what was sealed, or not what was expected. The message says what is wrong."""


def seal(body: Mapping[str, Any]) -> str:
    """`body` as JSON text, indented for people, with its checksum under the last key.

    The order of the keys is kept and is part of the checksum. All keys must be strings, the values plain JSON; tuples
    come back as lists. The text is ASCII, so no encoding can change it.
    """
    _check_keys(body)
    if KEY in body:
        raise ValueError(f"the key {KEY!r} is taken by the checksum")
    text = json.dumps(body, indent=1)
    return f'{text[:-1].rstrip(chr(10))}{"," if body else ""}\n "{KEY}": "{text_digest(text)}"\n}}\n'


def unseal(content: str | bytes) -> dict[str, Any]:
    """The body of a sealed file. Raises Broken unless it is, byte for byte, what `seal` wrote."""
    text = checked(content)
    try:
        body = json.loads(text, object_pairs_hook=_without_repetition)
    except (ValueError, RecursionError) as error:
        raise Broken(f"it cannot be read ({error})" if str(error) else "it cannot be read") from None
    return cast(dict[str, Any], body)


def checked(content: str | bytes) -> str:
    """The JSON text of a sealed file without its checksum. Raises Broken if the checksum does not match.

    Pass the bytes of the file: decoding it first may hide damage or raise an error of its own.
    """
    try:
        text = content.decode("ascii") if isinstance(content, bytes) else content
    except UnicodeDecodeError as error:
        raise Broken(f"it cannot be read ({error})") from None
    end = _END.search(text, max(0, len(text) - 60))
    if end is None:
        raise Broken("it does not end with its checksum")
    body = text[: end.start()] + ("\n}" if end[1] else "}")
    if end[2] != text_digest(body):
        raise Broken("its checksum does not match")
    return body


def text_digest(text: str) -> str:
    """The hexadecimal digest of a text, as UTF-8."""
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def _without_repetition(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    body = dict(pairs)
    if len(body) < len(pairs):
        raise ValueError("a key occurs twice")
    return body


def _check_keys(value: Any) -> None:
    """Require string keys: JSON would turn others into strings, so that two keys could become one."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            if not isinstance(key, str):
                raise TypeError(f"the key {key!r} is not a string")
            _check_keys(item)
    elif isinstance(value, list | tuple):
        for item in value:
            _check_keys(item)


# Dataclasses.


def plain(value: Any) -> Any:
    """A value in JSON form: dataclasses as objects, tuples as lists. Fields with the metadata `stored: False` are left out."""
    if dataclasses.is_dataclass(value):
        return {name: plain(getattr(value, name)) for name in _stored(value.__class__)}
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, list | tuple) else value


def decode(cls: type[T], text: str, *, defaults: bool = False) -> T:
    """A dataclass from the JSON text that `checked` returned. Raises Broken if a field is missing, unknown or of another type.

    `defaults`: a field that has a default may be missing, as in files of earlier versions.
    """
    from pydantic import ValidationError

    if _EXCESS.search(text):
        raise Broken("it holds a number or a text that is far too long")
    text = _CONTROL.sub(lambda match: match[1] or "?", text)
    try:
        instance: T = _validator(cast(Any, cls), defaults).validate_json(text, strict=True)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"]))[:200]
        raise Broken(f"{where or cls.__name__}: {first['msg'][:200]}") from None
    return instance


@functools.cache
def _validator(cls: Any, defaults: bool) -> SchemaValidator:
    # Not at the top: importing pydantic takes a tenth of a second, and most commands read no such file.
    from pydantic import TypeAdapter
    from pydantic_core import SchemaValidator

    return SchemaValidator(_restricted(TypeAdapter(cls).core_schema, defaults))


def _restricted(schema: Any, defaults: bool) -> Any:
    """A schema of pydantic in strict mode, with stored fields only, no others allowed and, unless `defaults`, all required."""
    if isinstance(schema, list):
        return [_restricted(part, defaults) for part in schema]
    if not isinstance(schema, dict):
        return schema
    schema = {name: _restricted(part, defaults) for name, part in schema.items()}
    if schema.get("type") == "dataclass":
        fields = schema["schema"]["fields"]
        schema["config"] = {"strict": True, "extra_fields_behavior": "forbid"}
        schema["fields"] = [*_stored(schema["cls"])]
        schema["schema"]["fields"] = [field for field in fields if field["name"] in schema["fields"]]
    if schema.get("type") == "dataclass-field" and schema["schema"]["type"] == "default" and not defaults:
        schema["schema"] = schema["schema"]["schema"]
    return schema


@functools.cache
def _stored(cls: Any) -> tuple[str, ...]:
    return tuple(field.name for field in dataclasses.fields(cls) if field.metadata.get("stored", True))
