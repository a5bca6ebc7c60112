"""What one file cannot know of the others: gathered first, over the whole project, by byte scan and stdlib `ast`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from types import MappingProxyType

from porter.analysis.calls import calls
from porter.engine.facts import Accelerators, Facts, Launch, OwnCode, Variables
from porter.files.kinds import SHELL, kind_of
from porter.files.read import LIMIT, beginning
from porter.native.python_to_kernels import gather as gather_natives
from porter.project import simulators
from porter.project.counterpart_files import for_cpus, rivals_among, twins_among
from porter.project.fallbacks import attention_falls_back
from porter.project.gloo_groups import gloo_groups
from porter.project.moved_by_to import moved_by_to
from porter.project.needed_by_tests import with_tests
from porter.project.notebook_twins import loaders_repeated
from porter.project.own_methods import classes
from porter.project.package_users import lists_of
from porter.project.program_options import by_module, launcher, takes
from porter.project.roads import Survey
from porter.project.said_once import first_attention, first_readers, jit_compile, said_once, set_in_many
from porter.project.saved_objects import saved_objects
from porter.project.unmoved import unmoved_places
from porter.project.used_constants import used_constants
from porter.python.array_switches import is_named, switches
from porter.python.kept import Remember, anew
from porter.python.trees import Parse, parse, shallow
from porter.regex import lazy
from porter.rulebook.gate import opening
from porter.training.calls.per_batch import served

_OWN = {
    "cuda": lazy(rb"def[ \t]+cuda[ \t]*\("),
    "is_cuda": lazy(rb"^[ \t]+(?:def[ \t]+is_cuda\b|(?:self\.)?is_cuda[ \t]*(?::[^=\n]+)?=(?!=))", re.MULTILINE),
}
_SET = lazy(rb"torch\.cuda\.(\w+)[ \t]*=(?!=)")
_CONSTANT = lazy(rb"^([A-Za-z_]\w*)[ \t]*(?::[^=\n]*)?=[ \t]*[\"'](cuda(?::\d+)?|nccl)[\"']", re.MULTILINE)
_MEMBER = lazy(rb"^[ \t]+\w+[ \t]*=[ \t]*[\"'](?:cuda|nccl)[\"']", re.MULTILINE)
_SHIM = lazy(
    rb"^[ \t]*(?:from[ \t]+torch_npu\.contrib[ \t]+import[ \t]+transfer_to_npu|import[ \t]+torch_npu\.contrib\.transfer_to_npu)",
    re.M,
)
# an option's name has an end: without one, a text of nothing but dashes is gone over again and again
_PASSED = lazy(
    rb"(--?[A-Za-z][\w.-]{0,100})(?:[ \t]+|=|[\"'],[ \t]*[\"'])[\"']?(?:\$\{\w+:?[-=])?(cuda(?::\d+)?|nccl)\b"
)
# `backend=nccl`, and the option that is handed `$backend`
_HELD = lazy(
    rb"^[ \t]*(?:(?:export|local|declare|readonly)[ \t]+)?(\w+)=[\"']?(?:\$\{\w+:?[-=])?(cuda(?::\d+)?|nccl)\}?[\"']?[ \t]*(?:[;#\r\n]|\Z)",
    re.MULTILINE,
)
_HANDED = lazy(rb"(--?[A-Za-z][\w.-]{0,100})(?:[ \t]+|=)[\"']?\$\{?(\w+)")
_SCRIPTS = (".sh", ".bash", ".slurm", ".sbatch", ".pbs", ".lsf", ".ksh", ".cmd", ".bat", ".mk", ".yml", ".yaml", ".py")
_SCRIPT_NAMES = ("Makefile", "makefile")
_TEST = lazy(r"(?:^|/)(?:tests?|examples?)/|(?:^|/)test_")
_ASKS = lazy(rb"(?i)(^[ \t]*def[ \t]+)?\bis_(?:torch_)?npu_available\b(?:[ \t]*=(?!=))?", re.MULTILINE)
_BESIDE = frozenset({"tests", "test", "examples", "example", "docs", "scripts", "tools", "benchmarks"})  # of a package
_PROJECT = ("pyproject.toml", "setup.cfg", "setup.py")
_CUDA_FOLDER = lazy(r"(?:^|_)cuda\d*(?:$|_)")  # what a package or module of the project may be called, too
_LARGEST = 2_000_000  # a script of more bytes is data


def gather(
    root: Path,
    files: Sequence[str],
    remember: Remember = anew,
    asked: Iterable[str] | None = None,
    *,
    given: Mapping[str, bytes] = MappingProxyType({}),
    loose: bool = False,
    kept: Remember = anew,
) -> Facts:
    """`files`: every file of the project, relative to its root; `asked`: those that a run looks at, if not all; `given`:
    what stands in place of the bytes on disk; `loose`: the files are no project, but those that somebody named; `kept`:
    what single files of Python said in an earlier run."""
    try:
        return _gather(root, files, remember, asked, given, loose, parse, kept)
    except (RecursionError, MemoryError):  # in one file of thousands, whose own analysis says so
        return _gather(root, files, anew, asked, given, loose, shallow, anew)


def _gather(
    root: Path,
    files: Sequence[str],
    remember: Remember,
    asked: Iterable[str] | None,
    given: Mapping[str, bytes],
    loose: bool,
    parse: Parse,
    kept: Remember,
) -> Facts:
    gathered = _Gathered(parse)
    for path in files:
        if path.endswith(_SCRIPTS) or path.rpartition("/")[2] in _SCRIPT_NAMES:
            if (data := _read(root / path)) is not None:
                gathered.take(path, data)
    twins = tuple(sorted(twins_among(files)))
    native = gather_natives(root, files, gathered.texts, parse, remember, kept)
    for path in twins:
        if "cuda" in path.rpartition("/")[2] and path.replace("cuda", "npu") in files and not _TEST.search(path):
            gathered.asks[path] = True
    constants = tuple(sorted(used_constants(gathered.defined, gathered.texts, parse)))
    # too long for facts, or left out of the project and named all the same
    for path in sorted(set(asked or ()) - gathered.sources.keys() - given.keys()):
        if path.endswith(".py") and (data := _read(root / path, LIMIT)) is not None:
            gathered.sources[path] = data
    alone = {path for path in twins if kind_of(path) == SHELL}  # they go on starting GPUs
    passed = tuple(sorted(option for option in gathered.passed if option[2] not in alone))
    scripts = {path: data for path, data in gathered.scripts.items() if path not in alone}
    survey, plain = Survey(root, files, {**gathered.sources, **given}, loose), _plain(files, gathered.with_cuda)
    started = by_module(gathered.texts, scripts, files, lambda path: _read(root / path))
    own = OwnCode(
        tuple(sorted(gathered.own_methods["cuda"])),
        tuple(sorted(gathered.own_methods["is_cuda"])),
        packages=tuple(sorted(_packages(files))),
        cuda_names=tuple(sorted(gathered.cuda_names)),
        attention=first_attention(gathered.texts),
        notebooks=tuple(sorted(loaders_repeated(files, gathered.sources, lambda path: _read(root / path)))),
        enums=tuple(sorted(gathered.enums)),
        array_switches=tuple(sorted(gathered.array_switches)),
        gloo_groups=gloo_groups(gathered.texts, parse, kept),
        simulated=simulators.simulated(gathered.simulating, gathered.texts, parse),
        falls_back=attention_falls_back(gathered.texts, parse),
    )
    return Facts(
        launch=Launch(launcher(scripts), passed, takes(passed, gathered.texts, parse, kept), started),
        own=own,
        variables=Variables(first_readers(gathered.texts), set_in_many(gathered.texts)),
        lists=lists_of(root, files, gathered.texts, survey.project, parse, plain, own.has_package, loose=loose),
        once=said_once(gathered.texts, parse, unmoved_places(gathered.texts, parse, survey.project.files)),
        accelerators=Accelerators(
            tuple(sorted(gathered.shim)),
            twins,
            tuple(sorted(rivals_among(files))),
            _npu_folders(gathered.asks, files),
            moved_by_to(gathered.texts.values()),
            tuple(sorted(for_cpus(files))),
        ),
        native=with_tests(native, gathered.texts, parse, survey.project),
        constants=constants,
        jit_compile=jit_compile(gathered.texts),
        served=served(gathered.texts, remember, asked, calls),
        saved=saved_objects(gathered.texts, parse, files, kept),
        roads=survey.roads((path, user) for path, _, _, user in constants),
    )


class _Gathered:
    """What the files of a project say, each by itself."""

    def __init__(self, parse: Parse):
        self.parse = parse
        self.own_methods: dict[str, set[str]] = {name: set() for name in _OWN}
        self.cuda_names: set[str] = set()
        self.with_cuda: set[str] = set()  # files of Python that name CUDA or NCCL
        self.passed: set[tuple[str, str, str]] = set()
        self.shim: set[str] = set()
        self.enums: set[str] = set()
        self.array_switches: set[tuple[str, str, str, str]] = set()
        self.simulating: set[str] = set()  # files that name a simulator without NPUs
        self.asks: dict[str, bool] = {}  # files that ask whether there is an NPU, and whether they define how
        self.defined: dict[str, list[tuple[str, str]]] = {}
        self.texts: dict[str, bytes] = {}  # of Python, as far as it imports anything
        self.scripts: dict[str, bytes] = {}
        self.sources: dict[str, bytes] = {}  # all Python

    def take(self, path: str, data: bytes) -> None:
        if b"cuda" in data or b"nccl" in data:
            for flag, value in _PASSED.findall(data):
                self.passed.add((flag.decode(), value.decode(), path))
            held: dict[bytes, set[bytes]] = {}
            for name, value in _HELD.findall(data) if kind_of(path) == SHELL else ():
                held.setdefault(name, set()).add(value)
            for flag, name in _HANDED.findall(data) if held else ():
                self.passed.update((flag.decode(), value.decode(), path) for value in held.get(name, ()))
        if path.endswith(".py"):
            self._python(path, data)
            self.sources[path] = data
            self.texts[path] = data if b"import" in data else b""
        elif kind_of(path) == SHELL:
            self.scripts[path] = data

    def _python(self, path: str, data: bytes) -> None:
        if b"transfer_to_npu" in data and _SHIM.search(data):
            self.shim.add(path)
        if b"npu_available" in data.lower() and (questions := list(_ASKS.finditer(data))):
            self.asks[path] = any(m[1] or m[0].endswith(b"=") for m in questions)
        if is_named(data) and b" and " in data and (tree := self.parse(data)) is not None:
            self.array_switches.update((path, *switch) for switch in switches(tree))
        if b"cuda" in data or b"nccl" in data:
            self.with_cuda.add(path)
            if b"import" in data and simulators.is_named(data):
                self.simulating.add(path)
            if b"Enum" in data and _MEMBER.search(data):
                self.enums.add(path)
            for name, pattern in _OWN.items():
                if name.encode() in data and pattern.search(data):
                    self.own_methods[name].update(f"{path}:{owner}" for owner in classes(self.parse(data), name))
            if b"torch.cuda." in data:
                self.cuda_names.update(name.decode() for name in _SET.findall(data))
            for name, value in _CONSTANT.findall(data):
                kind = "backend" if value == b"nccl" else "device"
                self.defined.setdefault(name.decode(), []).append((path, kind))


def _npu_folders(asks: dict[str, bool], files: Sequence[str]) -> tuple[str, ...]:
    """A project that defines `is_npu_available`, asks it in several files, or has npu_x.py beside cuda_x.py, runs on
    both; of a collection, the part."""
    folders: dict[str, list[bool]] = {}
    for path, defines in asks.items():
        whole = "/" not in path or any(name in files for name in _PROJECT)
        folders.setdefault("" if whole else path.partition("/")[0] + "/", []).append(defines)
    return tuple(sorted(folder for folder, definitions in folders.items() if any(definitions) or len(definitions) > 2))


def _packages(files: Sequence[str]) -> set[str]:
    """Where `import apex` finds a package that the project brings itself: `third/apex`, `third/src/apex` for `third/`."""
    known, packages = {*opening()["packages"]}, set()
    sources = frozenset(path for path in files if path.endswith(".py"))
    for path in sources:
        words = path.removesuffix(".py").split("/")
        for index, word in enumerate(words):
            above = words[:index]  # the package itself, its part where it is a namespace, or a module
            whole = words[index + 1 :] in (["__init__"], []) or len(words) == index + 3 and words[-1] == "__init__"
            if "cuda" in word and _CUDA_FOLDER.search(word) and "/".join([*above, "__init__.py"]) not in sources:
                packages.add("/".join([*above, word]))
            if word in known and whole and "/".join([*above, "__init__.py"]) not in sources:
                if above and above[-1] in ("src", "python", "lib"):
                    above.pop()
                packages.add("/".join([*above, word]))
                break
    return packages


def _plain(files: Sequence[str], with_cuda: set[str]) -> Iterator[str]:
    """Lists of what a package needs, where the package itself names no device, and at most its examples do."""
    packages: dict[str, set[str]] = {}  # by the folder they lie in
    for path in files:
        if path.endswith("/__init__.py"):
            above, _, name = path.removesuffix("/__init__.py").rpartition("/")
            if name not in _BESIDE:
                packages.setdefault(above.removesuffix("src").rstrip("/"), set()).add(f"{above}/{name}".lstrip("/"))
    speaking = {str(folder) for path in with_cuda for folder in PurePosixPath(path).parents}
    for path in files:
        folder, _, name = path.rpartition("/")
        if name in _PROJECT and (own := packages.get(folder)) and own.isdisjoint(speaking):
            yield path


def _read(path: Path, most: int = _LARGEST) -> bytes | None:
    data = beginning(path, most + 1)
    return None if data is None or len(data) > most else data
