"""Says whether a tensor is a single value: a loss, or a sum of losses."""

from __future__ import annotations

import ast
import re
from functools import lru_cache

from porter.engine.rule_file import Link, Node, RuleFile
from porter.python.assigned import last_above
from porter.python.evidence import OPTION_HOLDERS, call_name, constant
from porter.regex import lazy

# with no gradient of its own: that is for a single value alone
# of a sum, each part is one
_BACKWARD = (
    rb"(?:\b%(name)s|\((?:[\w.]+[ \t]*\+[ \t]*)*%(name)s(?:[ \t]*\+[ \t]*[\w.]+)*\))"
    rb"\.backward\([ \t]*(?:\)|retain_graph|create_graph)"
)
LOSS = lazy(r"(?i)loss$|(?:^|_)(?:criterion|cross_entropy)$")  # `mseloss`, `NLLLoss`
REDUCED = frozenset(
    f"torch.nn.functional.{name}"
    for name in """binary_cross_entropy binary_cross_entropy_with_logits cross_entropy kl_div l1_loss mse_loss nll_loss
    smooth_l1_loss""".split()
)  # functions that answer with one value, unless they are told otherwise
SIZES = frozenset({"len", "size", "float", "int"})
# an attribute may be a tensor: a size and an option are none
_NUMBERS = lazy(rf"(?i)(?:^|[._])(?:{OPTION_HOLDERS})\.|(?:^|[._])(?:num|size|steps?|len|length|count)(?:_\w+)?$")


def is_loss(text: str, name: Link | None, file: RuleFile) -> bool:
    """Whether gradients are taken of a value, or of what the same call gives elsewhere. `name`: where it is one."""
    around = file.scene.function(name) if name is not None else None
    if file.source.says(_backward(re.escape(text.encode())), around and around[0]):
        return True
    nearest = last_above(file.names, text, name, name[0].lineno) if name is not None else None
    return nearest is not None and (_gives_a_loss(_value(nearest), file) or _is_one_of_means(nearest, file))


@lru_cache(maxsize=256)
def _backward(name: bytes) -> re.Pattern[bytes]:
    return re.compile(_BACKWARD % {b"name": name})


def _is_one_of_means(binding: Link, file: RuleFile) -> bool:
    """`v` of `for v in losses`, below `losses = [torch.mean(loss) for loss in losses]`."""
    loop: Node = binding[1] and binding[1][0]
    several: Node = loop.iter if loop.__class__ in (ast.comprehension, ast.For) else None
    if binding[1] is None or several.__class__ is not ast.Name:
        return False
    made = last_above(file.names, several.id, (several, binding[1]), several.lineno)
    value: Node = _value(made) if made is not None else None
    call: Node = value.elt if value.__class__ is ast.ListComp else None
    return call.__class__ is ast.Call and call_name(call.func) == "mean" and len(call.args) < 2 and not call.keywords


def is_sum_of_losses(name: Link, file: RuleFile) -> bool:
    """`total = 0`, and then only `total += loss.data * len(x)`."""
    bound, added = file.names.bindings(name[0].id, name), 0
    for binding in bound:
        above: Node = binding[1] and binding[1][0]
        if above.__class__ is ast.AugAssign and above.op.__class__ is ast.Add:
            added += 1
            if not _is_scaled_loss(above.value, binding, file):
                return False
        elif not isinstance(constant(_value(binding)), (int, float)):
            return False
    return added > 0


def is_reduced(call: Node) -> bool:
    """Whether a call of a loss is not asked for all of its values."""
    return all(keyword.arg != "reduction" and keyword.arg != "reduce" for keyword in call.keywords)


def _value(binding: Link) -> Node:
    above: Node = binding[1] and binding[1][0]
    return above.value if above.__class__ is ast.Assign and binding[0] in above.targets else None


def _gives_a_loss(value: Node, file: RuleFile) -> bool:
    """A call that somebody takes gradients of: `loss = model.loss(batch)`, `loss.backward()`."""
    if value.__class__ is not ast.Call:
        return False
    called = re.escape(ast.unparse(value.func).encode())
    names = set(re.findall(rb"(?m)^[ \t]+(\w+)[ \t]*=[ \t]*%s\([^()\n]*\)[ \t]*$" % called, file.source.utf8))
    return any(file.source.says(_backward(other)) for other in names)


def _is_scaled_loss(node: Node, link: Link, file: RuleFile, depth: int = 0) -> bool:
    if depth > 6:  # a name that is set to itself
        return False
    if node.__class__ is ast.BinOp and node.op.__class__ in (ast.Mult, ast.Div):
        return _is_number(node.right) and _is_scaled_loss(node.left, link, file, depth + 1)
    if node.__class__ is ast.Call and call_name(node.func) == "detach":
        return _is_scaled_loss(node.func.value, link, file, depth + 1)
    if node.__class__ is ast.Attribute and node.attr == "data":
        return _is_scaled_loss(node.value, link, file, depth + 1)
    if node.__class__ is ast.Call:
        return is_reduced(node) and bool(LOSS.search(call_name(node.func)))
    if node.__class__ is not ast.Name:
        return False
    values = [_value(binding) for binding in file.names.bindings(node.id, link)]
    return bool(values) and all(v is not None and _is_scaled_loss(v, link, file, depth + 1) for v in values)


def _is_number(node: Node) -> bool:
    """`len(x)`, `x.size(0)`, `args.steps`, `loader.batch_size`, `2`"""
    if node.__class__ is ast.Call:
        return call_name(node.func) in SIZES
    return (
        node.__class__ is ast.Constant or node.__class__ is ast.Attribute and bool(_NUMBERS.search(ast.unparse(node)))
    )
