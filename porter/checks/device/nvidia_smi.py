"""Calls of nvidia-smi, and names that are set to such a command. Only `nvidia-smi` alone, which a shell runs and whose
output nobody reads, is edited."""

from __future__ import annotations

from typing import Any

from porter.engine.nodes import quoted
from porter.engine.rule import Answer, Hit, Rule, cst
from porter.engine.rule_file import RuleFile
from porter.python.evidence import PROCESSES
from porter.regex import lazy

TOOL, OURS = "nvidia-smi", "npu-smi"
RUNS = frozenset(
    [f"subprocess.{name}" for name in PROCESSES]
    + ["os.system", "os.popen", "shutil.which", "asyncio.create_subprocess_shell", "asyncio.create_subprocess_exec"]
)
SHELLS = frozenset({"os.system", "asyncio.create_subprocess_shell"})  # a shell takes the text
MAYBE = frozenset(f"subprocess.{name}" for name in ("run", "call", "check_call", "Popen"))  # with shell=True
_OF_SCREENS = lazy(r"(?<!\w)display_(?:active|mode)(?!\w)")  # an NPU has no screen
PIPES = frozenset({"capture_output", "stdout", "stderr"})


class NvidiaSmi(Rule):
    code = "PRT145"
    spelled = True
    nodes = ("Call", "Assign")
    text = TOOL

    def visit(self, original: cst.Call | cst.Assign, updated: Any, file: RuleFile) -> Answer:
        if isinstance(original, cst.Assign):
            return self._assigned(original, file)
        name = file.name(original.func)
        if name not in RUNS or not original.args:
            return None
        command: Any = original.args[0].value
        if not _starts(command):
            return None
        if _OF_SCREENS.search(file.text(command)):
            return Hit(command, "screen")
        values = (("new", f"{OURS} info"),)
        new = quoted(command, f"{OURS} info") if getattr(command, "raw_value", "") == TOOL else None
        if new is None or not _is_shown(name or "", original):
            return Hit(command, "run", values=values)
        first = updated.args[0].with_changes(value=new)
        return Hit(command, "plain", new=updated.with_changes(args=[first, *updated.args[1:]]), values=values)

    @staticmethod
    def _assigned(original: cst.Assign, file: RuleFile) -> Hit | None:
        if not _starts(original.value):
            return None
        if _OF_SCREENS.search(file.text(original.value)):
            return Hit(original.value, "screen")
        return Hit(original.value, "run", values=(("new", f"{OURS} info"),))


def _is_shown(name: str, call: cst.Call) -> bool:
    """Whether a shell takes the text of the command, and nobody reads what it prints."""
    given = {arg.keyword.value: arg.value for arg in call.args if arg.keyword is not None}
    shell = getattr(given.get("shell"), "value", "") == "True"
    return (
        (name in SHELLS or name in MAYBE and shell) and PIPES.isdisjoint(given) and not any(a.star for a in call.args)
    )


def _starts(command: cst.BaseExpression) -> bool:
    """A command line, or a list of words, that begins with the tool's name."""
    if isinstance(command, cst.FormattedString) and command.parts:
        return getattr(command.parts[0], "value", "").startswith(TOOL)
    if isinstance(command, (cst.List, cst.Tuple)) and command.elements:
        command = command.elements[0].value
    if isinstance(command, cst.ConcatenatedString):
        command = command.left
    if not isinstance(command, cst.SimpleString):
        return False
    return command.raw_value.split(" ")[0].strip("\"'").rpartition("/")[2] == TOOL
