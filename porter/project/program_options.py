"""Finds options of the project's programs that take a device or a backend, and to which its scripts pass one."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache, partial

from porter.engine.launch import Options
from porter.files.kinds import MAKEFILE, SHELL, kind_of
from porter.python.kept import Remember, anew, rows_of
from porter.python.trees import Parse
from porter.python.walks import walk
from porter.regex import lazy, rare
from porter.rulebook.table import hint

# libraries that make options of fields and parameters: dataclasses of HfArgumentParser, functions of typer and fire
_READERS = (b"HfArgumentParser", b"jsonargparse", b"simple_parsing", b"argparse_dataclass", b"LightningCLI")
_SHORT_READERS = {name: rare(rb"\b%s\b" % name) for name in (b"typer", b"fire", b"tyro")}
# by kind: names of such options; values that they take
_LIKE = {"device": lazy(r"(?i)device|placement|map.?location"), "backend": lazy(r"(?i)backend")}
_VALUES = {
    "device": lazy(r"(?:cuda|npu|gpu|cpu|mps|auto|xpu)(?::\d+)?"),
    "backend": lazy(r"nccl|hccl|gloo|mpi|ccl"),
}
# lines of a script that start a program, or a training
_LAUNCHERS = lazy(rb"\b(?:torchrun|deepspeed|horovodrun|accelerate[ \t]+launch|torch\.distributed\.(?:launch|run))\b")
_TRAINING = lazy(rb"\bpython[\d.]*[ \t][^|;]*?(?:train|tune|main|run)\w*(?:\.py\b|[ \t]|$)")
_LONGEST = 2_000  # characters of a line that are looked at
_SIDE = hint("beside-the-training")  # paths of scripts that do something else than the training
# paths of scripts that test, evaluate or measure; and of scripts that train
_TESTS = lazy(r"(?i)(?:^|/)(?:tests?|ci|eval\w*|benchmarks?|infer\w*)/|(?:^|[/_.-])(?:test|eval|infer|bench)[^/]*$")
_NAMES_TRAINING = lazy(r"(?i)train|tune")  # the name of a script that trains, even if it contains `test`
_TRAINS = lazy(r"(?i)train|tune|launch|run")  # paths of scripts that may start a training
# names of scripts whose training may need a library for CUDA
_QUANTIZES = lazy(r"(?i)quanti[sz]|q-?lora|[48]-?bit|int[48]")
# a command that starts a program with torch.distributed.launch, with its continuation lines
_BY_MODULE = lazy(rb"-m[ \t]+torch\.distributed\.launch\b((?:[^\n\\`]|\\\r?\n){0,2000}?)(?:[\w./-]*/)?([\w-]+\.py)\b")

# of a field: what `_given` takes for a default
_PLAIN_DEFAULT = rb"""(?:\w{0,2}["']|\d|True\b|False\b|[\w.]+\()"""
_WITHOUT_OPTION = lazy(rb"--use[_-]env\b")
_PAGES, _DEEP = 100, 3  # how many Markdown files are read, and how deep they may lie


def by_module(
    texts: Mapping[str, bytes], scripts: Mapping[str, bytes], files: Iterable[str], read: Callable[[str], bytes | None]
) -> tuple[str, ...]:
    """The names of programs that scripts and Markdown files start with `torch.distributed.launch`, which passes them
    `--local-rank`. With --use_env it does not. `texts`: of the programs."""
    if not any(b"--local_rank" in data for data in texts.values()):
        return ()
    pages = [path for path in files if path.endswith(".md") and path.count("/") < _DEEP][:_PAGES]
    told = (data for path in pages if (data := read(path)) is not None)
    naming = (data for data in (*scripts.values(), *told) if b"torch.distributed.launch" in data)
    found = (match for data in naming for match in _BY_MODULE.finditer(data))
    return tuple(sorted({match[2].decode() for match in found if not _WITHOUT_OPTION.search(match[1])}))


def takes(
    passed: Iterable[tuple[str, str, str]], texts: dict[str, bytes], parse: Parse, kept: Remember = anew
) -> Options:
    """(option, kind, file that declares it), where no declaration of the name in the project means something else;
    `kept`: of single files."""
    wanted = {_plain(flag): _kind(value) for flag, value, script in passed if kind_of(script) in (SHELL, MAKEFILE)}
    wanted = {name: kind for name, kind in wanted.items() if name}
    flags = frozenset(flag for flag, _, _ in passed)  # argparse does not take --dist-backend for --dist_backend
    files: dict[str, set[str]] = {}
    other: set[str] = set()
    about = [*sorted(wanted.items()), *sorted(flags)]
    for path, data in sorted(texts.items()) if wanted else ():
        for name, good in rows_of(data, "options", about, partial(_options, data, wanted, flags, parse), kept):
            if good:
                files.setdefault(name, set()).add(path)
            else:
                other.add(name)
    return tuple(
        sorted((name, wanted[name], path) for name, paths in files.items() if name not in other for path in paths)
    )


def _options(data: bytes, wanted: dict[str, str], flags: frozenset[str], parse: Parse) -> tuple[tuple[str, bool], ...]:
    """The declarations of a file, and whether each is what it is wanted for."""
    names = {n for n in wanted if n.encode() in data or n.replace("-", "_").encode() in data}
    by_name = not all(_is_short(n, flags) for n in names) and _is_by_name(data)
    if not names or not by_name and not _may_declare(names, flags, data):
        return ()
    return tuple(_declared(parse(data), {n: wanted[n] for n in names}, flags, by_name))


def _is_by_name(data: bytes) -> bool:
    """Whether a file makes options of fields or parameters."""
    return any(name in data for name in _READERS) or any(
        name in data and pattern.search(data) for name, pattern in _SHORT_READERS.items()
    )


def _may_declare(names: Iterable[str], flags: frozenset[str], data: bytes) -> bool:
    """Whether a text may declare one of these options: "--name", or name: type = ..., which no `-n` is."""
    patterns = (_named(name, _is_short(name, flags)) for name in names)
    for match in (match for pattern in patterns for match in pattern.finditer(data)):
        line = data[data.rfind(b"\n", 0, match.start()) + 1 : match.start()]
        if match[1] is None:
            if line.rstrip(b" \t")[-1:] in (b"", b";", b":"):
                return True
        elif (before := line.rstrip(b"-_"))[-1:] in (b'"', b"'") and line[len(before) :].startswith(b"-"):
            return True
    return False


def _is_short(name: str, flags: frozenset[str]) -> bool:
    """Whether scripts pass `-n` alone, which no field and no parameter takes."""
    return f"-{name}" in flags and f"--{name}" not in flags


@lru_cache(maxsize=128)
def _named(name: str, is_short: bool) -> re.Pattern[bytes]:
    """The pattern of a declaration, from the name on. A pattern that begins with letters takes a tenth of the time, so the text
    before the name is looked at afterwards, and each name has its own."""
    word = re.escape(name).replace(r"\-", "[-_]")
    field = b"" if is_short else rb"""|[ \t]*:[^=]{0,1000}=[\s(\\]*%s""" % _PLAIN_DEFAULT
    return re.compile(rb"""%s(?=(["'])%s)""" % (word.encode(), field))


def _plain(flag: str) -> str:
    return flag.lstrip("-").replace("_", "-")


def _kind(value: str) -> str:
    return "backend" if value == "nccl" else "device"


def _declared(
    tree: ast.Module | None, wanted: dict[str, str], passed: frozenset[str], by_name: bool
) -> Iterable[tuple[str, bool]]:
    for node in walk(tree) if tree else ():
        if isinstance(node, ast.Call):
            flags = [a.value for a in node.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
            for name in {_plain(f) for f in flags if f in passed} & wanted.keys():
                yield name, _takes(node, name, wanted[name])
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            name = node.target.id.replace("_", "-")
            if name in wanted and (by_name or _given(node.value) is not None):
                yield name, _fits(node.value, name, wanted[name])
        elif by_name and isinstance(node, ast.arg) and (name := node.arg.replace("_", "-")) in wanted:
            yield name, bool(_LIKE[wanted[name]].search(name))


def _takes(call: ast.Call, name: str, kind: str) -> bool:
    """Whether a call adds an option that takes a value of this kind."""
    arguments = {k.arg: k.value for k in call.keywords}
    made = arguments.get("type")
    if "action" in arguments or isinstance(made, ast.Name) and made.id != "str":
        return False
    choices, old = arguments.get("choices"), "nccl" if kind == "backend" else "cuda"
    if choices is not None:
        listed = choices.elts if isinstance(choices, (ast.List, ast.Tuple, ast.Set)) else []
        return any(getattr(item, "value", None) == old for item in listed)
    return _fits(arguments.get("default"), name, kind)


def _fits(default: ast.expr | None, name: str, kind: str) -> bool:
    """Whether a default is of this kind; without a default, whether the name is."""
    value = _given(default)
    if value is not None:
        return isinstance(value, str) and bool(_VALUES[kind].fullmatch(value))
    return bool(_LIKE[kind].search(name))


def _given(default: ast.expr | None) -> object:
    if isinstance(default, ast.Call):  # field(default="cuda")
        default = next((k.value for k in default.keywords if k.arg == "default"), None)
    return default.value if isinstance(default, ast.Constant) else None


def _starts(line: bytes) -> bool:
    """Whether a line starts a program of the repository."""
    line = line[:_LONGEST].partition(b"#")[0]
    return _LAUNCHERS.search(line) is not None or b"python" in line and _TRAINING.search(line) is not None


def start(script: bytes) -> int:
    """The number of the line that starts a program of the repository; 0 where no line looks so."""
    return next((n for n, line in enumerate(script.splitlines(), 1) if _starts(line)), 0)


def launcher(scripts: dict[str, bytes], is_elsewhere: Callable[[str, bytes], object]) -> str:
    """The script that starts the training of the repository; "" where no script looks so. Scripts that start a test, an
    evaluation or a benchmark do not count. `is_elsewhere`: whether the programs of a script are another framework's."""
    starting = (path for path, data in scripts.items() if start(data) and not _is_test(path))
    return next((path for path in sorted(starting, key=order) if not is_elsewhere(path, scripts[path])), "")


def _is_test(path: str) -> bool:
    folder, _, name = path.rpartition("/")
    return bool(_TESTS.search(f"{folder}/") or _TESTS.search(name) and not _NAMES_TRAINING.search(name))


def order(path: str) -> tuple[bool, bool, bool, int, str]:
    """For sorting: scripts that look most like the start of a training come first."""
    name = path.rpartition("/")[2]
    return bool(_SIDE.search(path)), not _TRAINS.search(path), bool(_QUANTIZES.search(name)), path.count("/"), path
