"""`executor.update_parameters(gpus_per_node=8)`: submitit asks Slurm for `--gpus-per-node`, which counts GPUs alone."""

from __future__ import annotations

from porter.engine.rule import Answer, Hit, Rule, cst, named
from porter.engine.rule_file import RuleFile
from porter.python.uses import imports_of
from porter.regex import lazy

_ASKS = lazy(r"(?:slurm_)?(?:(?:gpus|num_gpus)(?:_per_(?:node|task))?|(?:mem|cpus|ntasks)_per_gpu)")


class SubmititGpus(Rule):
    code = "PRT821"
    edits = False
    spelled = True
    nodes = ("Call",)
    text = (r"gpus_per_node", r"gpus_per_task", r"_per_gpu", r"num_gpus")
    only = staticmethod(lambda scene, _: bool(imports_of(scene.file, "submitit")))

    def visit(self, original: cst.Call, updated: cst.Call, file: RuleFile) -> Answer:
        func = original.func
        name = func.attr.value if isinstance(func, cst.Attribute) else func.value if isinstance(func, cst.Name) else ""
        if not name.endswith(("update_parameters", "Executor")) or not imports_of(file, "submitit"):
            return None
        asked = [arg for arg in original.args if arg.keyword and _ASKS.fullmatch(arg.keyword.value)]
        asked = [arg for arg in asked if not isinstance(arg.value, cst.Integer) or arg.value.evaluated_value]
        if not asked:
            return None
        options = ", ".join(arg.keyword.value for arg in asked if arg.keyword)
        return Hit(asked[0], "submitit", values=named(option=options))
