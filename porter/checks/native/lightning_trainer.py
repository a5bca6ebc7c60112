"""Lightning's `Trainer` and `Fabric`: they choose the accelerator, and know no NPU."""

from __future__ import annotations

from typing import Any

from porter.checks.device.author_names import Mention
from porter.checks.native.lightning_parts import mixed, started_on_gloo
from porter.engine.rule import Answer, Hit, Rule, cst
from porter.engine.rule_file import RuleFile
from porter.python.evidence import constant
from porter.python.index import heir
from porter.python.lightning_choices import given_as
from porter.regex import lazy

PACKAGES = ("pytorch_lightning", "lightning", "lightning.pytorch", "lightning.fabric", "lightning_fabric")
_TRAINERS = frozenset(
    f"{package}{part}.Trainer" for package in PACKAGES for part in ("", ".trainer", ".trainer.trainer")
)
# settings of a trainer that a program fills itself: `trainer_config["accelerator"] = "gpu"`
_SET = lazy(
    rb"[\"']accelerator[\"']\][ \t]*=[ \t]*[\"'](?:gpu|cuda|ddp)|[\"']gpus[\"'](?:\][ \t]*=(?!=)|[ \t]+(?:not[ \t]+)?in\b)"
)
_OURS = lazy(r"(?i)npu|ascend")
_NPU = lazy(rb"(?i)npu|ascend")
_MADE = lazy(r"(?:pytorch_lightning|lightning(?:\.pytorch|\.fabric)?|lightning_fabric)\.(?:\w+\.)?(Trainer|Fabric)")
GPU = frozenset({"gpu", "cuda"})
CPU = frozenset({"cpu", "tpu", "mps", "hpu", "npu"})


class LightningTrainer(Rule):
    code = "PRT408"
    edits = False
    calls = _TRAINERS | {f"{package}.Fabric" for package in PACKAGES} | {f"{t}.from_argparse_args" for t in _TRAINERS}
    references = _TRAINERS
    nodes = ("AnnAssign",)
    text = "_target_"

    def visit(self, original: cst.Call | cst.AnnAssign | Mention, updated: Any, file: RuleFile) -> Answer:
        if isinstance(original, (cst.Name, cst.Attribute)):
            return _derived(original, file)
        if isinstance(original, cst.AnnAssign):  # a structured configuration of Hydra
            match = _MADE.fullmatch(getattr(original.value, "raw_value", ""))
            if match is None or getattr(original.target, "value", "") != "_target_":
                return None
            return Hit(original.value, "configured", values=(("name", match[1]),))
        given = {a.keyword.value: a.value for a in original.args if a.keyword}
        accelerator = given.get("accelerator")
        text = accelerator.raw_value if isinstance(accelerator, cst.SimpleString) else None
        if isinstance(accelerator, cst.IfExp):  # "gpu" if torch.cuda.is_available() else "cpu"
            chosen = {getattr(side, "raw_value", None) for side in (accelerator.body, accelerator.orelse)}
            text = next((name for name in sorted(GPU) if name in chosen), None)
        elif isinstance(accelerator, cst.Name):
            text = _set_to(accelerator, file)
        if text in CPU or accelerator is not None and _OURS.search(file.text(accelerator)):
            return None
        stars = [a for a in original.args if a.star]
        if text in GPU or "gpus" in given or accelerator is None and stars and file.source.says(_SET):
            made = (file.name(original.func) or "").removesuffix(".from_argparse_args")
            name = ("name", made.rpartition(".")[2])
            if old := file.facts.lists.below("pytorch-lightning>=1.6", file.path):
                # it has no strategy that takes a backend
                gpu, started = Hit(original.func, "early", values=(name, ("old", old))), []
            else:
                gpu, started = Hit(original.func, "gpu", values=(name,)), started_on_gloo(given.get("strategy"))
            return [
                gpu,
                *(() if file.tested else started),
                *(() if file.tested else mixed(given.get("precision"), file)),
            ]
        if file.tested:
            return None  # what a test leaves to Lightning may run anywhere
        if accelerator is None and stars:
            return Hit(original.func, "given", values=(("old", file.text(stars[0])),))
        if accelerator is not None and text is None:
            return Hit(original.func, "given", values=(("old", file.text(accelerator)),))
        return Hit(original.func, "automatic", values=(("name", (file.name(original.func) or "").rpartition(".")[2]),))


def _derived(base: Mention, file: RuleFile) -> Hit | None:
    """A Trainer of the project's own, whose users may never say Lightning: `class ProjectTrainer(Trainer)`."""
    link = None if file.tested else file.link(base)
    owner = heir(link) if link is not None else None
    if owner is None or file.source.says(_NPU, owner):
        return None
    return Hit(base, "derived", values=(("name", owner.name),))


def _set_to(accelerator: cst.Name, file: RuleFile) -> str | None:
    """`accelerator = "gpu"`, or in one of its branches, or handed by a call of the file's own: a GPU, if any value is one."""
    link = file.link(accelerator)
    texts = {constant(value) for value in given_as(file, link)} if link is not None else set()
    return next((name for name in sorted(GPU) if name in texts), None)
