"""Shell scripts that a Python program writes: a text with `#!/bin/bash`, `#SBATCH` or several lines of commands; and what a command
that it puts together asks a cluster for.

They are told of and left as they are: what the program puts into them only the run knows.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from contextlib import suppress
from itertools import pairwise

from porter.checks.scripts.cluster_gpus import asks_cluster
from porter.engine.rule import Hit, IndexRule, named
from porter.engine.rule_file import RuleFile
from porter.errors import Unreadable
from porter.python.evidence import logged
from porter.python.index import Link, strings, walk
from porter.regex import lazy
from porter.text.shells.parse import parse
from porter.text.shells.programs import TOOLS, heads
from porter.text.shells.script import Script

_SMI = "nvidia-smi"
# A text without one of these words is never looked at. Which words open a file is another list: `gate` of PRT145,
# PRT820 and PRT821 in rules/. A new word that is to open files goes there, too.
_WORDS = (_SMI, "#SBATCH", "srun", "module load", "--gres", *TOOLS)
_TEXT = lazy("|".join(map(re.escape, _WORDS)))
_IN_BYTES = tuple((max(re.findall(r"\w+", word), key=len).encode(), word.encode()) for word in _WORDS)
_BYTES = lazy(_TEXT.pattern.encode())
_HEAD = lazy(r"\s*#![ \t]*\S*[/ ](?:ba|z|k|da)?sh\b|(?:^|\n)[ \t]*#SBATCH[ \t]")
_COMMANDS = lazy(
    r"^[ \t]*(?:set[ \t]+[-+]|export[ \t]+\w+=|source[ \t]|module[ \t]+load\b|srun\b|echo[ \t]|cd[ \t]|mkdir[ \t]|fi$|done$"
    r"|if[ \t].*;[ \t]*then$|for[ \t].*;[ \t]*do$|[A-Za-z_]\w*=[^ \t=]|(?:python[\d.]*|torchrun|pip|conda)[ \t])",
    re.MULTILINE,
)
_FEW = 3  # lines of commands; what has as many is no prose
_HELP = frozenset({"help", "epilog", "description", "doc", "usage"})
_GRES = lazy(r"--gres(?:=|[ \t]+)[^\s\"']{0,80}\bgpu\b[^\s\"']{0,80}")
_PUT_IN = "0__"  # stands in the text for what an f-string computes


class ScriptTexts(IndexRule):
    code = "PRT820"
    codes = ("PRT145", "PRT820", "PRT821")

    def look(self, file: RuleFile) -> Iterator[Hit]:
        source = file.source
        among = file.source.vocabulary  # a tenth of the text; and `in` for each word is faster than one pattern
        if not any(longest in among and word in source.utf8 for longest, word in _IN_BYTES):
            return
        lines = sorted({source.line(match.start()) for match in _BYTES.finditer(source.utf8)})
        visited = set()
        for link in strings(file.tree, lines, _TEXT):
            whole = link[1] if link[1][0].__class__ is ast.JoinedStr else link
            if whole[0] in visited or file.awareness.covers_link(whole):
                continue
            visited.add(whole[0])
            text = _text(whole[0])
            if text.strip().count("\n") and _is_script(text, whole):
                with suppress(Unreadable):  # so much is put into it that it is no shell yet
                    yield from _told(parse(text), whole)
            elif "--gres" in text and (option := _asked(text, whole)):
                yield Hit(whole, "option", code="PRT821", values=named(option=_shown(option)))


def _text(node: ast.AST) -> str:
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else _PUT_IN for part in node.values)
    return str(getattr(node, "value", ""))


def _asked(text: str, link: Link) -> str:
    """`f"sbatch --gres=gpu:{n} job.sh"`, `["sbatch", "--gres", "gpu:8"]`"""
    if _is_help(link) or logged(link):
        return ""
    if asks := _GRES.search(text):
        return asks[0]
    words: list[ast.expr] = getattr(link[1][0], "elts", []) if text == "--gres" else []
    following = [word for before, word in pairwise(words) if before is link[0]]
    names = [
        _text(node) for word in following for node in walk(word) if isinstance(node, (ast.Constant, ast.JoinedStr))
    ]
    return f"{text} {names[0]}" if names and names[0].startswith("gpu") else ""


def _is_help(link: Link) -> bool:
    above = link[1][0]
    return above.__class__ is ast.Expr or above.__class__ is ast.keyword and above.arg in _HELP


def _is_script(text: str, link: Link) -> bool:
    if _is_help(link):
        return False
    if _HEAD.search(text):
        return True
    return not logged(link) and len(_COMMANDS.findall(text)) >= _FEW


def _told(script: Script, link: Link) -> Iterator[Hit]:
    """One finding for each tool, and one for what is asked of the cluster."""
    runs: dict[str, list[str]] = {}
    for command in script.commands:
        for index in heads(command):
            tool = command.words[index].name
            if tool == _SMI or tool in TOOLS:
                start, end = script.lines(command.start, command.start)
                runs.setdefault(tool, []).append(_shown(script.text[start:end]))
    for tool, lines in runs.items():
        line = next((line for line in lines if not line.startswith("echo ")), lines[0])
        code = "PRT145" if tool == _SMI else "PRT820"
        yield Hit(link, "script", code=code, values=named(line=line, tool=tool))
    for option in asks_cluster(script):
        yield Hit(link, "script", code="PRT821", values=named(option=_shown(option)))
        return


def _shown(line: str) -> str:
    return line.strip().replace(_PUT_IN, "{...}")
