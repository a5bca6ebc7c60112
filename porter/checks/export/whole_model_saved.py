"""`torch.save(model, path)`: the file holds classes, device and all, and only this program can read it."""

from __future__ import annotations

import ast
import re

from porter.checks.export import prefilters
from porter.engine.nodes import chain
from porter.engine.rule import Answer, Hit, Rule, cst
from porter.engine.rule_file import RuleFile
from porter.python.blocks import once_for_file
from porter.python.evidence import call_name
from porter.python.index import Node, ancestors, walk
from porter.regex import lazy

MODEL = lazy(
    r"(?i)^(?:\w*_)?(?:model|net|network|generator|discriminator|encoder|decoder|backbone|classifier)(?:_\w+)?$|^net[DG]$"
)
_AS_A_MODULE = rb"(?:\.(?:state_dict|parameters|named_parameters|modules|eval|train|to|__class__)\b|\()"


class WholeModelSaved(Rule):
    code = "PRT902"
    edits = False
    calls = {"torch.save"}
    only = staticmethod(prefilters.names_model)

    def visit(self, original: cst.Call, updated: cst.Call, file: RuleFile) -> Answer:
        if file.tested or not original.args or original.args[0].star or original.args[0].keyword is not None:
            return None
        saved = original.args[0].value
        if isinstance(saved, cst.Dict):  # {"model": model, "epoch": epoch}
            parts = (element.value for element in saved.elements if isinstance(element, cst.DictElement))
            return next(filter(None, (self._of_module(part, original, file) for part in parts)), None)
        return self._of_module(saved, original, file)

    @staticmethod
    def _of_module(saved: cst.BaseExpression, original: cst.Call, file: RuleFile) -> Hit | None:
        words = chain(saved)
        name = words[-2] if len(words) > 1 and words[-1] == "module" else words[-1] if words else ""
        if not MODEL.match(name) or _is_chosen(original, file):
            return None
        text = file.text(saved)
        pattern = (
            rb"\b"
            + re.escape(text).encode()
            + rb"\.(?:parameters|train|eval|state_dict|load_state_dict)\(|\b"
            + re.escape(text).encode()
            + rb"(?:\(|[ \t]*=[ \t]*(?:torch\.)?nn\.[A-Z])"
        )
        if not file.source.says(re.compile(pattern)):
            return None
        return Hit(saved, "format" if _reads_modules(file) else "module", values=(("name", text),))


@once_for_file
def _reads_modules(file: RuleFile) -> bool:
    """Whether the file itself reads whole modules, and says where to: `old = torch.load(path, map_location=device)`, and
    `old.state_dict()`. They are its format, on any device."""
    for link in file.buckets[ast.Call] if file.source.says(b"map_location") else ():
        call, above = link[0], link[1][0]
        if call_name(call.func) != "load" or above.__class__ is not ast.Assign or above.value is not call:
            continue
        name = ast.unparse(above.targets[0])
        placed = any(k.arg == "map_location" for k in call.keywords)
        if placed and MODEL.match(name.rpartition(".")[2]) and file.names.resolve(call.func, link) == "torch.load":
            if file.source.says(re.compile(rb"\b" + re.escape(name).encode() + _AS_A_MODULE)):
                return True
    return False


def _is_chosen(call: cst.Call, file: RuleFile) -> bool:
    """Whether the other branch of an option saves the parameters of the same model: whoever wants the module asks for it."""
    link = file.scene.link(call)
    saved = ast.unparse(link[1][0].args[0]) if link is not None else ""
    statement = next((above for above in ancestors(link) if isinstance(above[0], ast.stmt)), None) if link else None
    above: Node = statement[1][0] if statement is not None else None
    if above.__class__ is not ast.If or statement is None:
        return False
    other = above.body if statement[0] in above.orelse else above.orelse
    calls = (n for s in other for n in walk(s) if n.__class__ is ast.Call and call_name(n.func) == "save")
    return any(ast.unparse(n.args[0]) == f"{saved}.state_dict()" for n in calls if n.args)
