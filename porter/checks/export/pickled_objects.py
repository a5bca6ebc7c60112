"""`torch.load` of a checkpoint that holds more than tensors and plain values: from torch 2.6 on it refuses."""

from __future__ import annotations

import re
from typing import Any

from porter.checks.export import lightning_loads, loaded_keys, loaded_objects
from porter.checks.export.held_settings import held_settings
from porter.checks.export.saved_here import object_saved
from porter.engine.nodes import positional, with_keyword
from porter.engine.rule import TOGETHER, Answer, Hit, Rule, cst
from porter.engine.rule_file import Link, RuleFile
from porter.regex import lazy, rare

_SINCE = (2, 6)
# all_gather of Python objects, as it was written before torch.distributed had all_gather_object
_SAVED = lazy(rb"torch\.save\(\s*\w+\s*,\s*\w+\s*\)")
_SENT = lazy(rb"\b(?:all_gather|all_gather_list|broadcast|gather|scatter|recv)\(")
_MADE = rb"\b%s[ \t]*=[ \t]*(?:io\.)?BytesIO\(|\bTemporaryFile\([^()\n]*\)[ \t]+as[ \t]+%s\b"
# where datasets of graphs keep what they made: objects with edges and features
_WHOLE = ("processed_paths", "processed_file_names")
_RUNNERS = frozenset(
    {"mmengine.runner.Runner", "mmengine.runner.Runner.from_cfg", "mmengine.Runner", "mmengine.Runner.from_cfg"}
)
_ATTRIBUTES = rare(rb"\bself\.__dict__\[\w+\][ \t]+for\b")  # all that an object holds goes into a checkpoint


def _is_received(original: cst.Call, file: RuleFile) -> bool:
    """`torch.load(io.BytesIO(...))`, or of a file without a name, where a file saves into a buffer as well, and hands it to the
    other processes."""
    text = file.source.utf8
    saved = file.source.says(b"BytesIO") and original.args and _SAVED.search(text)
    if not saved or not _SENT.search(text, saved.end()):
        return False
    buffer = original.args[0].value
    made = file.text(buffer).encode()
    if isinstance(buffer, cst.Name):
        return file.source.says(re.compile(_MADE % (re.escape(made), re.escape(made))))
    return made.startswith((b"io.BytesIO(", b"BytesIO("))


def _possibly(func: cst.BaseExpression, call: Link, file: RuleFile) -> Hit | None:
    """Not edited: nobody knows which of several files it is."""
    saved = loaded_keys.possibly_saved(call, file)
    values = (("name", saved.held), ("writer", saved.path)) if saved else ()
    return Hit(func, "may", values=(*values, (TOGETHER, "may"))) if saved else None


class PickledObjects(Rule):
    code = "PRT905"
    calls = {"torch.load", *lightning_loads.TRAINERS, *_RUNNERS}
    methods = {"load_from_checkpoint", *lightning_loads.METHODS}
    nodes = ("Assign",)
    text = lightning_loads.RESUMED

    def visit(self, original: cst.Call | cst.Assign, updated: Any, file: RuleFile) -> Answer:
        if isinstance(original, cst.Assign) or file.name(original.func) != "torch.load":
            if file.target.torch < _SINCE:
                return None
            if isinstance(original, cst.Call) and file.name(original.func) in _RUNNERS:
                is_first = file.facts.once.runner == file.path
                return Hit(original.func, "runner", values=((TOGETHER, "runner"),)) if is_first else None
            return lightning_loads.resumed(original, file) or lightning_loads.configured(original, file)
        if file.target.torch < _SINCE or file.tested or any(a.star for a in original.args):
            return None
        if any(positional(original, None, (name,)) != (None, None) for name in ("weights_only", "pickle_module")):
            return None
        if file.path.startswith(file.facts.checkpoints.replaced):
            return None
        new = with_keyword(updated, "weights_only", cst.Name("False"))
        if name := held_settings(file):
            return Hit(original.func, "settings", new=new, values=(("name", name),))
        whole = next((mark for mark in _WHOLE if mark in file.text(original)), None)
        if whole is None and file.source.says(_ATTRIBUTES):
            whole = "__dict__"
        if whole:
            return Hit(original.func, "objects", new=new, values=(("name", whole),))
        if shipped := loaded_objects.shipped(original, file):
            return Hit(original.func, "shipped", new=new, values=(("held", shipped),))
        if _is_received(original, file):
            return Hit(original.func, "received", new=new)
        if asked := loaded_objects.asked(original, file):
            return Hit(original.func, "asked", new=new, values=(("name", asked),))
        if asserted := loaded_objects.asserted(original, file):
            return Hit(original.func, "asserted", new=new, values=(("name", asserted),))
        if promised := loaded_objects.promised(original, file):
            return Hit(original.func, "promised", new=new, values=(("name", promised),))
        link = file.scene.link(original)
        if link and (lightning := lightning_loads.of_old_lightning(link[1], file)):
            return Hit(original.func, "lightning", new=new, values=(("old", lightning),))
        if link and lightning_loads.reads_configured(link[1], file):
            return Hit(original.func, "kept", new=new)
        if link and (written := object_saved(link[1], file)):
            return Hit(original.func, "written", new=new, values=(("name", written),))
        if link is None or not file.facts.checkpoints.saved:
            return None
        saved = loaded_keys.saved_elsewhere(link[1], file)
        if saved is None:
            return _possibly(original.func, link[1], file)
        about = "rates" if saved.of_rates else "saved"
        return Hit(original.func, about, new=new, values=(("name", saved.held), ("writer", saved.path)))
