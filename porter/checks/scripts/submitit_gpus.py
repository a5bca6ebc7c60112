"""`executor.update_parameters(gpus_per_node=8)`: submitit asks Slurm for `--gpus-per-node`, which counts GPUs alone."""

from __future__ import annotations

from porter.engine.nodes import last_word
from porter.engine.rule import Answer, Hit, Rule, cst, named
from porter.engine.rule_file import RuleFile
from porter.python.uses import imports_of
from porter.regex import lazy
from porter.rulebook.table import hint

_KIND = hint("gpu-of-a-cluster")
_GPUS = lazy(r"\(*[fF]?[\"']gpu\b")
_ASKS = lazy(r"(?:slurm_)?(?:(?:gpus|num_gpus)(?:_per_(?:node|task))?|(?:mem|cpus|ntasks)_per_gpu)")


class SubmititGpus(Rule):
    code = "PRT821"
    edits = False
    spelled = True
    nodes = ("Call", "Assign")
    text = (r"slurm_gres", r"gpus_per_node", r"constraint", r"gpus_per_task", r"_per_gpu", r"num_gpus")
    only = staticmethod(lambda scene, _: bool(imports_of(scene.file, "submitit")))

    def visit(self, original: cst.Call | cst.Assign, updated: cst.CSTNode, file: RuleFile) -> Answer:
        if isinstance(original, cst.Assign):
            return _constrained(original, file)
        func = original.func
        name = last_word(func)
        if not name.endswith(("update_parameters", "Executor")) or not imports_of(file, "submitit"):
            return None
        limits = [a for a in original.args if a.keyword and a.keyword.value in ("constraint", "slurm_constraint")]
        if limits and _KIND.search(file.text(limits[0].value)):
            return Hit(limits[0], "constraint", values=named(option=file.text(limits[0]).rstrip(", ")))
        asked = [arg for arg in original.args if arg.keyword and _ASKS.fullmatch(arg.keyword.value)]
        asked += [arg for arg in original.args if _asks_for_gres(arg, file)]
        asked = [arg for arg in asked if not isinstance(arg.value, cst.Integer) or arg.value.evaluated_value]
        if not asked:
            return None
        options = ", ".join(arg.keyword.value for arg in asked if arg.keyword)
        return Hit(asked[0], "submitit", values=named(option=options))


def _asks_for_gres(arg: cst.Arg, file: RuleFile) -> bool:
    """`slurm_gres="gpu:8"`, `slurm_gres="gpu:%d" % n`, `slurm_gres=f"gpu:{n}"`"""
    return arg.keyword is not None and arg.keyword.value == "slurm_gres" and bool(_GPUS.match(file.text(arg.value)))


def _constrained(original: cst.Assign, file: RuleFile) -> Hit | None:
    """`kwargs["slurm_constraint"] = "volta32gb"`"""
    target = original.targets[0].target
    key = file.text(target.slice[0]).strip("\"'") if isinstance(target, cst.Subscript) else ""
    if key != "slurm_constraint" or not imports_of(file, "submitit") or not _KIND.search(file.text(original.value)):
        return None
    return Hit(original, "constraint", values=named(option=file.text(original.value)))
