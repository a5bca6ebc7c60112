"""`TrainingArguments(evaluation_strategy="steps")`, `from_pretrained(name, use_auth_token=True)`: transformers 5 takes no such keyword."""

from __future__ import annotations

from typing import TYPE_CHECKING

from porter.checks.support.fresh_environment import is_chosen
from porter.engine.rule import Answer, Hit, Rule, cst
from porter.engine.rule_file import Link, RuleFile
from porter.regex import lazy
from porter.versions import release

if TYPE_CHECKING:
    from porter.training.scene import Scene

_ARGUMENTS = frozenset({"transformers.TrainingArguments", "transformers.Seq2SeqTrainingArguments"})
# the keyword that means the same, and a transformers from which on it is known; None: there is none
_OF_ARGUMENTS = {
    "evaluation_strategy": ("eval_strategy", "4.41"),
    "no_cuda": ("use_cpu", "4.32"),
    "per_gpu_train_batch_size": ("per_device_train_batch_size", "4.31"),
    "per_gpu_eval_batch_size": ("per_device_eval_batch_size", "4.31"),
    "push_to_hub_token": ("hub_token", "4.31"),
    **dict.fromkeys(("overwrite_output_dir", "save_safetensors", "fp16_backend", "half_precision_backend", "use_ipex")),
}
_OF_LOADING = {"use_auth_token": ("token", "4.31")}
_WORDS = frozenset(word.encode() for word in (*_OF_ARGUMENTS, *_OF_LOADING))
_LOADS = lazy(r"transformers\.(?:\w+\.)*\w+\.from_pretrained")
_TORCH = (2, 6)  # transformers 5 works with no older one


def _gives(scene: Scene, link: Link) -> bool:
    if _WORDS.isdisjoint(scene.file.source.words):
        return False
    return any(k.arg in _OF_ARGUMENTS or k.arg in _OF_LOADING for k in link[1][0].keywords)


class TransformersArguments(Rule):
    code = "PRT718"
    calls = _ARGUMENTS
    methods = {"from_pretrained"}
    only = staticmethod(_gives)

    def visit(self, original: cst.Call, updated: cst.Call, file: RuleFile) -> Answer:
        name, link = file.name(original.func) or "", file.scene.link(original)
        known = _OF_ARGUMENTS if name in _ARGUMENTS else _OF_LOADING if _LOADS.fullmatch(name) else {}
        given = {a.keyword.value for a in original.args if a.keyword}
        if link is None or known.keys().isdisjoint(given) or is_chosen(link):
            return None
        # where the project holds on to an older transformers, nothing stops
        if release(file.session.catalogue.torch) < _TORCH or file.facts.lists.below("transformers>=5", file.path):
            return None
        found = [
            (a, a.keyword.value, known[a.keyword.value])
            for a in original.args
            if a.keyword and a.keyword.value in known
        ]
        renamed = {a: (old, *now) for a, old, now in found if now is not None and now[0] not in given}
        safe = all(file.facts.lists.has_least(f"transformers>={least}", file.path) for _, _, least in renamed.values())
        args = [
            new.with_changes(keyword=cst.ensure_type(new.keyword, cst.Name).with_changes(value=renamed[arg][1]))
            if arg in renamed
            else new
            for new, arg in zip(updated.args, original.args, strict=True)
        ]
        call = updated.with_changes(args=args)
        return [
            Hit(a.keyword or a, "renamed", new=call, safe=safe, values=(*zip(("name", "new", "version"), renamed[a]),))
            if a in renamed
            else Hit(a, "both" if now else "gone", values=(("name", old), *((("new", now[0]),) if now else ())))
            for a, old, now in found
        ]
