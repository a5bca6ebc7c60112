"""Keys under which a project saves weights that it moved to the CPU, one by one: whoever loads them meets no other device."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from porter.files.paths import is_test
from porter.project.saved_dictionaries import dictionaries
from porter.project.told_together import Homes
from porter.python.evidence import call_name, constant
from porter.python.index import FUNCTIONS, Node
from porter.python.walks import statements, walk
from porter.regex import lazy, rare

Parse = Callable[[bytes], "ast.Module | None"]
_MOVED = lazy(rb"\][ \t]*=[ \t]*\w+(?:\.\w+\(\))*\.cpu\(\)")
_SAVE = b"torch.save("
_MOVED_BEFORE = rare(rb"(?m)^[ \t]*(\S+)\.cpu\(\)[ \t]*\r?\n[ \t]*torch\.save\([ \t]*\1[ \t]*,")
_WEIGHTS = lazy(r"(?i)state|ckpt|checkpoint|model|net|weight|param|save")  # names of what may hold some


class _Saver(NamedTuple):
    """A function that saves what it moved: `held[key] = weights` of `torch.save(held, path)`."""

    function: Node
    key: Node
    moved: str  # the name of what it moved


def keys_on_host(texts: Mapping[str, bytes], parse: Parse, files: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """(folder of the program, key), but no key under which the program saves anything else. The key is "" where all that a program
    saves is whole objects, each of which it moves in the line before."""
    saving = {path: data for path, data in texts.items() if _SAVE in data and not is_test(path)}
    moving = {path: data for path, data in saving.items() if b".cpu()" in data and _MOVED.search(data)}
    whole = {path for path, data in saving.items() if b".cpu()" in data and _moves_all(data)}
    if not moving and not whole:
        return ()
    homes = Homes(files)
    trees: dict[str, ast.Module | None] = {path: parse(data) for path, data in moving.items()}
    savers = {path: list(_savers(tree)) for path, tree in trees.items()}
    found: set[tuple[str, str]] = set()
    for program in {homes.of(path) for path, several in savers.items() if several}:
        own = {path: text for path, text in texts.items() if path.startswith(program)}
        keys = {key for path in savers if path in own for saver in savers[path] for key in _keys(saver, own, parse)}
        for path in own.keys() & saving.keys() if keys else ():
            if path not in trees:
                trees[path] = parse(saving[path])
            keys = keys - _kept_else(trees[path], saving[path], savers.get(path, []), keys)
        found.update((program, key) for key in keys)
    for program in {homes.of(path) for path in whole}:
        if all(path in whole for path in saving if path.startswith(program)):
            found.add((program, ""))
    return tuple(sorted(found))


def _moves_all(data: bytes) -> bool:
    """`model.cpu()`, and in the next line `torch.save(model, path)`; and nothing else is saved."""
    return len(_MOVED_BEFORE.findall(data)) == data.count(_SAVE)


def _savers(tree: ast.Module | None) -> Iterator[_Saver]:
    for function in statements(tree) if tree else ():
        if function.__class__ not in FUNCTIONS[:2]:
            continue
        inside = list(walk(function))
        moved = {name for node in inside if (name := _moved(node))}
        saved = {ast.unparse(node.args[0]) for node in inside if _is_save(node)} if moved else set()
        for node in inside if saved else ():
            if isinstance(node, ast.Assign) and getattr(node.value, "id", "") in moved:
                target = node.targets[0]
                if isinstance(target, ast.Subscript) and ast.unparse(target.value) in saved:
                    yield _Saver(function, target.slice, getattr(node.value, "id", ""))


def _is_save(node: Node) -> bool:
    """A call of `torch.save`."""
    func: Node = node.func if node.__class__ is ast.Call and node.args else None
    return func.__class__ is ast.Attribute and func.attr == "save" and getattr(func.value, "id", "") == "torch"


def _moved(node: Node) -> str:
    """`weights` of `for name, weight in weights.items(): weights[name] = weight.cpu()`."""
    if node.__class__ is not ast.For or node.target.__class__ is not ast.Tuple:
        return ""
    source: Node = (
        node.iter.func.value if node.iter.__class__ is ast.Call and call_name(node.iter.func) == "items" else None
    )
    leaves = any(inner.__class__ in (ast.Continue, ast.Break) for inner in walk(node))  # with some of them left out
    for statement in node.body if source is not None and not leaves else ():
        if statement.__class__ is not ast.Assign or statement.targets[0].__class__ is not ast.Subscript:
            continue
        value, holder = statement.value, statement.targets[0].value
        is_moved = value.__class__ is ast.Call and call_name(value.func) == "cpu"
        if is_moved and ast.unparse(holder) == ast.unparse(source):
            return str(getattr(holder, "id", ""))
    return ""


def _keys(saver: _Saver, texts: Mapping[str, bytes], parse: Parse) -> Iterator[str]:
    """The keys that a function saves with: the default of the parameter that they come from, and what calls give for it."""
    function, key = saver.function, saver.key
    if isinstance(word := constant(key), str):
        yield word
        return
    loops = [n for n in walk(function) if n.__class__ is ast.For and getattr(key, "id", "-") in ast.unparse(n.target)]
    mentioned = {n.id for loop in loops for n in walk(loop.iter) if n.__class__ is ast.Name}
    args = function.args.args
    with_default = dict(zip([a.arg for a in args[::-1]], function.args.defaults[::-1]))
    for name in sorted(mentioned & with_default.keys()):
        yield from _words(with_default[name])
        calling = (data for data in texts.values() if f"{function.name}(".encode() in data and name.encode() in data)
        for call in (n for data in calling for n in walk(parse(data) or ast.Module([], []))):
            if isinstance(call, ast.Call) and call_name(call.func) == function.name:
                yield from (word for k in call.keywords if k.arg == name for word in _words(k.value))


def _words(value: Node) -> list[str]:
    listed = value.elts if value.__class__ in (ast.List, ast.Tuple) else [value]
    return [word for one in listed if isinstance(word := constant(one), str)]


def _kept_else(tree: ast.Module | None, data: bytes, savers: Iterable[_Saver], keys: set[str]) -> set[str]:
    """Those of the keys under which a file may save something that none of its savers has moved."""
    if tree is None:
        return keys
    saver_of = {node: saver for saver in savers for node in walk(saver.function)}
    kept = {
        key
        for entries in dictionaries(tree, data, {})
        for key, value in entries.items()
        if value.written not in saver_of or getattr(value.written, "id", "") != saver_of[value.written].moved
    }
    written = {name for node in walk(tree) for name in _written(node)}
    for call in walk(tree):
        if _is_save(call) and call not in saver_of:
            saved = call.args[0]
            is_plain = saved.__class__ is ast.Dict or call_name(getattr(saved, "func", saved)) == "state_dict"
            if not is_plain and _WEIGHTS.search(ast.unparse(saved)) and getattr(saved, "id", "") not in written:
                return keys
    return kept & keys


def _written(node: Node) -> list[str]:
    """The names that are given a dictionary whose keys stand there."""
    if node.__class__ is not ast.Assign or node.value.__class__ is not ast.Dict:
        return []
    is_all = node.value.keys and all(isinstance(constant(key), str) for key in node.value.keys)
    return [target.id for target in node.targets if target.__class__ is ast.Name and is_all]
