"""`porter verify --setup` puts all that a verified run needs into the user's cache directory, and nothing into site-packages."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from porter.errors import UserError
from porter.files.errors import Message
from porter.resources import cache_dir, is_ours, make_ours
from porter.verify import standins
from porter.verify.compile import MODULE, compile_library
from porter.verify.interpreter import Interpreter, cxx11_abi

RUNTIME = Path(__file__).resolve().parent / "runtime"
_DOCKER = "docker run -v .:/w -w /w python:3.11"  # this image has a compiler
# what pip calls the packages that `ask` of interpreter.py looks for
_PACKAGES = {"numpy": "numpy", "yaml": "pyyaml"}
_TRIED = "2.13.0"  # the torch that porter verify is tried with; the extra `verify` of pyproject.toml has it as well


@dataclass(frozen=True, slots=True)
class Device:
    """A virtual NPU that is set up: for one interpreter, one torch, one torch_npu."""

    torch: str
    torch_npu: str
    packages: Path | None  # the folder that torch_npu is imported from, where the interpreter does not have it itself
    standins: Path
    library: Path


def find(interpreter: Interpreter) -> Device:
    """The device that --setup made for this interpreter."""
    _check(interpreter)
    place = place_of(interpreter)
    if place.exists():
        _check_owner(cache_dir(), place.parent, place)
    try:
        made = json.loads((place / "device.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise UserError(
            f"no virtual NPU is set up for torch {interpreter.torch_version} of {interpreter.path}; "
            f"run: porter verify --setup{_for(interpreter)}",
            f"尚未为 {interpreter.path} 的 torch {interpreter.torch_version} 搭建虚拟 NPU；"
            f"请执行：porter verify --setup{_for(interpreter)}",
        ) from None
    return _device(interpreter, place, made)


def set_up(interpreter: Interpreter, wheel: str | None, tell: Callable[..., None]) -> Device:
    """Makes the device of this interpreter. `wheel`: a file of torch_npu that takes the place of a download.

    `tell` is called before each step, with a key of rules/words/verify.toml and its values.
    """
    torch = _check(interpreter)
    place = place_of(interpreter)
    for folder in (cache_dir(), place.parent, place):
        make_ours(folder)
        _check_owner(folder)
    # the interpreter's own torch_npu, if it fits
    own = interpreter.torch_npu if _fits(interpreter.torch_npu_version, interpreter.torch_release) else None
    if own is not None and not wheel:
        package, version, packages = own, interpreter.torch_npu_version, ""
    else:
        packages = "packages"
        tell("setup.torch_npu", torch=interpreter.torch_release)
        package, version = _fetch(interpreter, wheel, place / packages)
    tell("setup.standins")
    standins.generate(torch, package, place / "standins", interpreter.machine, os.environ.get("CC", "cc"))
    tell("setup.kernels")
    compile_library(torch, package, interpreter.headers, cxx11_abi(interpreter), place / f"{MODULE}.so")
    made = {"torch_npu": version, "packages": packages}
    device = _device(interpreter, place, made)
    tell("setup.try")
    _try(interpreter, device)
    # written last: if it is there, the set-up is complete
    (place / "device.json").write_text(json.dumps(made), encoding="utf-8")
    return device


def environment(device: Device) -> dict[str, str]:
    """The environment variables that are set for each process of a verified run."""
    before = os.environ.get("PYTHONPATH")
    path = [str(RUNTIME), *([str(device.packages)] if device.packages else []), *([before] if before else [])]
    return {
        **standins.environment(device.standins),
        "PYTHONPATH": os.pathsep.join(path),
        "VIRTUAL_NPU_LIBRARY": str(device.library),
        # a torch that knows GPUs must find none; a CPU build needs no setting, so a launcher's value stays
        **({} if device.torch.endswith("+cpu") else {"CUDA_VISIBLE_DEVICES": ""}),
        "OMP_NUM_THREADS": "1",  # the order of additions, and with it every bit, is the same in every run
        "PYTHONHASHSEED": "0",
        "PYTHONDONTWRITEBYTECODE": "1",
    }


def _check_owner(*folders: Path) -> None:
    """Raises UserError if a folder belongs to somebody else: programs in it are run."""
    for folder in folders:
        if not is_ours(folder):
            message = Message("cache", path=folder)
            raise UserError(message.text("en"), message.text("zh"))


def _check(interpreter: Interpreter) -> Path:
    """The folder of the interpreter's torch. Raises UserError where a device cannot be set up."""
    if interpreter.system != "Linux" or interpreter.machine not in ("x86_64", "aarch64"):
        raise UserError(
            f"the virtual NPU runs on Linux on x86-64 and aarch64, not on {interpreter.system} {interpreter.machine}; run it in a "
            f"container, e.g. {_DOCKER} (it has a compiler)",
            f"虚拟 NPU 运行于 x86-64 与 aarch64 上的 Linux，不支持 {interpreter.system} {interpreter.machine}；请在容器中运行，"
            f"例如 {_DOCKER}（自带编译器）",
        )
    if interpreter.torch is None:
        raise UserError(
            f"{interpreter.path} has no torch; pip install 'npu-porter[verify]', or name another with --python",
            f"{interpreter.path} 中没有 torch；请 pip install 'npu-porter[verify]'，或用 --python 另指定解释器",
        )
    if interpreter.lacks:
        names = " ".join(_PACKAGES[name] for name in interpreter.lacks)
        raise UserError(
            f"{interpreter.path} lacks what torch_npu imports; pip install {names}",
            f"{interpreter.path} 缺少 torch_npu 所需的包；请 pip install {names}",
        )
    return interpreter.torch


def place_of(interpreter: Interpreter) -> Path:
    """The folder of a device. Its name changes with the interpreter, its torch, and the sources that make a device."""
    sources = sorted((*standins.NATIVE.iterdir(), Path(standins.__file__), Path(__file__).with_name("compile.py")))
    key = hashlib.sha256()
    for text in (interpreter.torch_version, str(interpreter.torch), interpreter.tag, interpreter.machine):
        key.update(text.encode() + b"\0")
    for source in sources:
        if source.is_file():
            key.update(source.read_bytes())
    return cache_dir() / "verify" / f"torch-{interpreter.torch_release}-{interpreter.tag}-{key.hexdigest()[:12]}"


def _device(interpreter: Interpreter, place: Path, made: dict[str, str]) -> Device:
    packages = place / made["packages"] if made["packages"] else None
    return Device(interpreter.torch_version, made["torch_npu"], packages, place / "standins", place / f"{MODULE}.so")


def _fits(npu_version: str, release: str) -> bool:
    """Whether a version of torch_npu is made for this release of torch."""
    return npu_version == release or npu_version.startswith(f"{release}.post")


def _fetch(interpreter: Interpreter, wheel: str | None, folder: Path) -> tuple[Path, str]:
    """Installs torch_npu without its dependencies, from the package index or from a wheel. Returns its folder and version."""
    wanted = wheel or f"torch_npu=={interpreter.torch_release}.*"
    with tempfile.TemporaryDirectory(dir=folder.parent) as temporary:
        command = [interpreter.path, "-m", "pip", "install", "--quiet", "--no-deps", "--target", temporary, wanted]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            said = [line for line in done.stderr.splitlines() if line.startswith("ERROR")] or ["pip failed"]
            raise UserError(
                f"{wanted} cannot be had for {interpreter.tag} on {interpreter.machine}: {said[-1]}; porter is tried "
                f"with torch {_TRIED}, and --wheel takes a file",
                f"无法为 {interpreter.tag}（{interpreter.machine}）获取 {wanted}：{said[-1]}；porter 以 torch {_TRIED} 验证过，"
                "也可用 --wheel 指定本地文件",
            )
        found = sorted(Path(temporary).glob("torch_npu-*.dist-info"))
        if not found:
            raise UserError(f"{wanted}: not a wheel of torch_npu", f"{wanted}：不是 torch_npu 的 wheel 包")
        version = found[0].name.removeprefix("torch_npu-").removesuffix(".dist-info")
        if not _fits(version, interpreter.torch_release):
            raise UserError(
                f"{wanted}: torch_npu {version} is not made for torch {interpreter.torch_version}",
                f"{wanted}：torch_npu {version} 与 torch {interpreter.torch_version} 不配套",
            )
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(temporary, folder)
    return folder / "torch_npu", version


def _try(interpreter: Interpreter, device: Device) -> None:
    program = "import torch, torch_npu; print((torch.ones(3, requires_grad=True).npu() * 2).sum().item())"
    env = {**os.environ, **environment(device)}
    done = subprocess.run([interpreter.path, "-c", program], env=env, capture_output=True, text=True, timeout=300)
    if done.stdout.strip() != "6.0":
        said = (done.stderr.strip().splitlines() or [f"exit {done.returncode}"])[-1]
        raise UserError(
            f"torch_npu {device.torch_npu} does not run on the stand-ins: {said}",
            f"torch_npu {device.torch_npu} 无法在替身库上运行：{said}",
        )


def _for(interpreter: Interpreter) -> str:
    import sys

    return "" if interpreter.path == sys.executable else f" --python {interpreter.path}"
