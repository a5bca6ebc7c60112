"""C++ and CUDA sources that are built or loaded: kernels for GPUs, to be written anew."""

from __future__ import annotations

from porter.checks.native.library_choices import has_one_for_cpus
from porter.engine.rule import Answer, Hit, Rule, cst
from porter.engine.rule_file import RuleFile
from porter.python.guards import load_guarded
from porter.python.index import FUNCTIONS, parents

BUILDS = "torch.utils.cpp_extension"
LIBRARIES = frozenset({"torch.ops.load_library", "torch.classes.load_library"})
CUDA_FLAG = "with_cuda"


class CudaExtension(Rule):
    code = "PRT402"
    edits = False
    calls = frozenset({f"{BUILDS}.{name}" for name in ("CUDAExtension", "load", "load_inline")}) | LIBRARIES

    def visit(self, original: cst.Call, updated: cst.Call, file: RuleFile) -> Answer:
        name = file.name(original.func) or ""
        values = (("name", name.rpartition(".")[2]),)
        if name in LIBRARIES:
            link = file.scene.link(original)
            if link is not None and link[1] is not None and has_one_for_cpus(link[1], file):
                return Hit(original.func, "either", values=values)
            severity = "note" if load_guarded(link) else None
            return Hit(original.func, "library", values=values, severity=severity)
        if name.endswith(".CUDAExtension"):
            return Hit(original.func, "built", values=values)
        if self._is_asked_for(original, values[0][1], file):
            return Hit(original.func, "taken", values=values)
        return Hit(original.func, "host" if self._host(original, values[0][1], file) else "compiled", values=values)

    @staticmethod
    def _is_asked_for(call: cst.Call, name: str, file: RuleFile) -> bool:
        """Whether all that has an extension built by this call, or by the function around it, has another way."""
        asked = file.facts.native.asked
        link = file.scene.link(call) if asked else None
        above = next((up for up in parents(link) if up.__class__ in FUNCTIONS[:2]), None) if link is not None else None
        return getattr(above, "name", name) in asked or name in asked

    @staticmethod
    def _host(call: cst.Call, name: str, file: RuleFile) -> bool:
        """Whether nothing but C++ is compiled, as far as the call says."""
        given = {a.keyword.value: file.text(a.value) for a in call.args if a.keyword}
        if "cuda" in file.text(call).lower().replace(f"{CUDA_FLAG}=false", ""):
            return False
        if name == "load_inline":
            return True
        sources = given.get("sources") or (file.text(call.args[1]) if len(call.args) > 1 else "")
        return ".cpp" in sources and ".cu" not in sources
