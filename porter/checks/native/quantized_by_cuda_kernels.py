"""Models whose own code, which is downloaded with them, quantises them with CUDA kernels: `model.quantize(4)` of ChatGLM."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from porter.engine.rule import Hit, IndexRule, named
from porter.engine.rule_file import RuleFile
from porter.project.remote_quantizers import CHECKPOINT, ONE_OF_ITS_MODELS
from porter.python.evidence import call_name, constant
from porter.python.index import Node, walk

_LOADS = "from_pretrained"


class QuantizedByCudaKernels(IndexRule):
    code = "PRT416"

    def look(self, file: RuleFile) -> Iterator[Hit]:
        options = [option for path, option in file.facts.launch.quantizing if path == file.path]
        for link in file.buckets[ast.Call] if options else ():
            call: Node = link[0]
            if call.func.__class__ is not ast.Attribute or file.awareness.covers_link(link):
                continue
            if call.func.attr == "quantize" and (call.args or call.keywords) and _is_remote(call.func.value, file):
                given: Node = call.args[0] if call.args else call.keywords[0].value
                option = getattr(given, "attr", "")
                is_option = option != "" and option in options  # "" is that of a program without one
                yield Hit(link, "option" if is_option else "found", values=named(option=option) if is_option else ())
            elif call.func.attr == _LOADS and call.args and _trusts(call):
                name = constant(call.args[0])
                if isinstance(name, str) and CHECKPOINT.search(name.encode()):
                    yield Hit((call.args[0], link), "checkpoint", values=named(name=name))


def _trusts(call: Node) -> bool:
    return any(k.arg == "trust_remote_code" and constant(k.value) is True for k in call.keywords)


def _is_remote(value: Node, file: RuleFile) -> bool:
    """Whether it was loaded with code of its own, here or where its name is set."""
    calls = (node for node in walk(value) if node.__class__ is ast.Call)
    if any(call_name(call.func) == _LOADS and _trusts(call) for call in calls):
        return True
    while value.__class__ is ast.Call and value.func.__class__ is ast.Attribute:  # `model.half()`
        value = value.func.value
    name = value.attr if value.__class__ is ast.Attribute else getattr(value, "id", "")
    made = rb"\b%s[ \t]*=[ \t]*%s" % (re.escape(name).encode(), ONE_OF_ITS_MODELS)
    return bool(name) and re.search(made, file.source.utf8) is not None
