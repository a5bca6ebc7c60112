"""What torch_npu.contrib.transfer_to_npu does to which name, read from its source."""

from __future__ import annotations

import ast
import json
from collections.abc import Callable, Iterable, Iterator

from porter.catalog.make.sources import Wheel
from porter.catalog.make.static import Reader

MODULE = "torch_npu.contrib.transfer_to_npu"
SHIELDED = "torch_npu/contrib/apis_config.json"


# who patches the private function patches the public one, which only calls it
_BEHIND = {"torch.distributed.distributed_c10d._new_group_with_tag": "torch.distributed.new_group"}


def transfers(torch_npu: Wheel, reader: Reader) -> dict[str, str]:
    """{name: effect}, as catalog/read/tables.py reads it. The effects:

    "="  set to a call or to a class of the module, which turns CUDA devices in the arguments into NPU ones
    ""   set to a function of the module
    "-"  set to such a function that gives back what it was given, or False
    "!"  a function of another library, which goes on seeing CUDA's own torch.cuda.is_available
    else the dotted name of what takes its place; with "=" behind it where CUDA devices in its arguments become NPU ones, too
    """
    tree = torch_npu.parse(MODULE)
    if tree is None:
        return {}
    effects: dict[str, str] = {}
    for name, effect in _Transfer(tree, reader).effects():
        name = _BEHIND.get(name, name)
        private = "._" in name and not name.startswith("torch.cuda.")
        if private or not name.startswith("torch.") or name.startswith("torch.npu."):
            continue
        for alias in _aliases(name, reader):
            known = effects.get(alias)
            if effect == "=" and known is not None:
                effect = known if "." not in known else known.removesuffix("=") + "="
            effects[alias] = effect
    for library in json.loads(torch_npu.read(SHIELDED)).values() if SHIELDED in torch_npu.files() else ():
        effects |= dict.fromkeys(library["apis"], "!")
    return dict(sorted(effects.items()))


def keywords(torch_npu: Wheel) -> list[str]:
    """The keyword arguments in which a call that is set turns CUDA devices into NPU ones, beside all positional ones."""
    tree = torch_npu.parse(MODULE)
    found = _lists(tree).get("device_kwargs_list", []) if tree else []
    several = [n.value for n in ast.walk(tree) if isinstance(n, ast.Constant)] if tree else []
    return [*found, *(["device_ids"] if found and "device_ids" in several else [])]


def _lists(tree: ast.Module) -> dict[str, list[str]]:
    """The module's lists of texts."""
    return {
        ast.unparse(n.targets[0]): ast.literal_eval(n.value)
        for n in tree.body
        if isinstance(n, ast.Assign)
        and isinstance(n.value, ast.List)
        and all(_text(element) is not None for element in n.value.elts)
    }


def _aliases(name: str, reader: Reader) -> list[str]:
    """A class is patched in place, so the packages above that offer it offer the patched one."""
    entry = reader.lookup(name)
    if entry is None or entry.kind != "class":
        return [name]
    parts = name.split(".")
    above = [".".join((*parts[:i], parts[-1])) for i in range(1, len(parts) - 1)]
    return [name, *(other for other in above if reader.lookup(other) is entry)]


class _Transfer:
    def __init__(self, tree: ast.Module, reader: Reader) -> None:
        self.reader = reader
        self.functions = {n.name: n for n in tree.body if isinstance(n, ast.FunctionDef)}
        self.classes = {n.name: n for n in tree.body if isinstance(n, ast.ClassDef)}
        self.lists = _lists(tree)

    def effects(self) -> Iterator[tuple[str, str]]:
        for name, effect in self._effects_of("_init", set()):
            yield name.removesuffix(".__init__").removesuffix(".__new__"), effect

    def _effects_of(self, function: str, visited: set[str]) -> Iterator[tuple[str, str]]:
        """In the order of the statements, through the module's own functions without arguments."""
        visited.add(function)
        for node in _statements(self.functions[function].body):
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Attribute):
                yield from self._assigned(ast.unparse(node.targets[0]), node.value)
            elif isinstance(node, ast.Assign) and isinstance(node.value, ast.List):
                yield from self._patched(node.value)
            elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
                called = ast.unparse(node.value.func)
                if called == "_device_wrapper":
                    owner = ast.unparse(node.value.args[0])
                    yield from ((f"{owner}.{n}", "=") for n in self._listed(node.value.args[1]))
                elif called in self.functions.keys() - visited and not node.value.args:
                    yield from self._effects_of(called, visited)

    def _patched(self, rows: ast.List) -> Iterator[tuple[str, str]]:
        """[["cuda.amp", torch_npu.npu.amp], ...]: of a module with `__all__` its names, else the whole."""
        for row in rows.elts:
            if not isinstance(row, ast.List) or len(row.elts) != 2 or (patched := _text(row.elts[0])) is None:
                continue
            name, home = f"torch.{patched}", ast.unparse(row.elts[1])
            exported = self.reader.module(home).exported if home in self.reader.wheels else None
            if exported is None:
                yield name, _spelled(home)
            else:
                yield from ((f"{name}.{key}", f"{_spelled(home)}.{key}") for key in exported)

    def _assigned(self, name: str, value: ast.expr) -> Iterator[tuple[str, str]]:
        if isinstance(value, ast.Attribute):
            yield name, _spelled(ast.unparse(value))
        elif isinstance(value, ast.Call):
            yield name, "="
        elif isinstance(value, ast.Name) and value.id in self.classes:
            yield name, "="
        elif isinstance(value, ast.Name) and value.id in self.functions:
            yield name, "-" if _does_nothing(self.functions[value.id]) else ""

    def _listed(self, node: ast.expr) -> list[str]:
        if isinstance(node, ast.Name):
            return self.lists.get(node.id, [])
        return [text for n in node.elts if (text := _text(n)) is not None] if isinstance(node, ast.List) else []


def _statements(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    for node in body:
        yield node
        yield from _statements([*getattr(node, "body", ()), *getattr(node, "orelse", ())])


def _does_nothing(function: ast.FunctionDef) -> bool:
    """One of its returns gives back a parameter, or False."""
    given = {a.arg for a in function.args.args}
    returned = [n.value for n in ast.walk(function) if isinstance(n, ast.Return)]
    return any(
        isinstance(v, ast.Name) and v.id in given or isinstance(v, ast.Constant) and v.value is False for v in returned
    )


def _text(node: ast.expr) -> str | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def _spelled(name: str) -> str:
    return name.replace("torch_npu.npu", "torch.npu", 1) if name.startswith("torch_npu.npu") else name


def warnings_given(modules: Iterable[str], parse: Callable[[str], ast.Module | None]) -> Iterator[str]:
    """The texts that modules say with `warnings.warn("...")` and `@deprecated("...")`."""
    for module in modules:
        tree = parse(module)
        for node in ast.walk(tree) if tree else ():
            if isinstance(node, ast.Call) and ast.unparse(node.func) in ("warnings.warn", "deprecated") and node.args:
                if (text := _text(node.args[0])) is not None:
                    yield text
