"""Python tracebacks out of a log: chained ones, those that every rank repeats, and those whose lines are mixed."""

from __future__ import annotations

from dataclasses import dataclass, field

from porter.regex import lazy

MOST = 200  # different errors that are kept
FRAMES = 60  # innermost frames that are kept of one
PATIENCE = 40  # lines inside of a traceback that are none of its own, before it is given up
MESSAGE = 2000  # characters of a message that are kept
LINE = 4200  # characters of a line that are looked at

_START = lazy(r"(?:^|[^\w])(?:Exception Group )?Traceback \(most recent call last\)")
_FRAME = lazy(r'^\s{0,40}File "([^"]{1,1000})", line (\d{1,9})(?:, in (.{1,200}))?')
_RICH = lazy(r"^\s{0,8}[│|] (/?[^\s:│]{1,1000}):(\d{1,9}) in (\S{1,200})")
_ERROR = lazy(r"^((?:[A-Za-z_]\w{0,80}\.){0,12}[A-Z_]\w{1,100})(?:: (.{0,4000})|:?)$")
_LEVELS = frozenset("INFO WARNING WARN DEBUG ERROR CRITICAL FATAL NOTE TRACE Traceback File".split())
_CHAINS = ("During handling of the above exception", "The above exception was the direct cause")


@dataclass
class Frame:
    file: str
    line: int
    name: str
    source: str = ""


@dataclass
class Error:
    kind: str  # RuntimeError, torch.OutOfMemoryError
    message: str  # its first line
    frames: list[Frame]  # the innermost last
    line: int  # of the log, where the message stands
    rank: int | None = None  # of its first traceback
    ranks: set[int] = field(default_factory=set)  # all that had this error
    count: int = 1  # tracebacks
    before: Error | None = None  # the error that caused it, or that was being handled when it came

    @property
    def text(self) -> str:
        return f"{self.kind}: {self.message}" if self.message else self.kind

    @property
    def chain(self) -> list[Error]:
        """It and what led to it, the first cause first."""
        errors: list[Error] = []
        error: Error | None = self
        while error is not None and len(errors) < 10:
            errors.append(error)
            error = error.before
        return errors[::-1]


class Tracebacks:
    """Collects the tracebacks of a log, line by line. `process` says which process wrote a line: theirs may be mixed."""

    def __init__(self) -> None:
        self.errors: list[Error] = []
        self._by_key: dict[tuple[object, ...], Error] = {}
        self._open: dict[str, _Open] = {}
        self._last_errors: dict[str, Error] = {}
        self._chained: dict[str, Error] = {}

    @property
    def waiting(self) -> bool:
        """Whether the next lines matter whatever they say."""
        return bool(self._open)

    def last(self, process: str) -> Error | None:
        return self._last_errors.get(process)

    def take(self, number: int, process: str, text: str, rank: int | None) -> bool:
        """True: the line is part of a traceback, and nobody else needs to look at it. The line with the error ends the
        traceback and answers False, so that others can read it, too."""
        if "raceback (most recent call last)" in text and _START.search(text):
            if process in self._open or len(self._open) < 4096:
                self._open[process] = _Open(self._chained.pop(process, None))
            return True
        if process in self._open:
            if self._open[process].take(text):
                return True
            ending = self._open[process].ended(text)
            if ending is None:
                self._open[process].patience -= 1
                if not self._open[process].patience:
                    del self._open[process]
            else:
                opened = self._open.pop(process)
                self._add(process, Error(*ending, opened.frames, number, rank, before=opened.before))
        elif text.startswith(_CHAINS) and process in self._last_errors:
            self._chained[process] = self._last_errors[process]
        return False

    def _add(self, process: str, error: Error) -> None:
        last_frame = error.frames[-1] if error.frames else None
        key = (error.kind, error.message[:200], last_frame and (last_frame.file, last_frame.line))
        known = self._by_key.get(key)
        if known is None:
            if len(self.errors) >= MOST:
                return
            self.errors.append(error)
            known = self._by_key[key] = error
        else:
            known.count += 1
        if error.rank is not None and len(known.ranks) < 4096:
            known.ranks.add(error.rank)
        if process in self._last_errors or len(self._last_errors) < 4096:
            self._last_errors[process] = known


class _Open:
    def __init__(self, before: Error | None) -> None:
        self.before = before
        self.frames: list[Frame] = []
        self.indent = 0  # of its frames
        self.patience = PATIENCE

    def take(self, text: str) -> bool:
        """Whether the line is part of the traceback."""
        match = _FRAME.match(text) or _RICH.match(text)
        if match:
            self.indent = self.indent or len(text) - len(text.lstrip())
            self.frames.append(Frame(match[1], int(match[2]), (match[3] or "").strip()))
            del self.frames[:-FRAMES]
            return True
        bare = text.strip()
        if not bare or text[0] in " \t│╭╰|+":
            # a text that was pasted may stand further to the right as a whole
            if bare and len(text) - len(text.lstrip()) < self.indent and self.ended(text):
                return False
            if bare and self.frames and not self.frames[-1].source and bare.strip("^~ "):
                self.frames[-1].source = bare[:300]
            return True
        return False

    @staticmethod
    def ended(text: str) -> tuple[str, str] | None:
        match = _ERROR.match(text.strip()[:LINE])
        if match and match[1] not in _LEVELS:
            return match[1], (match[2] or "")[:MESSAGE].strip()
        return None
