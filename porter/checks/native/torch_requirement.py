"""What setup.py asks to have installed: the rules of requirement files, over the lists that `setup()` is handed."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

from porter.engine.rule import Hit, Rule, cst, named
from porter.engine.rule_file import RuleFile
from porter.finding import Change

KINDS = {"forced": "install_requires", "optional": "extras_require", "builds": "setup_requires"}  # fields of `Wanted`
LISTS = ("install_requires", "setup_requires", "tests_require", "extras_require")


class TorchRequirement(Rule):
    """Carries the codes of rules/requirements.toml, and those of the packages."""

    code = "PRT840"
    calls = frozenset({"setuptools.setup", "distutils.core.setup"})

    def visit(self, original: cst.Call, updated: cst.Call, file: RuleFile) -> Iterator[Hit]:
        from porter.text import packages

        yield from _pythons(original, file)
        # one letter for one byte: edits count in bytes
        text = file.source.utf8.decode("latin-1")
        document: Any = SimpleNamespace(text=text, session=file.session, path=file.path, newline="\n")
        nodes, wanted, extra = {}, [], _extra(original, file, text)
        for argument in original.args:
            if argument.keyword is not None and argument.keyword.value in LISTS:
                for element in _strings(argument.value):
                    start, end = file.span(element)
                    begin, stop = start + len(element.prefix) + len(element.quote), end - len(element.quote)
                    more = _another(element, text, start, end)
                    name = argument.keyword.value
                    plain = text[begin:stop].isascii()
                    about = {field: name == named for field, named in KINDS.items()}
                    requirement = packages.wanted(text, begin, stop, more=more, extra=extra, **about) if plain else None
                    if requirement is not None:
                        nodes[requirement.start] = element
                        wanted.append(requirement)
        for hit in packages.hits(document, wanted):
            edits = tuple(Change(a, b, new.encode()) for a, b, new in hit.edits)
            weight: dict[str, Any] = {"severity": hit.severity or None, "effort": hit.effort or None}
            yield Hit(nodes[hit.at[0]], hit.why, values=hit.values, more=edits, code=hit.code, **weight)


def _pythons(call: cst.Call, file: RuleFile) -> Iterator[Hit]:
    """`python_requires=">=3.6,<3.9"` of a project that computes with torch."""
    from porter.text.installable import python_left_out

    for argument in call.args if file.facts.roads.loads and not file.tested else ():
        if argument.keyword is not None and argument.keyword.value == "python_requires":
            given: Any = argument.value
            written = given.raw_value.strip() if isinstance(given, cst.SimpleString) else ""
            if values := python_left_out(written, file.target.torch):
                yield Hit(given, "python-bound", values=named(**values))


def _extra(call: cst.Call, file: RuleFile, text: str) -> tuple[int, str, str] | None:
    """Where a list may stand that only those have installed who ask for it, if others are written there."""
    for argument in call.args:
        if argument.keyword is not None and argument.keyword.value == "extras_require":
            lists: Any = argument.value
            first = lists.elements[0] if isinstance(lists, cst.Dict) and lists.elements else None
            if isinstance(first, cst.DictElement):
                start, _ = file.span(first.key)
                before = text[text.rfind("\n", 0, start) + 1 : start]
                if before.strip():
                    return start, '"npu": ["torch-npu==', '"], '
                return _above(text, start), '"npu": ["torch-npu==', f'"],\n{before}'
    return None


def _above(text: str, start: int) -> int:
    """Where the comments above an entry begin, which are its own."""
    while (begin := text.rfind("\n", 0, start)) > 0:
        line = text[text.rfind("\n", 0, begin) + 1 : begin]
        if not line.lstrip().startswith("#"):
            break
        start = begin - len(line.lstrip())
    return start


def _strings(node: cst.BaseExpression) -> Iterator[cst.SimpleString]:
    """The plain strings of a list, or of the lists of a dictionary."""
    if isinstance(node, cst.Dict):
        for entry in node.elements:
            yield from _strings(entry.value)
    elif isinstance(node, (cst.List, cst.Tuple)):
        for element in node.elements:
            if isinstance(element.value, cst.SimpleString) and "\\" not in element.value.value:
                yield element.value


def _another(element: cst.SimpleString, text: str, start: int, end: int) -> tuple[int, str, str]:
    """Where another string of the list may follow, and what stands around it."""
    before = text[text.rfind("\n", 0, start) + 1 : start]
    between = f",\n{before}" if not before.strip() else ", "
    return end, f"{between}{element.quote}torch-npu==", element.quote
