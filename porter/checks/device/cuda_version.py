"""`torch.version.cuda` and cuDNN's version: None in a torch that runs beside torch_npu."""

from __future__ import annotations

from porter.engine.rule import Answer, Hit, Rule, cst
from porter.engine.rule_file import RuleFile

LOGS = ("print", "info", "debug", "warning", "log", "append", "dict", "join", "format")


class CudaVersion(Rule):
    code = "PRT141"
    edits = False
    references = frozenset({"torch.version.cuda", "torch.backends.cudnn.version", "torch._C._cuda_getCompiledVersion"})

    def visit(self, original: cst.Attribute | cst.Name, updated: cst.Attribute | cst.Name, file: RuleFile) -> Answer:
        if file.around.is_set(original):
            return None
        name = file.name(original) or ""
        is_logged = any(file.around.is_within(original, callee) for callee in LOGS)
        if file.path.rpartition("/")[2] == "setup.py":
            return Hit(original, "built", values=(("name", name),))
        return Hit(original, "told" if is_logged else "asked", values=(("name", name),))
