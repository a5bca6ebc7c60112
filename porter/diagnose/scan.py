"""One pass over a log: what its lines mean, its tracebacks, its numbers. Linear in time, bounded in memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from porter.diagnose.match import Matchers, Meaning
from porter.diagnose.series import Numbers
from porter.diagnose.traces import Error, Tracebacks
from porter.logs.clean import decoded, split
from porter.logs.reading import UNCOUNTED
from porter.logs.records import CODES, Reader
from porter.regex import lazy

NEAR = 60  # lines after an error that still belong to it
SHORT = 64_000  # a text so short is read line by line; of a longer one only lines that hold one of these
ERRORS = tuple(
    word.encode()
    for word in (
        "rror", "ERR", "raceback", "Warning", "WARN", "fail", "Fail", "xception", "imeout", "imes out", "imed out",
        "emory", "not ", "annot", "can't be", "undefined symbol", "Killed", "oom-kill", "Segmentation", "verflow", "fall back",
        "o such file", "No module", "upport", "already", "disappeared", "exitcode", "ignal", "EI0", "EJ0", "EZ",
        "disabled", "invalid", "scale", "Loss is", "loss is", "EL0", "eartbeat", "abnormal", "code 137",
    )
)  # fmt: skip
NUMBERS = (
    b"loss", b"Loss", b"grad", b"s/it", b"it/s", b"time per iteration", b"_time", b"step time", b" data: ", b"_cost", b"acc", b"Acc",
    b"mAP", b"IoU", b"iou",
)  # fmt: skip
NOT_FINITE = (b": nan", b": inf", b": -inf", b":nan", b"=nan", b": NaN", b"= nan", b"=inf", b" nan ", b" nan,", b"[nan")
ENOUGH = 20_000  # lines with numbers, after which
SOME = 48  # of a block are looked at, and as many with one that is not finite
# words that only a log of an NPU holds
_NPU = lazy(
    rb"\b(?:npu|hccl|Hccl|HCCL|ascendcl|davinci)(?![a-z])|torch_npu|NPU|\bTBE |Ascend(?![a-z])|/[aA]scend"
    rb"|\baclnn|" + CODES.encode()
)
_SPEAKS = lazy(rb"npu|NPU|TBE|ccl|CCL|scend|davinci|aclnn|E[EHIJKLZ]\d|ERR[09]|rror code|result =|retCode=")


@dataclass
class Sighting:
    """A meaning, and where it was first seen."""

    meaning: Meaning
    line: int
    text: str
    count: int = 1
    last_line: int = 0  # the line it was last seen in
    ranks: set[int] = field(default_factory=set)
    error: Error | None = None  # the traceback it belongs to


@dataclass
class Log:
    sightings: dict[tuple[str, str], Sighting] = field(default_factory=dict)  # by cause and code
    tracebacks: Tracebacks = field(default_factory=Tracebacks)
    numbers: Numbers = field(default_factory=Numbers)
    npu: bool = False  # whether it is of a program on an NPU
    lines: int = 0
    size: int = 0
    last_error: tuple[int, str] | None = None  # the last line that looks like an error


_ERROR = lazy(r"\b(?:[A-Z]\w{0,60}(?:Error|Exception)|ERROR|Error|FATAL|Fatal|fatal error)\b")


class Scan:
    def __init__(self, matchers: Matchers) -> None:
        self._matchers = matchers
        self.log = Log()
        self._reader = Reader()
        self._numbers = 0

    def read(self, blocks: Iterator[bytes]) -> Log:
        log, first = self.log, next(blocks, b"")
        second = next(blocks, None)
        short = second is None and len(first) <= SHORT
        self._block(first, short)
        if second is not None:
            self._block(second, False)
        block = second or first
        for block in blocks:
            self._block(block, False)
        log.lines += block.endswith(UNCOUNTED)  # the last one, without its end
        return log

    def _block(self, data: bytes, whole: bool) -> None:
        log = self.log
        number, offset = log.lines + 1, 0  # of the line that starts at `offset`
        log.size += len(data)
        if not log.npu and len(data) == log.size:
            log.npu = bool(_NPU.search(data))
        starts = _every(data) if whole else self.interesting(data)
        index, position = 0, 0
        while True:
            if not self.log.tracebacks.waiting:
                while index < len(starts) and starts[index] < position:
                    index += 1
                if index == len(starts):
                    break
                position = starts[index]
            if position >= len(data):
                break
            number += _counted(data, offset, position)
            offset = position
            end = data.index(b"\n", position) + 1
            self._line(number, data[position:end], whole)
            position = end
        log.lines += _counted(data, 0, len(data))

    def interesting(self, data: bytes) -> list[int]:
        """Where the lines start that may say something."""
        starts: set[int] = set()
        numbers: set[int] = set()
        _lines_with(ERRORS, data, starts)
        if self._numbers < ENOUGH:
            _lines_with(NUMBERS, data, numbers)
        else:
            _lines_with(NUMBERS, data, numbers, SOME)
            _lines_with(NOT_FINITE, data, numbers, SOME)
        self._numbers += len(numbers)
        return sorted(starts | numbers)

    def _line(self, number: int, raw: bytes, whole: bool) -> None:
        log = self.log
        text = decoded(raw[:8192])
        if not text:
            return
        process, text, rank = split(text)
        if not log.npu and _SPEAKS.search(raw):
            log.npu = bool(_NPU.search(raw))
        if log.tracebacks.take(number, process, text, rank):
            return
        log.numbers.take(number, process, text, self._reader.read(process, text))
        meanings = self._matchers.of_programs.meanings(text)
        if whole:
            meanings = meanings + self._matchers.of_people.meanings(text)
        for meaning in meanings:
            self._add_sighting(meaning, number, process, text, rank)
        if ("rror" in text or "xception" in text or "ERR" in text or "atal" in text) and _ERROR.search(text, 0, 300):
            log.last_error = (number, text[:2000])

    def _add_sighting(self, meaning: Meaning, number: int, process: str, text: str, rank: int | None) -> None:
        key = (meaning.cause, meaning.code)
        sighting = self.log.sightings.get(key)
        if sighting is None:
            sighting = self.log.sightings[key] = Sighting(meaning, number, text[:2000], 0)
        sighting.count += sighting.last_line != number
        sighting.last_line = number
        if rank is not None and len(sighting.ranks) < 4096:
            sighting.ranks.add(rank)
        if sighting.error is None:
            error = self.log.tracebacks.last(process)
            if error is not None and 0 <= number - error.line <= NEAR:
                sighting.error = error
        # a message of a port says more than one that any program may write
        if meaning.is_of_port and not sighting.meaning.is_of_port:
            sighting.meaning = meaning


def _every(data: bytes) -> list[int]:
    starts, offset = [], 0
    while offset < len(data):
        starts.append(offset)
        offset = data.index(b"\n", offset) + 1
    return starts


def _lines_with(words: tuple[bytes, ...], data: bytes, starts: set[int], most: int = 0) -> None:
    for word in words:
        offset, left = data.find(word), most
        while offset >= 0:
            starts.add(data.rfind(b"\n", 0, offset) + 1)
            left -= 1
            if not left:
                break
            offset = data.find(word, data.index(b"\n", offset))


def _counted(data: bytes, start: int, end: int) -> int:
    return data.count(b"\n", start, end) - data.count(UNCOUNTED, start, end)
