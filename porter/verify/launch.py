"""Runs one program on the virtual NPU, in its own process group, under a time and a memory limit."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from porter.errors import UserError
from porter.verify import install, locks
from porter.verify.edited import Edited
from porter.verify.install import Device
from porter.verify.interpreter import Interpreter
from porter.verify.logs import Logs
from porter.verify.records import Records, printed_error, read

_SHELLS = ("bash", "sh", "zsh")
_STOPS = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGINT", "SIGHUP") if hasattr(signal, name))
_TAIL = 40  # lines of output that are kept to be shown


@dataclass(frozen=True, slots=True)
class Limits:
    seconds: int = 600
    memory_gb: int = 0  # 0: none
    steps: int = 0
    devices: int = 1


@dataclass(frozen=True, slots=True)
class Outcome:
    code: int | None  # None: stopped at the time limit; negative: a signal
    output: str
    records: Records

    @property
    def ran(self) -> bool:
        return self.code == 0

    @property
    def tail(self) -> str:
        return "\n".join(self.output.splitlines()[-_TAIL:])

    def how_it_ended(self) -> tuple[str, str]:
        if self.code is None:
            return "timeout", ""
        if self.code < 0:
            return "signal", signal.Signals(-self.code).name
        return ("ended", "") if self.code == 0 else ("failed", str(self.code))


def no_program() -> UserError:
    return UserError(
        "no program to verify: porter verify train.py --its-options, or -- torchrun ... train.py",
        "没有要验证的程序：porter verify train.py 加其参数，或 -- torchrun ... train.py",
    )


def command(words: Sequence[str], interpreter: Interpreter) -> list[str]:
    """The words as given, with this interpreter in place of the usual names for one and of what starts one."""
    if not words:
        raise no_program()
    first, rest = words[0], list(words[1:])
    if first.endswith(".py"):
        return [interpreter.path, first, *rest]
    if re.fullmatch(r"python[\d.]*", first):
        return [interpreter.path, *rest]
    if first == "torchrun":
        return [interpreter.path, "-m", "torch.distributed.run", *rest]
    if first == "accelerate" and rest[:1] == ["launch"]:
        return [interpreter.path, "-m", "accelerate.commands.launch", *rest[1:]]
    return list(words)


def devices_asked_for(words: Sequence[str]) -> int:
    """How many devices a launcher's own options speak of, in the words or in the shell script they run; else 1.
    `commands/verify.py` asks, where no `--devices` is given."""
    text = " ".join(words)
    if words and words[0] in _SHELLS:
        script = next((word for word in words[1:] if os.path.isfile(word)), None)
        text += " " + Path(script).read_text(encoding="utf-8", errors="replace") if script else ""
    found = re.search(r"(?:--nproc[_-]per[_-]node|--num_processes|--num_gpus)[= ]\"?(?:\${\w+:-)?(\d+)", text)
    return max(1, int(found[1])) if found else 1


def moved(words: Sequence[str], homes: Sequence[Path], root: Path) -> list[str]:
    """What names a place in one of the trees names the same place below `root`, alone or behind a `--key=`."""
    found = [_real(word, homes) for word in words]
    for home in sorted({str(home) for home in homes if home != root}, key=len, reverse=True):
        inside = re.compile(rf"(^|[=:,]){re.escape(home)}(?=$|[/:,])")
        found = [inside.sub(lambda match: match[1] + str(root), word) for word in found]
    return found


def for_npu(words: Sequence[str]) -> list[str]:
    """`--device=cuda:0`, `--backend nccl`: what is typed for the port is the port's."""
    found = [re.sub(r"(^|=)cuda(?=$|:\d+$)", r"\1npu", word) for word in words]
    return [re.sub(r"(^|=)(cpu:gloo,)?(?:cuda:)?nccl$", _hccl, word) for word in found]


def _hccl(match: re.Match[str]) -> str:
    return match[0].replace("cuda:", "npu:").replace("nccl", "hccl")


def _real(word: str, homes: Sequence[Path]) -> str:
    """An absolute path through links that ends in one of the trees, as it is without them."""
    real = os.path.realpath(word) if os.path.isabs(word) else word
    return real if any(real.startswith(os.path.join(home, "")) for home in homes) else word


def run(
    words: Sequence[str], folder: Path, root: Path, interpreter: Interpreter, device: Device, limits: Limits,
    original: bool, homes: Sequence[Path] = (), edited: Edited | None = None, settings: Mapping[str, str] | None = None,
) -> Outcome:  # fmt: skip
    """`root`: the tree that runs; `homes`: those it is a copy of, for which it stands wherever the words name them;
    `edited`: statements of the tree of which to tell whether they ran; `settings`: of the device, beside the usual ones."""
    words = moved(words if original else for_npu(words), homes, root)
    with tempfile.TemporaryDirectory(prefix="porter-verify-") as recorded:
        env = {**_environment(device, root, recorded, limits, original), **(settings or {})}
        env["PYTHONPATH"] = os.pathsep.join(moved(env.get("PYTHONPATH", "").split(os.pathsep), homes, root))
        env["VIRTUAL_NPU_HOMES"] = os.pathsep.join(map(str, homes))
        if edited:
            env["VIRTUAL_NPU_EDITED"] = _asked_about(edited, root, Path(recorded))
        # what a shell script starts by name is this interpreter, too
        env["PATH"] = os.path.dirname(interpreter.path) + os.pathsep + env.get("PATH", "")
        logs = Logs.of(root, folder)
        path = Path(recorded) / "output.txt"
        with stopped_in_order(), path.open("wb") as output:
            try:
                child = subprocess.Popen(
                    command(words, interpreter), cwd=folder, env=env, stdin=subprocess.DEVNULL, stdout=output,
                    stderr=subprocess.STDOUT, start_new_session=True, preexec_fn=_limit(limits),
                )  # fmt: skip
            except OSError as error:
                why = f"{error.strerror}: {error.filename}"
                raise UserError(f"{shlex.join(words)}: {why}", f"{shlex.join(words)}：{why}") from None
            try:
                code: int | None = child.wait(limits.seconds)
            except subprocess.TimeoutExpired:
                code = None
            finally:
                held = locks.held_by(recorded) if child.poll() is None else []
                _stop(child)
                for lock in held:
                    lock.unlink(missing_ok=True)
        records = read(Path(recorded), os.path.join(root, ""))
        records.series |= logs.since(records.series)
        said = path.read_text(encoding="utf-8", errors="replace")
        if code and not records.errors:
            records.errors = printed_error(said, os.path.join(root, ""))
        return Outcome(code, said, records)


def _asked_about(edited: Edited, root: Path, recorded: Path) -> str:
    lines = {
        str(root / path): sorted({line for first, last in places for line in range(first, last + 1)})
        for path, places in edited.items()
    }
    asked = recorded / "edited.json"
    asked.write_text(json.dumps(lines), encoding="utf-8")
    return str(asked)


def _environment(device: Device, root: Path, recorded: str, limits: Limits, original: bool) -> dict[str, str]:
    # settings for a real CANN would send torch_npu to libraries that are not the stand-ins
    foreign = ("ASCEND_", "VIRTUAL_NPU_", "ATB_")
    kept = {k: v for k, v in os.environ.items() if k == "ASCEND_RT_VISIBLE_DEVICES" or not k.startswith(foreign)}
    added = {
        **install.environment(device),
        "VIRTUAL_NPU_RECORD": recorded,
        "VIRTUAL_NPU_ROOT": os.path.join(root, ""),
        "VIRTUAL_NPU_DEVICES": str(limits.devices),
        "VIRTUAL_NPU_UNTIL": str(time.time() + limits.seconds - min(2.0, limits.seconds / 10)),
    }
    if limits.steps:
        added["VIRTUAL_NPU_STEPS"] = str(limits.steps)
    if original:
        added |= {"VIRTUAL_NPU_ORIGINAL": "1", "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}
    return {**kept, **added}


def _limit(limits: Limits) -> Callable[[], None] | None:
    if not limits.memory_gb:
        return None
    import resource

    size = limits.memory_gb << 30
    return lambda: resource.setrlimit(resource.RLIMIT_DATA, (size, size))


@contextmanager
def stopped_in_order() -> Iterator[None]:
    """Who stops porter, by Ctrl-C, SIGTERM or the end of a session, stops what it started, and leaves no copies behind. Who does it again while it
    clears up changes nothing."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def leave(number: int, frame: object) -> None:
        for each in _STOPS:
            signal.signal(each, signal.SIG_IGN)
        raise KeyboardInterrupt if number == signal.SIGINT else SystemExit(128 + number)

    before = {number: signal.getsignal(number) for number in _STOPS}
    for number, was in before.items():
        if was is not signal.SIG_IGN:  # in the background, say: what is not asked for is not obeyed
            signal.signal(number, leave)
    try:
        yield
    finally:
        for number, was in before.items():
            if signal.getsignal(number) is leave:
                signal.signal(number, was or signal.SIG_DFL)


def _stop(child: subprocess.Popen[bytes]) -> None:
    """The whole group: workers and ranks must not outlive the run, nor a Ctrl-C meanwhile. A process that makes a group of
    its own is not reached."""
    with suppress(ProcessLookupError):
        try:
            os.killpg(child.pid, signal.SIGTERM)
            with suppress(subprocess.TimeoutExpired):
                child.wait(2)
        finally:
            os.killpg(child.pid, signal.SIGKILL)
            with suppress(subprocess.TimeoutExpired):
                child.wait(2)
