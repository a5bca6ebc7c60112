"""`torch.jit.load(path)`: an archive remembers the device it was saved from, in its tensors and in its code."""

from __future__ import annotations

from porter.checks.export import kept_loads, prefilters
from porter.checks.export.load_without_map_location import MEMORY, with_place
from porter.engine.nodes import positional
from porter.engine.rule import Answer, Hit, Rule, cst
from porter.engine.rule_file import RuleFile


class ScriptArchive(Rule):
    code = "PRT904"
    calls = {"torch.jit.load"}
    only = staticmethod(prefilters.is_anywhere)

    def visit(self, original: cst.Call, updated: cst.Call, file: RuleFile) -> Answer:
        argument = positional(original, 1, ("map_location",))
        if argument is None or file.tested or not original.args:
            return None
        _, given = argument
        if given is not None and file.text(given.value) != "None":
            return None
        if MEMORY.search(file.text(original.args[0].value)):  # written a moment ago, by this very program
            return None
        loaded = file.scene.link(original)
        if loaded is not None and kept_loads.meets_the_device(loaded[1], file):
            return Hit(original.func, "used")
        return Hit(original.func, "missing", new=with_place(updated, argument, cst.SimpleString('"cpu"')))
