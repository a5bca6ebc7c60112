"""`torch.load(path)` of a checkpoint: its tensors go back to where they were saved from, the GPU."""

from __future__ import annotations

import ast

from porter.checks.export import prefilters
from porter.engine.nodes import positional, with_keyword
from porter.engine.rule import Answer, Hit, Rule, cst
from porter.engine.rule_file import Node, RuleFile
from porter.python.evidence import constant
from porter.python.index import parents
from porter.regex import lazy

CHECKPOINT = lazy(
    r"(?i)ckpt|checkpoint|weight|model|state|resum|pretrain|snapshot|\.pth\b|optim|(?:^|_)net|restore|load_path"
)
MODULE = lazy(r"(?i)(?:^|[._])(?:model|module|net|network|encoder|decoder|generator|discriminator|net[gd])$")
PART = lazy(r"(?i)state_?dict|^(?:ema_?)?(?:model|module|net(?:work)?|weights?|optim(?:izer)?)(?:$|_)")
MEMORY = lazy(r"(?i)bytesio|buffer|stream|(?:^|_)buf\b")


class LoadWithoutMapLocation(Rule):
    code = "PRT901"
    calls = {"torch.load"}
    only = staticmethod(prefilters.is_anywhere)

    def visit(self, original: cst.Call, updated: cst.Call, file: RuleFile) -> Answer:
        argument = positional(original, 1, ("map_location",))
        if argument is None or not original.args:
            return None
        index, given = argument
        if file.tested or given is not None and file.text(given.value) != "None":
            return None
        source = file.text(original.args[0].value)
        about = " ".join(
            [source, file.tensors.target(original), file.tensors.receiver_of_result(original), *_keys(original, file)]
        )
        if MEMORY.search(source) or not CHECKPOINT.search(about):
            return None
        if _written_here(original, file):
            return None
        if MODULE.search(file.tensors.target(original)):
            return Hit(original.func, "whole")  # a model that is used as it comes would stay on the CPU
        host = cst.SimpleString('"cpu"')
        if given is None or index is None:
            new = with_keyword(updated, "map_location", host)
        else:
            args = list(updated.args)
            args[index] = args[index].with_changes(value=host)
            new = updated.with_changes(args=args)
        return Hit(original.func, "missing", new=new)


def _keys(original: cst.Call, file: RuleFile) -> list[str]:
    """Of `torch.load(path)["model"]`, and of `loaded = torch.load(path)` what is asked of it: `loaded["model"]`."""
    link = file.scene.link(original)
    call = link[1] if link is not None else None
    while call is not None and call[0].__class__ is ast.Attribute:
        call = call[1]
    if call is None or call[1] is None:
        return []
    above = call[1]
    target: Node = above[0].targets[0] if isinstance(above[0], ast.Assign) else None
    uses = file.names.readers(target.id, (target, above)) if target.__class__ is ast.Name else []
    asked = [str(constant(getattr(use[1][0], "slice", None))) for use in uses if use[1]]
    return [str(constant(getattr(above[0], "slice", None)) or ""), *filter(PART.search, asked)]


def _written_here(original: cst.Call, file: RuleFile) -> bool:
    """Whether the file that is loaded, come what may, is one that this program saves, on the device it runs on."""
    path = original.args[0].value
    if not isinstance(path, cst.SimpleString) or any(n.__class__ is ast.If for n in parents(file.link(original.func))):
        return False
    for link in file.apis.get("torch.save", ()):
        while link[1] is not None and link[1][0].__class__ is ast.Attribute:
            link = link[1]
        call = link[1] and link[1][0]
        if call.__class__ is ast.Call and call.func is link[0] and len(call.args) > 1:
            if constant(call.args[1]) == path.evaluated_value:
                return True
    return False
