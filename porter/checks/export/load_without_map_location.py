"""`torch.load(path)` of a checkpoint: its tensors go back to where they were saved from, the GPU."""

from __future__ import annotations

import re

from porter.checks.build import positional, with_keyword
from porter.checks.rule import Hit, Rule, cst

CHECKPOINT = re.compile(
    r"(?i)ckpt|checkpoint|weight|model|state|resum|pretrain|snapshot|\.pth\b|optim|(?:^|_)net|restore|load_path"
)
MODULE = re.compile(r"(?i)(?:^|[._])(?:model|module|net|network|encoder|decoder|generator|discriminator|net[gd])$")
MEMORY = re.compile(r"(?i)bytesio|buffer|stream|(?:^|_)buf\b")


class LoadWithoutMapLocation(Rule):
    code, slug = "PRT901", "load-without-map-location"
    calls = {"torch.load"}
    only = "anywhere"

    def visit(self, original, updated, file):
        found = positional(original, 1, ("map_location",))
        if found is None or not original.args:
            return None
        given = found[1]
        if file.tested or given is not None and file.text(given.value) != "None":
            return None
        source = file.text(original.args[0].value)
        about = " ".join([source, file.scene.target(original), file.scene.receiver_of_result(original)])
        if MEMORY.search(source) or not CHECKPOINT.search(about):
            return None
        if MODULE.search(file.scene.target(original)):
            return Hit(original.func, "whole")  # a model that is used as it comes would stay on the CPU
        host = cst.SimpleString('"cpu"')
        if given is None:
            new = with_keyword(updated, "map_location", host)
        else:
            args = list(updated.args)
            args[found[0]] = args[found[0]].with_changes(value=host)
            new = updated.with_changes(args=args)
        return Hit(original.func, "missing", new=new)
