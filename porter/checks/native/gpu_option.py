"""Arguments, entries of mappings and assignments whose value only GPUs know: `attn_implementation="flash_attention_2"`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from porter.checks.native.options import flag, hits_of, row_of, written
from porter.engine.nodes import last_word
from porter.engine.rule import Answer, Hit, Rule, cst
from porter.engine.rule_file import RuleFile
from porter.rulebook.table import Option, Tables


class GpuOption(Rule):
    """Carries the codes of the [[option]] stanzas."""

    code = "PRT405"
    spelled = True
    nodes = ("Call", "Assign", "AnnAssign", "Dict")
    # one of these is in each: a handful of searches instead of one for every value
    text = (
        *("flash_at", "flash-at", "load_in_", "8bit", "32bit", "paged_adamw", "apex_fused", "rmsprop_bnb", "tf32"),
        *("GPTQConfig", "AwqConfig", "enable_cuda_graph", "MergeOptions", "calculate_metrics", "dynamo_backend"),
        *("compute_device_type", r"\bget_model\([^)]*\bdevice_type"),
        r"Reader\((?:[^()]|\([^()]*\))*?\bgpu[ \t]*=",
        *(r"\bSupervisedTrainer\(", r"\bSupervisedEvaluator\(", r"\bEnsembleEvaluator\("),
        *(r"\bGanTrainer\(", r"\bAdversarialTrainer\(", r"\bdecode_jpeg\("),
    )

    def __init__(self, tables: Tables) -> None:
        self.options = tables.options

    def visit(self, original: cst.Call | cst.Assign | cst.AnnAssign | cst.Dict, updated: Any, file: RuleFile) -> Answer:
        if isinstance(original, cst.Call):
            return self._call(original, updated, file)
        if isinstance(original, cst.Dict):
            return self._dict(original, updated, file)
        if isinstance(original, cst.AnnAssign):
            return self._annotated(original, updated, file)
        return self._assign(original, updated, file)

    def _call(self, original: cst.Call, updated: cst.Call, file: RuleFile) -> Iterator[Hit]:
        hits: list[tuple[cst.Arg, Option, str]] = []
        args = list(updated.args)
        option = flag(original)
        for index, arg in enumerate(original.args):
            word = arg.keyword.value if arg.keyword else None
            word = option if word == "default" else word
            if word is None or word not in self.options:
                continue
            row = row_of(self.options, word, arg.value, file, original.func)
            if row is None:
                continue
            if row.to:
                args[index] = args[index].with_changes(value=written(arg.value, row.to))
            hits.append((arg, row, word))
        return hits_of(hits, updated.with_changes(args=args), file)

    def _annotated(self, original: cst.AnnAssign, updated: Any, file: RuleFile) -> Iterable[Hit] | None:
        """`optim: str = "adamw_8bit"` and `optim: str = field(default="adamw_8bit")` of a dataclass."""
        word, value = _word(original.target), original.value
        if word not in self.options or value is None:
            return None
        if not isinstance(value, cst.Call):
            row = row_of(self.options, word, value, file)
            new = updated.with_changes(value=written(value, row.to)) if row and row.to else None
            return hits_of([(original, row, word)], new, file) if row else None
        index = next((n for n, a in enumerate(value.args) if a.keyword and a.keyword.value == "default"), None)
        row = row_of(self.options, word, value.args[index].value, file) if index is not None else None
        if index is None or row is None:
            return None
        args = list(updated.value.args)
        if row.to:
            args[index] = args[index].with_changes(value=written(value.args[index].value, row.to))
        new = updated.with_changes(value=updated.value.with_changes(args=args))
        return hits_of([(value.args[index], row, word)], new, file)

    def _dict(self, original: cst.Dict, updated: cst.Dict, file: RuleFile) -> Iterator[Hit]:
        hits: list[tuple[cst.BaseDictElement, Option, str]] = []
        elements = list(updated.elements)
        for index, element in enumerate(original.elements):
            key = element.key if isinstance(element, cst.DictElement) else None
            word = key.raw_value if isinstance(key, cst.SimpleString) else ""
            row = row_of(self.options, word, element.value, file) if word in self.options else None
            if row is not None:
                if row.to:
                    elements[index] = elements[index].with_changes(value=written(element.value, row.to))
                hits.append((element, row, word))
        return hits_of(hits, updated.with_changes(elements=elements), file)

    def _assign(self, original: cst.Assign, updated: cst.Assign, file: RuleFile) -> Iterable[Hit] | None:
        if len(original.targets) != 1:
            return None
        word = _word(original.targets[0].target)
        row = row_of(self.options, word, original.value, file) if word in self.options else None
        new = updated.with_changes(value=written(original.value, row.to)) if row and row.to else None
        return hits_of([(original, row, word)], new, file) if row else None


def _word(target: cst.BaseExpression) -> str:
    """The name of what is set: of `optim`, `args.optim`, `args["optim"]`."""
    if isinstance(target, cst.Subscript) and isinstance(target.slice[0].slice, cst.Index):
        return str(getattr(target.slice[0].slice.value, "raw_value", ""))
    return last_word(target)
