"""Where Python uses what its extensions export: `_C.fn(...)`, `torch.ops.ns.fn(...)`, `Builder().load().fn(...)`."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping

from porter.native.builders import LOAD, loaded
from porter.native.extensions import text_of
from porter.python.index import Node, walk
from porter.regex import lazy

OPS = "torch.ops."
_PICKS = lazy(r"(?i)lazy|getattr|func|load_op|get_op")

_KEPT = frozenset({ast.Name, ast.Import, ast.ImportFrom, ast.Assign, ast.FunctionDef})
Exports = Mapping[str, Mapping[str, object]]  # last word of the module, or "torch.ops.ns" -> name -> whatever
_Modules = dict[str, str]  # what an extension is called -> the last word of its name
_Names = dict[str, tuple[str, str]]  # what one of its functions is called -> (module, name)


def uses(tree: ast.Module, exports: Exports) -> Iterator[tuple[Node, str, str]]:
    """(the name that the expression starts with, module, what is used of it), in the order of the tree."""
    nodes, above = _walked(tree)
    modules, names = _bound(nodes, exports)
    getters = _getters(nodes, exports)
    for node in nodes:
        if node.__class__ is not ast.Name or node.ctx.__class__ is not ast.Load:
            continue
        chain, outermost = [node.id], node
        parent: Node
        while (parent := above.get(outermost)).__class__ is ast.Attribute:
            outermost = parent
            chain.append(outermost.attr)
        if use := _of_chain(chain, modules, names, exports) or _of_builder(outermost, above, chain[-1], exports):
            yield node, *use
        elif outermost is node and node.id in getters and (use := _of_getter(node, above, getters[node.id], exports)):
            yield node, *use
        elif modules and parent.__class__ is ast.Call and parent.func is outermost and _PICKS.search(chain[-1]):
            if use := _picked(parent, modules, exports):
                yield node, *use


def _walked(tree: ast.Module) -> tuple[list[Node], dict[Node, Node]]:
    """Names, imports and assignments in the order of the text, and what stands around each node of an expression."""
    kept: list[Node] = []
    above: dict[Node, Node] = {}
    todo: list[Node] = [tree]
    while todo:
        node = todo.pop()
        kind = node.__class__
        if kind in _KEPT:
            kept.append(node)
        if kind is ast.Name or kind is ast.Constant:
            continue
        below: list[Node] = []
        for value in node.__dict__.values():
            if value.__class__ is list:
                below += [item for item in value if isinstance(item, ast.AST)]
            elif isinstance(value, ast.AST):
                below.append(value)
        if kind is ast.Attribute or kind is ast.Call:
            above.update(dict.fromkeys(below, node))
        todo += reversed(below)
    return kept, above


def _bound(nodes: list[Node], exports: Exports) -> tuple[_Modules, _Names]:
    """Names, or dotted names, that are an extension; and names that are one of its functions."""
    modules: _Modules = {}
    names: _Names = {}
    for node in nodes:
        if isinstance(node, ast.Import):
            for alias in node.names:
                module = alias.name.rpartition(".")[2]
                if module in exports and not alias.name.startswith("torch."):
                    modules[alias.asname or alias.name] = module
        elif isinstance(node, ast.ImportFrom) and not (
            not node.level and (node.module or "").partition(".")[0] == "torch"
        ):
            module = (node.module or "").rpartition(".")[2]
            for alias in node.names:
                if alias.name in exports:
                    modules[alias.asname or alias.name] = alias.name
                elif module in exports and alias.name in exports[module]:
                    names[alias.asname or alias.name] = module, alias.name
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            if builder := loaded(node.value, exports):
                modules |= {ast.unparse(t): builder for t in node.targets}
                continue
            for given in [*node.value.args, *(k.value for k in node.value.keywords)]:
                word = text_of(given, {}).rpartition(".")[2]
                if word in exports:
                    modules |= {t.id: word for t in node.targets if isinstance(t, ast.Name)}
    return modules, names


def _getters(nodes: list[Node], exports: Exports) -> _Modules:
    """Functions that import an extension and return it: `get_backend()`, which builds it where it is not there yet."""
    getters: _Modules = {}
    lines = [
        node.lineno for node in nodes if isinstance(node, (ast.Import, ast.ImportFrom)) and imported(node, exports)
    ]
    for function in nodes if lines else ():
        if not isinstance(function, ast.FunctionDef):
            continue
        if not any(function.lineno <= line <= (function.end_lineno or line) for line in lines):
            continue
        inside = list(walk(function))
        modules, _ = _bound([node for node in inside if node.__class__ in (ast.Import, ast.ImportFrom)], exports)
        for node in inside if modules else ():
            if node.__class__ is ast.Assign and getattr(node.value, "id", "") in modules:  # BACKEND = _backend
                modules |= {t.id: modules[node.value.id] for t in node.targets if isinstance(t, ast.Name)}
        for node in inside if modules else ():
            if node.__class__ is ast.Return and getattr(node.value, "id", "") in modules:
                getters[function.name] = modules[node.value.id]
    return getters


def _of_getter(name: Node, above: dict[Node, Node], module: str, exports: Exports) -> tuple[str, str] | None:
    """`get_backend().fn`"""
    call: Node = above.get(name)
    used: Node = above.get(call) if call.__class__ is ast.Call and call.func is name else None
    return (module, used.attr) if used.__class__ is ast.Attribute and used.attr in exports[module] else None


def _of_chain(chain: list[str], modules: _Modules, names: _Names, exports: Exports) -> tuple[str, str] | None:
    if chain[:2] == ["torch", "ops"] and len(chain) > 3:
        space = OPS + chain[2]
        return (space, chain[3]) if chain[3] in exports.get(space, ()) else None
    for length in range(1, len(chain)):
        module = modules.get(".".join(chain[:length]))
        if module is not None:
            return (module, chain[length]) if chain[length] in exports[module] else None
    return names.get(chain[0])


def _of_builder(builder: Node, above: dict[Node, Node], name: str, exports: Exports) -> tuple[str, str] | None:
    """`Builder().load().fn`, of the name or the attributes that stand for the builder."""
    if name not in exports:
        return None
    instance: Node = above.get(builder)
    load: Node = above.get(instance) if instance.__class__ is ast.Call and instance.func is builder else None
    call = above.get(load) if load.__class__ is ast.Attribute and load.attr == LOAD else None
    used: Node = above.get(call)
    return (name, used.attr) if used.__class__ is ast.Attribute and used.attr in exports[name] else None


def _picked(call: ast.Call, modules: _Modules, exports: Exports) -> tuple[str, str] | None:
    """`getattr(_C, "fn")`, `lazily("fn")` in a file that imports the extension."""
    last_argument = call.args[-1] if call.args and not call.keywords else None
    if not isinstance(last_argument, ast.Constant) or not isinstance(last_argument.value, str) or len(call.args) > 2:
        return None
    if len(call.args) == 2:
        first = modules.get(getattr(call.args[0], "id", ""))
        return (first, last_argument.value) if first and last_argument.value in exports[first] else None
    for module in sorted(set(modules.values())):
        if last_argument.value in exports[module]:
            return module, last_argument.value
    return None


def imported(node: Node, modules: Collection[str]) -> str | None:
    """Which of these extensions an import statement is of."""
    if node.__class__ is ast.Import:
        words = [alias.name for alias in node.names]
    else:
        words = [node.module or "", *(alias.name for alias in node.names)]
    if words[0].partition(".")[0] == "torch":
        return None
    last_words = [word.rpartition(".")[2] for word in words]
    whole: list[str] = words if node.__class__ is ast.Import else [] if node.level else words[:1]
    return next((word for word in (*last_words, *(name.partition(".")[0] for name in whole)) if word in modules), None)
