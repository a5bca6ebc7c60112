"""Dockerfiles: base images, ENV and ARG, and the shell of RUN, CMD and ENTRYPOINT.

Nothing is edited unseen: what is right hangs on the image.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from porter.regex import lazy
from porter.text.document import Document
from porter.text.formats import shell
from porter.text.shells.images import brings_cuda
from porter.text.shells.parse import add, finish, masked
from porter.text.shells.script import Name, Script, Word

MARK, READS = "#", "script"
same, settled = shell.same, shell.settled
_INSTRUCTION = lazy(r"[ \t]*([A-Za-z]+)\b")
_ENDS = lazy(r"\\[ \t]*\r?\n?$")
_OPTIONS = r"(?:[ \t]|\\[ \t]*\r?\n)*(?:--\w[\w-]*=\S+(?:[ \t]|\\[ \t]*\r?\n)+)*"
_SHELL = lazy(_OPTIONS + r"(?!--|[\[<\s])")
# the here-document is the shell itself, where it does not name another program: `RUN <<EOF`
_SCRIPT = lazy(_OPTIONS + r"<<-?[\"']?[\w.-]+[\"']?[ \t]*\n(?!#!)")
_HEREDOC = lazy(r"(?<!\S)\d*<<(-?)([\"']?)([A-Za-z_][\w.-]*)\2(?!\S)")
_TAKE_HEREDOCS = ("RUN", "COPY", "ADD")
_PAIR = lazy(r"([A-Za-z_]\w{0,200})=(\"(?:[^\"\\]|\\.)*\"|'[^']*'|(?:[^\s\\\"']|\\.)*)")
_GAP = r"(?:[ \t]|\\[ \t]*\r?\n)+"  # the line may go on
_ALONE = lazy(rf"[ \t]*[A-Za-z]+{_GAP}([A-Za-z_]\w*){_GAP}([^\r\n\\]+)")
_READ = lazy(r"\$(?:\{([A-Za-z_]\w*)(?::?-([^{}$]*)\})?|([A-Za-z_]\w*))")  # `${NAME:-what stands in}`
_QUOTE = lazy(r"[\"']")
_BLANKS = lazy(r"\\([ \t]+)\n")


def read(document: Document) -> Script:
    # Docker goes on after a backslash with blanks behind it; shell does not
    text = _BLANKS.sub(r"\1\\\n", masked(document.text))
    parts: list[tuple[int, int]] = []
    names: list[Name] = []
    images: list[tuple[int, int, str]] = []
    for start, end, name in _instructions(text):
        body = text[start:end]
        if name in ("RUN", "CMD", "ENTRYPOINT"):
            parts.append((start, end))
            continue
        if name in ("FROM", "ARG"):
            images += _images(start, body, name)
        names += _names(start, body, name)
    script = Script(_without(text, parts))
    script.ends = Script(text).ends  # what is parsed has no empty lines inside a command
    add(script, 0, len(text))
    finish(script)
    script.names = sorted([*script.names, *names], key=lambda n: n.start)
    script.images, script.safe = images, False
    return script


def _instructions(text: str) -> Iterator[tuple[int, int, str]]:
    """Each with its here-documents."""
    lines = text.splitlines(keepends=True)
    last = {line.strip(): number for number, line in enumerate(lines)}
    line_end, name, begin, is_continued = 0, "", 0, False
    awaited: list[tuple[str, bool]] = []  # lines that end a here-document, and whether tabs may stand in front
    for number, line in enumerate(lines):
        start, line_end = line_end, line_end + len(line)
        if awaited:
            word, is_indented = awaited[0]
            if (line.lstrip("\t") if is_indented else line).rstrip() == word:
                del awaited[0]
                if not awaited:
                    yield begin, line_end, name
            continue
        if is_continued and (not line.strip() or line.lstrip().startswith("#")):
            continue
        if not is_continued:
            match = _INSTRUCTION.match(line)
            if line.lstrip().startswith("#") or not match:
                continue
            name, begin = match[1].upper(), start
        is_continued = _ENDS.search(line) is not None
        if is_continued:
            continue
        if name in _TAKE_HEREDOCS:
            found = _HEREDOC.finditer(text, begin, line_end)
            awaited = [(m[3], bool(m[1])) for m in found if last.get(m[3], -1) > number]
        if not awaited:
            yield begin, line_end, name
    if is_continued or awaited:
        yield begin, len(text), name


def _images(start: int, body: str, name: str) -> Iterator[tuple[int, int, str]]:
    """`FROM nvidia/cuda:12.1`, `FROM nvidia/cuda:"${tag}"`, `ARG BASE=nvcr.io/nvidia/pytorch:24.01-py3`."""
    pattern = r"[ \t]*FROM[ \t]+(?:--\S+[ \t]+)*(\S+)" if name == "FROM" else r"[ \t]*ARG[ \t]+\w+=[\"']?([^\s\"']+)"
    match = re.match(pattern, body, re.IGNORECASE)
    image = _QUOTE.sub("", match[1]) if match else ""
    if match and (name == "FROM" or "/" in image) and brings_cuda(image):
        yield start + match.start(1), start + match.end(1), image


def _names(start: int, body: str, name: str) -> Iterator[Name]:
    if name in ("ENV", "ARG"):
        pairs = list(_PAIR.finditer(body))
        joint = " " if pairs and name == "ENV" else ""
        for match in pairs or filter(None, [_ALONE.match(body) if name == "ENV" else None]):
            value = Word(start + match.start(2), start + match.end(2), match[2])
            yield Name(start + match.start(1), start + match.end(1), match[1], "set", value, True, joint=joint)
        if not pairs and (bare := re.match(r"[ \t]*ARG[ \t]+(\w+)", body, re.IGNORECASE)):
            yield Name(start + bare.start(1), start + bare.end(1), bare[1], "named")
    for match in _READ.finditer(body):
        group = 1 if match[1] else 3
        instead = Word(start + match.start(2), start + match.end(2), match[2]) if match[2] else None
        yield Name(start + match.start(group), start + match.end(group), match[group], "read", instead)


def _without(text: str, parts: list[tuple[int, int]]) -> str:
    """Only the shell, where it stands; a line between two of one command goes on as they do."""
    out = list(re.sub(r"[^\n]", " ", text))
    for start, end in parts:
        head = _INSTRUCTION.match(text, start).end()  # type: ignore[union-attr]  # it is why the part begins here
        if script := _SCRIPT.match(text, head, end):
            offset, end = script.end(), text.rfind("\n", start, end - 1) + 1
            out[offset:end] = text[offset:end]
            continue
        body = _SHELL.match(text, head, end)
        if body is None:
            continue  # a list of words, or a here-document for another program
        offset, goes_on = body.end(), True
        for line in text[offset:end].splitlines(keepends=True):
            if goes_on and line == "\n":
                out[offset - 2 : offset + 1] = " \\\n"  # the line above goes on here
            elif goes_on and (not line.strip() or line.lstrip().startswith("#")) and line.endswith("\n"):
                out[offset : offset + len(line)] = " " * (len(line) - 2) + "\\\n"
            else:
                out[offset : offset + len(line)] = line
                goes_on = goes_on and _ENDS.search(line) is not None
            offset += len(line)
    return "".join(out)
