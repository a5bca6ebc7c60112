"""One line of a log as a record: the step, the losses and metrics, the times, the error codes. In any spelling.

A meter (`loss 2.3 (2.4)`), a dictionary (`'loss': 2.3`), a bar (`loss=2.3]`), a row of a table whose header was read before:
all are pairs of a name and a number. What a name means is decided once for each name. Of a meter the number of now counts,
never the average in brackets: one overflow makes an average nan for a whole epoch.
"""

from __future__ import annotations

import math
import re
from typing import NamedTuple

from porter.regex import lazy

LOSS, PART, GRADIENT, SCALE, METRIC, SECONDS, DATA = "loss", "part", "grad_norm", "scale", "metric", "seconds", "data"
RATE, SPEED, STEP, OF = "lr", "speed", "step", "of"
LONG = 2000  # characters of a line that are looked at
NAMES = 4096  # different names whose meaning is remembered
TABLES = 64  # processes whose table is remembered

_NUMBER = r"[-+]?(?:\d[\d_]{0,15}(?:\.\d{0,20})?(?:[eE][-+]?\d{1,3})?|nan|NaN|NAN|inf|Inf|INF|infinity)"
_PAIR = lazy(
    r"(?<![\w/.@-])((?:[A-Za-z][\w.@/]{0,20} ){0,2}?[A-Za-z][\w.@/]{0,40})['\"]?(?: ?\((?P<named>ms|s)\))?"
    rf"(?:\s{{0,3}}[:=：]\s{{0,12}}|\s{{1,12}})['\"(\[]{{0,2}}(?:tensor\()?({_NUMBER})(?P<unit> ?(?:ms|s|sec|seconds)\b)?(?![\w.%])"
)
_LOWERED = lazy(rf"(?:reducing|setting) (?:loss )?scale (?:from [\d.e+-]{{1,30}} )?to:? ?({_NUMBER})(?![\w.])")
_OF = lazy(r"\[\s{0,6}(\d{1,9})/\s{0,6}(\d{1,9})\]")
# what a progress bar shows: done of all, and the time since its start
BAR = lazy(
    r"^(?P<what>[^|]{0,200})\|[^|]{0,200}\| (?P<at>\d{1,9})/(?P<all>\d{1,9}) "
    r"\[(?:(?P<h>\d{1,4}):)?(?P<m>\d{1,2}):(?P<s>\d{2})<"
)
_RATE = lazy(r", {1,3}(\d{1,6}(?:\.\d{1,6})?)(s/it|it/s)")
_HEADER = lazy(r"^\s{0,12}Epoch\s{1,12}(?:GPU_)?[Mm]em\w{0,6}\s{1,12}((?:\w{1,30}\s{1,12}){1,12})(?:Size|size)\s{0,4}$")
_ROW = lazy(
    rf"^\s{{0,12}}\d{{1,6}}/\d{{1,6}}\s{{1,12}}[\d.]{{1,10}}[GM]?\s{{1,12}}((?:{_NUMBER}\s{{1,12}}){{1,12}})\d{{1,6}}: "
)

# of torch_npu, of CANN and HCCL, of its runtime: each in the form in which they are written
CODES = (
    r"\bERR0[0-4](?:00[1-9]|01[0-2]|[1-3]00|999)\b|\bERR99999 UNKNOWN|\bE[EHIJKLZ]\d{4}(?=[:)\[]|  )"
    r"|(?:error code(?: is|:)|runtime result =|retCode=) ?(?:1[06]\d{4}|[25]07\d{3}|[35]61\d{3})\b"
)
_CODE = lazy(CODES)
_BEFORE_CODES = ("ERR0", "ERR9", "EE", "EH", "EI", "EJ", "EK", "EL", "EZ", "ror code", "result =", "retCode")
# a line without one of these has no number that counts
WORDS = tuple("loss Loss grad norm grdn time Time cost acc Acc oU iou mAP f1 it/s s/it".split())

_EVALUATION = lazy(r"(?<![a-z/])(?:val|valid|validation|eval|evaluation|test|testing)(?![a-z_/.])")
# words that the loss which is trained on may carry
_TRAINED = frozenset(
    "train trainer training total tot lm step avg average avr mean batch running current cur iter iteration epoch info".split()
)
_OTHERS = frozenset(
    "best min max lowest scale scaler weight coef ratio threshold limit target prev init history".split()
)
_YOLO = frozenset(("lbox", "lcls", "lobj", "dfl"))
_METRIC = lazy(
    r"(?:^|[_/])(?:pix(?:el)?_?|[am])?acc(?:uracy)?(?:@?\d{1,2})?(?:[_/]|$)|(?:^|[_/])m?iou$|(?:^|[_/])f1$|accuracy"
)
_SECONDS = frozenset(
    "time batch_time iter_time step_time iteration_time time_per_iteration time_per_step per_step_time step_time_cost batch_cost"
    " train_time updt_s".split()
)
_DATA = frozenset(
    "data data_time data_load data_load_time data_loading_time dataloader_time reader_cost data_s".split()
)
_STEPS = frozenset("iteration iter step steps global_step global_iter current_steps num_updates".split())
_RATES = frozenset(("lr", "learning_rate"))
_SPEEDS = frozenset(
    "samples/s samples/sec samples_per_second samples_per_sec samplespersec train_samples_per_second img/s imgs/s images/s"
    " tokens/s tokens_per_second throughput".split()
)
DAY = 86_400  # seconds: what is longer is no time of a step
_LETTER = lazy(r"[A-Za-z\u4e00-\u9fff]")
_TRAINING = lazy(r"train|epoch|step|iter", re.IGNORECASE)


class Reading(NamedTuple):
    kind: str  # LOSS of the training; PART of it, or a loss of an evaluation; GRADIENT, SCALE, METRIC, SECONDS, DATA, RATE, SPEED
    name: str  # as the log spells it
    value: float


class Record(NamedTuple):
    step: int | None  # within the epoch, where the line says that
    readings: tuple[Reading, ...]
    codes: tuple[str, ...]
    steps: int | None = None  # of an epoch, where the line says that beside the step


class Place(NamedTuple):
    """Where in a line a number stands that counts, and what its digits are multiplied by."""

    kind: str  # of a reading, STEP, or OF: the steps of an epoch
    name: str
    start: int
    factor: float = 1.0


class Reader:
    """Lines in, records out. It remembers what names mean and, for each process, the header of a table: nothing else.
    `words`: a line without one of them is not read. `places`: a list that is filled for the next line, or none."""

    def __init__(self, words: tuple[str, ...] = WORDS) -> None:
        self._words = words
        self.places: list[Place] | None = None
        self._kinds: dict[str, str | None] = {}
        self._columns: dict[str, list[str]] = {}

    def read(self, process: str, text: str) -> Record:
        line = text[:LONG]
        readings: list[Reading] = []
        if not any(word in line for word in self._words):
            return Record(None, (), _codes(line))
        step = self._pairs(line, readings)
        if "scale" in line:
            readings += [Reading(SCALE, "loss scale", number(match[1])) for match in _LOWERED.finditer(line)]
        if "/it" in line or "it/s" in line:
            step = _bar(line, readings, step)
        if "em" in line or "/" in line:
            self._table(process, line, readings)
        steps = None
        if "/" in line and (of := [*_OF.finditer(line)]):
            step, steps = int(of[-1][1]), int(of[-1][2])
            if self.places is not None:
                self.places += [Place(STEP, OF, of[-1].start(1)), Place(OF, "", of[-1].start(2))]
        return Record(step, _together(readings, step), _codes(line), steps)

    def _pairs(self, line: str, readings: list[Reading]) -> int | None:
        step = None
        evaluation: bool | None = None
        for match in _PAIR.finditer(line):
            name, value = match[1], number(match[3])
            kind = self._kind(name)
            if kind is None:
                continue
            factor = 1.0
            if kind == STEP:
                step = int(value) if math.isfinite(value) else step
                if self.places is not None:
                    self.places.append(Place(STEP, "", match.start(3)))
                continue
            if kind in (SECONDS, DATA):
                milliseconds = "ms" in (match["named"], (match["unit"] or "").strip())
                factor = 0.001 if milliseconds else 1.0
                value *= factor
                if not 0 <= value < DAY:
                    if self.places is not None:
                        self.places.append(Place(kind, name, match.start(3)))
                    continue
            elif kind in (LOSS, METRIC) and "train" not in name.lower():
                if evaluation is None:
                    evaluation = bool(_EVALUATION.search(line[: match.start()].lower()))
                if evaluation:
                    kind, name = PART if kind == LOSS else kind, f"val {name}"
            readings.append(Reading(kind, name, value))
            if self.places is not None:
                self.places.append(Place(kind, name, match.start(3), factor))
        return step

    def _kind(self, name: str) -> str | None:
        try:
            return self._kinds[name]
        except KeyError:
            kind = kind_of(name)
            if len(self._kinds) < NAMES:
                self._kinds[name] = kind
            return kind

    def _table(self, process: str, line: str, readings: list[Reading]) -> None:
        """A table whose rows are progress bars, as ultralytics writes it."""
        if header := _HEADER.match(line):
            if process in self._columns or len(self._columns) < TABLES:
                self._columns[process] = header[1].split()
        elif (columns := self._columns.get(process)) and (row := _ROW.match(line)):
            for name, text in zip(columns, row[1].split(), strict=False):
                if name.endswith("loss") or name in ("box", "obj", "cls", "dfl"):
                    readings.append(Reading(PART, name, number(text)))


def _codes(line: str) -> tuple[str, ...]:
    return tuple(match[0] for match in _CODE.finditer(line)) if any(word in line for word in _BEFORE_CODES) else ()


def of_training(label: str) -> bool:
    """Whether a progress bar with this text before it may be one over training steps."""
    label = label.strip(" \r:0123456789%.")
    return not _LETTER.search(label) or bool(_TRAINING.search(label))


def number(text: str) -> float:
    try:
        return float(text.lower().replace("_", ""))
    except ValueError:
        return math.nan


def kind_of(name: str) -> str | None:
    """What a name means: a kind of reading, STEP, or nothing that counts."""
    key = name.lower().replace(" ", "_")
    if key in _STEPS:
        return STEP
    if key in _SECONDS:
        return SECONDS
    if key in _DATA:
        return DATA
    if key.endswith("loss_scale"):
        return SCALE
    if key in _RATES or key.startswith("lr-"):  # Lightning: lr-AdamW
        return RATE
    if key in _SPEEDS:
        return SPEED
    tokens = frozenset(filter(None, key.replace("/", "_").replace(".", "_").split("_")))
    if _OTHERS & tokens:
        return None
    if key.endswith(("grad_norm", "gradient_norm")) or key in ("gnorm", "grdn", "global_norm"):
        return GRADIENT
    if "loss" in tokens:
        if "loss" not in name.rpartition(" ")[2].lower():  # `loss is`, `loss after`
            return None
        return LOSS if tokens <= _TRAINED | {"loss"} else PART
    if key in _YOLO:
        return PART
    return METRIC if "mAP" in name or _METRIC.search(key) else None


def _bar(line: str, readings: list[Reading], step: int | None) -> int | None:
    bar = BAR.match(line)
    if bar is None or not of_training(bar["what"]):
        return step
    rate = _RATE.search(line, bar.end())
    if rate and not any(reading.kind == SECONDS for reading in readings):
        value = float(rate[1])
        if rate[2] == "s/it" or value:
            readings.append(Reading(SECONDS, rate[2], value if rate[2] == "s/it" else 1 / value))
    return int(bar["at"])


def _together(readings: list[Reading], step: int | None) -> tuple[Reading, ...]:
    """What one line says as a whole: a bare `time` is that of a step only where the line is of one."""
    data = [reading.value for reading in readings if reading.kind == DATA]
    of_step = step is not None or any(reading.kind != SECONDS for reading in readings)
    kept = []
    for reading in readings:
        if reading.name == "updt_s" and data:  # the update, without the data that it waited for
            reading = reading._replace(value=reading.value + data[0])
        if of_step or reading.name.lower() != "time":
            kept.append(reading)
    return tuple(kept)
