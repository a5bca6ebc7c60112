"""Finds what is to be shared out: the loop over the batches, the loaders that it reads, and the models that are trained."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from porter.analysis.file import File
from porter.distribute import homes
from porter.distribute.homes import Home
from porter.distribute.refusals import refused
from porter.distribute.trace import DEFS, LOADERS, PARALLEL, Place, World
from porter.instrument.backward import Backward, backwards
from porter.instrument.loops import steps
from porter.instrument.naming import model_at
from porter.python.evidence import call_name
from porter.python.index import Link, Node, ancestors, walk

_WEIGHTS = frozenset({"parameters", "named_parameters"})


class Loop(NamedTuple):
    """Over batches, or one that asks for the next batch in each round."""

    place: Place
    read: Node  # what gives the batches: what it iterates over, or what `next` is called with

    @property
    def file(self) -> File:
        return self.place.file

    @property
    def node(self) -> Node:
        return self.place.node

    @property
    def link(self) -> Link:
        return self.place.link


class Training(NamedTuple):
    steps: list[Place]  # statements
    loops: list[Loop]
    loaders: list[Place]  # calls
    shared: list[Home]  # loaders from a call that makes others, too
    parallel: list[Place]  # calls of DataParallel
    homes: list[Home]  # of models that no DataParallel holds
    optimizers: list[Place]  # calls
    losses: list[tuple[Place, Backward]]
    around: set[int]  # the statements around the steps, and around the calls that lead there, by id


def training(world: World) -> Training | None:
    """None where no file of the program has a step of its own in a loop."""
    found = Training([], [], [], [], [], [], [], [], set())
    closures: list[tuple[Place, str]] = []
    for file in world.files:
        losses = backwards(file)
        for step in steps(file, losses):
            place = world.place(file, step.link[0])
            if step.closure:
                closures.append((place, step.closure))
            if step.engine or step.closure or not losses:
                continue
            found.steps.append(place)
        found.losses.extend((world.place(file, loss.link[0]), loss) for loss in losses)
    if not found.steps:
        for place, closure in closures[:1]:
            raise refused("closure", place, closure)
        return None
    for place in found.steps:
        found.around.update(id(each.node) for each in (place, *_around(world, place)))
        for loop in _data_loops(world, place):
            if loop not in found.loops:
                found.loops.append(loop)
    if not found.loops:
        return found
    for loop in found.loops:
        for loader in _loaders(world, loop):
            if _makes_others(world, loader):
                homes.add(found.shared, _loader_homes(world, loop, found.around))
            elif not any(loader.node is known.node for known in found.loaders):
                found.loaders.append(loader)
    _models(world, found)
    _others_in_parallel(world, found)
    return found


def _around(world: World, place: Place, depth: int = 0) -> Iterator[Place]:
    """The statements around a place, and around the calls of the functions that it stands in."""
    for up in ancestors(place.link):
        yield Place(place.file, up)
        if isinstance(up[0], DEFS):
            for call in world.callers(Place(place.file, up)) if depth < 5 else ():
                yield from _around(world, call, depth + 1)
            return


def _data_loops(world: World, step: Place) -> list[Loop]:
    """The innermost loop around a step that reads from a loader."""
    unknown = None
    for around in _around(world, step):
        if not isinstance(around.node, (ast.For, ast.While)):
            continue
        for loop in _reading(around):
            if any(_is_loader(place) for place in _made_by(world, loop)):
                return [loop]
        if isinstance(around.node, ast.For) and unknown is None and not _counts(around.node):
            unknown = Loop(around, around.node.iter)
    if unknown is not None:
        raise refused("loader", unknown.place, ast.unparse(unknown.read)[:60])
    return []


def _reading(around: Place) -> Iterator[Loop]:
    if isinstance(around.node, ast.For):
        yield Loop(around, around.node.iter)
    for node in walk(around.node):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "next" and node.args:
            yield Loop(around, node.args[0])


def _made_by(world: World, loop: Loop) -> list[Place]:
    return world.sources(loop.place.within(loop.read))


def _counts(loop: ast.For) -> bool:
    """`range(...)`, also within `tqdm(...)`."""
    return any(isinstance(n, ast.Call) and call_name(n.func) in ("range", "trange", "count") for n in walk(loop.iter))


def _is_loader(place: Place) -> bool:
    call = place.node
    return isinstance(call, ast.Call) and (place.file.names.resolve(call.func, place.link) or "") in LOADERS


def _is_parallel(place: Place) -> bool:
    call = place.node
    return isinstance(call, ast.Call) and (place.file.names.resolve(call.func, place.link) or "") in PARALLEL


def _loaders(world: World, loop: Loop) -> Iterator[Place]:
    for place in _made_by(world, loop):
        if not _is_loader(place):
            continue
        for keyword in place.node.keywords:
            if keyword.arg in ("sampler", "batch_sampler") and not _is_none(world, place.within(keyword.value)):
                raise refused("sampler", place.within(keyword), f"{keyword.arg}={ast.unparse(keyword.value)[:60]}")
        if any(isinstance(argument, ast.Starred) for argument in place.node.args):
            raise refused("stars", place)
        yield place


def _makes_others(world: World, loader: Place) -> bool:
    """Whether one call makes the loader of the training and others: it stands in a function that is called several times."""
    for up in ancestors(loader.link):
        if isinstance(up[0], ast.For):
            return True
        if isinstance(up[0], DEFS):
            return len(world.callers(Place(loader.file, up))) > 1
    return False


def _loader_homes(world: World, loop: Loop, around: set[int]) -> list[Home]:
    found: list[Home] = []
    for node in walk(loop.read):
        if isinstance(node, (ast.Name, ast.Attribute)) and any(map(_is_loader, world.sources(loop.place.within(node)))):
            homes.add(found, homes.homes(world, loop.place.within(node), around))
    if not found:
        raise refused("loader", loop.place, ast.unparse(loop.read)[:60])
    return found


def _is_none(world: World, place: Place) -> bool:
    return all(isinstance(each.node, ast.Constant) and each.node.value is None for each in world.sources(place))


def _models(world: World, found: Training) -> None:
    """The models that the optimisers of the steps have the weights of."""
    for step in found.steps:
        names = _trained(world, step, found)
        if not names and (text := model_at(step.file, step.link)):
            names = [Place(step.file, (ast.parse(text, mode="eval").body, step.link))]
        if not names:
            raise refused("model", step)
        for name in names:
            parallel = [place for place in world.sources(name) if _is_parallel(place)]
            for place in parallel:
                if not any(place.node is known.node for known in found.parallel):
                    found.parallel.append(place)
            homes.add(found.homes, homes.homes(world, name, found.around) if not parallel else ())


def _others_in_parallel(world: World, found: Training) -> None:
    """Models that are not trained, in DataParallel: each process would take all devices."""
    for file in world.files:
        for node, link in world.links[id(file)].items():
            place = Place(file, link)
            if isinstance(node, ast.Call) and _is_parallel(place):
                if not any(node is known.node for known in found.parallel):
                    found.parallel.append(place)
            elif isinstance(node, ast.ClassDef):
                if any((file.names.resolve(base, link) or "") in PARALLEL for base in node.bases):
                    raise refused("subclass", place, node.name)


def _trained(world: World, step: Place, found: Training) -> list[Place]:
    calls = [n for n in walk(step.node) if isinstance(n, ast.Call) and call_name(n.func) == "step"]
    names: list[Place] = []
    for call in calls:
        given = call.args[0] if call.args else None  # scaler.step(optimizer)
        optimizer = (
            given
            if isinstance(given, (ast.Name, ast.Attribute))
            else call.func.value
            if isinstance(call.func, ast.Attribute)
            else call.func
        )
        for made in world.sources(step.within(optimizer)):
            if isinstance(made.node, ast.Call):
                if not any(made.node is known.node for known in found.optimizers):
                    found.optimizers.append(made)
                names += _weights_in(world, made, set())
    return names


def _weights_in(world: World, made: Place, seen: set[int]) -> list[Place]:
    """`model` of `Adam(model.parameters())`, also through names of lists of weights."""
    names = []
    for node in walk(made.node):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _WEIGHTS:
            names.append(made.within(_root(made, node.func.value)))
        elif isinstance(node, ast.Name) and id(node) not in seen and len(seen) < 200:
            seen.add(id(node))
            for each in world.sources(made.within(node)):
                if each.node is not node and not isinstance(each.node, ast.Constant):
                    names += _weights_in(world, each, seen)
    return names


def _root(made: Place, node: Node) -> Node:
    """`model` of `model.module.fc`."""
    while isinstance(node, (ast.Attribute, ast.Subscript)) and getattr(node.value, "id", "") != "self":
        node = node.value
    if isinstance(node, ast.Call):
        raise refused("model", made)
    return node
