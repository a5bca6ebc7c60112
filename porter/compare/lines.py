"""A log that is lines: porter's own, other JSON lines, and text in every spelling that porter.logs reads."""

from __future__ import annotations

import json
from collections.abc import Iterator

from porter.compare import own
from porter.compare.run import Rank, Run
from porter.compare.series import LIMIT, Series
from porter.errors import UserError
from porter.files.documents import Json
from porter.logs.clean import decoded, split
from porter.logs.reading import UNCOUNTED
from porter.logs.records import BAR, LOSS, PART, RATE, STEP, WORDS, Reading, Record, kind_of
from porter.logs.shapes import Shapes
from porter.regex import lazy

RANKS = 1024
LABEL = 200  # characters of a line in which it says that it is of an evaluation
NAMES = 32  # of losses that are kept until it is known which has most values
_ALL = (*WORDS, "lr", "learning", "samples", "step")
_HELD_OUT = lazy(r"(?:^|[_/ (])(?:val|valid|validation|eval|evaluation|test)(?:[_/ )]|$)")
_KINDS = (
    ("megatron", lazy(r"iteration\s+\d+/\s*\d+ \|")),
    ("trainer", lazy(r"\{'loss': .*'learning_rate': ")),
    ("mindformers", lazy(r"step:\[\s*\d+/\s*\d+\], loss:")),
    ("deepspeed", lazy(r"step=\d+, skipped=\d+, lr=\[")),
    ("detectron2", lazy(r"iter: \d+ .*total_loss: ")),
    ("mmengine", lazy(r"(?:Epoch|Iter)(?:\(train\))? {1,2}\[.*loss: ")),
    ("meters", lazy(r"\[\s*\d+/\d+\].*[Ll]oss:? +[\d.e+-]+ \(")),
)
_decode = json.JSONDecoder().raw_decode
AVERAGES = frozenset(("megatron", "trainer", "llamafactory"))


class Points:
    """What one rank wrote, of which the losses have several names: with steps, or counted in the order of the log."""

    def __init__(self, limit: int) -> None:
        self.rank = Rank(limit)
        self.losses: dict[tuple[str, str], Series] = {}
        self.count = 0
        self._base = self._last = self._first = self._gap = 0

    def add(self, readings: list[Reading], step: int | None, steps: int | None, epochs: bool) -> None:
        if step is None:
            step = self.count + 1
        elif epochs:
            step = self._over_epochs(step, steps)
        self.count += any(reading.kind in (LOSS, PART) for reading in readings)
        for kind, name, value in readings:
            if kind in (LOSS, PART):
                key = kind, name
                if key in self.losses or len(self.losses) < NAMES:
                    self.losses.setdefault(key, Series(self.rank.limit)).add(step, value)
            else:
                self.rank.add(kind, step, value)

    def _over_epochs(self, step: int, steps: int | None) -> int:
        """A step that begins anew with each epoch, counted on."""
        if not self._first:
            self._first = step + 1
        if step > self._last and not self._gap and self._last:
            self._gap = step - self._last
        if step < self._last and step <= max(self._first - 1, self._gap):
            self._base += steps if steps else self._last + (self._gap or 1) - (self._first == 1)
        self._last = step
        return self._base + step

    @property
    def has_epochs(self) -> bool:
        return self._base > 0

    def choose(self) -> str:
        """The loss that has most values: of the whole, or else of a part. Its name."""
        if not self.losses:
            return ""
        key, series = max(self.losses.items(), key=lambda item: (item[0][0] == LOSS, item[1].seen))
        self.rank.series[LOSS] = series
        return key[1]


class Lines:
    def __init__(self, name: str, limit: int = LIMIT) -> None:
        self._name, self._limit = name, limit
        self._own: dict[int, Rank] = {}
        self._rank: Rank | None = None  # the one whose records come now
        self._stepped: dict[int, Points] = {}
        self._counted: dict[int, Points] = {}
        self._reader = Shapes(_ALL)
        self._format = ""
        self._again: set[int] = set()
        self._damaged: list[int] = []
        self.lines = 0

    def read(self, blocks: Iterator[bytes]) -> Run | None:
        for block in blocks:
            for raw in block.splitlines(keepends=True):
                self.lines += not raw.endswith(UNCOUNTED)
                self._line(raw)
        return self._run()

    def _line(self, raw: bytes) -> None:
        if raw[:1] == b"{" and b'"' in raw[:4] or raw[:3] == b"\xef\xbb\xbf":
            record = _object(raw)
            if own.is_own(record):
                self._record(record or {})
                return
            if record is not None:
                self._other(record)
                return
            if self._rank is not None:
                if len(self._damaged) < 1 << 16:
                    self._damaged.append(self.lines)
                return
        if self._rank is None:
            self._text(raw)

    def _record(self, record: Json) -> None:
        if record["kind"] == "run" and record.get("format", own.FORMAT) != own.FORMAT:
            version = str(record["format"])[:20]
            raise UserError(
                f"{self._name}: format {version}, this porter reads {own.FORMAT}; compare with the porter that wrote it",
                f"{self._name}：格式 {version}，当前 porter 读取 {own.FORMAT}；请使用写出该日志的 porter",
            )
        if record["kind"] == "run" or self._rank is None:
            number = own.step_of(record.get("rank")) or 0
            early = self._early()
            if number in self._own:
                self._again.add(number)
            if number in self._own or len(self._own) < RANKS:
                self._rank = self._own[number] = early or Rank(self._limit)
        if self._rank is not None:
            own.take(self._rank, record)

    def _early(self) -> Rank | None:
        """What was read before its header: the batches of the first step, of which the step comes later."""
        rank = self._rank
        if rank is None or rank.header or len(rank.loss):
            return None
        self._own = {number: one for number, one in self._own.items() if one is not rank}
        return rank

    def _other(self, record: Json) -> None:
        readings, step = readings_of(record)
        if readings:
            if "current_steps" in record:
                self._format = "llamafactory"
            self._format = self._format or "json lines"
            self._points(0, step).add(readings, step, None, "epoch" in record and "iter" in record)

    def _text(self, raw: bytes) -> None:
        text = decoded(raw[:8192])
        if not text:
            return
        process, text, number = split(text)
        record = self._reader.read(process, text)
        if not record.readings or any(reading.name.startswith("val ") for reading in record.readings):
            return
        step = record.step if record.step is None or not _at_its_end(text) else None
        if _has_loss(record) or step is not None and not _HELD_OUT.search(text[:LABEL].lower()):
            self._format = self._format or next((name for name, shape in _KINDS if shape.search(text)), "")
            self._points(number or 0, step).add([*record.readings], step, record.steps, "poch" in text)

    def _points(self, number: int, step: int | None) -> Points:
        ranks = self._counted if step is None else self._stepped
        if number not in ranks and len(ranks) >= RANKS:
            number = min(ranks)
        return ranks.setdefault(number, Points(self._limit))

    def _run(self) -> Run | None:
        if any(len(rank.loss) or rank.weights or rank.batches for rank in self._own.values()):
            run = Run(self._name, "porter", self._own)
            if self._damaged:
                run.notes.append(("damaged", {"n": len(self._damaged), "line": self._damaged[0]}))
            if repeated := sum(rank.loss.repeated + rank.loss.rewound for rank in self._own.values()):
                run.mixed = True
                run.notes.append(("mixed", {"n": repeated}))
            if self._again:
                run.notes.append(("again", {"ranks": sorted(self._again)}))
            return run
        return self._of_points()

    def _of_points(self) -> Run | None:
        most = {id(ranks): sum(_seen(points) for points in ranks.values()) for ranks in (self._stepped, self._counted)}
        ordered = most[id(self._counted)] > most[id(self._stepped)]
        chosen = self._counted if ordered else self._stepped
        names = {number: points.choose() for number, points in chosen.items()}
        ranks = {number: chosen[number].rank for number, name in names.items() if name}
        if not ranks:
            return None
        kind = self._format or "text"
        run = Run(self._name, kind, ranks, ordered, kind in AVERAGES)
        run.notes.append(("series", {"name": names[min(ranks)]}))
        if not ordered and self._stepped[min(ranks)].has_epochs:
            run.notes.append(("epochs", {}))
        loss = run.first.loss
        if ordered:
            run.notes.append(("ordered", {}))
        elif loss.repeated > len(loss) // 10:
            run.mixed = True
            run.notes.append(("mixed", {"n": loss.repeated}))
        return run


def readings_of(record: Json) -> tuple[list[Reading], int | None]:
    """The numbers of an object whose keys are names; those of an evaluation are left out."""
    if str(record.get("mode", "train")) in ("val", "test", "eval"):
        return [], None
    readings, step = [], None
    for name, value in record.items():
        number = own.number_of(value)
        if number is None or _HELD_OUT.search(name.lower()):
            continue
        kind = kind_of(name)
        if kind == STEP:
            step = own.step_of(value) if step is None or name == "step" else step
        elif kind is not None:
            readings.append(Reading(kind, name, number))
    return readings if any(r.kind in (LOSS, PART, RATE) for r in readings) else [], step


def _object(raw: bytes) -> Json | None:
    text = raw.decode("utf-8", "replace").lstrip("\ufeff")
    try:
        record, end = _decode(text)
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) and not text[end:].strip("\x1e \r\n\t") else None


def _at_its_end(text: str) -> bool:
    """Whether a progress bar is full: what stands behind it, is of the whole epoch."""
    bar = BAR.match(text) if "|" in text else None
    return bar is not None and bar["at"] == bar["all"]


def _has_loss(record: Record) -> bool:
    return any(reading.kind in (LOSS, PART) for reading in record.readings)


def _seen(points: Points) -> int:
    return max((series.seen for series in points.losses.values()), default=0)
