"""A program is a script and the files of the project that it imports: in which of them the training step is."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache, cached_property
from pathlib import Path
from typing import NamedTuple

from porter.analysis.file import File
from porter.engine.session import Session
from porter.errors import Unreadable
from porter.files.errors import FilesError
from porter.files.paths import is_test
from porter.files.read import read
from porter.instrument import loops, trainers
from porter.instrument.loops import Missing, Plan
from porter.instrument.naming import functions_around
from porter.python.evidence import call_name, imported_packages
from porter.python.source import Source
from porter.python.trees import parse
from porter.python.walks import walk
from porter.regex import lazy

_TRAINS = lazy(rb"backward\(|\.fit\(|\.train\(|\.run\(|train_step\(|LightningCLI\(|(?m:^[ \t]*(?:\w+ = )?pretrain\()")
_SCALER = lazy(r"Scaler")
_DEEPEST, _MOST = 5, 400
_ROOTS = ("", "src", "lib", "python")
# what a loop of the project's own is called that uses a package; Lightning has Fabric, and steps by hand in a module
_LOOPS = {
    "accelerate": "accelerate",
    "deepspeed": "deepspeed",
    "lightning": "lightning_loop",
    "pytorch_lightning": "lightning_loop",
    "lightning_fabric": "lightning_loop",
}


class Found(NamedTuple):
    path: str
    framework: str
    plan: Plan


class Program:
    def __init__(self, root: Path, script: str, session: Session, around: bool):
        self.root, self.script, self.session, self.around = root, script, session, around
        self._files: dict[str, File] = {}

    def file(self, path: str) -> File:
        """Without the lines that stand in it already."""
        from porter.instrument.marks import without

        if path not in self._files:
            self._files[path] = File(path, Source(without(self.data(path))), self.session)
        return self._files[path]

    @cache  # noqa: B019  a program is read once
    def data(self, path: str) -> bytes:
        return self.read(path)

    def read(self, path: str) -> bytes:
        return read(self.root / path, path)

    @cached_property
    def distances(self) -> dict[str, int]:
        """The files of the program, and how many imports lead to each."""
        distances, queue = {self.script: 0}, [self.script]
        while queue and len(distances) < _MOST:
            path = queue.pop(0)
            for other in self._imported(path) if distances[path] < _DEEPEST else ():
                if other not in distances and not is_test(other):
                    distances[other] = distances[path] + 1
                    queue.append(other)
        return distances

    def _imported(self, path: str) -> Iterator[str]:
        tree = self._tree(path)
        for node in walk(tree) if tree is not None else ():
            if isinstance(node, ast.Import):
                for alias in node.names:
                    yield from self._modules(path, 0, alias.name)
            elif isinstance(node, ast.ImportFrom):
                for name in [node.module or "", *(f"{node.module or ''}.{a.name}".lstrip(".") for a in node.names)]:
                    yield from self._modules(path, node.level, name)

    @cache  # noqa: B019
    def _tree(self, path: str) -> ast.Module | None:
        try:
            return parse(self.data(path))
        except FilesError:
            return None

    def _modules(self, path: str, level: int, name: str) -> Iterator[str]:
        """The file that a module is, where the project has it: nearest to who imports it."""
        folder = path.split("/")[:-1]
        above = [folder[: len(folder) - level + 1]] if level else [folder[:n] for n in range(len(folder), -1, -1)]
        for place in above if level else [[*each, root] if root else each for each in above for root in _ROOTS]:
            whole = "/".join([*place, *name.split(".")]) if name else "/".join(place)
            for candidate in (f"{whole}.py", f"{whole}/__init__.py".lstrip("/")):
                if (self.root / candidate).is_file():
                    yield candidate
                    return

    @cached_property
    def found(self) -> list[Found]:
        """The files nearest to the script that have a step; those, too, in which a scaler of the project's own steps."""
        distances, found, least = self.distances, [], _DEEPEST + 1
        for path in sorted(distances, key=lambda path: (distances[path], path)):
            if not self._concerns(path) or distances[path] > least and b"Scaler" not in self.data(path):
                continue
            try:
                each = self._look(path)
            except (Unreadable, FilesError):
                if path == self.script:
                    raise
                continue
            if each.plan.at and distances[path] <= least:
                least = distances[path]
                found.append(each)
            elif each.plan.at and (scaled := _only_scalers(self.file(path), each.plan)) is not None:
                found.append(each._replace(plan=scaled))
            elif each.plan.missing and not found:
                self.missing.append(each)
        return found

    @cached_property
    def missing(self) -> list[Found]:
        return []

    def _concerns(self, path: str) -> bool:
        try:
            return bool(_TRAINS.search(self.data(path)))
        except FilesError:
            return False

    def _look(self, path: str) -> Found:
        file = self.file(path)
        framework, plan = trainers.plan(file, self._kind, self.around)
        if plan.at:
            return Found(path, framework, plan)
        plain = loops.plan(file, self.around)
        if plain.at:
            return Found(path, _framework(file), plain)
        missing = plan.missing or plain.missing + _elsewhere(file)
        return Found(path, framework or "plain", plan._replace(missing=missing))

    def _kind(self, full: str) -> str | None:
        """The package that a class comes from in the end, through the classes of the project."""
        for _ in range(_DEEPEST):
            if full.partition(".")[0] in trainers.PACKAGES:
                break
            bases = self._classes.get(full.rpartition(".")[2])
            if bases is None:
                break
            full = next(
                (base for base in bases if base.endswith(("Trainer", "Runner", "Module"))),
                bases[0] if bases else "builtins.object",
            )
        root, dot, _ = full.lstrip(".").partition(".")
        return root if dot or root in trainers.PACKAGES else None

    @cached_property
    def _classes(self) -> dict[str, list[str]]:
        """The bases of each class of the program, by its name, with full names where they are imported."""
        classes: dict[str, list[str]] = {}
        for path in self.distances:
            tree = self._tree(path)
            nodes = list(walk(tree)) if tree is not None else []
            imported = {
                alias.asname or alias.name: f"{node.module}.{alias.name}"
                for node in nodes
                if isinstance(node, ast.ImportFrom)
                for alias in node.names
            }
            for node in nodes:
                if isinstance(node, ast.ClassDef):
                    bases = [imported.get(ast.unparse(base), ast.unparse(base)) for base in node.bases]
                    classes.setdefault(node.name, bases)
        return classes


def _framework(file: File) -> str:
    imported = imported_packages(file.names.imports)
    return next((name for package, name in _LOOPS.items() if package in imported), "plain")


def _only_scalers(file: File, plan: Plan) -> Plan | None:
    """Of a file that is further away: the steps in the classes of its own that scale the loss."""
    lines = []
    for link in file.buckets[ast.ClassDef]:
        if _SCALER.search(link[0].name):
            lines += [line for line in plan.lines if link[0].lineno <= line.beside.lineno <= link[0].end_lineno]
    return plan._replace(lines=lines) if lines else None


def _elsewhere(file: File) -> list[Missing]:
    """`pretrain(...)` of Megatron, whose loop is in a package."""
    calls = (link for link in file.buckets[ast.Call] if call_name(link[0].func) == "pretrain")
    return [
        Missing(link[0].lineno, "pretrain") for link in calls if not functions_around(link) or len(link[0].args) > 2
    ][:1]
