"""The edits that distribute one script, all of them or none: what Refused says stands in the way."""

from __future__ import annotations

import ast
from collections import defaultdict
from itertools import pairwise
from typing import NamedTuple

from porter.analysis.file import File
from porter.distribute import devices, metrics
from porter.distribute.find import Loop, Training, training
from porter.distribute.homes import Home
from porter.distribute.losses import summed
from porter.distribute.notes import Note, notes
from porter.distribute.own_files import HELPER
from porter.distribute.refusals import Refused, refused
from porter.distribute.saving import Once
from porter.distribute.statements import Crowded, above, below, in_order, removed, replaced
from porter.distribute.trace import Place, World
from porter.finding import Change
from porter.instrument.naming import statement_of
from porter.python.evidence import call_name
from porter.python.index import Node, ancestors, walk
from porter.python.parameters import parameters
from porter.regex import lazy
from porter.target import Target

_COUNTS_DEVICES = lazy(r"device_count|len\(|n_?gpu|num_gpu|gpus|ngpu|multi|parallel|> ?1|device_ids|gpu_ids")
# what joins a process group, or needs one; the last three start it themselves where nobody did
_GROUP = frozenset(
    {
        "init_process_group", "DistributedDataParallel", "DistributedSampler",
        "init_device_mesh", "fully_shard", "FullyShardedDataParallel",
    }
)  # fmt: skip


class Plan(NamedTuple):
    changes: dict[str, tuple[Change, ...]]  # of the ported files, by path
    notes: list[Note]
    parallel: list[tuple[str, int]]  # where DataParallel stood: path and line


def distributed_already(files: list[File]) -> tuple[str, int, str] | None:
    """A place that says so."""
    for file in files:
        for node in walk(file.tree):
            if isinstance(node, ast.Import) and any(alias.name == HELPER for alias in node.names):
                return file.path, node.lineno, HELPER
        for call in file.buckets[ast.Call]:
            full = file.names.resolve(call[0].func, call) or call_name(call[0].func)  # `... as FSDP`
            if (name := full.rpartition(".")[2]) in _GROUP:
                return file.path, call[0].lineno, name
    return None


def plan(files: list[File], target: Target) -> Plan:
    """`files`: those of the program, ported; the script is the first. Raises Refused."""
    world = World(files)
    found = training(world)
    if found is None:
        raise Refused("no-step", files[0].path, 1)
    if not found.loops:
        raise refused("no-loop", found.steps[0])
    if not (found.parallel or found.homes):
        raise refused("model", found.steps[0])
    maker = _Maker(world, found, target)
    try:
        maker.make()
    except Crowded as crowd:
        raise Refused("crowded", maker.at, crowd.line) from None
    changes = {path: in_order(edits) for path, edits in maker.changes.items() if edits}
    for path, edits in changes.items():
        if any(one.end > other.start for one, other in pairwise(edits)):
            raise Refused("broken", path, 1)
    return Plan(changes, list(notes(world, found)), [(p.file.path, p.node.lineno) for p in found.parallel])


class _Maker:
    def __init__(self, world: World, found: Training, target: Target) -> None:
        self.world, self.found, self.target = world, found, target
        self.changes: dict[str, list[Change]] = defaultdict(list)
        self.at = world.files[0].path  # of the file that is edited just now

    def make(self) -> None:
        self._refuse_methods()
        self._refuse_sums()
        for loader in self.found.loaders:
            self._add(loader.file, replaced(loader.file.source, loader.node.func, f"{HELPER}.loader"))
        for home in self.found.shared:
            self._share(home)
        for call in self.found.parallel:
            self._parallel(call)
        for home in self.found.homes:
            self._wrap(home)
        for loop in self.found.loops:
            self._epoch(loop)
            self._add(loop.file, *metrics.edits(self.world, loop, self.found.losses))
            self._wait(loop)
        self._everywhere()
        self._top()

    def _add(self, file: File, *changes: Change) -> None:
        self.at = file.path
        self.changes[file.path].extend(changes)

    def _refuse_methods(self) -> None:
        """Gradients are shared where the model itself is called: a loss that a method of it computes goes past that."""
        names = {home.name.rpartition(".")[2] for home in self.found.homes}
        for loop in self.found.loops:
            calls = [n for n in walk(loop.node) if isinstance(n, ast.Call)]
            if any(call_name(c.func) in names for c in calls):
                continue
            for call in calls:
                owner = call.func.value if isinstance(call.func, ast.Attribute) else None
                is_of_model = getattr(owner, "id", getattr(owner, "attr", "")) in names and _computes(call)
                if is_of_model or self._is_own(loop, call):
                    raise refused("method", self.world.place(loop.file, call), ast.unparse(call.func))

    def _is_own(self, loop: Loop, call: ast.Call) -> bool:
        """`self(x)` and `self.encoder(x)` in a loop that is a method of the model itself."""
        owner = self.world.owner(loop.place)
        text = ast.unparse(call.func)
        is_model = owner is not None and any(
            loop.file.names.resolve(base, loop.link) == "torch.nn.Module" for base in owner.bases
        )
        return is_model and (text == "self" or text.startswith("self.") and _computes(call))

    def _refuse_sums(self) -> None:
        for place, backward in self.found.losses:
            if backward.loss is not None and any(_in(place, loop.node) for loop in self.found.loops):
                if (term := summed(self.world, place.within(backward.loss), set())) is not None:
                    raise refused("sum", term)

    def _parallel(self, place: Place) -> None:
        call, source = place.node, place.file.source
        if not call.args or any(k.arg == "dim" for k in call.keywords):
            raise refused("parallel", place)
        end = source.span(call.args[0])[1]
        self._add(place.file, replaced(source, call.func, f"{HELPER}.data_parallel"))
        if len(call.args) + len(call.keywords) > 1:
            self._add(place.file, Change(end, source.span(call)[1] - 1, b""))
        child = call
        for up in ancestors(place.link):
            if isinstance(up[0], (ast.If, ast.IfExp)) and child is not up[0].test:
                self._condition(place, up[0], child)
            if isinstance(up[0], (ast.FunctionDef, ast.ClassDef)):
                break
            child = up[0]

    def _condition(self, place: Place, holder: Node, child: Node) -> None:
        """`if torch.npu.device_count() > 1:` asks how many devices one process sees."""
        test = ast.unparse(holder.test)
        if "__name__" in test or not _COUNTS_DEVICES.search(test):
            return
        inside = child is holder.body if isinstance(holder, ast.IfExp) else child in holder.body
        self._add(place.file, replaced(place.file.source, holder.test, f"{HELPER}.ranks() {'>' if inside else '<='} 1"))

    def _wrap(self, home: Home) -> None:
        line = f"{home.name} = {HELPER}.parallel({home.name})"
        self._add(home.place.file, below(home.place.file.source, home.place.node, line))

    def _share(self, home: Home) -> None:
        line = f"{home.name} = {HELPER}.share({home.name})"
        self._add(home.place.file, below(home.place.file.source, home.place.node, line))

    def _epoch(self, loop: Loop) -> None:
        for beside in _begun(self.world, loop):
            line = f"{HELPER}.epoch({_epoch_name(beside)})"
            self._add(loop.file, above(loop.file.source, beside.node, line))

    def _wait(self, loop: Loop) -> None:
        """What is loaded behind the loop, as the best checkpoint, the first rank may still be writing."""
        function = self.world.function_around(loop.place)
        done: set[Node] = set()
        for node in walk(function.node if function is not None else loop.file.tree):
            if isinstance(node, ast.Call) and node.lineno > loop.node.end_lineno:
                place = self.world.place(loop.file, node)
                statement = statement_of(place.link)[0]
                is_load = loop.file.names.resolve(node.func, place.link) == "torch.load"
                if is_load and statement not in done and self.world.function_around(place) == function:
                    done.add(statement)
                    self._add(loop.file, above(loop.file.source, statement, f"{HELPER}.wait()"))

    def _everywhere(self) -> None:
        """Saving, downloading and numbers of devices, in all files of the program."""
        once, covered = Once(self.world), set[Node]()
        for file in self.world.files:
            for node, link in self.world.links[id(file)].items():
                self.at = file.path
                place = Place(file, link)
                if not any(up[0] in covered for up in ancestors(link)):
                    edits = list(devices.numbers(place, self.target))
                    given = [*node.args, *node.keywords] if isinstance(node, ast.Call) else [node]
                    covered.update(given if edits else [])  # what a call is called on may be such a call, too
                    self.changes[file.path].extend(edits)
                if isinstance(node, ast.Call):
                    self.changes[file.path].extend(once.edits(place))
                elif devices.hides_devices(node):
                    self.changes[file.path].append(removed(file.source, link))

    def _top(self) -> None:
        for file in self.world.files:
            if not self.changes.get(file.path) and file is not self.world.files[0]:
                continue
            last = _last_import(file.tree)
            is_script = file is self.world.files[0]
            if is_script and (last is None or any(isinstance(n, ast.ImportFrom) and n.level for n in walk(file.tree))):
                raise Refused("package", file.path, 1)
            if last is None:
                self._add(file, above(file.source, _first(file.tree), f"import {HELPER}"))
                continue
            self._add(file, below(file.source, last, f"import {HELPER}"))
            if is_script:
                self._add(file, *self._start(file, last))

    def _start(self, file: File, last: ast.stmt) -> list[Change]:
        main = next((s for s in file.tree.body if isinstance(s, ast.If) and "__name__" in ast.unparse(s.test)), None)
        homes = [home.place for home in (*self.found.homes, *self.found.shared)]
        places = [*self.found.loaders, *(loop.place for loop in self.found.loops), *self.found.parallel, *homes]
        early = any(p.file is file and self.world.function_around(p) is None and not _in(p, main) for p in places)
        if main is None or early or any(p.file is not file and self.world.function_around(p) is None for p in places):
            return [below(file.source, last, f"{HELPER}.start()")]
        return [above(file.source, main.body[0], f"{HELPER}.start()")]


def _in(place: Place, holder: Node | None) -> bool:
    return holder is not None and any(up[0] is holder for up in ancestors(place.link))


_PLAIN = frozenset(
    "train eval parameters named_parameters zero_grad state_dict load_state_dict modules to cuda npu half float".split()
)


def _computes(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and call.func.attr not in _PLAIN and bool(call.args or call.keywords)


def _first(tree: Node) -> Node:
    """The first statement that is no docstring."""
    is_text = isinstance(tree.body[0], ast.Expr) and isinstance(tree.body[0].value, ast.Constant)
    return tree.body[1] if is_text and len(tree.body) > 1 else tree.body[0]


def _last_import(tree: Node) -> ast.stmt | None:
    """Of the imports at the top."""
    last = None
    for statement in tree.body:
        if isinstance(statement, (ast.Import, ast.ImportFrom)):
            last = statement
        elif not (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)) and last is not None:
            break
    return last


def _epoch_name(loop: Place) -> str:
    """The number of the epoch where a loop stands, if there is a name for it."""
    for up in ancestors(loop.link):
        node = up[0]
        if isinstance(node, ast.For) and isinstance(node.target, ast.Name):
            if isinstance(node.iter, ast.Call) and call_name(node.iter.func) in ("range", "trange", "tqdm"):
                return node.target.id
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            return "epoch" if "epoch" in parameters(node) else ""
    return ""


def _begun(world: World, loop: Loop) -> list[Place]:
    """The statements in which a pass begins: `batches = iter(loader)`, or the loop."""
    found = []
    if isinstance(loop.read, ast.Name):
        for binding in loop.file.names.bindings(loop.read.id, loop.link):
            up = binding[1] and binding[1][0]
            if isinstance(up, ast.Assign) and {"enumerate", "iter"} & {
                call_name(n.func) for n in walk(up.value) if isinstance(n, ast.Call)
            }:
                found.append(world.place(loop.file, up))
    return found or [loop.place]
