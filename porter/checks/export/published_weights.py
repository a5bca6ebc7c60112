"""`load_state_dict_from_url(url)`: published weights go back to where they were saved from, mostly a GPU."""

from __future__ import annotations

from porter.checks.export import loaded_uses
from porter.engine.nodes import positional, with_keyword
from porter.engine.rule import Answer, Hit, cst
from porter.engine.rule_file import RuleFile
from porter.project.never_run import branches
from porter.python.host_loads import PLACE, is_loaded_otherwise, is_never_reached
from porter.regex import lazy

_ON_HOST = lazy(rb"//download\.pytorch\.org/")  # what is published there was saved from the CPU


def answer(original: cst.Call, updated: cst.Call, file: RuleFile) -> Answer:
    """What PRT901 says of a download that has no place to load to."""
    place = positional(original, 2, ("map_location",))
    if place is None or place[1] is not None:
        return None
    link, call = file.link(original.func), file.scene.link(original)
    if call is None or link is None or file.source.says(_ON_HOST):
        return None
    never = any(first <= call[0].lineno <= last for first, last in branches(file.tree))
    if never or is_loaded_otherwise(call) or is_never_reached(file, link):
        return None
    value, _ = loaded_uses.part(call[1])
    if loaded_uses.fate(value, file) or any(ask(value, file) for ask in loaded_uses.AS_IT_COMES):
        return Hit(original.func, "parts")
    return Hit(original.func, "missing", new=with_keyword(updated, PLACE, cst.SimpleString('"cpu"')))
