"""`x.to(0)`, `device=local_rank`: before torch 2.5.1 a bare integer meant a CUDA device, whatever else was there."""

from __future__ import annotations

from typing import Any

from porter.checks.device.handed_index import handed, is_found_by_name, spelled
from porter.engine.rule import Answer, Hit, Rule, cst
from porter.engine.rule_file import RuleFile
from porter.python.handed_index import CURRENT, device_place
from porter.regex import lazy

_INT = r"(?:\d+\b|int\s*\(|(?:\w+\.)*(?:\w*rank|current_device|gpu|gpu_id|device_id)\b|(?:\w+\.)*\w*(?:args|opts?)\.device\b|(?:\w+\.)*\w*(?:device_ids|gpu_ids|gpus)\[\d)"
_OF_LIST = lazy(r"(?:\w+\.)*\w*(?:device_ids|gpu_ids|gpus)\[\d+\]")  # an index out of a list of them


class IntegerDevice(Rule):
    code = "PRT133"
    nodes = ("Call",)
    calls = frozenset({CURRENT})
    only = staticmethod(lambda scene, _: not scene.file.target.int_is_npu)
    text = (rf"\.to\s*\(\s*{_INT}", rf"device\s*[(=]\s*{_INT}")

    def visit(self, original: cst.Call, updated: cst.Call, file: RuleFile) -> Answer:
        if file.target.int_is_npu:
            return None
        if file.name(original.func) == CURRENT:
            return handed(original, updated, file)
        index = self._place(original, file)
        if index is None:
            return None
        value = original.args[index].value
        if is_told_where_made(value, file):
            return None
        kind = file.meaning.int_kind(value) or ("likely" if _OF_LIST.fullmatch(file.text(value)) else "")
        if not kind:
            return None
        given = updated.args[index].value
        text = spelled(file.text(value), given, file)
        values = (("old", file.text(value)), ("new", text or ""))
        if text is None:
            return Hit(original, "by-hand", values=values)
        args = list(updated.args)
        args[index] = args[index].with_changes(value=cst.parse_expression(text))
        new = updated.with_changes(args=args)
        return Hit(original, kind, new=new, safe=kind == "known", values=values, loads=True)

    @staticmethod
    def _place(original: cst.Call, file: RuleFile) -> int | None:
        """Which argument is a device, if one is."""
        name, func = file.name(original.func), original.func
        method = func.attr.value if isinstance(func, cst.Attribute) and file.is_object(func.value) else ""
        if any(a.star for a in original.args):
            return None
        keywords = [a.keyword.value if a.keyword is not None else None for a in original.args]
        return device_place(name or "", method, keywords)


def is_told_where_made(value: Any, file: RuleFile) -> bool:
    """Whether a name holds `torch.cuda.current_device()`, and it is spoken of there."""
    if not isinstance(value, cst.Name) or is_found_by_name(value.value):
        return False
    return file.meaning.made_by(value) == CURRENT
