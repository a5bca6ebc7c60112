"""Finds the sizes in the configuration of a model, written as plain numbers with a name, that do not fit the target."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, TypeAlias

from porter.python.evidence import call_name, constant, target_name
from porter.python.index import Link, Node, walk
from porter.regex import lazy
from porter.rulebook.table import any_of
from porter.values.shapes import KINDS, Misfit, misfits

if TYPE_CHECKING:
    from porter.training.protocols import AnyScene

# names of classes with settings
_CONFIG = lazy(r"(?i)conf(?:ig)?|args|arguments|params|settings|cfg")
_FOLDER = lazy(r"(?i)(?:^|/)(?:\w+_)?(?:configs?|conf|cfg)(?:/|[\w-]*\.py$)")  # paths of configurations
_DEFS = (ast.FunctionDef, ast.AsyncFunctionDef)


# text of a file that pads its vocabulary itself, or splits it (adaptive softmax)
_PADDED = lazy(any_of("pads-the-vocabulary").encode())
# names of code that takes sizes from given weights
_GIVEN = lazy(r"(?i)pretrained|convert|load|import|checkpoint|download|ckpt")
_Misfits: TypeAlias = "list[tuple[str, Misfit, tuple[int, int]]]"  # (name, misfit, place)
# nodes that may give the sizes of a model
_KINDS = (ast.Call, ast.Dict, ast.FunctionDef, ast.AsyncFunctionDef, ast.Assign, ast.AnnAssign)


def misfits_at(scene: AnyScene, link: Link) -> dict[str, Misfit]:
    """The misfits among the settings to which a node belongs, by name. For each value only the first place in the file counts."""
    first_places = scene.first_sizes
    return {key: row for key, row, place in _misfits(scene, link) if first_places.get((key, row.old)) == place}


def first_places(scene: AnyScene) -> dict[tuple[str, int], tuple[int, int]]:
    """The first place of each (name, value) that does not fit."""
    places: dict[tuple[str, int], tuple[int, int]] = {}
    for kind in _KINDS:
        for link in scene.file.buckets[kind]:
            for key, row, place in _misfits(scene, link):
                places[key, row.old] = min(place, places.get((key, row.old), place))
    return places


def _misfits(scene: AnyScene, link: Link) -> _Misfits:
    """The misfits of all settings that stand beside each other. They are kept, as each line of a block asks."""
    alone = link[0].__class__ in (
        ast.Call,
        ast.Dict,
        *_DEFS,
    )  # other nodes stand for their whole block
    answers: dict[object, _Misfits] = scene.file.answers["sizes"]
    key = (link[0] if alone else link[1][0], alone)
    if key not in answers:
        answers[key] = _look_at(scene, link)
    return answers[key]


def _look_at(scene: AnyScene, link: Link) -> _Misfits:
    sizes, of_model = _sizes(scene, link), _makes_model(link)
    if (
        len(sizes) < 2
        and not of_model
        or _GIVEN.search(scene.function_name(link))
        or _GIVEN.match(scene.file.path.rpartition("/")[2])
    ):
        return []
    rows = misfits({key: node.value for key, node in sizes.items()}, of_model)
    if any(row.why == "vocab" for row in rows.values()) and scene.file.source.says(_PADDED):
        rows = {key: row for key, row in rows.items() if row.why != "vocab"}
    rows = {key: row for key, row in rows.items() if row.why != "vocab" or not _is_never_default(scene, link, key)}
    rows = {key: row for key, row in rows.items() if row.why != "vocab" or not (of_model and _is_looked_up(link, key))}
    return [(key, row, (sizes[key].lineno, sizes[key].col_offset)) for key, row in rows.items()]


def _is_looked_up(link: Link, key: str) -> bool:
    """Whether a parameter of a module only sizes a table of embeddings, whose weight nothing else reads: no matrix unit
    multiplies with it."""
    inside = [inner for statement in link[0].body for inner in walk(statement)]
    calls = [n for n in inside if n.__class__ is ast.Call and call_name(n.func) == "Embedding"]
    tables = [call for call in calls if call.args and getattr(call.args[0], "id", "") == key]
    reads = sum(getattr(n, "id", "") == key for n in inside)
    shared = any(getattr(n, "attr", "") == "weight" for n in walk(link[1][0]))
    return bool(tables) and len(tables) == reads and not shared


def _is_never_default(scene: AnyScene, link: Link, key: str) -> bool:
    """Whether every call of the class gives this field a value, and the numbers among them fit: `GPTConfig(vocab_size=50304)`."""
    owner = link[1] and link[1][0]
    if link[0].__class__ not in (ast.Assign, ast.AnnAssign) or owner.__class__ is not ast.ClassDef:
        return False
    calls = [use[1][0] for use in scene.names.spelled(owner.name) if getattr(use[1][0], "func", None) is use[0]]
    given = [[k.value for k in call.keywords if k.arg in (key, None)] for call in calls]
    numbers = [value.value for values in given for value in values if constant(value).__class__ is int]
    return all(given) and bool(numbers) and not any(misfits({key: number}, True) for number in numbers)


def _sizes(scene: AnyScene, link: Link) -> dict[str, Node]:
    node = link[0]
    if node.__class__ is ast.Call:
        return _numbers((k.arg, k.value) for k in node.keywords)
    if node.__class__ is ast.Dict:
        return _numbers((constant(k), v) for k, v in zip(node.keys, node.values))
    if node.__class__ in _DEFS:
        args = node.args
        given = zip([*args.posonlyargs, *args.args][::-1], args.defaults[::-1])
        pairs = [*((a.arg, v) for a, v in given), *((a.arg, v) for a, v in zip(args.kwonlyargs, args.kw_defaults))]
        if _makes_model(link):
            return {key: node for key, node in _numbers(pairs).items() if KINDS.get(key) == "vocab"}
        return _numbers(pairs) if _is_config(link[1][0]) else {}
    block = link[1][0]
    if not _is_settings(scene, block, link):
        return {}
    return _numbers(
        (target_name(target), s.value)
        for s in block.body
        if s.__class__ in (ast.Assign, ast.AnnAssign)
        for target in (s.targets if s.__class__ is ast.Assign else [s.target])
    )


def _makes_model(link: Link) -> bool:
    """Whether a function is the `__init__` of a module. There a vocabulary counts even without other sizes beside it."""
    owner = link[1] and link[1][0]
    if link[0].__class__ not in _DEFS or link[0].name != "__init__" or owner.__class__ is not ast.ClassDef:
        return False
    return any(call_name(base) in ("Module", "LightningModule", "PreTrainedModel") for base in owner.bases)


def _is_settings(scene: AnyScene, block: Node, link: Link) -> bool:
    if block.__class__ in _DEFS:
        return _is_config(link[1][1][0])
    return _is_config(block) or block.__class__ is ast.Module and bool(_FOLDER.search(scene.file.path))


def _is_config(node: Node) -> bool:
    if node.__class__ is not ast.ClassDef:
        return False
    is_dataclass = any("dataclass" in call_name(getattr(d, "func", d)) for d in node.decorator_list)
    return is_dataclass or bool(_CONFIG.search(node.name))


def _numbers(pairs: Iterable[tuple[Any, Node]]) -> dict[str, Node]:
    return {key: value for key, value in pairs if key.__class__ is str and constant(value).__class__ is int}
