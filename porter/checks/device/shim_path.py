"""What transfer_to_npu does to texts that are no devices, and where it does not reach: paths, processes of Ray and submitit."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any, cast

from porter.engine.rule import Answer, Hit, Rule, cst, named
from porter.engine.rule_file import RuleFile
from porter.python.assigned import values_of
from porter.python.index import Link

# by their places; what it changes there
_GROUP = ("backend", "init_method", "timeout", "world_size", "rank", "store", "group_name")
PARAMETERS = {
    "torch.load": ("f", "map_location", "pickle_module"),
    "torch.from_file": ("filename", "shared", "size"),
    "torch.distributed.init_process_group": _GROUP,
}
PATHS = {"f": ("cuda",), "filename": ("cuda",), "init_method": ("cuda", "nccl")}
STARTERS = {"ray.remote": "Ray", "submitit.AutoExecutor": "submitit", "submitit.SlurmExecutor": "submitit"}


class ShimPath(Rule):
    code = "PRT151"
    codes = ("PRT150", "PRT151")  # what porter/python/under_shim.py makes of the hits of others has them as well
    calls = frozenset(PARAMETERS)
    references = frozenset(STARTERS)

    def codes_for(self, name: str) -> tuple[str, ...]:
        """None: what is said of a name holds for all styles."""
        return ()

    def visit(self, original: Any, updated: Any, file: RuleFile) -> Answer:
        if not file.target.shims:
            return None
        if isinstance(original, cst.Call):
            return next(self._paths(original, updated, file), None)
        library = STARTERS.get(file.name(original) or "")
        is_program = file.path in file.facts.accelerators.shimmed.programs
        return Hit(original, "unreached", values=(("library", library),)) if library and is_program else None

    def _paths(self, original: cst.Call, updated: cst.Call, file: RuleFile) -> Iterator[Hit]:
        name, link = file.name(original.func) or "", file.scene.link(original)
        effect = file.session.catalogue.operators.transfer(name)
        if link is None or effect is None or not effect.arguments:
            return
        call = link[1][0]
        for index, keyword in enumerate(PARAMETERS[name][: len(call.args)]):
            word = next((w for w in PATHS.get(keyword, ()) if _says(call.args[index], w, link[1], file)), None)
            if word is not None:
                values = named(keyword=keyword, old=repr(word))
                new = _by_name(updated, index, PARAMETERS[name])
                at = original.args[index].value
                yield Hit(at, "path" if new else "path-by-hand", new=new, safe=True, values=values)


def _says(node: Any, word: str, link: Link, file: RuleFile) -> bool:
    """Whether a text in an expression, or in what its name is set to, has the word."""
    parts = [*ast.walk(node)]
    for name in [part for part in parts if isinstance(part, ast.Name)]:
        parts += values_of(cast(Any, file.names), name, link)
    texts = (part.value for part in parts if isinstance(part, ast.Constant))
    return any(isinstance(text, str) and word in text for text in texts)


def _by_name(call: cst.Call, index: int, parameters: tuple[str, ...]) -> cst.Call | None:
    """With the argument and those behind it given by their names."""
    args = list(call.args)
    for place in range(index, len(args)):
        argument = args[place]
        if argument.star or argument.keyword is None and place >= len(parameters):
            return None
        if argument.keyword is None:
            equal = cst.AssignEqual(cst.SimpleWhitespace(""), cst.SimpleWhitespace(""))
            args[place] = argument.with_changes(keyword=cst.Name(parameters[place]), equal=equal)
    return call.with_changes(args=args)
