"""One line of a log as its program wrote it: without colours, and without what launchers put before it."""

from __future__ import annotations

from porter.regex import lazy

SHOWN = 240  # characters of a line that are shown
_ESCAPES = lazy(r"\x1b(?:\[[0-?]{0,40}[ -/]{0,8}[@-~]|\][^\x07\x1b]{0,400}(?:\x07|\x1b\\)?|[@-Z\\-_])")
_CONTROLS = lazy(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff]")

_TIME = r"(?:\d{4}[-/])?\d{1,2}[-/]\d{1,2}[ T-]\d{2}:\d{2}:\d{2}(?:[.,]\d{1,9})?"
_LEVEL = r"(?:DEBUG|INFO|WARNING|WARN|ERROR|CRITICAL|FATAL)"
# what names a process: the same text before every line of it
_PROCESS = lazy(
    r"\[default(?P<default>\d{1,6})\]:|\[(?:rank|Rank |RANK )(?P<rank>\d{1,6})(?: \| Local Rank \d{1,6})?\]:? ?"
    r"|\((?:pid=\d{1,10}"
    r"|(?P<actor>[\w.:-]{1,60})(?: rank=(?P<vllm>\d{1,6}))?(?: pid=\d{1,10})?)(?:, ip=[\w.:-]{1,60})?\) ?"
    r"|(?P<host>(?:worker|node|rank|host)[-_]?\d{1,6}): "
    r"|(?P<srun>\d{1,5}): (?=[ A-Z\[(])"
)
# what says when and where in the source a line was written
_STAMP = lazy(
    rf"{_LEVEL} {_TIME} \[?[\w./-]{{1,100}}:\d{{1,6}}\]? ?"
    rf"|\[?{_TIME}\]? ?(?:\[{_LEVEL}\] |{_LEVEL}:? (?=[A-Z ]))?"
)


def decoded(raw: bytes) -> str:
    text = raw.decode("utf-8", "replace").rstrip("\n\x1e")
    return _ESCAPES.sub("", text) if "\x1b" in text else text


def split(text: str) -> tuple[str, str, int | None]:
    """(what names the process, the line, the rank) of a decoded line. The indentation of the line is kept."""
    process, rank = "", None
    for _ in range(5):
        match = _PROCESS.match(text)
        if match and (match["actor"] is None or "pid=" in match[0] or match["vllm"]):
            process += match[0].strip()
            digits = match["rank"] or match["default"] or match["srun"] or match["vllm"]
            rank = int(digits) if digits else rank
        else:
            match = _STAMP.match(text)
        if not match:
            break
        text = text[match.end() :]
    return process, text, rank


def shown(text: str) -> str:
    """Safe on any terminal, and short."""
    text = _CONTROLS.sub("", text.replace("\t", " ")).strip()
    return text if len(text) <= SHOWN else text[: SHOWN - 3] + "..."
