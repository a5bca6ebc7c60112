"""Gathers the facts of a project before the analysis: what the analysis of one file needs to know of the other files."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

from porter.analysis.calls import calls
from porter.engine.checkpoints import Checkpoints
from porter.engine.facts import Accelerators, Facts, Loaders, OwnCode, Variables
from porter.engine.functions import Functions
from porter.engine.launch import Launch
from porter.files.kinds import SHELL, kind_of
from porter.files.read import LIMIT, beginning
from porter.native.python_to_kernels import gather as gather_natives
from porter.project import simulators
from porter.project.configured_modules import keeps_configured
from porter.project.counted_batches import counted_batches
from porter.project.counterpart_files import for_cpus, npu_folders, rivals_among, twins_among
from porter.project.device_answers import device_answers
from porter.project.device_parameters import device_parameters
from porter.project.fallbacks import attention_falls_back
from porter.project.given_indexes import given_indexes, given_words
from porter.project.gloo_groups import gloo_groups, wraps_on_devices
from porter.project.held_tensors import held_tensor
from porter.project.host_programs import host_programs
from porter.project.imports import Projects, borrowed, starred
from porter.project.left_accelerators import left
from porter.project.memory_datasets import memory_datasets
from porter.project.moved_by_to import moved_by_to
from porter.project.needed_by_tests import with_tests
from porter.project.notebook_twins import loaders_repeated
from porter.project.other_frameworks import of_others
from porter.project.own_attention import own_attentions
from porter.project.own_methods import classes, first_own_next, moving, take_non_blocking
from porter.project.own_packages import packages, packages_beside, without_devices
from porter.project.own_words import own_words
from porter.project.package_users import lists_of
from porter.project.passed_options import options_passed
from porter.project.patched_names import patched
from porter.project.program_options import by_module, launcher, takes
from porter.project.remote_quantizers import remote_quantizers
from porter.project.replaced_loads import replaced_loads
from porter.project.restored import restored
from porter.project.roads import Survey
from porter.project.said_once import first_readers, is_deterministic, jit_compile, said_once, set_in_many
from porter.project.saved_objects import saved_objects
from porter.project.saved_on_host import keys_on_host
from porter.project.shim_programs import shimmed, under_shims
from porter.project.shipped_files import shipped_objects
from porter.project.single_rows import single_rows
from porter.project.switched_packages import switched_packages
from porter.project.trainer_programs import trainer_programs
from porter.project.unmoved import unmoved_places
from porter.project.unset_options import unset_options
from porter.project.used_constants import used_constants
from porter.python import gpu_indexes
from porter.python.array_switches import is_named, switches
from porter.python.kept import Remember, anew
from porter.python.trees import Parse, parse, shallow
from porter.regex import lazy, rare
from porter.target import Target
from porter.training.calls.per_batch import served

_CUDA = lazy(rb"def[ \t]+cuda[ \t]*\(")
_OWN = {  # definitions in a class that has its own `cuda`, also beside its own `to`, or `is_cuda`
    **dict.fromkeys(("cuda", "to"), _CUDA),
    "is_cuda": rare(rb"^[ \t]+(?:def[ \t]+is_cuda\b|(?:self\.)?is_cuda[ \t]*(?::[^=\n]+)?=(?!=))", re.MULTILINE),
}
_SET = rare(rb"torch\.cuda\.(\w+)[ \t]*=(?!=)")  # the project replaces a name of torch.cuda
_CONSTANT = lazy(rb"\n([A-Za-z_]\w*)[ \t]*(?::[^=\n]*)?=[ \t]*[\"'](cuda(?::\d+)?|nccl)[\"']")
_VALUES = (b'"cuda', b"'cuda", b'"nccl', b"'nccl")  # one of which the value of a constant begins with
_MEMBER = rare(rb"^[ \t]+\w+[ \t]*=[ \t]*[\"'](?:cuda|nccl)[\"']", re.MULTILINE)
_SHIM = lazy(  # this module of torch_npu replaces torch.cuda by torch.npu while a program runs
    rb"^[ \t]*(?:from[ \t]+torch_npu\.contrib[ \t]+import[ \t]+transfer_to_npu|import[ \t]+torch_npu\.contrib\.transfer_to_npu)",
    re.M,
)
_SCRIPTS = (".sh", ".bash", ".slurm", ".sbatch", ".pbs", ".lsf", ".ksh", ".cmd", ".bat", ".mk", ".yml", ".yaml", ".py")
_SCRIPT_NAMES = ("Makefile", "makefile")
_TEST = lazy(r"(?:^|/)(?:tests?|examples?)/|(?:^|/)test_")  # paths of tests and examples
_ASKS = lazy(rb"(?i)(^[ \t]*def[ \t]+)?\bis_(?:torch_)?npu_available\b(?:[ \t]*=(?!=)|\()?", re.MULTILINE)
_LARGEST = 2_000_000  # a script with more bytes is data


def gather(
    root: Path,
    files: Sequence[str],
    kept: Remember = anew,
    asked: Iterable[str] | None = None,
    *,
    given: Mapping[str, bytes] = MappingProxyType({}),
    loose: bool = False,
    target: Target | None = None,
    projects: Projects | None = None,
) -> Facts:
    """The facts of a project. `files`: all its files, relative to its root. `kept`: what an earlier run found in the same
    bytes. `asked`: the files that the run analyses, if not all. `given`: bytes that replace those on disk. `loose`: the files
    are no project, but were named one by one. `target`: what only some targets need is gathered for these. `projects`: shared with
    other questions of the run."""
    shared = projects or Projects()
    try:
        facts, survey = _gather(root, files, kept, asked, given, loose, parse, shared, target)
    except (RecursionError, MemoryError):  # one file is too deep; its analysis says so
        facts, survey = _gather(root, files, anew, asked, given, loose, shallow, shared, target)
    known = facts.accelerators
    if target is None or not target.shims:
        return facts
    return replace(facts, accelerators=known._replace(shimmed=shimmed(survey, known.also_npu)))


def _gather(
    root: Path,
    files: Sequence[str],
    kept: Remember,
    asked: Iterable[str] | None,
    given: Mapping[str, bytes],
    loose: bool,
    parse: Parse,
    projects: Projects,
    target: Target | None,
) -> tuple[Facts, Survey]:
    gathered = _Gathered(parse)

    def read(path: str) -> bytes | None:
        return _read(root / path)

    for path in files:
        if path.endswith(_SCRIPTS) or path.rpartition("/")[2] in _SCRIPT_NAMES:
            if (data := read(path)) is not None:
                gathered.take(path, data)
    twins = tuple(sorted(twins_among(files)))
    native = gather_natives(root, files, gathered.texts, parse, kept)
    for path in twins:
        if "cuda" in path.rpartition("/")[2] and path.replace("cuda", "npu") in files and not _TEST.search(path):
            gathered.asks[path] = True
    constants = tuple(sorted(used_constants(gathered.defined, gathered.texts, parse)))
    # files that are too long for the facts, or that the project leaves out and the user named
    for path in sorted(set(asked or ()) - gathered.sources.keys() - given.keys()):
        if path.endswith(".py") and (data := _read(root / path, LIMIT)) is not None:
            gathered.sources[path] = data
    alone = {path for path in twins if kind_of(path) == SHELL}  # such scripts still start GPUs after the port
    passed = tuple(sorted(option for option in gathered.passed if option[2] not in alone))
    scripts = {path: data for path, data in gathered.scripts.items() if path not in alone}
    survey = Survey(root, files, {**gathered.sources, **given}, projects, loose)
    plain = without_devices(files, gathered.with_cuda)
    started = by_module(gathered.sources, scripts, files, read)
    roads = survey.roads((path, user) for path, _, _, user in constants)
    if roads.device and not loose:
        roads = replace(roads, host=tuple(sorted({*roads.host, *host_programs(survey, parse, kept)})))
    beside = {package for several in packages_beside(files).values() for package in several}
    with_steps = {path: text for path, text in gathered.texts.items() if path not in roads.host}
    own = OwnCode(
        tuple(sorted(gathered.own_methods["cuda"])),
        take_non_blocking(gathered.own_methods["cuda"], gathered.sources, parse),
        tuple(sorted(gathered.own_methods["is_cuda"])),
        packages=tuple(sorted(packages(files))),
        cuda_names=tuple(sorted(gathered.cuda_names)),
        attentions=own_attentions(gathered.texts, survey.project.files),
        enums=tuple(sorted(gathered.enums)),
        array_switches=tuple(sorted(gathered.array_switches)),
        gloo_groups=gloo_groups(gathered.texts, parse, kept),
        simulated=simulators.simulated(gathered.simulating, gathered.texts, parse),
        falls_back=attention_falls_back(gathered.texts, parse),
        loaders=Loaders(
            tuple(sorted(loaders_repeated(files, gathered.sources, read))), memory_datasets(gathered.texts, parse)
        ),
    )
    words = own_words(gathered.texts.values())
    once = said_once(gathered.texts, parse, unmoved_places(gathered.texts, parse, survey.project.files))
    saved = saved_objects(gathered.texts, parse, files, kept)
    framework = of_others(files, read)
    choosing = (path for path, data in sorted(scripts.items()) if b"CUDA_VISIBLE_DEVICES" in data)
    foreign = tuple((path, name) for path in choosing if (name := framework(path, scripts[path])))
    in_one_world = target is None or target.style == "portable"
    lists = lists_of(root, files, gathered.texts, survey.project, parse, plain, own.has_package, loose=loose)
    facts = Facts(
        launch=Launch(
            launcher(scripts, framework),
            passed,
            takes(passed, gathered.texts, parse, kept),
            started,
            words,
            unset_options(gathered.texts, parse) if in_one_world else (),
            tuple(remote_quantizers(gathered.texts, lists)),
            trainer_programs(gathered.texts, survey.project.files),
        ),
        own=own,
        variables=Variables(
            first_readers(gathered.texts), set_in_many(gathered.texts), foreign, is_deterministic(gathered.texts)
        ),
        lists=lists,
        once=once._replace(
            single_rows=single_rows(gathered.sources, parse), own_next=first_own_next(gathered.sources, parse)
        ),
        accelerators=Accelerators(
            tuple(sorted(gathered.shim)),
            under_shims(gathered.shim, survey.project),
            twins,
            tuple(sorted(rivals_among(files))),
            npu_folders(gathered.asks, files),
            held_tensor(gathered.texts.values()),
            moved_by_to(gathered.texts.values(), gathered.own_methods["to"]),
            tuple(sorted(for_cpus(files))),
            device_parameters(gathered.texts, parse, kept),
            counted_batches(gathered.texts),
            left(gathered.texts.values()) if in_one_world else (),
            functions=Functions(
                device_answers(gathered.texts, parse, kept),
                () if target is None or target.int_is_npu else given_indexes(gathered.texts, parse, kept),
                moving(gathered.sources),
                patched(gathered.texts.values()),
                *given_words(gathered.sources, files, read, parse, kept),
            ),
            wraps=wraps_on_devices(gathered.texts),
        ),
        native=with_tests(native, gathered.texts, parse, survey.project),
        constants=constants,
        jit_compile=jit_compile(gathered.texts),
        served=served(with_steps, kept, asked, calls),
        checkpoints=Checkpoints(
            saved,
            restored(gathered.texts, parse) if saved else (),
            keys_on_host(gathered.texts, parse, files),
            shipped_objects(root, gathered.texts, files),
            keeps_configured(gathered.sources, files, read),
            replaced_loads(gathered.texts),
        ),
        roads=replace(
            roads,
            installed=tuple(sorted(beside)),
            borrowed=borrowed(map(survey.read, survey.texts)),
            starred=starred(map(survey.read, survey.texts)),
            switched=switched_packages(files, gathered.texts),
        ),
    )
    return facts, survey


class _Gathered:
    """Collects what each file of a project says by itself."""

    def __init__(self, parse: Parse):
        self.parse = parse
        self.own_methods: dict[str, set[str]] = {name: set() for name in _OWN}
        self.cuda_names: set[str] = set()
        self.with_cuda: set[str] = set()  # Python files that name CUDA or NCCL
        self.passed: set[tuple[str, str, str]] = set()  # (option, value, file)
        self.shim: set[str] = set()
        self.enums: set[str] = set()
        self.array_switches: set[tuple[str, str, str, int, str]] = set()
        self.simulating: set[str] = set()  # files that name a simulator that does not support NPUs
        self.asks: dict[str, bool] = {}  # files that ask for an NPU, and whether they define the question
        self.defined: dict[str, list[tuple[str, str]]] = {}  # by constant: (file, "device" or "backend")
        self.texts: dict[str, bytes] = {}  # Python files; b"" for one that imports nothing
        self.scripts: dict[str, bytes] = {}  # shell scripts
        self.sources: dict[str, bytes] = {}  # Python files with their whole texts

    def take(self, path: str, data: bytes) -> None:
        if b"cuda" in data or b"nccl" in data:
            self.passed.update((flag, value, path) for flag, value in options_passed(path, data, self.parse))
        if path.endswith(".py"):
            self._python(path, data)
            self.sources[path] = data
            self.texts[path] = data if b"import" in data else b""
        elif kind_of(path) == SHELL:
            self.scripts[path] = data

    def _python(self, path: str, data: bytes) -> None:
        if b"transfer_to_npu" in data and _SHIM.search(data):
            self.shim.add(path)
        may_ask = (b"npu" in data or b"NPU" in data) and b"npu_available" in data.lower()
        if may_ask and (questions := list(_ASKS.finditer(data))):
            first = questions[0]
            if len(questions) > 1 or first[1] or first[0].endswith((b"(", b"=")):  # else it imports the name alone
                self.asks[path] = any(m[1] or m[0].endswith(b"=") for m in questions)
        if is_named(data) and b" and " in data and (tree := self.parse(data)) is not None:
            self.array_switches.update((path, *switch) for switch in switches(tree))
        if gpu_indexes.is_named(data) and (tree := self.parse(data)) is not None:
            self.array_switches.update((path, *switch) for switch in gpu_indexes.choices(tree))
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
            for name, value in _CONSTANT.findall(b"\n" + data) if any([word in data for word in _VALUES]) else ():
                self.defined.setdefault(name.decode(), []).append((path, "backend" if value == b"nccl" else "device"))


def _read(path: Path, most: int = _LARGEST) -> bytes | None:
    data = beginning(path, most + 1)
    return None if data is None or len(data) > most else data
