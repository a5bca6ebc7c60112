"""A launch script, followed: its variables, arrays and conditions, as far as the script alone tells, and its commands that
have options. Nothing is run."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from porter.checklist.expand import UNKNOWN, Expander, Value
from porter.checklist.options import OPTION, OVERRIDE
from porter.errors import Unreadable
from porter.regex import lazy
from porter.text.shells.parse import masked, syntax

if TYPE_CHECKING:
    from tree_sitter import Node

_OTHERS = frozenset(
    "mkdir tee echo grep pip pip3 conda git ls rm cp mv sed awk wget curl apt apt-get yum docker cd test printf cat kill pkill sleep tar"
    " modelscope huggingface-cli ray source set export head tail find chmod sync pytest npu-smi nvidia-smi wait exit".split()
)
_SCOPES = frozenset(
    {
        "program",
        "list",
        "pipeline",
        "redirected_statement",
        "subshell",
        "compound_statement",
        "do_group",
        "negated_command",
    }
)
_PLACEHOLDER = lazy(r"(?<![<&\d])<[A-Za-z][\w .,:'/-]*>")  # DATA=<path of the data>: to be filled in, and no shell
_BRACKETS = lazy(r"^\s*\[{1,2}\s|\s\]{1,2}\s*$")
_OPERANDS = lazy(r"\"[^\"]*\"|'[^']*'|\S+")
_COMPARED = {"==": True, "=": True, "!=": False, "-eq": True, "-ne": False}


@dataclass
class Run:
    """One command that has options."""

    words: list[str]
    line: int
    environment: dict[str, str]

    @property
    def options(self) -> int:
        return sum(bool(OPTION.match(word) or OVERRIDE.fullmatch(word)) for word in self.words)


@dataclass
class Script:
    variables: dict[str, Value] = field(default_factory=dict)
    exported: dict[str, str] = field(default_factory=dict)
    runs: list[Run] = field(default_factory=list)
    embedded: list[tuple[str, int]] = field(default_factory=list)  # JSON that the script writes into a file
    doubtful: list[int] = field(default_factory=list)  # lines of conditions that the script alone does not decide

    @property
    def main(self) -> Run | None:
        """The command that has the most options."""
        return max(self.runs, key=lambda run: run.options, default=None)

    @property
    def words(self) -> list[str]:
        """Of that command; where the script starts nothing, what its variables hold."""
        values = self.variables.values()
        return self.main.words if self.main else [w for v in values for w in (v if isinstance(v, list) else v.split())]


def read(text: str) -> Script:
    text = masked(_PLACEHOLDER.sub(lambda match: re.sub(r"\W", "_", match[0]), text))
    root = syntax(text)
    if root is None or root.type == "ERROR":
        raise Unreadable("text", "shell grammar", 1)
    walk = _Walk(text)
    walk.all(root)
    return walk.script


class _Walk:
    def __init__(self, text: str):
        self.text, self.script = text, Script()

    def _of(self, node: Node) -> str:
        return self.text[node.start_byte : node.end_byte]

    def _words(self, node: Node) -> list[str]:
        return Expander(self.script.variables).words(self._of(node))

    def all(self, node: Node) -> None:
        for child in node.named_children:
            self.one(child)

    def one(self, node: Node) -> None:
        kind = node.type
        if kind == "variable_assignment":
            self._assign(node)
        elif kind == "declaration_command":
            self._declare(node)
        elif kind == "command":
            self._command(node)
        elif kind == "if_statement":
            self._if(node)
        elif kind == "case_statement":
            self._case(node)
        elif kind == "for_statement":
            self._for(node)
        elif kind == "function_definition":
            self.all(node.named_children[-1])
        elif kind == "list":
            if self._guarded(node):
                self.one(node.named_children[-1])
        elif kind == "heredoc_redirect":
            self._heredoc(node)
        elif kind in _SCOPES or kind == "ERROR":  # of what the grammar does not understand, whatever it does
            self.all(node)

    def _assign(self, node: Node) -> tuple[str, Value] | None:
        name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
        if name is None or name.type != "variable_name":
            return None
        key, variables = self._of(name), self.script.variables
        new: Value
        if value is not None and value.type == "array":
            new = [word for item in value.named_children if item.type != "comment" for word in self._words(item)]
        else:
            new = Expander(variables).text(self._of(value)) if value is not None else ""
        old = variables.get(key)
        if any(child.type == "+=" for child in node.children) and old is not None:
            if isinstance(old, list):
                new = old + (new if isinstance(new, list) else [new])
            else:
                new = old + (" ".join(new) if isinstance(new, list) else new)
        elif isinstance(new, str) and new.startswith(UNKNOWN) and isinstance(old, str) and old:
            return key, old  # `LR=$2` where options are read: what stood there holds
        variables[key] = new
        return key, new

    def _declare(self, node: Node) -> None:
        exports = node.children[0].type == "export" or "-x" in self._of(node).split()
        for child in node.named_children:
            done = self._assign(child) if child.type == "variable_assignment" else None
            if done is None and child.type == "variable_name" and self._of(child) in self.script.variables:
                done = self._of(child), self.script.variables[self._of(child)]
            if done and exports and isinstance(done[1], str):
                self.script.exported[done[0]] = done[1]

    def _command(self, node: Node) -> None:
        words: list[str] = []
        environment: dict[str, str] = {}
        for child in node.children:
            if child.type == "variable_assignment":
                value = child.child_by_field_name("value")
                name = child.child_by_field_name("name")
                if name is not None:
                    text = Expander(self.script.variables).text(self._of(value)) if value is not None else ""
                    environment[self._of(name)] = text
            elif child.type not in ("comment", "file_redirect", "herestring_redirect", "heredoc_redirect"):
                words += [part for word in self._words(child) for part in _split(word)]
        run = Run(words, node.start_point[0] + 1, environment)
        if words and words[0].rpartition("/")[2] not in _OTHERS and (run.options or _launches(words)):
            self.script.runs.append(run)

    def _if(self, node: Node) -> None:
        """The branch that is taken; where the script alone does not tell, all of them, one after the other."""
        parts: list[tuple[Node | None, list[Node]]] = [(None, [])]
        conditions = {child.id for child in node.children_by_field_name("condition")}
        for child in node.named_children:
            if child.id in conditions:
                parts[0] = (child, [])
            elif child.type == "elif_clause":
                parts.append((child.named_children[0], child.named_children[1:]))
            elif child.type == "else_clause":
                parts.append((None, child.named_children))
            else:
                parts[0][1].append(child)
        for condition, body in parts:
            holds = True if condition is None else self._test(condition)
            if holds is None:
                self.script.doubtful.append(node.start_point[0] + 1)
            if holds is not False:
                for child in body:
                    self.one(child)
            if holds:
                return

    def _case(self, node: Node) -> None:
        subject = "".join(Expander(self.script.variables, "").words(self._of(node.named_children[0])))
        for item in node.named_children[1:]:
            if item.type != "case_item":
                continue
            patterns = list(item.children_by_field_name("value"))
            texts = [self._of(child).strip("\"'") for child in patterns]
            if subject in texts or "*" in texts:
                for child in item.named_children[len(patterns) :]:
                    self.one(child)
                return

    def _for(self, node: Node) -> None:
        name, *rest = node.named_children
        words = [word for child in rest if child.type != "do_group" for word in self._words(child)]
        if name.type == "variable_name" and words:
            self.script.variables[self._of(name)] = words[0]
        for child in rest:
            if child.type == "do_group":
                self.all(child)

    def _guarded(self, node: Node) -> bool:
        """`[ -n "$X" ] && Y=1`: only what follows, where the condition holds; whole, where there is none."""
        first = node.named_children[0]
        if first.type != "test_command":
            self.one(first)
            return len(node.named_children) > 1
        holds = self._test(first)
        return holds is None or holds == any(child.type == "&&" for child in node.children)

    def _test(self, node: Node) -> bool | None:
        """As the script stands, run without arguments: what nobody sets is empty."""
        text = self._of(node).strip()
        for operator, decides in (("||", True), ("&&", False)):
            if operator in text:
                answers = [self._holds(part) for part in text.split(operator)]
                return decides if decides in answers else None if None in answers else not decides
        return self._holds(text)

    def _holds(self, text: str) -> bool | None:
        text = _BRACKETS.sub("", text)
        if re.search(r"\s-[ao]\s|[<>()]|=~", text):
            return None
        words = [Expander(self.script.variables, "").text(word) for word in _OPERANDS.findall(text)]
        return None if any(UNKNOWN in word for word in words) else _holds(words)

    def _heredoc(self, node: Node) -> None:
        for child in node.named_children:
            if child.type == "heredoc_body":
                body = self._of(child)
                if body.lstrip().startswith("{"):
                    plain = re.sub(r'"', r'\\"', body)
                    text = Expander(self.script.variables).text(f'"{plain}"')
                    self.script.embedded.append((text.replace(UNKNOWN, ""), child.start_point[0] + 1))


def _holds(words: list[str]) -> bool | None:
    if words[:1] == ["!"]:
        inner = _holds(words[1:])
        return None if inner is None else not inner
    if len(words) == 3 and words[1] in _COMPARED:
        empty = "0" if words[1].startswith("-") else ""  # what is empty counts as 0 among numbers
        return ((words[0] or empty) == (words[2] or empty)) == _COMPARED[words[1]]
    if len(words) == 2 and words[0] in ("-z", "-n"):
        return (words[1] == "") == (words[0] == "-z")
    return bool(words[0]) if len(words) == 1 else None


def _split(word: str) -> list[str]:
    """A quoted word that holds options is what the author meant to be several."""
    return word.split() if re.search(r"\s", word) and re.match(r"\s*--|.*\s--[a-z]", word, re.DOTALL) else [word]


def _launches(words: list[str]) -> bool:
    return any(word.endswith((".py", ".yaml", ".yml")) for word in words)
