"""`torch.autograd.profiler.profile(use_cuda=True)` and `emit_nvtx`."""

from __future__ import annotations

from porter.engine.rule import Answer, Hit, Rule, cst
from porter.engine.rule_file import RuleFile

PROFILE, NVTX = "torch.autograd.profiler.profile", "torch.autograd.profiler.emit_nvtx"
SINCE = (2, 7)  # the first torch whose use_device was seen to take the name of any device


class AutogradProfiler(Rule):
    code = "PRT508"
    calls = {PROFILE, NVTX}

    def visit(self, original: cst.Call, updated: cst.Call, file: RuleFile) -> Answer:
        if file.name(original.func) == NVTX:
            return Hit(original.func, "nvtx")
        names = [a.keyword.value if a.keyword else "" for a in original.args]
        if "use_cuda" in names:
            index = names.index("use_cuda")
            return self._keyword(original, updated, index, "use_device" in names, file)
        placed = [file.text(a) for a in original.args if a.keyword is None][1:2]
        return Hit(original, "use-cuda", values=(("old", placed[0]),)) if placed and placed != ["False"] else None

    @staticmethod
    def _keyword(original: cst.Call, updated: cst.Call, index: int, twice: bool, file: RuleFile) -> Hit | None:
        value, device = original.args[index].value, file.target.device
        values = (("old", file.text(original.args[index])),)
        if isinstance(value, cst.Name) and value.value == "False":
            return None
        if twice or file.target.torch < SINCE:
            return Hit(original.args[index], "use-cuda", values=values)
        text: cst.BaseExpression = cst.SimpleString(f'"{device}"')
        if not isinstance(value, cst.Name) or value.value != "True":
            test = updated.args[index].value
            if isinstance(test, (cst.IfExp, cst.Lambda)) and not test.lpar:
                test = test.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])
            text = cst.IfExp(test, text, cst.Name("None"))
        args = list(updated.args)
        args[index] = args[index].with_changes(keyword=cst.Name("use_device"), value=text)
        return Hit(original, "use-cuda", new=updated.with_changes(args=args), values=values, loads=True)
