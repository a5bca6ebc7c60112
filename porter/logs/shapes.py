"""Lines that a program writes again and again, with other numbers: their shape is read once, and then only the numbers.

A line that fits no shape is read by the Reader, as every line would be; what it makes of it is the shape of the next ones.
"""

from __future__ import annotations

import re

from porter.logs.records import DATA, DAY, LONG, OF, SECONDS, STEP, Place, Reader, Reading, Record, number
from porter.regex import lazy

KEPT = 8  # shapes
_MORE = ("updt_s", "/it", "it/s", "scale to", "scale from")  # what the Reader makes more of than pairs
_NUMBER = r"(?:\d[\d.]*(?:[eE][-+]?\d+)?|nan|NaN|NAN|inf|Inf|INF)"
_VALUE = r"(?:\d{1,16}(?:\.\d{0,20})?(?:[eE][-+]?\d{1,3})?|nan|NaN|NAN|inf|Inf|INF)"
_DIGITS = r"\d[\d.]*(?:[eE][-+]?\d+)?"
_PLAIN = lazy(_VALUE)
_COUNT = r"\d{1,9}"
_TOKEN = lazy(rf"(?<![A-Za-z\d.]){_NUMBER}(?![A-Za-z\d.])|\d[\d.]*|\s+")


class Shape:
    """`fields`: of each group that counts, the kind, the name and the factor of a value, in the order of the line."""

    def __init__(self, text: str, places: list[Place]) -> None:
        starts = {place.start: place for place in places}
        parts, at, self.fields = [], 0, []
        for token in _TOKEN.finditer(text):
            start = token.start()
            parts.append(re.escape(text[at:start]))
            sign = start > 0 and text[start - 1] in "+-"
            place = starts.pop(start - sign, None) or starts.pop(start, None)
            if token[0].isspace():
                within = text[start - 1 : start].isalpha() and text[token.end() : token.end() + 1].isalpha()
                parts.append(re.escape(token[0]) if within else r"\s{1,12}")  # a name is of words, one blank apart
            elif place is None:  # what is no number to the Reader stays as it is, and "1.5/3", as "1/3" would count
                plain = _PLAIN.fullmatch(token[0]) and token[0][0].isdigit()
                ratio = "/" in (text[start - 1 : start], text[token.end() : token.end() + 1])
                parts.append(_DIGITS if plain and not ratio else re.escape(token[0]))
            else:
                parts.append(f"({_COUNT if OF in (place.kind, place.name) else _VALUE})")
                self.fields.append(
                    place._replace(factor=-place.factor if sign and text[start - 1] == "-" else place.factor)
                )
            at = token.end()
        parts.append(re.escape(text[at:]))
        self.is_whole = not starts
        self._pattern = re.compile("".join(parts))

    def read(self, text: str) -> Record | None:
        match = self._pattern.fullmatch(text)
        if match is None:
            return None
        step = steps = None
        readings = []
        for field, digits in zip(self.fields, match.groups()):
            value = number(digits) * field.factor
            if field.kind == STEP:
                step = int(value) if value == value and abs(value) != float("inf") else step
            elif field.kind == OF:
                steps = int(value)
            elif field.kind not in (SECONDS, DATA) or 0 <= value < DAY:
                readings.append(Reading(field.kind, field.name, value))
        return Record(step, tuple(readings), (), steps)


class Shapes:
    """A Reader that is faster where lines repeat."""

    def __init__(self, words: tuple[str, ...]) -> None:
        self._reader = Reader(words)
        self._shapes: list[Shape] = []

    def read(self, process: str, text: str) -> Record:
        for shape in self._shapes:
            if (record := shape.read(text)) is not None:
                return record
        places: list[Place] = []
        self._reader.places = places
        record = self._reader.read(process, text)
        self._reader.places = None
        plain = record.readings and len(text) < LONG and not record.codes
        if plain and not any(word in text for word in _MORE):
            self._learn(text, record, places)
        return record

    def _learn(self, text: str, record: Record, places: list[Place]) -> None:
        """Only what gives the same record when it is asked for this line."""
        named = {(reading.kind, reading.name) for reading in record.readings}
        if any(place.kind not in (STEP, OF) and (place.kind, place.name) not in named for place in places):
            return  # a number that did not count here may count in the next line
        shape = Shape(text, places)
        if shape.is_whole and repr(shape.read(text)) == repr(record):
            self._shapes = [shape, *self._shapes][:KEPT]
