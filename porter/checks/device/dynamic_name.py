"""Names of torch.cuda looked up as strings: `getattr(torch.cuda, "synchronize")`, `import_module("torch.cuda.amp")`."""

from __future__ import annotations

from typing import Any

from porter.checks.device.fakes import ASKED, has_no_counterpart, stands_in
from porter.engine.nodes import chain, quoted
from porter.engine.rule import Answer, Hit, Rule, cst
from porter.engine.rule_file import RuleFile
from porter.rulebook.table import Tables

PATCHES = ("patch", "setattr")
LOOKUPS = ("getattr", "hasattr", "setattr", "delattr")


class DynamicName(Rule):
    code = "PRT108"
    nodes = ("Call",)
    text = (
        r"attr\s*\(\s*\w+\s*,\s*[\"']cuda[\"']",
        r"import_module\s*\(\s*[\"']torch\.cuda\b",
        r"patch\s*\(\s*[\"']torch\.cuda\.",
        r"setattr\s*\(\s*[\"']torch\.cuda\.",
    )

    def __init__(self, tables: Tables) -> None:
        self.moves = tables.moves

    def visit(self, original: cst.Call, updated: cst.Call, file: RuleFile) -> Answer:
        args = original.args
        if isinstance(original.func, cst.Name) and original.func.value in LOOKUPS:
            is_plain = len(args) > 1 and not any(a.star or a.keyword for a in args[:2])
            if not is_plain or not file.meaning.is_builtin(original.func):
                return None
            owner = file.name(args[0].value)
            if owner == "torch" and self._text(args[1]) == "cuda":
                return self._edit(original, updated, file, {1: file.target.namespace.rpartition(".")[2]}, safe=True)
            return self._member(original, updated, file) if owner == "torch.cuda" else None
        if args and file.name(original.func) == "importlib.import_module":
            return self._module(original, updated, self._text(args[0]), file)
        if args and getattr(getattr(original.func, "attr", original.func), "value", "") in PATCHES:
            return self._patched(original, updated, self._text(args[0]) or "", file)
        return None

    @staticmethod
    def _text(arg: cst.Arg) -> str | None:
        value = arg.value
        return str(value.evaluated_value) if isinstance(value, cst.SimpleString) and not value.prefix else None

    def _member(self, original: cst.Call, updated: cst.Call, file: RuleFile) -> Hit | None:
        """`getattr(torch.cuda, "x")`: ported where x is known to have a counterpart."""
        space, name = file.target.namespace.rpartition(".")[2], self._text(original.args[1])
        called = getattr(original.func, "value", "")
        safe = called in ("getattr", "hasattr")
        module = {0: space} if len(chain(original.args[0].value)) == 2 else {}  # an alias is ported where it is bound
        if name is None:
            return self._edit(original, updated, file, module, why="computed") if module else None
        move = self.moves.get(f"torch.cuda.{name}")
        # a style for both asks what every build of torch answers as one for GPUs does
        asks = called == "hasattr" and not file.style.one_world
        if move and move.stays or asks and any(f"{other}.".startswith(f"torch.cuda.{name}.") for other in self.moves):
            return None
        tail = move.tail if move else name
        if not tail or "." in tail or not file.session.has(f"{file.target.namespace}.{tail}"):
            values = (("name", f"torch.cuda.{name}"),)
            if called in ("setattr", "delattr"):  # who fakes a name is told that it is left, as in fakes.py
                is_faked = called == "setattr" and has_no_counterpart(move)
                return Hit(original.args[0].value, "left", values=values) if is_faked else None
            own = move is None and file.facts.own.sets(f"torch.cuda.{name}")
            return None if own else Hit(original, "missing", values=values)
        renamed = {} if tail == name else {1: tail}
        safe = safe and (not move or move.fix == "safe")
        return self._edit(original, updated, file, module | renamed, safe=safe) if module or renamed else None

    def _module(self, original: cst.Call, updated: cst.Call, name: str | None, file: RuleFile) -> Hit | None:
        if name is None or name != "torch.cuda" and not name.startswith("torch.cuda."):
            return None
        new = file.target.package + name.removeprefix("torch.cuda")
        if not file.session.has(new):
            return Hit(original, "missing", values=(("name", name),))
        return self._edit(original, updated, file, {0: new}, safe=True, loads=False)

    def _patched(self, original: cst.Call, updated: cst.Call, name: str, file: RuleFile) -> Hit | None:
        """`mock.patch("torch.cuda.is_available")`: whether what it pretends is true of NPUs, a person says."""
        if not name.startswith("torch.cuda."):
            return None
        move = self.moves.get(name)
        if move and move.stays:
            return None
        new = f"{file.target.namespace}.{move.tail if move else name.removeprefix('torch.cuda.')}"
        if move and not move.tail or not file.session.has(new):
            return Hit(original, "missing", values=(("name", name),))
        if name in ASKED and stands_in(file):
            return Hit(original, "stands-in", values=(("name", name),))
        return self._edit(original, updated, file, {0: new}, why="patched")

    @staticmethod
    def _edit(original: cst.Call, updated: cst.Call, file: RuleFile, words: dict[int, str], **more: Any) -> Hit:
        more = {"why": "known", "loads": True, **more}
        args = list(updated.args)
        for index, word in words.items():
            value: Any = args[index].value
            is_text = isinstance(value, cst.SimpleString)
            new = quoted(value, word) if is_text else value.with_changes(attr=value.attr.with_changes(value=word))
            args[index] = args[index].with_changes(value=new)
        return Hit(original, new=updated.with_changes(args=args), values=(("old", file.text(original)),), **more)
