"""Imports of apex and amp_C: what has a counterpart in torch is imported from there, under the name it has here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from porter.checks.apex.counterparts import Counterpart, counterpart
from porter.checks.apex.left_unbound import leaves_nothing, stands_beside_calls, stops_unbound
from porter.checks.apex.scaler import native_amp
from porter.checks.device.import_parts import Alias, From, comments, is_used, split
from porter.engine.nodes import bound, chain, imported
from porter.engine.rule import Hit, Rule, cst
from porter.engine.rule_file import RuleFile
from porter.finding import Change


class ApexImport(Rule):
    code = "PRT355"
    imports = ("apex", "amp_C")

    def visit(self, original: cst.Import | cst.ImportFrom, updated: Any, file: RuleFile) -> Iterator[Hit]:
        names = [n for n in imported(original) if n.partition(".")[0] in self.imports]
        guard = file.imported.import_guard()
        package = names[0].partition(".")[0] if names else ""
        if guard == "type-checking" or not names or file.facts.own.has_package(package, file.path):
            return
        values: tuple[tuple[str, str], ...] = (("name", ", ".join(names)),)
        if (ported := native_amp(file)) and (more := ported.pieces.get(file.span(original)[0])):
            yield Hit(original, "unused", values=values, more=more)
            return
        if guard:
            if file.imported.speaks_for(package) == "optional" and not leaves_nothing(file):
                yield Hit(original, "unbound" if stops_unbound(file) else "optional", values=values, severity="note")
            return
        used = is_used(original, file)
        if moved := self._moved(original, file) if used else {}:
            module = next(iter(moved.values())).module
            moved = {index: entry for index, entry in moved.items() if entry.module == module}
            values = (("name", ", ".join(names[index] for index in moved)), ("new", module))
            yield _ported(original, updated, moved, values, file)
        left = [name for index, name in enumerate(names) if index not in moved]
        if left:
            # told and not deleted: a second run would delete what the edits of the first have left unused
            told = left == ["apex.amp"] and stands_beside_calls(bound(original), file)
            why = ("local" if told else "left") if used else "unneeded"
            yield Hit(original, why, values=(("name", ", ".join(left)),))

    @staticmethod
    def _moved(node: Any, file: RuleFile) -> dict[int, Counterpart]:
        """The counterparts of the names of `from apex... import a, b`, by index."""
        if not isinstance(node, cst.ImportFrom) or isinstance(node.names, cst.ImportStar):
            return {}
        module = ".".join(chain(node.module)) if node.module is not None else ""
        entries = {index: counterpart(file, f"{module}.{alias.name.value}") for index, alias in enumerate(node.names)}
        return {index: entry for index, entry in entries.items() if entry}


def _ported(
    original: From, updated: From, moved: Mapping[int, Counterpart], values: tuple[tuple[str, str], ...], file: RuleFile
) -> Hit:
    """Where the port runs on GPUs as well, those keep the optimisers of apex, which are faster there."""
    module = next(iter(moved.values())).module
    new, after = _written(updated, moved, module)
    if file.style.one_world or module != "torch.optim":
        return Hit(original, "moved", new=new, after=after, values=values)
    start, end = file.span(original)
    source = file.source
    line_start, line_end = source.starts[source.line(start) - 1], source.line_end(end)[0]
    indent, behind = source.utf8[line_start:start], source.utf8[end:line_end].strip()
    if indent.strip() or behind and not behind.startswith(b"#"):
        return Hit(original, "left", values=values)  # another statement stands in the line
    kept = original.with_changes(names=[original.names[index] for index in moved], lpar=None, rpar=None)
    aliases = [_alias(original.names[index], entry.name) for index, entry in moved.items()]
    there = kept.with_changes(module=cst.parse_expression(module), names=aliases)
    is_whole = len(moved) == len(original.names)
    notes = "".join(f"  {note}" for note in comments(original if is_whole else kept))
    lines = ("try:", f"    {_line(kept)}{notes}", "except ImportError:", f"    {_line(there)}")
    if not is_whole:
        return Hit(original, "guarded", new=new, after=lines, values=values)
    newline = b"\r\n" if source.utf8[line_end : line_end + 1] == b"\r" else b"\n"
    text = (newline + indent).join(line.encode() for line in lines)
    return Hit(original, "guarded", more=(Change(start, end, text),), values=values)


def _line(node: From) -> str:
    """An import in one line, without the comma and the comments of a longer one."""
    names = [*node.names[:-1], node.names[-1].with_changes(comma=cst.MaybeSentinel.DEFAULT)]
    plain = cst.Comma(whitespace_after=cst.SimpleWhitespace(" "))
    names = [*(name.with_changes(comma=plain) for name in names[:-1]), names[-1]]
    return cst.Module([]).code_for_node(node.with_changes(names=names))


def _written(node: From, moved: Mapping[int, Counterpart], module: str) -> tuple[cst.ImportFrom, tuple[str, ...]]:
    """The name stays: the rest of the file uses it, and other files may import it from here."""
    aliases = {index: _alias(node.names[index], entry.name) for index, entry in moved.items()}
    if len(moved) < len(node.names):
        new, after = split(node, aliases, module)
        return new, (after,)
    names = [aliases[index].with_changes(comma=alias.comma) for index, alias in enumerate(node.names)]
    return node.with_changes(module=cst.parse_expression(module), names=names), ()


def _alias(alias: Alias, name: str) -> Alias:
    own = alias.asname or cst.AsName(cst.Name(alias.name.value))
    same = isinstance(own.name, cst.Name) and own.name.value == name
    return alias.with_changes(name=cst.Name(name), asname=None if same else own)
