"""Text to numbers: parse lines of separated fields or of integers, with one verdict per line, and parse times.

One pass over the bytes that neither stops at a bad line nor guesses: the caller learns which line failed, in which
field and why. Works on bytes only; `dpbench.sources.parsing` turns verdicts into messages. On one core it is as fast as
pyarrow's CSV reader and faster than pandas', neither of which names the bad line or reads lines of any length.
"""

from __future__ import annotations

import numpy as np

from dpbench.numerics.compiled import kernel

# Kinds of fields: whole numbers are values, texts are spans, decimals are checked but not kept.
ANYTHING, WHOLE, DECIMAL, TEXT = range(4)
# Verdicts on a line. A stored verdict is the verdict * FIELDS + the number of the field.
GOOD, BLANK, HEADING, FEW, MANY, NOT_NUMBER, OUT_OF_RANGE, NO_TEXT, NOT_TIME, NOT_LONG = range(10)
FIELDS = 64
HEAD = FIELDS - 1  # the field number that marks a bad heading
LENGTH_BITS = 20  # a span is start << LENGTH_BITS | length

_SPACE, _RETURN, _NEWLINE, _TAB, _PLUS, _MINUS, _POINT, _ZERO, _NINE, _E, _SMALL_E = b" \r\n\t+-.09Ee"


@kernel()
def _past_blanks(buffer, i):  # type: ignore[no-untyped-def]
    """The first position from `i` on that holds neither a space nor a carriage return."""
    while buffer[i] == _SPACE or buffer[i] == _RETURN:
        i += 1
    return i


@kernel()
def parse_fields(  # type: ignore[no-untyped-def]
    buffer, separator, wide, kinds, slots, lows, highs, lengths, heading, values, verdicts
):
    """Parse all lines of `buffer`, which ends with a newline, into `values[slot, line]`; returns the number of lines.

    Fields are separated by the byte `separator`, repeated `wide` times; spaces around a field are ignored. Field f is of
    kind kinds[f] and is stored in row slots[f] of `values` (-1: not stored). Integers lie in lows[f]..highs[f] and have
    lengths[f] digits (0: any number). A line that consists of an integer and the byte `heading` (0: no headings) is a
    heading; its number goes to row 0. A bad line with that byte and without a separator is a bad heading: the field of its
    verdict is HEAD.
    """
    i, line, size, last = 0, 0, buffer.size, kinds.size - 1
    while i < size:
        i = _past_blanks(buffer, i)
        if buffer[i] == _NEWLINE:
            verdicts[line] = BLANK * FIELDS
            i += 1
            line += 1
            continue
        verdict, f = GOOD, 0
        while True:
            start, v = i, 0
            if kinds[f] == WHOLE:
                minus = buffer[i] == _MINUS
                if minus:
                    i += 1
                first = i
                while True:
                    c = buffer[i]
                    if c < _ZERO or c > _NINE:
                        break
                    v = v * 10 + (c - _ZERO)
                    i += 1
                if minus:
                    v = -v
                if i == first:
                    verdict = NOT_NUMBER
                elif lengths[f] != 0 and i - first != lengths[f]:
                    verdict = NOT_LONG
                elif i - first > 18 or v < lows[f] or v > highs[f]:
                    verdict = OUT_OF_RANGE  # decided after the rest is read: `12abc` is not a number at all
                stop, i = i, _past_blanks(buffer, i)
                if separator == _SPACE and i > stop and buffer[i] != _NEWLINE:
                    i -= 1  # the last of several spaces is the separator
                c = buffer[i]
                if c != _NEWLINE and c != separator and not (f == 0 and heading != 0 and c == heading):
                    verdict = NOT_NUMBER
            else:
                while buffer[i] != _NEWLINE and not (
                    buffer[i] == separator and (wide == 1 or buffer[i + 1] == separator)
                ):
                    i += 1
                stop = i
                while stop > start and (buffer[stop - 1] == _SPACE or buffer[stop - 1] == _RETURN):
                    stop -= 1
                if kinds[f] == TEXT:
                    v = (start << LENGTH_BITS) | (stop - start)
                    if stop == start or stop - start >= 1 << LENGTH_BITS:
                        verdict = NO_TEXT
                elif kinds[f] == DECIMAL:
                    # A sign, digits with at most one point among them, and perhaps an exponent.
                    at, digits = start, 0
                    if at < stop and (buffer[at] == _MINUS or buffer[at] == _PLUS):
                        at += 1
                    while at < stop and _ZERO <= buffer[at] <= _NINE:
                        at, digits = at + 1, digits + 1
                    if at < stop and buffer[at] == _POINT:
                        at += 1
                    while at < stop and _ZERO <= buffer[at] <= _NINE:
                        at, digits = at + 1, digits + 1
                    if digits > 0 and at < stop - 1 and (buffer[at] == _E or buffer[at] == _SMALL_E):
                        at += 1
                        if at < stop - 1 and (buffer[at] == _MINUS or buffer[at] == _PLUS):
                            at += 1
                        while at < stop and _ZERO <= buffer[at] <= _NINE:
                            at += 1
                    if digits == 0 or at < stop:
                        verdict = NOT_NUMBER
            if verdict == GOOD and slots[f] >= 0:
                values[slots[f], line] = v
            if f == 0 and heading != 0 and buffer[i] == heading:
                at = _past_blanks(buffer, i + 1)
                if buffer[at] == _NEWLINE:
                    i = at
                    if verdict == GOOD:
                        verdict = HEADING
                        values[0, line] = v
                    else:
                        f = HEAD
                    break
                verdict = NOT_NUMBER
            if verdict != GOOD:
                break
            if buffer[i] == _NEWLINE:
                if f < last:
                    verdict, f = FEW, f + 1
                break
            if f == last:
                verdict = MANY
                break
            if wide == 2 and buffer[i + 1] != separator:
                verdict = NOT_NUMBER
                break
            i += wide
            f += 1
            while buffer[i] == _SPACE:
                i += 1
        marked, apart = False, f > 0 or heading == 0 or verdict == GOOD
        while buffer[i] != _NEWLINE:
            marked |= buffer[i] == heading
            apart |= buffer[i] == separator
            i += 1
        verdicts[line] = verdict * FIELDS + (HEAD if marked and not apart else f)
        i += 1
        line += 1
    return line


@kernel()
def parse_lists(buffer, low, high, values, ends, verdicts):  # type: ignore[no-untyped-def]
    """Parse lines of integers separated by spaces or tabs, any number of them per line; returns the number of lines.

    `buffer` ends with a newline; a carriage return is allowed only at the end of a line. All numbers go to `values`; those
    of line i end at ends[i]; a bad line has none.
    """
    i, line, size, filled = 0, 0, buffer.size, 0
    while i < size:
        verdict, first = GOOD, filled
        while True:
            returned = False
            while buffer[i] == _SPACE or buffer[i] == _TAB or buffer[i] == _RETURN:
                returned |= buffer[i] == _RETURN
                i += 1
            if buffer[i] == _NEWLINE:
                break
            if returned:  # some systems end lines with it: two lines must not become one
                verdict = NOT_NUMBER
                break
            minus = buffer[i] == _MINUS
            if minus:
                i += 1
            start, v = i, 0
            while True:
                c = buffer[i]
                if c < _ZERO or c > _NINE:
                    break
                v = v * 10 + (c - _ZERO)
                i += 1
            if minus:
                v = -v
            c = buffer[i]
            if i == start or c not in (_SPACE, _TAB, _RETURN, _NEWLINE):
                verdict = NOT_NUMBER
                break
            if i - start > 18 or v < low or v > high:
                verdict = OUT_OF_RANGE
            values[filled] = v
            filled += 1
        while buffer[i] != _NEWLINE:
            i += 1
        if verdict != GOOD:
            filled = first
        ends[line] = filled
        verdicts[line] = verdict * FIELDS
        i += 1
        line += 1
    return line


def characters(buffer: np.ndarray, spans: np.ndarray, length: int) -> tuple[np.ndarray, np.ndarray]:
    """The bytes of all spans of this `length`, one row per span, and which spans these are."""
    fits = (spans & ((1 << LENGTH_BITS) - 1)) == length
    starts = np.where(fits, spans >> LENGTH_BITS, 0)
    places = np.minimum(starts[:, None] + np.arange(length), buffer.size - 1)
    return buffer[places], fits


def _digits(text: np.ndarray, start: int, number: int) -> tuple[np.ndarray, np.ndarray]:
    """The number in some columns of `text`, and which rows have digits only."""
    part = text[:, start : start + number].astype(np.int64) - _ZERO
    digits: np.ndarray = np.logical_and.reduce((part >= 0) & (part <= 9), axis=1)
    return part @ 10 ** np.arange(number - 1, -1, -1), digits


def _day_number(year: np.ndarray, month: np.ndarray, day: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Days since 1970-01-01, and which of these days exist."""
    months = ((year - 1970) * 12 + month - 1).astype("datetime64[M]")
    days = months.astype("datetime64[D]") + (day - 1)
    good = (month >= 1) & (month <= 12) & (day >= 1) & (year >= 1) & (days.astype("datetime64[M]") == months)
    return days.astype(np.int64), good


def _clock(text: np.ndarray, start: int) -> tuple[np.ndarray, np.ndarray]:
    """Seconds of HH:MM:SS from column `start` on, and which rows are such a time."""
    parts = [_digits(text, start + at, 2) for at in (0, 3, 6)]
    good = (text[:, start + 2] == 58) & (text[:, start + 5] == 58)
    for (value, digits), most in zip(parts, (23, 59, 59), strict=True):
        good &= digits & (value <= most)
    return parts[0][0] * 3600 + parts[1][0] * 60 + parts[2][0], good


def dates(buffer: np.ndarray, spans: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """YYYY-MM-DD as days since 1970-01-01, and which spans are such a date."""
    return _dates(*characters(buffer, spans, 10))


def _dates(text: np.ndarray, fits: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    (year, a), (month, b), (day, c) = _digits(text, 0, 4), _digits(text, 5, 2), _digits(text, 8, 2)
    days, good = _day_number(year, month, day)
    return days, good & fits & a & b & c & (text[:, 4] == _MINUS) & (text[:, 7] == _MINUS)


def times(buffer: np.ndarray, spans: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """YYYY-MM-DDTHH:MM:SSZ as seconds since 1970-01-01, and which spans are such a time."""
    text, fits = characters(buffer, spans, 20)
    days, good = _dates(text, fits)
    clock, right = _clock(text, 11)
    return days * 86400 + clock, good & right & (text[:, 10] == ord("T")) & (text[:, 19] == ord("Z"))


def long_times(buffer: np.ndarray, spans: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """`Sat Dec 15 00:13:02 +0000 2012` as seconds since 1970-01-01, and which spans are such a time."""
    text, fits = characters(buffer, spans, 30)
    month = np.argmax((text[:, None, 4:7] == _MONTHS).all(axis=2), axis=1) + 1
    (year, a), (day, b) = _digits(text, 26, 4), _digits(text, 8, 2)
    days, good = _day_number(year, month, day)
    clock, right = _clock(text, 11)
    good &= fits & right & a & b & (text[:, 4:7] == _MONTHS[month - 1]).all(axis=1)
    good &= (text[:, 19:26] == np.frombuffer(b" +0000 ", np.uint8)).all(axis=1)
    good &= (text[:, :3] == _WEEK[(days + 3) % 7]).all(axis=1)  # 1970-01-01 was a Thursday
    return days * 86400 + clock, good & (text[:, [3, 7, 10]] == _SPACE).all(axis=1)


def _letters(words: str) -> np.ndarray:
    """One row of three letters per word."""
    return np.array([list(word.encode()) for word in words.split()], dtype=np.uint8)


_MONTHS = _letters("Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec")
_WEEK = _letters("Mon Tue Wed Thu Fri Sat Sun")
