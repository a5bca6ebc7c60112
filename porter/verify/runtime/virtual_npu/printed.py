"""Losses that a program prints, line by line as they stand on a terminal, and those it hands to a progress bar."""

import functools
import re
import sys
import threading
from numbers import Real

from after_import import after_import
from named_numbers import numbers

_MOVES = re.compile(r"\x1b\[\d*(?:;\d*)*[A-HJKf]")  # the cursor: a display that is drawn anew as time allows
_COLOURS = re.compile(r"\x1b\[[\d;]*m")
_LONGEST = 10_000


def watch(record):
    """`record(name, digits)` is called for each number, in the order in which they are printed."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.write = _Write(stream.write, record)
        except AttributeError:  # closed, or of a kind that cannot be watched
            continue
    after_import("tqdm.std", lambda: _watch_bars(record))


class _Write:
    def __init__(self, write, record):
        self.write, self.record, self.begun = write, record, {}

    def __call__(self, text):
        done = self.write(text)
        if isinstance(text, str) and not _draws_a_bar():
            thread = threading.get_ident()
            *lines, rest = (self.begun.pop(thread, "") + text).split("\n")
            if rest:
                self.begun[thread] = rest[-_LONGEST:]
            for line in lines:
                if not _MOVES.search(line):
                    _tell(line.rstrip("\r").rpartition("\r")[2], self.record)
        return done


def _tell(text, record):
    for name, digits in numbers(_COLOURS.sub("", text)):
        record(name, digits)


def _draws_a_bar():
    """tqdm: how often it draws depends on the clock. What its write() is given is a line like any other."""
    frame = sys._getframe(2)
    while frame and frame.f_globals.get("__name__", "").startswith("tqdm"):
        if frame.f_code.co_name == "fp_write":
            return True
        frame = frame.f_back
    return False


def _watch_bars(record):
    bar = sys.modules["tqdm.std"].tqdm

    def told(name, text):
        method = getattr(bar, name)

        @functools.wraps(method)
        def call(*args, **kwargs):
            _tell(text(*args[1:], **kwargs), record)
            return method(*args, **kwargs)

        setattr(bar, name, call)

    told("set_postfix", _pairs)
    for name in ("set_description", "set_description_str", "set_postfix_str"):
        told(name, _text)


def _text(*args, **kwargs):
    """`desc` of set_description, `s` of set_postfix_str."""
    return str(args[0] if args else kwargs.get("desc", kwargs.get("s", "")) or "")


def _pairs(ordered_dict=None, refresh=True, **kwargs):
    """All digits of a number: the bar shows three."""
    pairs = {**dict(ordered_dict or {}), **kwargs}
    return ", ".join(f"{k}={float(v)!r}" if isinstance(v, Real) else f"{k}={v}" for k, v in pairs.items())
