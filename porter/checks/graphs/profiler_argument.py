"""Arguments and results of the profiler that exist on one side only."""

from __future__ import annotations

from collections.abc import Iterator

from porter.checks.graphs.profiler_use import OLD, doubt, needed
from porter.engine.nodes import without_arguments
from porter.engine.rule import TOGETHER, Hit, Rule, cst
from porter.engine.rule_file import RuleFile

_PACKED = "use_gzip"
ARGUMENTS = {
    f"{OLD}.profile": (
        "experimental_config",
        "execution_trace_observer",
        "acc_events",
        "post_processing_timeout_s",
        "use_cuda",
    ),
    f"{OLD}.tensorboard_trace_handler": (_PACKED,),
}
RESULTS = ("key_averages", "toggle_collection_dynamic")
ACCEPTED = ("use_cuda",)  # there too, and ignored


class ProfilerArgument(Rule):
    code = "PRT507"
    calls = frozenset(ARGUMENTS)
    methods = frozenset(RESULTS)

    def visit(self, original: cst.Call, updated: cst.Call, file: RuleFile) -> Iterator[Hit]:
        name = file.name(original.func)
        if name in ARGUMENTS:
            yield from self._arguments(ARGUMENTS[name], original, updated, file)
        elif isinstance(original.func, cst.Attribute) and needed(file):
            name = original.func.attr.value  # one profile is read in several places: the first speaks for all
            yield Hit(original.func, "result", values=(("name", name), (TOGETHER, name)))

    @staticmethod
    def _arguments(words: tuple[str, ...], original: cst.Call, updated: cst.Call, file: RuleFile) -> Iterator[Hit]:
        parameters = file.session.catalogue.parameters("torch_npu.profiler.profile") or ()
        for index, arg in enumerate(original.args):
            word = arg.keyword.value if arg.keyword else ""
            if word not in words or word in parameters and word not in (*ACCEPTED, "experimental_config"):
                continue
            if word == "experimental_config" and isinstance(arg.value, cst.Name) and arg.value.value == "None":
                continue
            if word == _PACKED and needed(file) and doubt(file) is None:
                new = without_arguments(original, updated, {index})
                yield Hit(arg, "packed", new=new, safe=True, values=(("name", word),))
                continue
            why = "config" if word == "experimental_config" else "ignored" if word in ACCEPTED else "missing"
            yield Hit(arg, why, values=(("name", word),))
