"""`stream.cuda_stream`, `event.cuda_event`: the pointers that CUDA code is handed."""

from __future__ import annotations

from porter.engine.rule import Answer, Hit, Rule, cst
from porter.engine.rule_file import RuleFile

MAKERS = frozenset(
    f"torch.cuda.{name}" for name in ("Stream", "ExternalStream", "Event", "current_stream", "default_stream")
)
HANDLES = {"cuda_stream": "npu_stream", "cuda_event": "npu_event"}


class StreamHandle(Rule):
    code = "PRT134"
    attributes = frozenset(HANDLES)

    def visit(self, original: cst.Attribute, updated: cst.Attribute, file: RuleFile) -> Answer:
        made = original.value
        maker = file.name(made.func) if isinstance(made, cst.Call) else file.meaning.made_by(made)
        if maker not in MAKERS:
            return None  # `self.cuda_stream`, which may well be the stream itself
        old = original.attr.value
        new = updated.with_changes(attr=updated.attr.with_changes(value=HANDLES[old]))
        return Hit(original, "handle", new=new, values=(("old", old), ("new", HANDLES[old])))
