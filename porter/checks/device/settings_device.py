"""A program whose settings alone choose the device: nothing in it names one, and a torch before 2.5 loads no accelerator by itself."""

from __future__ import annotations

import ast
from typing import cast

from porter.engine.rule import Answer, Hit, Rule, cst
from porter.engine.rule_file import RuleFile
from porter.project.entry_scripts import is_guarded
from porter.python.blocks import once_for_file
from porter.python.evidence import OPTION_HOLDERS
from porter.regex import lazy

# `device: str = "cpu"` of a record, `--device` of a command line, `torch.device(opt.device)` of what another file parses
_CHOSEN = lazy(
    rb"\bdevice: str = [\"'](?:cpu|auto)[\"']|[\"']--device[\"']"
    rb"|(?:\btorch\.device\(|\.to\(|\bdevice=)(?:self\.)?(?:%s)\.device\b" % OPTION_HOLDERS.encode()
)


@once_for_file
def _is_chosen_outside(file: RuleFile) -> bool:
    """Whether a program gets its device from outside, and no edit of the file brings the import along."""
    if file.target.autoloads or not file.style.loads or file.tested or not file.facts.roads.device:
        return False
    text = file.source.utf8
    return b"cuda" not in text and b"nccl" not in text and is_guarded(text) and file.source.says(_CHOSEN)


class SettingsDevice(Rule):
    code = "PRT004"
    nodes = ("Import",)
    text = r"torch\b"
    only = staticmethod(lambda scene, _: _is_chosen_outside(cast("RuleFile", scene.file)))

    def visit(self, original: cst.Import, updated: cst.Import, file: RuleFile) -> Answer:
        if not _is_chosen_outside(file):
            return None
        target, link = file.target, file.scene.link_of(original, ast.Import)
        if not any(alias.name.value == "torch" for alias in original.names) or file.names.bound(target.module):
            return None
        if link is None or link[1] is None or link[1][0] is not file.tree:
            return None
        line, torch = f"import {target.module}  # noqa: F401", ".".join(map(str, target.torch[:2]))
        return Hit(original, "settings", after=(line,), safe=True, values=(("torch", torch),))
