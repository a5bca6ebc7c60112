"""Runs programs, and files of facts, on the virtual NPU.

Files of facts (tests/virtual_npu/*.py) are run on the device by child processes; each of their facts becomes one test.
The names are read from the source, so that collecting needs no torch.
"""

from __future__ import annotations

import ast
import json
import os
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from warm_python import warm

from porter.verify import install
from porter.verify.install import Device
from porter.verify.interpreter import Interpreter

FACTS = Path(__file__).with_name("virtual_npu")
_SECONDS = 240
# files that share a process; others have one of their own
_TOGETHER = (("attention", "fused", "fused_more", "optimisers"), ("detection", "refusals", "tensors"))
_BARE = {"VIRTUAL_NPU_LIBRARY": ""}  # torch_npu on the stand-ins, with its own kernels
_DISPATCHER = """
import json, torch, torch_npu

def letter(name):
    has = lambda key: torch._C._dispatch_has_kernel_for_dispatch_key(name, key)
    if has("PrivateUse1") or has("AutogradPrivateUse1"):
        return "n"
    if has("CompositeImplicitAutograd"):
        return "i"
    if has("CompositeExplicitAutograd") or has("CompositeExplicitAutogradNonFunctional"):
        return "e"
    return "c" if has("CPU") else ""

names = [str(s.name) + ("." + s.overload_name if s.overload_name else "") for s in torch._C._jit_get_all_schemas()]
known = set(torch._C._dispatch_get_all_op_names())
print(json.dumps({n: letter(n) for n in sorted(known & set(names)) if n.startswith("aten::")}))
"""


@dataclass
class Answers:
    """What a file of facts said: an empty text where a fact holds, else what is wrong."""

    said: dict[str, str]
    code: int | None
    tail: str

    def check(self, file: str, fact: str) -> None:
        name = f"{file}.{fact}"
        if name not in self.said:
            raise AssertionError(f"the process ended (exit {self.code}) before this fact:\n{self.tail}")
        assert not self.said[name], self.said[name]


@dataclass
class VirtualNpu:
    interpreter: Interpreter
    device: Device
    folder: Path
    known: dict[str, Future[Answers]] = field(default_factory=dict)
    pool: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(2))

    def environment(self, devices: int = 2, **more: str) -> dict[str, str]:
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("ASCEND_", "VIRTUAL_NPU_", "PYTEST_"))}
        return {**kept, **install.environment(self.device), "VIRTUAL_NPU_DEVICES": str(devices), **more}

    @cached_property
    def warm(self) -> Interpreter:
        """The interpreter, with torch imported already."""
        return warm(self.interpreter, self.device, self.folder / "warm")

    def run(self, words: Sequence[str], cold: bool = False, **more: str) -> subprocess.CompletedProcess[str]:
        """`cold`: by an interpreter that starts, and ends, as a user's does."""
        python = self.interpreter if cold else self.warm
        return subprocess.run(
            [python.path, *words], env=self.environment(**more), cwd=self.folder, capture_output=True,
            text=True, timeout=_SECONDS,
        )  # fmt: skip

    def program(self, text: str, cold: bool = False, **more: str) -> subprocess.CompletedProcess[str]:
        return self.run(["-W", "ignore", "-c", text], cold, **more)

    def dispatcher(self) -> dict[str, str]:
        """What torch_npu itself registers, by operator with its overload: a letter as in the catalogue's tables, `n` a kernel
        of its own, `i` and `e` a composite of torch's, `c` none but the CPU's, "" none at all."""
        done = self.program(_DISPATCHER, **_BARE)
        return json.loads(done.stdout)

    def begin(self, names: Iterable[str]) -> None:
        """Runs these files of facts in two processes at a time."""
        self.warm  # noqa: B018  # before there are threads
        wanted = dict.fromkeys(name for name in names if name not in self.known)
        for name in wanted:
            group = next((group for group in _TOGETHER if name in group), (name,))
            if name not in self.known:
                shared = [other for other in group if other in wanted]
                self.known |= dict.fromkeys(shared, self.pool.submit(self._ask, *shared))

    def facts(self, name: str) -> Answers:
        self.begin([name])
        return self.known[name].result()

    def differences(self, programs: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
        """How each of the programs under a name differs from the first one (see tests/virtual_npu/beside.py)."""
        return self._beside("beside.py", programs)

    def types(self, programs: Mapping[str, Sequence[str]]) -> dict[str, dict[str, list]]:
        """What a program and its fused form give for each type of weights and activations (tests/virtual_npu/types_beside.py)."""
        return self._beside("types_beside.py", programs)

    def _beside(self, script: str, programs: Mapping[str, Sequence[str]]) -> dict:
        (self.folder / "programs.json").write_text(json.dumps(programs), encoding="utf-8")
        done = self.run(["-W", "ignore", str(FACTS / script), "programs.json"])
        assert done.returncode == 0, done.stderr[-2000:]
        return json.loads(done.stdout)

    def _ask(self, *names: str) -> Answers:
        ranks = 2 if "ranks" in names else 1
        answers = self.folder / f"{names[0]}.jsonl"
        launcher = ["-m", "torch.distributed.run", "--standalone", f"--nproc_per_node={ranks}"] if ranks > 1 else []
        try:
            done = self.run([*launcher, str(FACTS / "run.py"), str(answers), *names])
            code, output = done.returncode, done.stdout + done.stderr
        except subprocess.TimeoutExpired as late:
            code, output = None, str(late)
        said: dict[str, str] = {}
        for rank in range(ranks):
            path = answers.with_suffix(f".{rank}.jsonl")
            for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
                fact, text = json.loads(line)
                said[fact] = said.get(fact) or text
        return Answers(said, code, "\n".join(output.splitlines()[-15:]))


def names() -> list[tuple[str, str]]:
    """(file, fact) of every fact that there is."""
    return [(path.stem, fact) for path in sorted(FACTS.glob("*.py")) for fact in _facts(path)]


def _facts(path: Path) -> list[str]:
    found = []
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef) and node.name.startswith("fact_"):
            name = node.name.removeprefix("fact_")
            over = [d for d in node.decorator_list if isinstance(d, ast.Call) and ast.unparse(d.func) == "over"]
            cases = [ast.literal_eval(value) for value in over[0].args] if over else []
            found += [f"{name}[{case}]" for case in cases] or [name]
    return found
