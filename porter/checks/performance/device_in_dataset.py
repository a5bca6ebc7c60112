"""`__getitem__` and collate functions that put tensors on the device: loader workers cannot do that."""

from __future__ import annotations

import re

from porter.checks.rule import Hit, Rule

WORKERS = re.compile(r"^__getitem__$|(?i:collate)")


class DeviceInDataset(Rule):
    code, slug = "PRT636", "device-in-dataset"
    methods = {"cuda", "npu", "to"}
    only = "loader"

    def visit(self, original, updated, file):
        if not file.scene.inside(original, WORKERS, dataset=True) or file.receiver(original) in ("other", "own"):
            return None
        link = file.scene.link(original)
        owner = link and file.scene.owner(link)
        if owner is not None and any((file.names.resolve(b, link) or "").endswith("nn.Module") for b in owner.bases):
            return None  # which collates what it is handed in the step
        if original.func.attr.value == "to" and not file.scene.moves(original):
            return None
        return Hit(original, "worker", values=(("name", f".{original.func.attr.value}()"),))
