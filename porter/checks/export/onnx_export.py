"""`torch.onnx.export(...)`: the way to the device goes on with ATC."""

from __future__ import annotations

from porter.engine.rule import Hit, Rule


class OnnxExport(Rule):
    code = "PRT903"
    edits = False
    calls = {"torch.onnx.export", "torch.onnx.utils.export"}

    def visit(self, original, updated, file):
        link = file.scene.link(original)  # a program that exports in several ways is told once
        return (
            Hit(original.func, "atc")
            if link is not None and not file.tested and file.scene.first(link, file=True)
            else None
        )
