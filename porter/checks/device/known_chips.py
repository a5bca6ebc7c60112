"""Whether code that tells devices by their names knows the names of NPUs already."""

from __future__ import annotations

from porter.engine.rule_file import RuleFile
from porter.regex import lazy

_CHIP = lazy(rb"(?i)[\"'][^\"'\n]*(?:(?<![0-9])(?:910|310p|950)(?![0-9])|ascend|\bnpu)[^\"'\n]*[\"']")


def names_npu(file: RuleFile) -> bool:
    """`elif "910B" in device_name:`, in the same function: what is said there of GPUs holds for them alone."""
    place = file.scene.link_to(file.statement)
    function = file.scene.function(place) if place is not None else None
    return file.source.says(_CHIP, function[0] if function else file.statement)
