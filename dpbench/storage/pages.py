"""The pages of a column in a Parquet file: whether they hold its values as they are. Imported by the store.

Parquet can store a long word once and repeat it by a few bits, and its footer need not say so. Arrow follows the header of each
page, so these are read here: a struct in Thrift's compact protocol, of which only whole numbers matter.
"""

from __future__ import annotations

from typing import Any

TYPE, SIZE, DATA_PAGE = 1, 3, 5  # fields of a page header
ENCODING = 2  # field of a data page header
_STRUCT, _STOP = 12, 0


def are_plain_pages(content: bytes, column: Any) -> bool:
    """Whether all pages of a column, by its entry in the footer, are data pages in plain encoding."""
    offset, end = column.data_page_offset, column.data_page_offset + column.total_compressed_size
    try:
        while 0 <= offset < end <= len(content):
            header, offset = _struct(content, offset)
            page = header.get(DATA_PAGE)
            if header[TYPE] != 0 or not isinstance(page, dict) or page[ENCODING] != 0 or header[SIZE] <= 0:
                return False
            offset += header[SIZE]
    except (KeyError, IndexError, TypeError, ValueError):
        return False
    return bool(offset == end)


def _struct(content: bytes, offset: int, depth: int = 0) -> tuple[dict[int, Any], int]:
    """The numbers and structs in a struct by field, and where it ends. ValueError for what a page header does not hold."""
    fields: dict[int, Any] = {}
    number = 0
    while content[offset] != _STOP:
        step, kind = content[offset] >> 4, content[offset] & 15
        offset += 1
        if not step or depth > 2:
            raise ValueError("not a page header")
        number += step
        if kind in (1, 2):  # true and false are in the kind itself
            fields[number] = kind == 1
        elif kind in (4, 5, 6):
            fields[number], offset = _whole_number(content, offset)
        elif kind == 8:  # bytes
            length, offset = _varint(content, offset)
            offset += length
        elif kind == _STRUCT:
            fields[number], offset = _struct(content, offset, depth + 1)
        else:
            raise ValueError("not a page header")
    return fields, offset + 1


def _whole_number(content: bytes, offset: int) -> tuple[int, int]:
    value, offset = _varint(content, offset)
    return (value >> 1) ^ -(value & 1), offset


def _varint(content: bytes, offset: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        value |= (content[offset] & 127) << shift
        offset += 1
        if content[offset - 1] < 128:
            return value, offset
    raise ValueError("not a number")
