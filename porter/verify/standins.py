"""Stand-ins for the CANN libraries, so that the real torch_npu can be loaded on a machine that has neither NPU nor CANN.

Every symbol that torch_npu needs and that neither torch nor the system has gets a body: the runtime functions of
native/cann.c, and for all others one that returns zero. Made from the symbols of the wheel at hand, nothing listed.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterable
from pathlib import Path

from porter.errors import UserError

NATIVE = Path(__file__).resolve().parent / "native"
SYSTEM = ("/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib64", "/usr/lib64", "/lib", "/usr/lib")
_DEFINITION = re.compile(r"^(?!static)[\w ]+?[ *]+(\w+)\(", re.MULTILINE)
# The same on x86-64 and aarch64 but for the instructions: zero in the integer and the floating point result.
_BODY = {"x86_64": ("xorl %eax, %eax", "xorps %xmm0, %xmm0", "ret"), "aarch64": ("mov x0, #0", "movi v0.2d, #0", "ret")}


def generate(torch: Path, torch_npu: Path, folder: Path, machine: str, compiler: str = "cc") -> int:
    """Stand-ins for what the package at `torch_npu` misses, into `folder`; returns how many symbols they define."""
    ours = sorted(torch_npu.rglob("*.so"))
    have = {path.name for path in (*ours, *(torch / "lib").glob("*.so*"))}
    missing, system = set(), set()
    for name in sorted({name for path in ours for name in _needed(path)} - have):
        found = next((p for d in SYSTEM if (p := Path(d) / name).exists()), None)
        if found:
            system.add(found)
        else:
            missing.add(name)
    given = {s for path in (*ours, *(torch / "lib").glob("*.so*"), *sorted(system)) for s, _ in _symbols(path, True)}
    wanted = {s for path in ours for s, kind in _symbols(path, False) if kind not in "wv"}
    written = set(_DEFINITION.findall((NATIVE / "cann.c").read_text(encoding="utf-8")))
    # the interpreter itself defines what belongs to Python
    symbols = sorted(s for s in wanted - given if not re.match("_?Py", s))
    folder.mkdir(parents=True, exist_ok=True)
    source = folder / "zero.s"
    source.write_text("".join(_assembly([s for s in symbols if s not in written], machine)), encoding="ascii")
    everything = folder / "libcannstandin.so"
    soname = f"-Wl,-soname,{everything.name}"
    _run(compiler, "-shared", "-fPIC", "-O1", "-o", everything, soname, source, NATIVE / "cann.c", "-ldl", "-lpthread")
    empty = folder / "empty.c"
    empty.write_text("", encoding="ascii")
    for name in sorted(missing):
        link = (f"-Wl,-soname,{name}", "-Wl,--no-as-needed", f"-L{folder}", "-lcannstandin", "-Wl,-rpath,$ORIGIN")
        _run(compiler, "-shared", "-fPIC", "-o", folder / name, empty, *link)
    for name in ("runtime", "compiler", "opp"):  # where ASCEND_HOME_PATH is set, torch_npu looks for these below it
        (folder / "home" / name).mkdir(parents=True, exist_ok=True)
    # what a library compiles on an NPU machine is compiled and linked with these
    for name, place in (("lib64", folder), ("include", torch_npu / "include/third_party/acl/inc")):
        (folder / "home" / name).unlink(missing_ok=True)
        (folder / "home" / name).symlink_to(place, target_is_directory=True)
    return len(symbols)


def environment(folder: Path) -> dict[str, str]:
    """What a process needs to load torch_npu on the stand-ins in `folder`."""
    home = folder / "home"
    before = os.environ.get("LD_LIBRARY_PATH")
    return {
        "LD_LIBRARY_PATH": f"{folder}{os.pathsep}{before}" if before else str(folder),
        "ASCEND_HOME_PATH": str(home),
        "ASCEND_OPP_PATH": str(home / "opp"),
        "TASK_QUEUE_ENABLE": "0",  # errors belong to the operator that made them, not to a later one
        "TORCHINDUCTOR_COMPILE_THREADS": "1",  # its workers would inherit, and keep open, the output that is read here
    }


def _needed(library: Path) -> list[str]:
    return re.findall(r"NEEDED.*\[(.*?)\]", _run("readelf", "-d", library))


def _symbols(library: Path, defined: bool) -> Iterable[tuple[str, str]]:
    """Name and kind of the dynamic symbols, versions cut off."""
    for line in _run("nm", "-D", "-P", "--defined-only" if defined else "--undefined-only", library).splitlines():
        name, kind, *_ = (*line.split(), "", "")
        if kind:
            yield name.partition("@")[0], kind


def _assembly(symbols: Iterable[str], machine: str) -> Iterable[str]:
    yield ".text\n"
    for symbol in symbols:
        body = "".join(f"  {line}\n" for line in _BODY[machine])
        yield f".globl {symbol}\n.type {symbol}, %function\n{symbol}:\n{body}.size {symbol}, .-{symbol}\n"
    yield '.section .note.GNU-stack,"",%progbits\n'


def _run(program: str | Path, *arguments: str | Path) -> str:
    command = [str(program), *map(str, arguments)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "LC_ALL": "C"})
    except OSError as error:
        raise UserError(
            f"{program}: {error.strerror}; the virtual NPU needs a C compiler and binutils",
            f"{program}：{error.strerror}；虚拟 NPU 需要 C 编译器和 binutils",
        ) from None
    if done.returncode:
        said = (done.stderr or done.stdout).strip().splitlines()[-1:]
        raise UserError(f"{command[0]} failed: {said}", f"{command[0]} 执行失败：{said}")
    return done.stdout
