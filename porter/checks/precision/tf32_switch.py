"""Moves `torch.backends.cudnn.allow_tf32` and `torch.backends.cuda.matmul.allow_tf32` to the NPU's own switches."""

from __future__ import annotations

import ast

from porter.engine.nodes import chain, dotted
from porter.engine.rule import Answer, Hit, Rule, cst
from porter.engine.rule_file import RuleFile

SWITCHES = {"torch.backends.cuda.matmul.allow_tf32": "matmul", "torch.backends.cudnn.allow_tf32": "conv"}
NEWER = {  # "tf32" or "ieee", from torch 2.9
    "torch.backends.fp32_precision": "matmul",
    "torch.backends.cuda.matmul.fp32_precision": "matmul",
    "torch.backends.cudnn.fp32_precision": "conv",
    "torch.backends.cudnn.conv.fp32_precision": "conv",
}
# by switch and value; what is not listed is `wrong` where something is assigned, else `note`
SEVERITY: dict[tuple[str, object], str] = {
    ("conv", False): "wrong",
    ("matmul", True): "slow",
    ("conv", True): "note",
    ("matmul", False): "note",
}


class Tf32Switch(Rule):
    code = "PRT303"
    references = frozenset({*SWITCHES, *NEWER})

    def visit(self, original: cst.Attribute | cst.Name, updated: cst.Attribute | cst.Name, file: RuleFile) -> Answer:
        name = file.name(original) or ""
        # `from torch.backends.cudnn import allow_tf32` makes a copy; to set it has no effect
        if isinstance(original, cst.Name):
            return None
        part = SWITCHES.get(name) or NEWER[name]
        new = f"{file.target.namespace}.{part}.allow_hf32"
        values = (("old", name), ("new", new))
        value = file.around.assigned(original)
        if value is None and (_is_for_cudnn(original, name, file) or _is_for_kernel(original, file)):
            return None
        severity = SEVERITY.get((part, getattr(value, "value", None)), "wrong" if value is not None else "note")
        words = chain(original)  # the first may be the name under which the file imported torch
        torch = words[0] if len(words) == name.count(".") + 1 else file.meaning.module_name(original, "torch")
        same = f"{part}-same" if getattr(value, "value", None) is (part == "conv") else ""
        if name in NEWER or torch is None or not file.session.has(new):
            return Hit(original, same or "by-hand", values=values, severity=severity)
        node = dotted(f"{torch}.{new.partition('.')[2]}").with_changes(lpar=updated.lpar, rpar=updated.rpar)
        safe = not _handed_on(name, file)
        return Hit(original, same or part, new=node, safe=safe, values=values, severity=severity, loads=True)


def _is_for_cudnn(original: cst.Attribute, name: str, file: RuleFile) -> bool:
    """Whether a file only reads a switch, and calls operators of cuDNN to which it is handed: they know no other."""
    return file.source.says(b"aten::cudnn_") and not any(
        mention[0].ctx.__class__ is ast.Store for mention in file.meaning.mentions.of(frozenset({name}))
    )


def _is_for_kernel(original: cst.Attribute | cst.Name, file: RuleFile) -> bool:
    """Whether a kernel of Triton takes it: `kernel[grid](x, ALLOW_TF32=...)`. That for NPUs refuses such a product."""
    up = file.link(original) if file.source.says(b"triton") else None
    while up is not None and up[0].__class__ in (ast.Name, ast.Attribute):
        up = up[1]
    if up is not None and up[0].__class__ is ast.keyword:
        up = up[1]
    return up is not None and up[0].__class__ is ast.Call and up[0].func.__class__ is ast.Subscript


def _handed_on(name: str, file: RuleFile) -> bool:
    """Whether the file passes the value of a switch on, e.g. to a function. It may be set back there, where porter does not
    see it."""
    takers = (ast.Call, ast.keyword, ast.List, ast.Tuple, ast.Dict, ast.Return, ast.Yield)
    mentions = file.meaning.mentions.of(frozenset({name}))
    handed = (isinstance(m[1][0], takers) for m in mentions if m[0].ctx.__class__ is ast.Load)
    return file.names.once("handed on", mentions, lambda: any(handed))
