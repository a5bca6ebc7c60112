"""`torch.jit.load(path)`: an archive remembers the device it was saved from, in its tensors and in its code."""

from __future__ import annotations

import ast

from porter.checks.export import kept_loads, prefilters
from porter.checks.export.load_without_map_location import MEMORY, with_place
from porter.engine.nodes import positional
from porter.engine.rule import Answer, Hit, Rule, cst, named
from porter.engine.rule_file import Link, RuleFile
from porter.python.index import walk


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
        name = _place_beside(loaded, file) if loaded is not None else ""
        place = cst.Name(name) if name else cst.SimpleString('"cpu"')
        return Hit(
            original.func,
            "placed" if name else "missing",
            values=named(name=name),
            new=with_place(updated, argument, place),
        )


def _place_beside(loaded: Link, file: RuleFile) -> str:
    """The parameter by which the function loads another kind of weights: `attempt_load(path, map_location=device)`."""
    function = file.scene.function(loaded)
    if function is None:
        return ""
    given = [k.value for k in walk(function[0]) if k.__class__ is ast.keyword and k.arg == "map_location"]
    names = {place.id for place in given if place.__class__ is ast.Name}
    bound = [binding for name in names for binding in file.names.bindings(name, loaded)]
    return names.pop() if len(names) == len(given) == 1 and [b[0].__class__ for b in bound] == [ast.arg] else ""
