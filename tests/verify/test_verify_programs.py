"""Programs in the styles people write, ported by porter: each agrees with its original, and bugs in the port are caught.

Everything is run beforehand, two at a time; a test looks at what came out. Some originals and their ports are started as
porter starts them, the others, and ports with a bug, by an interpreter that has imported torch already.
"""

from __future__ import annotations

import shutil
import socket
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from verify_programs import PROGRAMS, Bug, Program
from virtual_device import VirtualNpu

from porter.commands.job import prepare
from porter.finding import apply
from porter.verify import launch
from porter.verify.compare import compare
from porter.verify.result import Result, data
from porter.verify.show import text

pytestmark = pytest.mark.slow

HERE = Path(__file__).parents[1] / "programs"
LIMIT = 150
# which are ported in other styles, too; transfer_to_npu turns scripts off, and one of the programs saves some
STYLES = {
    "portable": ("amp", "data_loader", "ddp_torchrun"),
    "shim": tuple(program.name for program in PROGRAMS if program.name != "jit_script"),
}
STYLED = [(style, program) for program in PROGRAMS for style in STYLES if program.name in STYLES[style]]


class World:
    """The runs of the programs that a session asks for."""

    def __init__(self, npu: VirtualNpu, folder: Path, wanted: set[str]):
        self.npu, self.device = npu, npu.device
        self.folder, self.runs, self.ports = folder, {}, {}
        self.pool = ThreadPoolExecutor(2)
        for program in PROGRAMS:
            if program.name in wanted:
                self._submit(program)

    def _submit(self, program: Program) -> None:
        original = self._copy(program, "original")
        if program.twin:
            shutil.copy(original / program.twin, original / "train.py")
        self._start(program, "original", original)
        port = self._copy(program, "ported")
        for path, content in self._ported(port).items():
            (port / path).write_bytes(content)
        self._start(program, "ported", port)
        for style in (style for style, names in STYLES.items() if program.name in names):
            tree = self._copy(program, style)
            for path, content in self._ported(tree, style).items():
                (tree / path).write_bytes(content)
            self._start(program, style, tree)
        for bug in program.bugs:
            tree = self.folder / program.name / bug.name
            shutil.copytree(port, tree)
            before = (tree / bug.file).read_text()
            assert before.count(bug.old) == 1, f"{program.name}, {bug.name}: {bug.old!r} is not there once"
            (tree / bug.file).write_text(before.replace(bug.old, bug.new))
            self._start(program, bug.name, tree)

    def _copy(self, program: Program, name: str) -> Path:
        return Path(shutil.copytree(HERE / program.name, self.folder / program.name / name))

    @staticmethod
    def _ported(tree: Path, style: str = "rename") -> dict[str, bytes]:
        target = "torch_npu=2.13.0" if style == "shim" else None  # what the shim does differs from version to version
        done = prepare((str(tree),), no_cache=True, style=style, target=target).run(quiet=True)
        return {r.path: apply(done.data(r.path), r.review) for r in done.files if r.review}

    def _start(self, program: Program, name: str, tree: Path) -> None:
        limits = launch.Limits(seconds=LIMIT, devices=program.devices)
        words = [word.format(port=free_port()) for word in program.words]
        cold = program.cold and name in ("original", "ported")
        interpreter = self.npu.interpreter if cold else self.npu.warm
        settings = {"WARM_SPAWNS": "1"}
        if name in {bug.name for bug in program.bugs}:
            settings["WARM_LEAVES"] = "1"
        self.runs[program.name, name] = self.pool.submit(
            launch.run, words, tree, tree, interpreter, self.device, limits, name == "original", settings=settings
        )

    def result(self, program: Program, name: str = "ported") -> Result:
        original, port = (self.runs[program.name, which].result() for which in ("original", name))
        both = compare(original, port) if original.ran and port.ran else None
        return Result(self.device, program.devices, port, original, both)


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


@pytest.fixture(scope="module")
def world(request, virtual_npu: VirtualNpu, tmp_path_factory) -> World:
    ours = [item for item in request.session.items if item.module is request.module and "world" in item.fixturenames]
    wanted = {item.callspec.params["program"].name for item in ours}
    return World(virtual_npu, tmp_path_factory.mktemp("programs"), wanted)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)
def test_port_agrees_with_the_original(world: World, program: Program) -> None:
    result = world.result(program)
    said = "\n".join(text(data(result), "en"))
    assert result.verdict == "equal", said + result.ported.tail
    curves = {curve.name: len(curve.original) for curve in result.comparison.curves}
    assert program.points.items() <= curves.items(), said


@pytest.mark.parametrize(("style", "program"), STYLED, ids=[f"{style}-{program.name}" for style, program in STYLED])
def test_a_port_in_another_style_agrees_as_well(world: World, style: str, program: Program) -> None:
    result = world.result(program, style)
    assert result.verdict == "equal", "\n".join(text(data(result), "en")) + result.ported.tail


BUGS = [(program, bug) for program in PROGRAMS for bug in program.bugs]


@pytest.mark.parametrize(("program", "bug"), BUGS, ids=[f"{p.name}-{b.name}".replace(" ", "_") for p, b in BUGS])
def test_bug_in_the_port_is_caught(world: World, program: Program, bug: Bug) -> None:
    result = world.result(program, bug.name)
    said = "\n".join(text(data(result), "en"))
    assert not result.verified, said
    assert bug.says in said, said
    assert any(place in said for place in places(world.folder / program.name / bug.name, bug.at)), said


def places(tree: Path, code: str) -> list[str]:
    """Where a piece of code stands, as reports write it."""
    found = [
        f"{path.name}:{number}"
        for path in sorted(tree.glob("*.py"))
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if code in line
    ]
    assert found, f"{code!r} is nowhere"
    return found
