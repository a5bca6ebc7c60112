"""`torch.load(path)` of a checkpoint: its tensors go back to where they were saved from, the GPU."""

from __future__ import annotations

from porter.checks.export import (
    kept_loads,
    loaded_keys,
    loaded_optimizers,
    loaded_parts,
    loaded_uses,
    prefilters,
    published_weights,
    saved_here,
)
from porter.engine.nodes import positional, with_keyword
from porter.engine.rule import Answer, Hit, Rule, cst
from porter.engine.rule_file import RuleFile
from porter.project.never_run import branches
from porter.python.host_loads import PLACES, is_loaded_otherwise, is_never_reached, may_be_none
from porter.regex import lazy
from porter.rulebook.table import hint

CHECKPOINT = hint("name-of-a-checkpoint")
STATE = lazy(r"(?i)state_?dict")
# the program may also run on the CPU: it names that, or has an option to use no GPU
ON_HOST = lazy(rb"[\"']cpu[\"']|\b(?:no|use|with)_?(?:cuda|gpu)\b|--(?:no|use|with)-(?:cuda|gpu)\b|\bargs\.cuda\b")
# a device that is asked for, or one among several: "npu" alone is the first
CHOSEN = lazy(rb"\btorch\.device\((?![ \t]*[frb]?[\"'])|[\"']cuda:")
MEMORY = lazy(r"(?i)bytesio|buffer|stream|(?:^|_)buf\b")


class LoadWithoutMapLocation(Rule):
    code = "PRT901"
    calls = PLACES.keys()
    only = staticmethod(prefilters.is_anywhere)

    def visit(self, original: cst.Call, updated: cst.Call, file: RuleFile) -> Answer:
        if file.name(original.func) != "torch.load":
            return published_weights.answer(original, updated, file)
        argument = positional(original, 1, ("map_location",))
        if argument is None or not original.args:
            return None
        _, given = argument
        link = file.link(original.func)
        sometimes = link is not None and may_be_none(file, link)
        if file.tested or given is not None and file.text(given.value) != "None" and not sometimes:
            return None
        loaded = file.scene.link(original)
        if loaded is None or is_loaded_otherwise(loaded):
            return None
        value, key = loaded_uses.part(loaded[1])
        target = file.tensors.target(original)
        source = file.text(original.args[0].value)
        about = " ".join(
            [source, target, file.tensors.receiver_of_result(original), key, *loaded_parts.keys(value, file)]
        )
        if MEMORY.search(source) or not CHECKPOINT.search(about):
            return None
        saved = saved_here.is_saved_on_host(loaded[1], file) or saved_here.is_written_before(loaded[1], file)
        if saved or loaded_keys.is_on_host(loaded[1], file) or link and is_never_reached(file, link):
            return None
        is_copied = loaded_uses.is_copied(value, file)
        if is_copied and loaded_parts.is_of_schedulers(about, value, file):
            return None  # numbers alone
        if loaded_uses.is_of_generators(value, file):
            return None
        fate = "" if is_copied or STATE.search(key) else loaded_uses.fate(value, file)
        if not is_copied and not fate and loaded_uses.stays_in_part(value, file):
            fate = "stays"
        names_whole = loaded_uses.MODULE.search(target) and not STATE.search(key) and not is_copied
        if fate == "stays" or names_whole and fate != "moved":  # a model that is used as it comes would stay on the CPU
            chosen = fate != "stays" or file.source.says(ON_HOST) or file.source.says(CHOSEN)
            device = None if chosen or sometimes else file.style.device(cst.SimpleString('"cuda"'), file)
            return Hit(
                original.func, "whole", new=device and with_place(updated, argument, device), loads=device is not None
            )
        if fate == "moved" and (held := file.facts.accelerators.held):  # saved whole: its class is of the project
            device = file.style.device(cst.SimpleString('"cuda"'), file)
            values = (("name", held),)
            return Hit(
                original.func, "held", new=device and with_place(updated, argument, device), values=values, loads=True
            )
        as_it_comes = loaded_optimizers.is_taken_whole(value, file) or kept_loads.is_given_to_moved(value, file)
        if as_it_comes or any(ask(value, file) for ask in loaded_uses.AS_IT_COMES):
            return Hit(original.func, "parts")
        made_on = kept_loads.device(value, file)
        if made_on is not None:  # a tensor of the object that computes on a device
            new = with_place(updated, argument, cst.parse_expression(made_on)) if made_on and not sometimes else None
            return Hit(original.func, "parts", new=new)
        if sometimes:
            return Hit(original.func, "sometimes")
        if kept_loads.is_of_the_other_branch(loaded[1]):
            return Hit(original.func, "branch")
        if any(first <= loaded[0].lineno <= last for first, last in branches(file.tree)):
            return Hit(original.func, "never")
        return Hit(original.func, "missing", new=with_place(updated, argument, cst.SimpleString('"cpu"')))


def with_place(call: cst.Call, place: tuple[int | None, cst.Arg | None], device: cst.BaseExpression) -> cst.Call:
    """The call with a device for `map_location`, which stands at this place or is not given."""
    index, given = place
    if given is None or index is None:
        return with_keyword(call, "map_location", device)
    args = list(call.args)
    args[index] = args[index].with_changes(value=device)
    return call.with_changes(args=args)
