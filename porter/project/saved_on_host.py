"""Keys under which a project saves weights that it moved to the CPU, one by one: whoever loads them meets no other device."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping

from porter.files.paths import is_test
from porter.project.saved_dictionaries import dictionaries
from porter.project.told_together import Homes
from porter.python.evidence import call_name, constant
from porter.python.index import FUNCTIONS, Node
from porter.python.walks import walk
from porter.regex import lazy

Parse = Callable[[bytes], "ast.Module | None"]
_MOVED = lazy(rb"\][ \t]*=[ \t]*\w+(?:\.\w+\(\))*\.cpu\(\)")
_SAVE = b"torch.save("
_MOVED_BEFORE = lazy(rb"(?m)^[ \t]*(\S+)\.cpu\(\)[ \t]*\r?\n[ \t]*torch\.save\([ \t]*\1[ \t]*,")
_WEIGHTS = lazy(r"(?i)state|ckpt|checkpoint|model|net|weight|param|save")  # names of what may hold some
_Saver = tuple[Node, Node, str]  # the function that saves, what stands for the key, and the name of what it moved


def keys_on_host(texts: Mapping[str, bytes], parse: Parse, files: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """(folder of the program, key); none where the program saves anything else under the key. The key is "" where all that a
    program saves is whole objects, each of which it moves in the line before."""
    saving = {path: data for path, data in texts.items() if _SAVE in data and not is_test(path)}
    moving = {path: data for path, data in saving.items() if b".cpu()" in data and _MOVED.search(data)}
    whole = {path for path, data in saving.items() if b".cpu()" in data and _moves_all(data)}
    homes = Homes(files) if moving or whole else None
    found: set[tuple[str, str]] = set()
    for path, data in moving.items() if homes else ():
        program = homes.of(path) if homes else ""
        own = {name: text for name, text in texts.items() if name.startswith(program)}
        savers = list(_savers(parse(data)))
        keys = {key for saver in savers for key in _keys(saver, own, parse)}
        if keys and not any(_saves_else(saving[p], parse, savers, keys) for p in own if p in saving):
            found.update((program, key) for key in keys)
    for program in {homes.of(path) for path in whole} if homes else ():
        if all(path in whole for path in saving if path.startswith(program)):
            found.add((program, ""))
    return tuple(sorted(found))


def _moves_all(data: bytes) -> bool:
    """`model.cpu()`, and in the next line `torch.save(model, path)`; and nothing else is saved."""
    return len(_MOVED_BEFORE.findall(data)) == data.count(_SAVE)


def _savers(tree: ast.Module | None) -> Iterator[_Saver]:
    """A function that saves what it moved, and what names the key: `held[key] = weights` of `torch.save(held, path)`."""
    for function in walk(tree) if tree else ():
        if function.__class__ not in FUNCTIONS[:2]:
            continue
        inside = list(walk(function))
        moved = {name for node in inside if (name := _moved(node))}
        saved = {ast.unparse(n.args[0]) for n in inside if isinstance(n, ast.Call) and _is_save(n)}
        for node in inside if moved else ():
            if isinstance(node, ast.Assign) and getattr(node.value, "id", "") in moved:
                target = node.targets[0]
                if isinstance(target, ast.Subscript) and ast.unparse(target.value) in saved:
                    yield function, target.slice, getattr(node.value, "id", "")


def _is_save(call: ast.Call) -> bool:
    return ast.unparse(call.func) == "torch.save" and bool(call.args)


def _moved(node: Node) -> str:
    """`weights` of `for name, weight in weights.items(): weights[name] = weight.cpu()`."""
    if node.__class__ is not ast.For or node.target.__class__ is not ast.Tuple:
        return ""
    source: Node = (
        node.iter.func.value if node.iter.__class__ is ast.Call and call_name(node.iter.func) == "items" else None
    )
    for statement in node.body if source is not None else ():
        if statement.__class__ is not ast.Assign or statement.targets[0].__class__ is not ast.Subscript:
            continue
        value, holder = statement.value, statement.targets[0].value
        is_moved = value.__class__ is ast.Call and call_name(value.func) == "cpu"
        if is_moved and ast.unparse(holder) == ast.unparse(source):
            return str(getattr(holder, "id", ""))
    return ""


def _keys(saver: _Saver, texts: Mapping[str, bytes], parse: Parse) -> Iterator[str]:
    """The keys that a function saves with: the default of the parameter that they come from, and what calls give for it."""
    function, key, _ = saver
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


def _saves_else(data: bytes, parse: Parse, savers: list[_Saver], keys: set[str]) -> bool:
    """Whether a file may save something under one of the keys that no saver has moved."""
    tree = parse(data)
    moved = {name for _, _, name in savers}
    if tree is None or any(
        getattr(value.written, "id", "") not in moved
        for entries in dictionaries(tree, data, {})
        for key, value in entries.items()
        if key in keys
    ):
        return True
    own = {ast.unparse(function) for function, _, _ in savers}
    known = {id(n) for f in walk(tree) if f.__class__ in FUNCTIONS[:2] and ast.unparse(f) in own for n in walk(f)}
    written = {
        name for f in walk(tree) if f.__class__ is ast.Assign and f.value.__class__ is ast.Dict for name in _names(f)
    }
    for call in walk(tree):
        if isinstance(call, ast.Call) and _is_save(call) and id(call) not in known:
            saved = call.args[0]
            is_plain = saved.__class__ is ast.Dict or call_name(getattr(saved, "func", saved)) == "state_dict"
            if not is_plain and _WEIGHTS.search(ast.unparse(saved)) and getattr(saved, "id", "") not in written:
                return True
    return False


def _names(assigned: Node) -> list[str]:
    return [target.id for target in assigned.targets if target.__class__ is ast.Name]
