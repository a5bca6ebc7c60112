"""`[int(n) for n in torch.__version__.split(".")[:3]]`: the last part of 2.7.1+cpu is no number."""

from __future__ import annotations

import ast

from porter.engine.rule import Hit, cst
from porter.engine.rule_file import Link, Node, RuleFile
from porter.python.evidence import call_name, constant
from porter.python.index import ancestors, walk
from porter.text.installable import companion
from porter.versions import release

_NAMES = ("torch.__version__", "torchvision.__version__", "torchaudio.__version__")
_EXACT = 2  # parts of a version that are numbers in any build


def cut_off(original: cst.Call, updated: cst.Call, file: RuleFile) -> Hit | None:
    """What cuts off the build before the version is split."""
    func = original.func
    if not isinstance(func, cst.Attribute) or func.attr.value != "split" or file.name(func.value) not in _NAMES:
        return None
    link = file.link(func.value)
    call = next((up for up in ancestors(link) if up[0].__class__ is ast.Call), None)
    if call is None or [constant(argument) for argument in call[0].args] != ["."] or not _becomes_numbers(call):
        return None
    written = file.text(func.value)
    new = updated.with_changes(func=cst.parse_expression(f'{written}.split("+")[0].split'))
    name, torch = file.name(func.value) or "", release(file.session.catalogue.torch, 3)
    own = torch if name == "torch.__version__" else companion(name.partition(".")[0], torch)
    version = ".".join(map(str, own or torch))
    return Hit(original, "local", new=new, safe=True, values=(("name", written), ("version", f"{version}+cpu")))


def _becomes_numbers(parts: Link) -> bool:
    """Whether the third part of what is split is made a number, with all others or alone."""
    child: Node = parts[0]
    for up in ancestors(parts):
        above: Node = up[0]
        if above.__class__ is ast.Subscript and child is above.value:
            if not _holds_third(above.slice):
                return False
        elif above.__class__ is ast.Call and child in above.args:
            return _is_int(above.func) or call_name(above.func) == "map" and _is_int(above.args[0])
        elif above.__class__ is ast.comprehension and child is above.iter and not above.ifs:
            made = up[1] and up[1][0]
            calls = walk(getattr(made, "elt", above))
            return any(node.__class__ is ast.Call and _is_int(node.func) for node in calls)
        else:
            return False
        child = above
    return False


def _holds_third(index: Node) -> bool:
    if index.__class__ is ast.Slice:
        first, last = constant(index.lower), constant(index.upper)
        is_from_start = index.step is None and (index.lower is None or first == 0)
        return is_from_start and (index.upper is None or type(last) is int and last > _EXACT)
    return bool(constant(index) == _EXACT)


def _is_int(node: Node) -> bool:
    return node.__class__ is ast.Name and node.id == "int"
