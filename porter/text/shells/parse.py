"""Shell as a tree: the commands and the variables of those parts of a script that hold a word porter knows.

Offsets are characters of the document. What a Makefile or a Dockerfile has around its shell is blanked out before
parsing, so that nothing moves.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from functools import lru_cache
from typing import TYPE_CHECKING

from porter.errors import Unreadable
from porter.native import grammar
from porter.regex import lazy, rare
from porter.text.shells.script import Command, Name, Script, Text, Word

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

# the words that rules look for; a statement without one of them is not walked
WORDS = lazy(
    r"CUDA|NCCL|CUBLAS|CUDNN|NVCC|NVIDIA|TORCH_|PYTORCH_|VLLM_(?:WORKER|ATTENTION)|cuda|nccl|nvidia|nvcc|nvprof|nsys|ncu\b|gpu|dcgm"
    r"|nvtop|nv-|--nv\b|-G\b|--constraint\b|compute-sanitizer|install"
)
_WORDS = lazy(WORDS.pattern.encode())
# a variable that holds a device or a backend: what it is handed to counts as if the value stood there
_HOLDS = rare(rb"(?<![\w$])(\w+)=[\"']?(?:\$\{\w+:?[-=])?(?:cuda|nccl)\b")
_RUNS_TEXT = frozenset({"bash", "sh", "zsh", "dash", "ksh", "eval", "ssh", "su"})
_RUN = lazy(  # a variable as a command
    r"(?:^|[;&|(]|\b(?:eval|exec|then|do|else|sudo|time|srun)\b)[ \t]*\"?\${?(\w+)", re.MULTILINE
)
# The grammar's scanner asks the C library whether a character is a digit. That ends the process for characters above 255, so
# each that is not ASCII is replaced by DEL before parsing: to bash both are part of a word, and of no name. One byte is then
# one character.
_NOT_ASCII = lazy(r"[^\x00-\x7f]")
_GOES_ON = lazy(r"\\(?=\n\s*\Z)")
_DEFAULTS = frozenset({":-", "-", ":=", "="})


@lru_cache(maxsize=1)
def _parser() -> Parser:
    import tree_sitter
    import tree_sitter_bash

    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))


def masked(text: str) -> str:
    """The same with line ends that the grammar knows, and as long."""
    return text.replace("\\\r\n", " \\\n").replace("\r\n", " \n") if "\r" in text else text


def parse(text: str) -> Script:
    """`text`: a document, or a part of it, after `masked`. Raises Unreadable where hardly anything is shell, and
    some word of it is one that rules look for."""
    script = Script(text)
    add(script, 0, len(text))
    finish(script)
    return script


def add(script: Script, begin: int, end: int, above: tuple[str, ...] = ()) -> None:
    """What stands in this part of the text, which is shell of its own."""
    text = script.text[begin:end]
    walk = _Walk(script, text, begin)
    root = walk.parse()
    broken = sum(end - start for start, end in walk.errors)
    line = bisect_left(script.ends, min(walk.errors)[0] if walk.errors else begin) + 1
    if root is None or root.type == "ERROR" or broken * 2 > len(text.strip()):
        if not WORDS.search(script.text):
            return  # nothing of it concerns anybody
        raise Unreadable("text", "shell grammar", line)
    script.damaged = min(script.damaged or line, line) if walk.errors else script.damaged
    lines = {script.lines(start, end) for start, end in walk.errors}
    script.broken += [line for line in lines if WORDS.search(script.text, *line)]
    walk.walk(root, [], above, 0)


def finish(script: Script) -> None:
    """Once everything is there: strings that are run as commands, and all in the order of the text."""
    programs, walk = set(_RUN.findall(script.text)), _Walk(script, "", 0)
    for name in [*script.names]:
        if name.role == "set" and name.value and name.value.text.startswith(("'", '"')) and name.name in programs:
            walk.inner(name.value, ("text",))
    script.texts = [text for text in script.texts if text.word.start not in script.ran]
    script.names = sorted({name.start: name for name in script.names}.values(), key=lambda n: n.start)
    script.commands.sort(key=lambda c: c.start)
    script.comments.sort()
    script.broken = sorted({*script.broken})


def _reads(data: bytes) -> list[re.Pattern[bytes]]:
    names = sorted({*_HOLDS.findall(data)})
    return [re.compile(rb"\$\{?(?:%s)\b" % b"|".join(names))] if names else []


def syntax(text: str) -> Node | None:
    """The whole tree of what `masked` made of a script; a byte of it is a character of the text."""
    tree = grammar.tree(_parser(), _NOT_ASCII.sub("\x7f", text).encode())
    return tree.root_node if tree else None


class _Walk:
    """Walks the tree of one text, which begins at `base` of the document, and puts what it finds into `script`."""

    def __init__(self, script: Script, text: str, base: int):
        self.script, self.text, self.base = script, text, base
        # a line that goes on at the end of the text goes nowhere, which the grammar does not know
        self.data = _GOES_ON.sub(" ", _NOT_ASCII.sub("\x7f", text)).encode()
        self.hits: list[int] = []
        self.errors: list[tuple[int, int]] = []
        self.around: list[Command] = []  # the commands that the walk stands in

    def absolute(self, offset: int) -> int:
        return self.base + offset

    def parse(self) -> Node | None:
        tree = grammar.tree(_parser(), self.data)
        if tree is None:
            return None
        self.hits = sorted(m.start() for pattern in (_WORDS, *_reads(self.data)) for m in pattern.finditer(self.data))
        self._shape(tree.root_node)
        return tree.root_node

    def _shape(self, root: Node) -> None:
        """Notes comments, here-documents and errors, and counts nodes: an edit must not change them, nor break what was whole."""
        stack = [root]
        counts = self.script.shape
        while stack:
            node = stack.pop()
            if node.type == "ERROR" or node.is_missing:
                self.errors.append((self.absolute(node.start_byte), self.absolute(node.end_byte)))
            elif node.type == "comment":
                self.script.comments.append((self.absolute(node.start_byte), self.absolute(node.end_byte)))
            elif node.type == "heredoc_body":
                self.script.heredocs.append((self.absolute(node.start_byte), self.absolute(node.end_byte)))
            elif node.has_error or node.type in _HOLDERS:
                stack.extend(node.children)
            if node.type in _COUNTED:
                counts[node.type] = counts.get(node.type, 0) + 1

    def _holds(self, node: Node) -> bool:
        index = bisect_left(self.hits, node.start_byte)
        return index < len(self.hits) and self.hits[index] < node.end_byte

    def walk(self, node: Node, parents: list[Node], around: tuple[str, ...], reach: int) -> None:
        """`parents`: the nodes around it, outermost first (node.parent is slow: it is searched from the root). `around`: their
        types, and what `kind_of_text` says of strings that are run. `reach`: if the node is a condition or stands in
        one, where the text ends that the condition decides about, else 0."""
        kind, inside = node.type, len(self.around)
        if kind in ("comment", "ERROR"):
            return
        if kind in ("command", "declaration_command", "unset_command") and "heredoc_body" not in around:
            self._command(node, around, reach)
        elif kind == "variable_name":
            self._name(node, parents)
        elif kind in ("string", "raw_string") and "heredoc_body" not in around:
            self._string(node, around)
        deciding = {child.id for child in node.children_by_field_name("condition")} if kind in _DECIDED else ()
        parents.append(node)
        for number, child in enumerate(node.children):
            if child.type == "variable_name" or self._holds(child):
                below = 0 if kind in _BODIES else reach
                if not below and (child.id in deciding or kind == "list" and not number):
                    below = self._end(node)
                self.walk(child, parents, (*around, kind), below)
        parents.pop()
        del self.around[inside:]

    def _end(self, node: Node) -> int:
        """Where the text ends that a condition decides about: `a || exit 1` decides about all that follows."""
        text = self.text[node.start_byte : node.end_byte]
        turned = _TURNED.match(text) or node.type == "list" and any(child.type == "||" for child in node.children)
        return self.absolute(len(self.text) if turned and _LEAVES.search(text) else node.end_byte)

    def word(self, node: Node) -> Word:
        start, end = self.absolute(node.start_byte), self.absolute(node.end_byte)
        text = self.text[start - self.base : end - self.base]
        return Word(start, end, text)

    def _command(self, node: Node, around: tuple[str, ...], reach: int) -> None:
        words = [
            self.word(child)
            for child in node.children
            if child.type not in ("variable_assignment", "file_redirect", "herestring_redirect", "comment", "ERROR")
        ]
        if not words:
            return
        command = Command(self.absolute(node.start_byte), words[-1].end, tuple(words), around, bool(reach), reach)
        self.script.commands.append(command)
        self.around.append(command)
        if "text" not in around and any(word.name in _RUNS_TEXT for word in words):
            for word in words[1:]:
                if word.text.startswith(("'", '"')) and " " in word.text and WORDS.search(word.text):
                    self.inner(word, (*around, kind_of_text(command)))

    def _string(self, node: Node, around: tuple[str, ...]) -> None:
        word = self.word(node)
        if word.start in self.script.ran:
            return
        command = next((c for c in reversed(self.around) if c.start <= word.start < c.end), None)
        is_value = "variable_assignment" in around or "array" in around
        self.script.texts.append(Text(word, "" if is_value or command is None else command.words[0].name))

    def inner(self, word: Word, around: tuple[str, ...]) -> None:
        """A string that is run: its text is shell again."""
        body = word.text[1:-1]
        if word.text[0] == '"':
            body = re.sub(r'\\(["$`])', r" \1", body)
        walk = _Walk(Script(body), body, word.start + 1)
        root = walk.parse()
        if root is None or root.has_error:
            return
        walk.script.shape = {}
        walk.walk(root, [], around, 0)
        self.script.commands += walk.script.commands
        self.script.names += walk.script.names
        self.script.ran.add(word.start)
        self.script.texts += walk.script.texts

    def _name(self, node: Node, parents: list[Node]) -> None:
        above, holder = parents[-1], parents[-2] if parents[1:] else None
        start, end = self.absolute(node.start_byte), self.absolute(node.end_byte)
        name = self.text[start - self.base : end - self.base]
        role, value, exported, prefix, joint = "read", None, False, False, ""
        if above.type == "variable_assignment":
            kind = holder.type if holder else ""
            first = holder.children[0].type if holder and kind == "declaration_command" else ""
            declared = first in ("export", "declare", "typeset")
            prefix = kind == "command"
            # for the grammar, two assignments in a statement without a command go on in the next line
            joint = "; " if kind in _OF_STATEMENTS else " "
            exported = prefix or declared
            role, given = "set", above.child_by_field_name("value")
            value = self.word(given) if given else Word(end + 1, end + 1, "")
        elif above.type == "expansion":
            following = [child for child in above.children if child.start_byte >= node.end_byte]
            if len(following) == 3 and following[0].type in _DEFAULTS:
                value = self.word(following[1])
        elif above.type in ("declaration_command", "unset_command", "for_statement"):
            role, joint = "named", "" if above.type == "for_statement" else " "
        self.script.names.append(Name(start, end, name, role, value, exported, prefix, joint))


_TURNED = lazy(r"(?:el)?(?:if|while)\s+!")
_LEAVES = lazy(r"\b(?:exit|return|continue|break|die|fail|fatal|abort)\b")
# statements with a condition
_DECIDED = frozenset({"if_statement", "elif_clause", "while_statement"})
# a body is no condition any more
_BODIES = frozenset({"do_group", "command_substitution", "subshell", "compound_statement"})
# nodes whose children are statements
_OF_STATEMENTS = frozenset(
    {"program", "do_group", "compound_statement", "if_statement", "elif_clause", "else_clause", "case_item", "subshell"}
)
# nodes that may hold comments and here-documents
_HOLDERS = frozenset(
    "program list if_statement else_clause elif_clause for_statement c_style_for_statement while_statement do_group "
    "case_statement case_item function_definition compound_statement subshell pipeline redirected_statement "
    "negated_command heredoc_redirect array variable_assignment declaration_command command".split()
)
# nodes whose number an edit must not change
_COUNTED = frozenset({"comment", "heredoc_body", "command", "declaration_command", "ERROR", "if_statement", "do_group"})


def kind_of_text(command: Command) -> str:
    return "remote" if command.words[0].name == "ssh" else "text"
