"""What one file cannot know of the others, as its analysis is told: gathered by porter/run/gather.py."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

from porter.engine.shimmed import Shimmed
from porter.files.kinds import MAKEFILE, SHELL, kind_of
from porter.versions import allows, at_least, reaches

Options = tuple[tuple[str, str, str], ...]  # (name, kind, path): of programs, those given a device or a backend


class Launch(NamedTuple):
    """What the project's scripts hand its programs."""

    script: str = ""  # the shell script that starts the training
    passed: tuple[tuple[str, str, str], ...] = ()  # (flag, value, script): old values that scripts hand over
    options: Options = ()
    # programs that `python -m torch.distributed.launch` starts, which hands them `--local-rank`: the names of their files
    by_module: tuple[str, ...] = ()

    def passes(self, flag: str, value: str) -> str | None:
        """The script that hands this value to a flag and goes on doing so: the others are ported with the program."""
        name = flag.lstrip("-").replace("_", "-")
        for other, old, script in self.passed:
            if old == value and other.lstrip("-").replace("_", "-") == name:
                kind = "backend" if value == "nccl" else "device"
                if kind_of(script) not in (SHELL, MAKEFILE) or not self.takes(flag, kind):
                    return script
        return None

    def takes(self, flag: str, kind: str) -> bool:
        """Whether a program has an option of this name that is given a device or a backend."""
        name = flag.lstrip("-").replace("_", "-")
        return any(option == name and option_kind == kind for option, option_kind, _ in self.options)


class Simulated(NamedTuple):
    """A function or class that hands a device it is given to a simulator without NPUs."""

    path: str
    library: str
    key: str  # by which it is given that device
    keys: tuple[str, ...]  # all that it takes
    expanded: tuple[str, ...]  # the last words of what the project's calls expand: `env` of `make(**cfg.env)`


class Saved(NamedTuple):
    """A dictionary that the project saves."""

    path: str
    program: str  # the folder of the program that saves it, with its slash: what others of a collection load is another
    keys: tuple[str, ...]
    held: str  # the first of them with an object that is neither a tensor nor plain; "" where there is none


class OwnCode(NamedTuple):
    """What the project defines itself where others use torch or a package."""

    cuda: tuple[str, ...] = ()  # "path:Class" of classes that define a method `cuda` of their own
    is_cuda: tuple[str, ...] = ()  # and of those with an `is_cuda` of their own
    packages: tuple[str, ...] = ()  # folders of GPU-only packages that the project is, and does not use
    cuda_names: tuple[str, ...] = ()  # what the project sets below torch.cuda: `torch.cuda.patched = True`
    attention: str = ""  # the first file with a "flash_attention_2" of its own, which is not transformers'
    falls_back: tuple[str, ...] = ()  # settings that ask for flash_attn, which the project does without
    notebooks: tuple[str, ...] = ()  # whose loaders a program of the same name beside them makes as well
    # (path, function, parameter, library) of parameters that only decide about CuPy and its kin
    array_switches: tuple[tuple[str, str, str, str], ...] = ()
    simulated: tuple[Simulated, ...] = ()
    gloo_groups: tuple[str, ...] = ()  # names of process groups that gloo alone makes
    enums: tuple[str, ...] = ()  # files with an Enum of which a member is "cuda" or "nccl"

    def enum_beside(self, name: str) -> str | None:
        """The file that a name is imported from by its full module, if it has such an Enum."""
        module = name.rpartition(".")[0].lstrip(".").replace(".", "/")
        return next((path for path in self.enums if module and f"/{path}".endswith(f"/{module}.py")), None)

    def attends(self, option: str) -> str:
        """The file that this option's value is looked up in, if it is the name of an attention and the project has one."""
        return self.attention if option.endswith("attn_implementation") else ""

    def has_package(self, name: str, path: str) -> bool:
        """Whether a file that imports a package finds it in the project itself."""
        folders = (package.removesuffix(name) for package in self.packages if package.rpartition("/")[2] == name)
        return any(path.startswith(folder) for folder in folders)

    def sets(self, name: str) -> bool:
        """Whether the project itself sets an attribute of torch.cuda, by its full name or one below it."""
        return name.removeprefix("torch.cuda.").partition(".")[0] in self.cuda_names


class SyncNorms(NamedTuple):
    paths: tuple[str, ...] = ()  # the files that make synchronised norms
    grouped: bool = True  # whether anything in the project makes the process group that they need


class Variables(NamedTuple):
    """Environment variables of CUDA's and NCCL's, as the project's programs read and set them."""

    read: tuple[tuple[str, str], ...] = ()  # (variable, the first file that reads it itself)
    everywhere: tuple[tuple[str, str, int], ...] = ()  # (variable without effect, first file, how many more set it)

    def reader(self, variable: str) -> tuple[tuple[str, str], ...]:
        """For `Hit.values`: who would miss the variable, whatever the libraries do without it."""
        return tuple(("read_in", path) for name, path in self.read if name == variable)

    def elsewhere(self, variable: str, path: str) -> str | None:
        """Of a variable that several files set to no effect: in how many more, "" where another file says so."""
        known = next((row for row in self.everywhere if row[0] == variable and row[2]), None)
        return None if known is None else str(known[2]) if known[1] == path else ""


class Absent(NamedTuple):
    """A package that files import, and the folder of the project that it is built from, in which nothing is."""

    name: str
    folder: str
    is_submodule: bool

    def is_named(self, data: bytes) -> bool:
        """Whether a file says its name."""
        return self.name.partition(".")[0].encode() in data


class Bystanders(NamedTuple):
    """Files that import a package for names, base classes and decorators alone, and the one that speaks for them."""

    package: str
    speaker: str
    paths: tuple[str, ...]


class Lists(NamedTuple):
    """What the project asks to have installed, and what of that its files import."""

    numpys: tuple[str, ...] = ()  # what the project's lists ask of numpy
    # (package, versions): what they ask of packages that an option waits for; torch, if they ask for what belongs to it
    asked: tuple[tuple[str, str], ...] = ()
    installed: tuple[str, ...] = ()  # requirement files that a package's own setup reads as what it needs
    plain: tuple[str, ...] = ()  # setup.py and its kin, of packages that themselves name no device
    # (package, folder, files): who imports what the project asks to have installed
    imported: tuple[tuple[str, str, str], ...] = ()
    unimported: tuple[str, ...] = ()  # what is known not to be imported by any file, of packages that may be asked for
    # (package, first file, how many more) of `import package` that nothing uses
    idle: tuple[tuple[str, str, int], ...] = ()
    absent: tuple[Absent, ...] = ()
    bystanders: tuple[Bystanders, ...] = ()
    unneeded: tuple[
        tuple[str, str], ...
    ] = ()  # (package, list) where no program that the list is for needs a device for it
    gravest: tuple[tuple[str, str], ...] = ()  # (package, severity) of those of which files import known parts alone

    def leaves_out(self, *numpys: str) -> bool:
        """Whether every list that asks for numpy leaves these versions out."""
        return bool(self.numpys) and not any(allows(spec, numpy) for spec in self.numpys for numpy in numpys)

    def has_least(self, requirement: str) -> bool:
        """Whether the lists ask for a package, and each for this version of it or later: `name>=4.51`."""
        package, _, least = requirement.partition(">=")
        specs = [spec for name, spec in self.asked if name == package]
        return bool(specs) and all(at_least(spec, least) for spec in specs)

    def below(self, requirement: str) -> str:
        """What the lists ask of a package, where none of them takes this version of it or a later one."""
        package, _, least = requirement.partition(">=")
        specs = [spec for name, spec in self.asked if name == package]
        return "" if any(reaches(spec, least) for spec in specs) else ", ".join(f"{package}{spec}" for spec in specs)

    def users(self, package: str, path: str) -> str:
        """The files that import a package or a part of it, of the programs that a list is for."""
        folder = f"{path.rpartition('/')[0]}/".lstrip("/")
        found = {above: files for name, above, files in self.imported if name == package}
        return found.get(folder, found.get("", ""))


class SaidOnce(NamedTuple):
    """Of what concerns a whole project, the first place, which speaks for the others."""

    fused: str = ""  # the place of the first fused optimiser of torch
    gelu: str = ""  # the first file that computes the exact GELU
    drop_path: str | None = (
        ""  # the first file with a DropPath; None where the sizes of images differ, which it is not for
    )
    # (file that sets a default type of tensors, "path:line" of what a default device does not move in the same program)
    unmoved: tuple[tuple[str, str], ...] = ()
    sync_norms: SyncNorms = SyncNorms()
    # the first file that speaks of autocast or of types with sixteen bits; "?" where no file trains, and who does may
    short_floats: str = ""
    bfloat16: str = ""  # and the first that may make its parameters bfloat16


class Accelerators(NamedTuple):
    """Which files and folders are made for other accelerators than NVIDIA's already, and what moves to them otherwise."""

    shims: tuple[str, ...] = ()  # files that import transfer_to_npu
    under_shims: tuple[str, ...] = ()  # and the files of the project that they import
    npu_twins: tuple[str, ...] = ()  # files with a counterpart for NPUs beside them: cuda_worker.py and npu_worker.py
    rivals: tuple[str, ...] = ()  # files with counterparts for other accelerators beside them: cuda.py and mps.py
    npu_folders: tuple[str, ...] = ()  # "" for all of the project: their code runs on NPUs and on GPUs already

    moved_by_to: tuple[str, ...] = ()  # libraries that are imported, whose objects have `cuda()` and get no `npu()`
    for_cpus: tuple[str, ...] = ()  # lists of what a machine without GPUs needs, beside those of one with them
    shimmed: Shimmed = Shimmed()

    def also_npu(self, path: str) -> bool:
        """Whether a file belongs to code that chooses between GPUs and NPUs, so that a rename would take the GPUs away."""
        return path.startswith(self.npu_folders) if self.npu_folders else False


class Native(NamedTuple):
    """What Python calls, and where it ends."""

    module: str  # the last word of the extension's name, or "torch.ops.ns"
    name: str
    kernels: str  # the first of them
    path: str  # of the first


class Needed(NamedTuple):
    """What a test that asks for a GPU imports, and the kernel or the package that it ends in."""

    test: str
    called: str
    end: str


@dataclass(frozen=True)
class NativeCode:
    functions: tuple[Native, ...] = ()  # what the extensions export to Python, and the kernels that this ends in
    callers: tuple[tuple[str, str], ...] = ()  # (source of CUDA, the functions of Python that end in it)
    modules: tuple[str, ...] = ()  # the last words of the extensions that are built of CUDA
    spared: tuple[str, ...] = ()  # sources without which all Python that calls them takes another way
    needed: tuple[Needed, ...] = ()
    unbuilt: tuple[str, ...] = ()  # sources that no list of an extension names, and that nothing in one includes

    @cached_property
    def exports(self) -> dict[str, dict[str, Native]]:
        return exports_of(self.functions)


def exports_of(natives: Iterable[Native]) -> dict[str, dict[str, Native]]:
    exports: dict[str, dict[str, Native]] = {}
    for native in natives:
        exports.setdefault(native.module, {})[native.name] = native
    return exports


class Served(NamedTuple):
    path: str
    name: str  # "function" or "Class.method"
    by: str  # the first file that calls it
    hosts: tuple[str, ...] = ()  # what it is handed there after it was read back: names, and places as numbers


@dataclass(frozen=True)
class Roads:
    # Python files from which nothing leads to torch; of a project of torch's, if they say CUDA
    astray: tuple[str, ...] = ()
    torch: bool = True  # whether the project is torch's
    device: bool = True  # whether any of its programs may use a device


@dataclass(frozen=True)
class Facts:
    """Picklable and hashable: part of the cache key, so that a hook on one file and a run over all agree."""

    launch: Launch = Launch()
    own: OwnCode = OwnCode()
    variables: Variables = Variables()
    lists: Lists = Lists()
    once: SaidOnce = SaidOnce()
    accelerators: Accelerators = Accelerators()
    native: NativeCode = NativeCode()
    constants: tuple[tuple[str, str, str, str], ...] = ()  # (path, name, kind, user): module constants used elsewhere
    jit_compile: str = ""  # on | off, where the project sets it
    served: tuple[Served, ...] = ()  # functions that a step in another file calls for every batch
    roads: Roads = Roads()  # from which files nothing leads to torch
    saved: tuple[Saved, ...] = ()  # dictionaries that programs save, if any of them holds an object

    def digest(self) -> str:
        """Of all but what is said of single files: `digest_of`."""
        whole = replace(self, served=(), roads=replace(self.roads, astray=()))
        return hashlib.sha256(repr(whole).encode()).hexdigest()[:16]

    def digest_of(self, path: str) -> str:
        """Of what is said of one file; "" where nothing is."""
        facts = (self.served_by(path), path in self.roads.astray)
        return hashlib.sha256(repr(facts).encode()).hexdigest()[:16] if any(facts) else ""

    def served_by(self, path: str) -> tuple[Served, ...]:
        """The functions of a file that a step in another file calls."""
        return tuple(served for served in self.served if served.path == path)
