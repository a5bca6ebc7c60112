"""A program whose settings alone choose the device: nothing in it names one, and a torch before 2.5 loads no accelerator by itself."""

from __future__ import annotations

import ast

from porter.engine.rule import Answer, Hit, Rule, cst
from porter.engine.rule_file import RuleFile
from porter.project.entry_scripts import is_guarded
from porter.regex import lazy

# `device: str = "cpu"` of a record, `--device` of a command line
_CHOSEN = lazy(rb"\bdevice: str = [\"'](?:cpu|auto)[\"']|[\"']--device[\"']")


class SettingsDevice(Rule):
    code = "PRT004"
    nodes = ("Import",)
    text = r"torch\b"

    def visit(self, original: cst.Import, updated: cst.Import, file: RuleFile) -> Answer:
        target, names = file.target, file.names
        if target.autoloads or not file.style.loads or file.tested or not file.facts.roads.device:
            return None
        if names.bound(target.module) or not any(alias.name.value == "torch" for alias in original.names):
            return None
        text, link = file.source.utf8, file.scene.link_of(original, ast.Import)
        if link is None or link[1] is None or link[1][0] is not file.tree or not is_guarded(text):
            return None
        if not file.source.says(_CHOSEN) or b"cuda" in text or b"nccl" in text:  # their edits bring the import along
            return None
        line = f"import {target.module}  # noqa: F401"
        return Hit(
            original, "settings", after=(line,), safe=True, values=(("torch", ".".join(map(str, target.torch[:2]))),)
        )
