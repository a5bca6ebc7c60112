"""What an optimizer's step changes below a loss: the weights of modules that gave a value before the step, from which the loss follows."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from porter.engine.rule_file import Node, RuleFile
from porter.python.assigned import by_target
from porter.python.index import walk

_MOST = 8  # places where a file makes one optimizer
_LEAVES = (ast.Continue, ast.Break, ast.Return, ast.Raise)
_ENDS = frozenset({"detach", "item", "no_grad"})  # methods behind which no gradient flows


def stepped(statement: Node) -> Iterator[str]:
    """The optimizers that a statement steps: `optimizer_d.step()`, also where a condition decides and the block goes on."""
    inside = statement.body if isinstance(statement, ast.If) else [statement]
    for inner in inside if not isinstance(inside[-1], _LEAVES) else ():
        call: Node = inner.value if isinstance(inner, ast.Expr) else None
        if isinstance(call, ast.Call) and getattr(call.func, "attr", "") == "step" and not (call.args or call.keywords):
            func: Node = call.func
            yield ast.unparse(func.value)


def modules_of(optimizer: str, file: RuleFile) -> set[str]:
    """The modules whose parameters an optimizer of this name is made of, wherever the file makes one."""
    made = [*_assigned(optimizer, file)]
    names = {n.id for value in made for n in walk(value) if isinstance(n, ast.Name)}
    made += [value for name in sorted(names) for value in _assigned(name, file)]  # `chain` of `Adam(chain)`
    asked: Iterator[Node] = (n.func for value in made for n in walk(value) if isinstance(n, ast.Call))
    return {ast.unparse(func.value) for func in asked if getattr(func, "attr", "") == "parameters"}


def _assigned(name: str, file: RuleFile) -> list[Node]:
    return by_target(file).get(name, [])[:_MOST]


def given_before(loss: str, block: list[Node], step: int, modules: set[str]) -> str:
    """The name that a module gave before the step, and that a loss follows from."""
    seen, todo = set[tuple[int, str]](), [(loss, len(block))]
    while todo:
        name, end = todo.pop()
        at = next((n for n in range(end - 1, -1, -1) if _values(block[n], name)), None)
        if at is None or (at, name) in seen:
            continue
        seen.add((at, name))
        for node in (part for value in _values(block[at], name) for part in _flowing(value)):
            if at < step and isinstance(node, ast.Call) and ast.unparse(node.func) in modules:
                return name
            if isinstance(node, ast.Name):
                todo.append((node.id, at))
    return ""


def _values(statement: Node, name: str) -> list[Node]:
    """What a statement sets a name to, in one branch or another."""
    if isinstance(statement, ast.If):
        return [value for inner in (*statement.body, *statement.orelse) for value in _values(inner, name)]
    targets = statement.targets if isinstance(statement, ast.Assign) else ()
    stored = (n for target in targets for n in walk(target) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))
    sets = any(n.id == name for n in stored)
    return [statement.value] if sets else []


def _flowing(value: Node) -> Iterator[Node]:
    """The parts of an expression through which a gradient flows."""
    todo = [value]
    while todo:
        node = todo.pop()
        if isinstance(node, ast.Attribute) and node.attr == "data":
            continue
        if isinstance(node, ast.Call) and getattr(node.func, "attr", "") in _ENDS:
            continue
        yield node
        todo += ast.iter_child_nodes(node)
