"""`torch.backends.cudnn.deterministic = True` and its kin: settings of libraries that an NPU does not have.

`benchmark` and `enabled` have no effect there and do no harm: the inventory counts them.
"""

from __future__ import annotations

import ast

from porter.engine.rule import Answer, Hit, Rule, cst
from porter.engine.rule_file import Link, Node, RuleFile
from porter.python.index import ancestors

CUDNN, CUDA = "torch.backends.cudnn", "torch.backends.cuda"
AVAILABLE, BUILT = f"{CUDNN}.is_available", f"{CUDA}.is_built"
HAS = "torch.has_cuda"  # the latter, as an attribute
DETERMINISTIC = f"{CUDNN}.deterministic"
ALGORITHMS = frozenset({"torch.use_deterministic_algorithms", "torch.set_deterministic_debug_mode"})
FLAGS = f"{CUDNN}.flags"
WHY = {**dict.fromkeys((AVAILABLE, BUILT, HAS), "asked"), FLAGS: "flags"}
HARMLESS = frozenset({"enabled", "benchmark", "benchmark_limit"})  # which choose among cuDNN's own


class CudaBackendSetting(Rule):
    code = "PRT305"
    references = frozenset({*WHY, DETERMINISTIC})

    def visit(self, original: cst.Attribute | cst.Name, updated: cst.Attribute | cst.Name, file: RuleFile) -> Answer:
        name = file.name(original) or ""
        values = (("name", name),)
        if name == DETERMINISTIC:
            return self._deterministic(original, values, file)
        if file.around.is_set(original) or name == FLAGS and _is_harmless(file.link(original)):
            return None
        choice = _choice(file.link(original), name != HAS) if name != FLAGS else None
        chooses = choice is not None and name in (BUILT, HAS) and _names_cuda(choice)
        guards = isinstance(choice, ast.If) and name == AVAILABLE and file.style.one_world
        if (chooses or guards) and (spelled := _of_the_npu(original, file)):
            new = cst.parse_expression(spelled + "()" * (name == HAS))
            given = (*values, ("new", spelled))
            return Hit(original, "condition", new=new, safe=chooses, values=given, loads=True)
        return Hit(original, WHY[name], values=values)

    @staticmethod
    def _deterministic(
        original: cst.Attribute | cst.Name, values: tuple[tuple[str, str], ...], file: RuleFile
    ) -> Hit | None:
        value = file.around.assigned(original)
        if getattr(value, "value", None) is False or file.around.is_read(original) or isinstance(original, cst.Name):
            return None
        if not ALGORITHMS.isdisjoint(file.apis):
            return Hit(original, "deterministic-set", values=values)
        torch = file.meaning.module_name(original, "torch")
        text = "" if value is None else file.source.utf8[slice(*file.source.span(value))].decode("utf-8")
        if not text or "\n" in text or torch is None:
            return Hit(original, "deterministic", values=values)
        line = f"{torch}.use_deterministic_algorithms({text}, warn_only=True)"
        return Hit(original, "deterministic", after=(line,), values=values)


def _of_the_npu(original: cst.Attribute | cst.Name, file: RuleFile) -> str | None:
    """`torch.npu.is_available`, as the file calls torch."""
    torch = file.meaning.module_name(original, "torch")
    full = None if file.target.shims else file.style.name("is_available", "is_available", file)
    return None if full is None or torch is None else torch + full.removeprefix("torch")


def _choice(link: Link | None, is_called: bool) -> Node | None:
    """The `if`, or the conditional expression, that asks by itself, or together with others: what it guards is meant to run beside an
    accelerator."""
    chain = [node for node, _ in ancestors(link)] if link is not None else []
    asked: Node = link[0] if link is not None else None
    for node in chain:
        if node.__class__ is ast.Call and is_called:
            is_called = node.func is not asked
        elif node.__class__ not in (ast.Attribute, ast.BoolOp, ast.UnaryOp):
            is_test = node.__class__ in (ast.If, ast.IfExp) and node.test is asked and not is_called
            return node if is_test else None
        asked = node
    return None


def _names_cuda(choice: Node) -> bool:
    """`"cuda" if torch.has_cuda else "cpu"`: a device, which moves."""
    texts = (node.value for node in ast.walk(choice) if isinstance(node, ast.Constant))
    return any(isinstance(text, str) and text.partition(":")[0] == "cuda" for text in texts)


def _is_harmless(link: Link | None) -> bool:
    """`flags(enabled=False)`: nothing of it has a counterpart, and nothing has to have one."""
    while link is not None and link[1][0].__class__ is ast.Attribute:
        link = link[1]
    call: Node = link and link[1][0]
    return call.__class__ is ast.Call and not call.args and all(k.arg in HARMLESS for k in call.keywords)
