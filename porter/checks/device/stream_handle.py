"""`stream.cuda_stream`, `event.cuda_event`: the pointers that CUDA code is handed."""

from __future__ import annotations

from typing import Any

from porter.checks.device.author_names import spelled
from porter.engine.rule import Answer, Hit, Rule, cst
from porter.engine.rule_file import Link, RuleFile
from porter.python.blocks import once_for_file
from porter.python.index import chain_of
from porter.rulebook.table import hints

MAKERS = frozenset(
    f"torch.cuda.{name}" for name in ("Stream", "ExternalStream", "Event", "current_stream", "default_stream")
)
HANDLES = {"cuda_stream": "npu_stream", "cuda_event": "npu_event"}
_TAKERS = hints("takes-cuda-streams")


class StreamHandle(Rule):
    code = "PRT134"
    attributes = frozenset(HANDLES)

    def visit(self, original: cst.Attribute, updated: cst.Attribute, file: RuleFile) -> Answer:
        made = original.value
        maker = file.name(made.func) if isinstance(made, cst.Call) else file.meaning.made_by(made)
        if maker not in MAKERS:
            return None  # `self.cuda_stream`, which may well be the stream itself
        old = original.attr.value
        if library := _taker(file):
            return Hit(original, "library", values=(("old", old), ("library", library)))
        new: Any = updated.with_changes(attr=updated.attr.with_changes(value=HANDLES[old]))
        if isinstance(made, cst.Call) and (func := _function(made.func, new.value.func, maker, file)):
            new = new.with_changes(value=new.value.with_changes(func=func))
        return Hit(original, "handle", new=new, values=(("old", old), ("new", HANDLES[old])), loads=True)


def _function(original: Any, updated: Any, name: str, file: RuleFile) -> cst.BaseExpression | None:
    """`torch.npu.current_stream` for `torch.cuda.current_stream().cuda_stream`; None where an import is ported, or nothing can be."""
    tail = name.removeprefix("torch.cuda.")
    new = file.style.name(tail, tail, file)
    return (spelled(original, updated, name, new, file.target.namespace) or None) if new else None


def is_pointer(name: str, link: Link | None) -> bool:
    """Whether nothing is used of what a call makes but its pointer: `torch.cuda.current_stream().cuda_stream`. It goes as a whole."""
    if name not in MAKERS or link is None:
        return False
    function = chain_of(link)
    call = function[1]
    return getattr(call[0], "func", None) is function[0] and getattr(call[1][0], "attr", "") in HANDLES


@once_for_file
def _taker(file: RuleFile) -> str | None:
    """What the file imports that starts kernels of CUDA on a stream: CuPy, TensorRT."""
    full = (target for imported in file.names.imports.values() for target, _ in imported)
    words = ((name.partition(".")[0], ".".join(name.split(".")[:2])) for name in full)
    return next((word for pair in words for word in pair if word in _TAKERS), None)
