"""What scripts hand to the programs of the repository: `--backend nccl`, `--device cuda`, Hydra's `trainer.device=cuda`."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator
from operator import attrgetter

from porter.engine.rule import Hit, TextRule, named
from porter.python.evidence import like
from porter.python.strings.holders import field
from porter.regex import lazy
from porter.text.document import Document
from porter.text.shells.comparisons import beside, comparisons
from porter.text.shells.programs import heads
from porter.text.shells.script import Command, Script, Word

_CUDA = r"cuda(?::(?:\d+|\$\w+|\$\{\w+\}))?"  # `cuda:$RANK`
_OPTION = lazy(
    r"(?<![\w-])(--?[A-Za-z][\w.-]{0,100})(?:=|(\s+))([\"']?)(?:\$\{\w+:?[-=])?"
    rf"({_CUDA}(?:,{_CUDA})*|nccl|gpu)\}}?\3(?![\w:,./-])"
)
# an option may take several devices: each value, all that follow the first, and one that is not understood
_VALUE = lazy(_CUDA)
_FURTHER = lazy(rf"(?:\s+([\"']?){_CUDA}\1(?![\w:,./-]))*")
_UNCLEAR = lazy(r"\s+[\"']?[^\s-]{0,100}cuda")
# a variable that holds such a value, or falls back to it, and an option that is handed a variable
_HELD = lazy(rf"[\"']?(?:\$\{{\w+:?[-=])?({_CUDA}(?:[ \t]+{_CUDA})*|nccl)\}}?[\"']?$")
_HANDED = lazy(r"(?<![\w-])(--?[A-Za-z][\w.-]{0,100})(?:=|\s+)([\"']?)\$(?:\{(\w+)\}|(\w+))\2(?![\w:,./-])")
# what a program that reads settings is given in their place
_KEY = r"(?<!\S)[\"']?\+{0,2}([A-Za-z_][\w.]{0,200})=([\"']?)"
_OVERRIDE = lazy(_KEY + rf"(?:\$\{{\w+:?[-=])?({_CUDA}|nccl)\}}?\2[\"']?(?!\S)")
_OVERRIDDEN = lazy(_KEY + r"\$(?:\{(\w+)\}|(\w+))\2[\"']?(?!\S)")
_OWN = lazy(r"\$\{(\w+)")  # of `backend=${backend:-nccl}`
_RUNS = lazy(r"(?:python[\d.]*|torchrun|deepspeed|accelerate|horovodrun|fairscale)$")
_OURS = lazy(r"(?i)device|backend|accelerator|placement|map.?location")
_ELSEWHERE = lazy(r"^/|site-packages")

_start = attrgetter("start")
_TORCHRUN = lazy(r"\btorchrun\b|\btorch\.distributed\.(?:run|launch)\b")
_LOADS_BACKENDS = (2, 5)


class LaunchOptions(TextRule):
    code = "PRT825"
    reads = "script"

    def look(self, document: Document, script: Script) -> Iterator[Hit]:
        return _look(document, script, script.may_edit(document))


def _look(document: Document, script: Script, safe: bool) -> Iterator[Hit]:
    """`safe`: the script may be edited. Of each command: `known`, it starts a Python program; `ours`, one of this project."""
    handed: dict[str, list[tuple[str, bool, bool]]] = {}  # by variable: the flags, whether `known`, whether `ours`
    for command in script.commands:
        program = next((index for index in heads(command) if _RUNS.match(command.words[index].name)), None)
        name = command.words[0].name
        computed = command.words[0].value is None
        known = program is not None or computed or name.endswith(".py") or any(_is_file(w) for w in command.words[1:3])
        ours = known and not _ELSEWHERE.search(_program(command))
        span = script.text[command.start : command.end]
        yield from _options(document, command.start, span, known, safe and ours, command)
        for handing in _HANDED.finditer(_joined(span)):
            handed.setdefault(handing[3] or handing[4], []).append((handing[1], known, ours))
        if known and (begin := _arguments(command)) is not None:
            given = _joined(script.text[begin : command.end])
            yield from _overrides(document, begin, given, safe and ours, _alone(command))
            for handing in _OVERRIDDEN.finditer(given):
                handed.setdefault(handing[3] or handing[4], []).append((handing[1], known, ours))
    for text in script.texts:
        if not text.command:  # what a variable holds: the options of a command further down
            yield from _options(document, text.word.start, text.word.text, False, safe, None)
    arrays = [n.value for n in script.names if n.role == "set" and n.value and n.value.text[:1] == "("]
    for value in arrays:
        yield from _options(document, value.start, value.text, False, safe, None)
    for options in [*(t.word.text for t in script.texts if not t.command), *(value.text for value in arrays)]:
        for handing in _HANDED.finditer(_joined(options)):
            handed.setdefault(handing[3] or handing[4], []).append((handing[1], False, True))
    yield from _variables(document, script, handed, safe)


def _variables(
    document: Document, script: Script, handed: dict[str, list[tuple[str, bool, bool]]], safe: bool
) -> Iterator[Hit]:
    """`backend=nccl`, where further down stands `--backend $backend`."""
    if not handed:
        return
    launch, style = document.session.facts.launch, document.session.target.style
    reads = Counter(name.name for name in script.names if name.role == "read")
    sets = [(name.name, name.value.text.lstrip("\"'")) for name in script.names if name.role == "set" and name.value]
    reads.subtract(name for name, value in sets if (own := _OWN.match(value)) and own[1] == name)
    compared = comparisons(script.text)
    held = Counter(name for name, value in sets if _HELD.match(value))
    known: dict[tuple[str, str], tuple[str, list[str]]] = {}  # the first flag for a name's kind, and those that take it
    for name in script.names:
        match_of_value = _HELD.match(name.value.text) if name.role == "set" and name.value else None
        if match_of_value is None or name.value is None or name.name not in handed:
            continue
        kind, flags = "backend" if match_of_value[1] == "nccl" else "device", handed[name.name]
        if (kind, name.name) not in known:
            takes = [
                flag
                for flag, _, _ in flags
                if (launch.takes(flag, kind) if flag[0] == "-" else like(_last(flag), kind))
            ]
            flag = next(iter(takes or [flag for flag, starts, _ in flags if starts and _OURS.search(flag)]), "")
            known[kind, name.name] = flag, takes
        flag, takes = known[kind, name.name]
        if not flag:
            continue
        new, offset = _ported(document, match_of_value[1]), name.value.start + match_of_value.start(1)
        words = compared.get(name.name, [])
        places = beside(words, match_of_value[1], _HELD) if held[name.name] == 1 or not words else None
        why = "compared" if places is None else "variable" if takes else "variable_unknown"
        # `words` is None only where `why` is "compared"; the type checker does not know
        everywhere = why == "variable" and len(takes) == len(flags) == reads[name.name] - len(words or ())
        everywhere = everywhere and not name.exported and all(ours for _, _, ours in flags)
        yield Hit(
            (name.start, name.value.end),
            why,
            values=named(flag=flag, old=match_of_value[1], new=new, variable=name.name),
            edits=() if places is None else tuple((at, at + len(match_of_value[1]), new) for at in (offset, *places)),
            safe=safe and everywhere and style == "rename",
            holder=field(flag),
            role="passed" if flag[0] == "-" else "setting",
        )


def _last(key: str) -> str:
    return key.rpartition(".")[2]


def _joined(text: str) -> str:
    return re.sub(r"\\\n", "  ", text)


def _ported(document: Document, value: str) -> str:
    target = document.session.target
    return target.backend if value == "nccl" else value.replace("cuda", target.device) if value != "gpu" else "npu"


def _program(command: Command) -> str:
    """The file that is started; "" for a module, whose options may name files, too."""
    if any(word.text == "-m" for word in command.words):
        return ""
    return next((word.value or "" for word in command.words if word.text.endswith(".py")), "")


def _arguments(command: Command) -> int | None:
    """Where what the program is given begins: behind its file or module, or what a variable holds of the command."""
    for word, before in zip(command.words, (None, *command.words)):
        if _is_file(word) or before is not None and before.text == "-m":
            return word.end
    return command.words[0].end if command.words[0].value is None else None


def _is_file(word: Word) -> bool:
    return word.text.rstrip("\"'").endswith(".py")


def _options(
    document: Document, start: int, text: str, known: bool, safe: bool, command: Command | None
) -> Iterator[Hit]:
    session = document.session
    alone = _alone(command) if command is not None else None
    joined = _joined(text)
    for match in _OPTION.finditer(joined):
        flag, value = match[1], match[4]
        if value == "gpu" and flag.replace("_", "-") == "--nproc-per-node":
            yield _counted(document, start, match, known and safe and _TORCHRUN.search(text) is not None)
            continue
        kind = "backend" if value == "nccl" else "device"
        takes = session.facts.launch.takes(flag, kind)
        if not takes and not (known and _OURS.search(flag)):
            continue
        offset = start + match.start(4)
        if alone is not None and not alone(offset):
            continue
        spans, clear = [match.span(4)], True
        if kind == "device" and value != "gpu":
            further = _FURTHER.match(joined, match.end())
            end = further.end() if further else match.end()
            spans = [each.span() for each in _VALUE.finditer(joined, match.start(4), end)]
            clear = not _UNCLEAR.match(joined, end)  # an edit of some values alone would mix devices
        olds = [joined[first:last] for first, last in spans]
        news = [_ported(document, old) for old in olds]
        between = "," if "," in value else " "
        values = named(flag=flag, old=between.join(olds), new=between.join(news))
        certain = safe and clear and takes and value != "gpu" and session.target.style == "rename"
        lightning = value == "gpu" and "accelerator" in flag
        why = "option" if certain else "lightning" if lightning else "accelerator" if value == "gpu" else "unknown"
        edits = tuple((start + first, start + last, new) for (first, last), new in zip(spans, news))
        yield Hit(
            (start + match.start(1), start + spans[-1][1]),
            why,
            values=values,
            edits=edits if clear and not lightning else (),
            safe=certain,
            holder=field(flag),
            role="passed",
        )


def _overrides(document: Document, start: int, text: str, safe: bool, alone: Callable[[int], bool]) -> Iterator[Hit]:
    for match in _OVERRIDE.finditer(text):
        key, value = match[1], match[3]
        begin, end = match.span(3)
        if not like(_last(key), "backend" if value == "nccl" else "device") or not alone(start + begin):
            continue
        new = _ported(document, value)
        yield Hit(
            (start + match.start(1), start + end),
            "override",
            values=named(flag=key, old=value, new=new),
            edits=((start + begin, start + end, new),),
            safe=safe and document.session.target.style == "rename",
            holder=field(key),
            role="setting",
        )


def _counted(document: Document, start: int, match: re.Match[str], safe: bool) -> Hit:
    """`torchrun --nproc_per_node gpu`: torch itself takes npu there, once it loads torch_npu of its own accord."""
    at, target = (start + match.start(1), start + match.end(4)), document.session.target
    loads = target.torch >= _LOADS_BACKENDS and target.style == "rename"
    edits = ((start + match.start(4), at[1], "npu"),) if loads else ()
    values = named(flag=match[1])
    return Hit(at, "counted" if loads else "numbered", values=values, edits=edits, safe=safe and loads)


def _alone(command: Command) -> Callable[[int], bool]:
    """Of a place: is it not inside a longer string, as in `--note "use --device cuda"`?"""
    answers: dict[int, bool] = {}

    def alone(offset: int) -> bool:
        number = bisect_right(command.words, offset, key=_start) - 1
        if number < 0 or offset >= command.words[number].end:
            return False
        if number not in answers:
            answers[number] = " " not in command.words[number].text.strip()
        return answers[number]

    return alone
