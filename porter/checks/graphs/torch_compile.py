"""`torch.compile(model, mode="max-autotune")`: what there is of it on an NPU."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from porter.checks.graphs.module_compile import is_of_module, is_pattern
from porter.engine.nodes import positional, quoted
from porter.engine.rule import TOGETHER, Hit, Rule, cst
from porter.engine.rule_file import RuleFile

BACKENDS = {"cudagraphs": "npugraphs"}
FOREIGN = (
    "tensorrt",
    "torch_tensorrt",
    "tensorrt_llm",
    "nvfuser",
    "aot_ts_nvfuser",
    "nvprims_nvfuser",
    "ofi",
    "fx2trt",
)
NAMES = frozenset({"torch.compile", "torch._dynamo.optimize"})
MODES = ("max-autotune", "max-autotune-no-cudagraphs")


class TorchCompile(Rule):
    code = "PRT503"
    references = frozenset({"torch.compile"})
    calls = NAMES
    methods = frozenset({"compile"})
    only = staticmethod(lambda scene, link: not is_pattern(scene, link))

    def visit(self, original: cst.Call | cst.Attribute | cst.Name, updated: Any, file: RuleFile) -> Iterator[Hit]:
        if isinstance(original, cst.Call) and file.name(original.func) not in NAMES:
            if not file.tested and is_of_module(original, file):
                yield from self._of_module(original, updated, file)
        elif isinstance(original, cst.Call):
            yield from self._call(original, updated, file)
        elif not file.around.is_function(original) and self._speaks_for_file(original, file):
            yield Hit(original, "inductor")  # a decorator without arguments, compiler = torch.compile

    def _of_module(self, original: cst.Call, updated: Any, file: RuleFile) -> Iterator[Hit]:
        """A call of torch.compile in the same file says the rest."""
        if not file.meaning.mentions.of(NAMES):
            why = "computed" if self._computed(original) else "inductor"
            yield Hit(original.func, why, values=((TOGETHER, why),))
        if (mode := self._text(original, "mode")) in MODES:
            new = self._changed(original, updated, "mode", None, "default")
            yield Hit(original, "mode", new=new, values=(("mode", mode or ""),))

    def _call(self, original: cst.Call, updated: cst.Call, file: RuleFile) -> Iterator[Hit]:
        optimize = file.name(original.func) == "torch._dynamo.optimize"
        backend, mode = self._text(original, "backend", 0 if optimize else None), self._text(original, "mode")
        if backend in FOREIGN:
            yield Hit(original, "foreign", values=(("backend", backend),))
        elif backend in BACKENDS:
            values = (("backend", backend), ("new", BACKENDS[backend]))
            new = self._changed(original, updated, "backend", 0 if optimize else None, BACKENDS[backend])
            yield Hit(original, "graphs", new=new, values=values)
        elif backend in (None, "inductor") and self._speaks_for_file(original.func, file):
            yield Hit(original.func, "computed" if self._computed(original) else "inductor")
            if mode == "reduce-overhead":
                return  # what it asks for comes after that it runs
        if mode in MODES:
            new = self._changed(original, updated, "mode", None, "default")
            yield Hit(original, "mode", new=new, values=(("mode", mode),))
        elif mode == "reduce-overhead":
            yield Hit(original, "reduce-overhead")

    @staticmethod
    def _speaks_for_file(node: cst.BaseExpression, file: RuleFile) -> bool:
        """Once for a file, and not for tests."""
        return not file.tested and file.meaning.mentions.is_first(node, NAMES)

    @staticmethod
    def _computed(call: cst.Call) -> bool:
        """The backend is not in sight: it may be one that needs no Triton."""
        argument = positional(call, None, ("backend",))
        return argument is None or argument[1] is not None and not isinstance(argument[1].value, cst.SimpleString)

    @staticmethod
    def _text(call: cst.Call, keyword: str, place: int | None = None) -> str | None:
        argument = positional(call, place, (keyword,))
        value = argument[1].value if argument and argument[1] else None
        return str(value.evaluated_value) if isinstance(value, cst.SimpleString) else None

    @staticmethod
    def _changed(original: cst.Call, updated: cst.Call, keyword: str, place: int | None, text: str) -> cst.Call:
        args, argument = list(updated.args), positional(original, place, (keyword,))
        if argument and argument[1] and isinstance(argument[1].value, cst.SimpleString):
            args[argument[0]] = args[argument[0]].with_changes(value=quoted(argument[1].value, text))
        return updated.with_changes(args=args)
