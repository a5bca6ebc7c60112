"""Attributes that hold a sparse tensor, `self.graph = nn.Parameter(torch.sparse_coo_tensor(...))`, and the parameters of the
same name that they are handed to: `layer(x, self.graph)` for `def forward(self, x, graph)`."""

from __future__ import annotations

import ast

from porter.engine.rule_file import Link, Node, RuleFile
from porter.python.blocks import once_for_file
from porter.python.evidence import call_name, constant
from porter.python.index import FUNCTIONS, ancestors
from porter.python.parameters import parameters
from porter.regex import lazy

MAKERS = lazy(r"torch\.(?:sparse_\w+_tensor|sparse\.\w+Tensor|Tensor\.to_sparse)$")
_WRAPS = frozenset({"torch.nn.Parameter", "torch.nn.parameter.Parameter", "torch.autograd.Variable"})
_KEEPS = frozenset({"cuda", "npu", "to", "coalesce", "float", "half", "detach", "requires_grad_", "t"})


def is_held(file: RuleFile, link: Link | None, is_member: bool) -> bool:
    """`link`: of a name, or of the `self` that an attribute is asked of."""
    node: Node = link[0] if link is not None else None
    if not isinstance(node, ast.Name) or link is None:
        return False
    if is_member:
        return node.id == "self" and getattr(link[1][0], "attr", "") in _members(file)
    function = next((up[0] for up in ancestors(link) if isinstance(up[0], FUNCTIONS)), None)
    return function is not None and node.id in parameters(function) and node.id in _handed(file)


@once_for_file
def _members(file: RuleFile) -> frozenset[str]:
    """Attributes of `self` that nothing but sparse tensors is set to."""
    sparse: dict[str, bool] = {}
    for statement in file.buckets[ast.Assign]:
        value = statement[0].value
        for target in statement[0].targets:
            if isinstance(target, ast.Attribute) and getattr(target.value, "id", "") == "self":
                if not (isinstance(value, ast.Constant) and value.value is None):
                    sparse[target.attr] = sparse.get(target.attr, True) and _is_made(file, value, statement)
    for call in file.buckets[ast.Call]:
        if call_name(call[0].func) == "register_buffer" and len(call[0].args) > 1:
            if isinstance(name := constant(call[0].args[0]), str):
                sparse[name] = sparse.get(name, True) and _is_made(file, call[0].args[1], call)
    return frozenset(name for name, is_so in sparse.items() if is_so)


@once_for_file
def _handed(file: RuleFile) -> frozenset[str]:
    """Those of them that stand among the arguments of a call whose function no import names: `self.layer(x, self.graph)`."""
    members = _members(file)
    handed: set[str] = set()
    for call in file.buckets[ast.Call] if members else ():
        if file.names.resolve(call[0].func, call) is None:
            values = (*call[0].args, *(keyword.value for keyword in call[0].keywords))
            handed.update(value.attr for value in values if isinstance(value, ast.Attribute) and value.attr in members)
    return frozenset(handed)


def _is_made(file: RuleFile, made: Node, link: Link) -> bool:
    value: Node = made
    while value.__class__ is ast.Call:
        name, method = file.names.resolve(value.func, link), getattr(value.func, "attr", "")
        if name and MAKERS.match(name) or method.startswith("to_sparse"):
            return True
        kept = value.func.value if method in _KEEPS else None
        value = value.args[0] if name in _WRAPS and value.args else kept
    return False
