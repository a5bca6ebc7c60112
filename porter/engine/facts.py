"""Facts about the other files of a project, for the analysis of one file. porter/run/gather.py collects them."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import NamedTuple

from porter.engine.bystanders import Bystanders
from porter.engine.checkpoints import Checkpoints
from porter.engine.functions import Functions
from porter.engine.launch import Launch
from porter.engine.native_code import NativeCode
from porter.engine.shimmed import Shimmed
from porter.versions import LATEST, at_least, reaches, release


class Simulated(NamedTuple):
    """A function or class that passes its device on to a simulator that cannot run on NPUs."""

    path: str
    library: str
    key: str  # the parameter that gets the device
    keys: tuple[str, ...]  # all its parameters
    expanded: tuple[str, ...]  # the last words of what calls in the project expand: `env` of `make(**cfg.env)`
    name: str = ""  # of the function or class
    alias: str = ""  # under which its file imports the simulator


class OwnAttention(NamedTuple):
    """A file that defines its own "flash_attention_2", which is not that of transformers."""

    path: str
    reads_plain: bool  # it asks `config.attn_implementation`, and never `config._attn_implementation`
    programs: tuple[str, ...]  # the files of the programs that import it; () where no file does


class Loaders(NamedTuple):
    """What other files say of the loaders that a file makes."""

    notebooks: tuple[str, ...] = ()  # notebooks with a program of the same name beside them that makes the same loaders
    in_memory: tuple[str, ...] = ()  # names of functions that return a TensorDataset, wherever they stand


class OwnCode(NamedTuple):
    """What the project defines itself where other projects use torch or a package."""

    cuda: tuple[str, ...] = ()  # "path:Class" of classes that define a method `cuda` of their own
    take_non_blocking: bool = False  # one of these methods takes this argument, as that of a tensor does
    is_cuda: tuple[str, ...] = ()  # the same for classes with an `is_cuda` of their own
    packages: tuple[str, ...] = ()  # folders of GPU-only packages that the project itself provides
    cuda_names: tuple[str, ...] = ()  # attributes that the project sets below torch.cuda: `torch.cuda.patched = True`
    attentions: tuple[OwnAttention, ...] = ()
    falls_back: tuple[str, ...] = ()  # settings that ask for flash_attn, but the project also runs without it
    # (path, function, parameter, its place, library): the parameter only chooses CuPy, or faiss on GPUs
    array_switches: tuple[tuple[str, str, str, int, str], ...] = ()
    simulated: tuple[Simulated, ...] = ()
    gloo_groups: tuple[str, ...] = ()  # names of process groups that always use gloo
    enums: tuple[str, ...] = ()  # files with an Enum that has a member "cuda" or "nccl"
    loaders: Loaders = Loaders()

    def attends(self, option: str, path: str) -> str:
        """The project's own file of attentions that the option of a file may mean, if it names an attention; else "". What
        settings say, any program may read."""
        if not option.endswith("attn_implementation"):
            return ""
        asked = (own for own in self.attentions if not (own.reads_plain and option.startswith("_")))
        any_program = not path.endswith(".py")
        return next((o.path for o in asked if any_program or not o.programs or path in o.programs), "")

    def has_package(self, name: str, path: str, anywhere: bool = False) -> bool:
        """Whether the file at `path` gets a package from the project itself when it imports it. `anywhere`: it adds folders to
        sys.path."""
        folders = [package.removesuffix(name) for package in self.packages if package.rpartition("/")[2] == name]
        return any(anywhere or path.startswith(folder) for folder in folders)

    def sets(self, name: str) -> bool:
        """Whether the project itself sets this name of torch.cuda, or a name that it is part of."""
        return name.removeprefix("torch.cuda.").partition(".")[0] in self.cuda_names


class SyncNorms(NamedTuple):
    paths: tuple[str, ...] = ()  # the files that make synchronised batch norms
    grouped: bool = True  # whether the project makes the process group that they need


class Variables(NamedTuple):
    """Environment variables of CUDA and NCCL that programs of the project read or set."""

    read: tuple[tuple[str, str], ...] = ()  # (variable, the first file of the project that reads it)
    everywhere: tuple[tuple[str, str, int], ...] = ()  # (variable without effect, first file, how many more set it)
    foreign: tuple[tuple[str, str], ...] = ()  # scripts that choose GPUs for another framework alone
    deterministic: bool = False  # cuBLAS's variable is set, and torch is told to be deterministic

    def reader(self, variable: str) -> tuple[tuple[str, str], ...]:
        """For `Hit.values`: the file that needs the variable, even if no library does."""
        return tuple(("read_in", path) for name, path in self.read if name == variable)

    def elsewhere(self, variable: str, path: str) -> str | None:
        """How many more files set a variable without effect. "" where another file reports that; None where no other sets it."""
        known = next((row for row in self.everywhere if row[0] == variable and row[2]), None)
        return None if known is None else str(known[2]) if known[1] == path else ""


class Absent(NamedTuple):
    """A package that files import, and that is built from a folder of the project. That folder is empty."""

    name: str
    folder: str
    is_submodule: bool

    def is_named(self, data: bytes) -> bool:
        """Whether a file contains the name of the package."""
        return self.name.partition(".")[0].encode() in data


class Lists(NamedTuple):
    """What the requirement lists of the project ask for, and which of these packages its files import."""

    # (versions, Python, last): which numpy a list allows, "" for any, the Python that it pins, and the last numpy for that
    numpys: tuple[tuple[str, str, str], ...] = ()
    # (package, versions, folder of the list) of packages whose version decides about a rule; torch, if one of its family is asked for
    asked: tuple[tuple[str, str, str], ...] = ()
    installed: tuple[str, ...] = ()  # requirement files that the setup of a package reads
    plain: tuple[str, ...] = ()  # setup.py and similar files of packages that name no device themselves
    # (package, folder, files): the files that import a package that a list asks for
    imported: tuple[tuple[str, str, str], ...] = ()
    unimported: tuple[str, ...] = ()  # packages that lists may ask for and that no file imports
    # (package, first file, how many more files) of an `import package` whose name nothing uses
    idle: tuple[tuple[str, str, int], ...] = ()
    absent: tuple[Absent, ...] = ()
    bystanders: tuple[Bystanders, ...] = ()
    unneeded: tuple[
        tuple[str, str], ...
    ] = ()  # (package, list) where no program that the list is for needs a device for the package
    gravest: tuple[tuple[str, str], ...] = ()  # (package, severity) of packages of which files import only known parts

    def leaves_out(self, first: str, end: str = LATEST, *, python: tuple[int, int]) -> bool:
        """Whether every list that asks for numpy takes no version from `first` on and before `end`, or pins a Python that none of
        them runs on. `python`: the first of the target; an older one will not stay."""
        specs = [f"{s},<={last}" if last and release(pinned) >= python else s for s, pinned, last in self.numpys]
        return bool(specs) and not any(reaches(spec, first, end) for spec in specs)

    def has_least(self, requirement: str, path: str, *, frozen: bool = False) -> bool:
        """Whether the lists for a file ask for a package, and each for this version or a later one. `requirement`: `name>=4.51`.
        `frozen`: or one of them pins such a version, and the others take it."""
        package, _, least = requirement.partition(">=")
        specs = self._for(package, path)
        pinned = frozen and any(spec.startswith("==") and at_least(spec, least) for spec in specs)
        return bool(specs) and all(at_least(spec, least) or pinned and reaches(spec, least) for spec in specs)

    def below(self, requirement: str, path: str) -> str:
        """What the lists for a file ask of a package, if none of them allows this version or a later one; else ""."""
        package, _, least = requirement.partition(">=")
        specs = self._for(package, path)
        return "" if any(reaches(spec, least) for spec in specs) else ", ".join(f"{package}{spec}" for spec in specs)

    def _for(self, package: str, path: str) -> list[str]:
        """What the nearest lists above a file ask of a package; all lists, where none above it does."""
        rows = [(folder, spec) for name, spec, folder in self.asked if name == package]
        nearest = max((folder for folder, _ in rows if path.startswith(folder)), key=len, default=None)
        return list(dict.fromkeys(spec for folder, spec in rows if nearest in (None, folder)))

    def users(self, package: str, path: str) -> str:
        """The files that import a package or a part of it, among the programs that the list at `path` is for."""
        folder = f"{path.rpartition('/')[0]}/".lstrip("/")
        found = {above: files for name, above, files in self.imported if name == package}
        return found.get(folder, found.get("", ""))


class SaidOnce(NamedTuple):
    """For each statement about a whole project, the place at which it is made, or what keeps it from being made."""

    fused: str = ""  # the first place that asks for a fused optimiser of torch, but for arguments of its own
    scaled: str = ""  # the place of the first GradScaler
    gelu: str = ""  # the first file that computes the exact GELU
    # the first file with a DropPath; None where the sizes of images differ: then the advice does not fit
    drop_path: str | None = ""
    # (file that sets a default type of tensors, "path:line" of a tensor of that program that a default device does not move)
    unmoved: tuple[tuple[str, str], ...] = ()
    sync_norms: SyncNorms = SyncNorms()
    # the first file that names autocast or a 16-bit float type; "?" if no file trains: the programs that use it may name one
    short_floats: str = ""
    bfloat16: str = ""  # the first file that may make its parameters bfloat16
    gradient_changers: tuple[str, ...] = ()  # functions that replace gradients or freeze parameters
    single_rows: tuple[str, ...] = ()  # "path:function" of `accuracy(...)` that every call asks for the first row alone
    own_next: str = ""  # the first file with an iterator that has a method `next`, which may be what `iter(x)` gives
    runner: str = ""  # the first file that makes a runner of mmengine


class Accelerators(NamedTuple):
    """Files and folders that are already made for other accelerators than NVIDIA's."""

    shims: tuple[str, ...] = ()  # files that import transfer_to_npu
    under_shims: tuple[str, ...] = ()  # and the files of the project that they import
    npu_twins: tuple[str, ...] = ()  # files with a counterpart for NPUs beside them: cuda_worker.py and npu_worker.py
    rivals: tuple[str, ...] = ()  # files with counterparts for other accelerators beside them: cuda.py and mps.py
    npu_folders: tuple[str, ...] = ()  # their code runs on NPUs and on GPUs already; "" is the whole project
    held: str = ""  # a tensor on the GPU that a module keeps as a plain attribute, so that `.cuda()` does not move it
    # imported libraries whose objects have `cuda()` and no `npu()`, and classes of the project that have `to()` as well
    moved_by_to: tuple[str, ...] = ()
    for_cpus: tuple[str, ...] = ()  # requirement lists for machines without GPUs, beside lists for machines with them
    # (class, parameter) to which tensors are moved, and that is given "cuda"
    parameters: tuple[tuple[str, str], ...] = ()
    # (folder of a program, file) where a file asks for more than one GPU before it wraps a model in DataParallel, and counts batches
    batches: tuple[tuple[str, str], ...] = ()
    left: tuple[str, ...] = ()  # types of accelerators that a portable port leaves to the code as it is: "mps", "xpu"
    shimmed: Shimmed = Shimmed()
    functions: Functions = Functions()
    wraps: bool = False  # DistributedDataParallel(..., device_ids=[...]), in a project that has groups of gloo

    def also_npu(self, path: str) -> bool:
        """Whether a file belongs to code that runs on GPUs and NPUs. A rename there would break it on GPUs."""
        return path.startswith(self.npu_folders) if self.npu_folders else False


class Served(NamedTuple):
    """A function that runs for every batch: the training step of another file calls it, directly or through other functions."""

    path: str
    name: str  # "function" or "Class.method"
    by: str  # the first file that calls it; one without a step, where steps reach it only through other functions
    hosts: tuple[str, ...] = ()  # arguments that are on the host already: names, and positions as numbers


@dataclass(frozen=True)
class Roads:
    """Which code of the project can reach torch and a device."""

    # Python files that never reach torch; if the project uses torch, only those of them that mention CUDA
    astray: tuple[str, ...] = ()
    torch: bool = True  # whether the project uses torch
    loads: bool = False  # whether a file of it is known to import torch
    device: bool = True  # whether any of its programs may use a device
    outside: tuple[tuple[str, str], ...] = ()  # (program, folder beside the project that it imports from)
    installed: tuple[str, ...] = ()  # folders of packages that a setup.py or the like beside them installs
    host: tuple[str, ...] = ()  # its programs that use none, where others may, and files of another framework
    borrowed: tuple[str, ...] = ()  # names with an underscore that a file imports: `from ops import _blur`
    starred: tuple[str, ...] = ()  # the last words of modules of which a file imports all names
    switched: tuple[str, ...] = ()  # packages from elsewhere that files tell to use a GPU
    lost: tuple[str, ...] = ()  # files that only programs import which no NPU host can run
    # files with nothing but settings, whose programs name CUDA themselves: these load torch_npu, and others may read the settings
    settings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Facts:
    """All facts of a project. They are part of the cache key, so that a hook on one file and a run over all files agree."""

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
    roads: Roads = Roads()
    checkpoints: Checkpoints = Checkpoints()

    def digest(self) -> str:
        """A hash of all facts but those about single files, which `digest_of` has."""
        whole = replace(self, served=(), roads=replace(self.roads, astray=(), host=(), lost=(), settings=()))
        return hashlib.sha256(repr(whole).encode()).hexdigest()[:16]

    def digest_of(self, path: str) -> str:
        """A hash of the facts about one file; "" where there are none."""
        roads = self.roads
        of_roads = (roads.astray, roads.host, roads.lost, roads.settings)
        facts = (self.served_by(path), *(path in paths for paths in of_roads))
        return hashlib.sha256(repr(facts).encode()).hexdigest()[:16] if any(facts) else ""

    def served_by(self, path: str) -> tuple[Served, ...]:
        """The functions of a file that a step in another file calls."""
        return tuple(served for served in self.served if served.path == path)
