"""`options["num_gpus"] = 1`, where `options` goes to Ray as `**options`."""

from __future__ import annotations

import re
from typing import Any

from porter.engine.rule import Hit, cst
from porter.engine.rule_file import RuleFile


def asked_by_key(original: cst.Assign, updated: Any, file: RuleFile) -> Hit | None:
    target, value = original.targets[0].target, original.value
    if len(original.targets) != 1 or not isinstance(target, cst.Subscript) or not isinstance(target.value, cst.Name):
        return None
    if getattr(getattr(target.slice[0].slice, "value", None), "raw_value", "") != "num_gpus":
        return None
    if isinstance(value, cst.Integer) and not value.evaluated_value:
        return None
    name, source = target.value.value.encode(), file.source.utf8
    if not re.search(rb"\*\*[ \t]*%s\b" % re.escape(name), source):
        return None  # a record of the project, and no arguments
    values = (("old", file.text(value)),)
    if re.search(rb"\b%s\[[\"']resources[\"']\]" % re.escape(name), source):
        return Hit(original, "by-hand", values=values)
    entry = cst.DictElement(cst.SimpleString('"NPU"'), updated.value)
    (asked,) = updated.targets
    key = asked.target.slice[0].slice
    quoted = key.value.with_changes(value=key.value.value.replace("num_gpus", "resources"))
    element = asked.target.slice[0].with_changes(slice=key.with_changes(value=quoted))
    targets = [asked.with_changes(target=asked.target.with_changes(slice=[element]))]
    return Hit(original, "asked", new=updated.with_changes(targets=targets, value=cst.Dict([entry])), values=values)
