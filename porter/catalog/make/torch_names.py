"""The public names of one torch, module by module, for the question whether a name exists in it at all."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from porter.catalog.make.sources import Wheel
from porter.catalog.make.static import Reader

# Compiled modules whose names a package takes over as it is imported, and the stubs that list them.
_TAKEN_OVER = {"torch": ("torch._C", "torch._C._VariableFunctions")}
_CLASSES = {"torch.Tensor": "torch._tensor.Tensor", "torch.nn.Module": "torch.nn.modules.module.Module"}
# What no stub lists, torch's own tables of its functions, methods and dtypes refer to.
_TABLES = ("torch.overrides", "torch._dynamo.trace_rules", "torch.utils._dtype_abbrs", "torch._prims_common")
# Made by the extension library as it is loaded.
_OPEN = ("torch.sparse", "torch.cuda.sparse")
_SIGNS = (b"__getattr__", b"globals", b"import *", b"sys.modules")
_LEFT_OUT = "torch.utils.benchmark.examples"  # not what training code is written against


def torch_names(torch: Wheel, reader: Reader) -> tuple[dict[str, str], dict[str, str]]:
    """{module: "name name ..."}, with a "+" before those it only imports from elsewhere, a "-" before those that only
    raise, and a final "*" where the module also binds names that its source does not spell; of private names, those
    that may have others below them; and
    {name: parameters} of what is written in Python and offered there.
    """
    listing: dict[str, str] = {}
    signatures: dict[str, str] = {}
    mentioned = _mentioned(torch)
    below: dict[str, set[str]] = {}
    for module in {*torch.modules(), *torch.stubs()}:
        above, _, child = module.rpartition(".")
        below.setdefault(above, set()).add(child)
    modules = {m for m in torch.modules() if _public(m)}
    for module in sorted(modules):
        home = reader.module(module)
        exported = home.exported or ()
        own_names = {n for n, entry in home.names.items() if entry.kind != "foreign" or entry.home.startswith("torch.")}
        names = {n for n in (*own_names, *exported) if n[0] != "_"}
        names |= {n for n in below.get(module, ()) if f"{module}.{n}" in modules}
        for name in names & home.names.keys():
            entry = home.names[name]
            offered = entry.home == module or name in exported
            if offered and entry.parameters is not None and not module.startswith("torch.cuda"):
                signatures[f"{module}.{name}"] = f"({', '.join(entry.parameters)})"
        stubs = [torch.stub(stub) for stub in _TAKEN_OVER.get(module, ())]
        for stub in filter(None, stubs):
            names |= {n for n in _bound(stub.body) if n[0] != "_"}
        if any(stubs):
            names |= mentioned["torch"]
            more = False
        else:
            more = module in _OPEN or _binds_more(module, torch)
        gone = {n for n in names & home.names.keys() if home.names[n].gone}
        taken = {n for n in home.names if n[0] != "_" and n not in names}  # from typing, urllib: no API, but there
        private = {n for n, entry in home.names.items() if entry.kind != "function"} | below.get(module, set())
        marked = {f"-{n}" for n in gone} | {f"+{n}" for n in taken} | {n for n in private if _is_private(n)}
        listing[module] = " ".join((*sorted(names - gone), *sorted(marked), *("*" if more else "")))
    for name, place in _CLASSES.items():
        owner = reader.lookup(place)
        members = {m for m in owner.members if m[0] != "_"} if owner else set()
        if name == "torch.Tensor":
            compiled = torch.stub("torch._C")
            base = _class(compiled, "TensorBase") if compiled else None
            members |= {m for m in _bound(base.body) if m[0] != "_"} if base else set()
            members |= mentioned["Tensor"]
        listing[name] = " ".join(sorted(members))
    return listing, signatures


def _mentioned(torch: Wheel) -> dict[str, set[str]]:
    """`torch.X`, `Tensor.X` and "torch.X" in the tables."""
    mentions: dict[str, set[str]] = {"torch": set(), "Tensor": set()}
    for tree in filter(None, map(torch.parse, _TABLES)):
        for node in ast.walk(tree):
            text = ""
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                text = node.value
            elif isinstance(node, ast.Attribute):
                text = ast.unparse(node)
            owner, _, name = text.rpartition(".")
            owner = owner.removeprefix("torch.")
            if owner in mentions and name.isidentifier() and name[0] != "_":
                mentions[owner].add(name)
    return mentions


def _public(module: str) -> bool:
    return module.partition(".")[0] == "torch" and "._" not in module and not module.startswith(_LEFT_OUT)


def _is_private(name: str) -> bool:
    return name[0] == "_" and not name.startswith("__")


def _class(tree: ast.Module, name: str) -> ast.ClassDef:
    return next(node for node in tree.body if isinstance(node, ast.ClassDef) and node.name in (name, "_" + name))


def _bound(body: list[ast.stmt]) -> Iterator[str]:
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield node.name
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield node.target.id
        elif isinstance(node, ast.Assign):
            yield from (t.id for t in node.targets if isinstance(t, ast.Name))


def _binds_more(module: str, torch: Wheel) -> bool:
    """`__getattr__`, `globals()`, `sys.modules[__name__]`, a star import from what is compiled, foreign or torch."""
    if not any(sign in torch.source(module) for sign in _SIGNS):
        return False
    tree = torch.parse(module)
    if tree is None:
        return True
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name == "__getattr__" and node in tree.body:
            return True
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "globals":
            return True
        if isinstance(node, ast.ImportFrom) and node.names[0].name == "*" and not node.level:
            if node.module == "torch" or torch.parse(node.module or "") is None:
                return True
        if isinstance(node, ast.Subscript) and ast.unparse(node).startswith("sys.modules[__name__]"):
            return True
    return False
