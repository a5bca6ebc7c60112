"""Where transfer_to_npu has to be imported: in the programs from which imports lead to CUDA, and in modules that Ray imports.

A program is what asks whether it is `__main__`, acts as soon as it is read, or is named in a script that starts things. A
module that others import is none, unless a script starts it, or it asks and parses options, is called like a program or speaks
of CUDA where it asks, or its imports move a model to a device as they are read. What builds extensions or is about TensorRT is none. Tests are none: pytest is their program. What is
called like a test and has nothing for pytest, as `test_model.py` with a loop over the test set, is a program. A program loads
torch, itself or through files of the project, and may come to CUDA (device_users.py): a check of data does not. What an
installed command calls is a program. Where the package that a program lies in asks for CUDA as it is imported, its `__init__.py` stands
for the program: it runs first.

A program that leads to code which chooses NPUs by itself, or is ported already, gets none: torch.cuda would answer for both.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

from porter.engine.shimmed import Shimmed
from porter.files.paths import folder_of, is_test
from porter.files.read import beginning
from porter.project.device_users import DeviceUsers, chooses_cuda
from porter.project.entry_scripts import acts, is_guarded
from porter.project.imports import Import, Project
from porter.project.loaded_names import LoadedNames
from porter.project.named_in_pages import named_in_pages
from porter.project.roads import Survey
from porter.project.settings_targets import makes_targets, targets
from porter.python.graphs import reached
from porter.python.shims import is_for_nvidia
from porter.regex import lazy

_CUDA = lazy(rb"\.cuda\b|[\"']cuda|[\"']nccl|\bis_cuda\b|[Gg]radScaler|\bautocast\b")
# an operator of torch_npu runs under the shim as it is, with its import in a function or a branch, and the question before it
_NPU = lazy(
    rb"\btorch_npu\b(?!\.contrib|\.npu_)|\btorch\.npu\b|\.npu\(|[\"'](?:npu|hccl)\b|(?<!torch_)npu_(?:is_)?available"
    rb"|\btorch\.accelerator\.|\baccelerator_type\b|\bget_accelerator\("
)
_SHIM = lazy(rb"(?m)^[ \t]*(?:import torch_npu\b.*|from torch_npu\.contrib import transfer_to_npu\b.*)$")
_FOR_OPERATORS = lazy(rb"[ \t]+import torch_npu[ \t]*(?:#.*)?$")
_OPTIONS = lazy(rb"\bArgumentParser\(|@click\.|\btyper\.|\bfire\.Fire\(|\bHfArgumentParser\(|@hydra\.main|\babsl\b")
_TORCH, _CALL = lazy(rb"(?m)^(?:\xef\xbb\xbf)?(?:import|from)[ \t]+torch\b"), lazy(rb"(?m)^[A-Za-z_][\w.]*\(")
_CALLED, _WORD = lazy(rb"(?m)^([A-Za-z_]\w*)\("), lazy(rb"\w+")
_NAMES = lazy(rb"(?m)^from[ \t]+[\w.]+[ \t]+import[ \t]+(?!\*)(\([^)]*\)|[^\n]*)")
_STAR, _OF_TORCH = lazy(rb"(?m)^from[ \t]+\S+[ \t]+import[ \t]+\*"), lazy(rb"(?<![\w.])torch\.\w")
_PREPARES = lazy(r"(?i)(?:^|[/_])(?:download|prepare|preprocess|data_prep|create_|generate_meta|extract|annotat)")
_MAIN = lazy(r"(?:^|/)(?:main|train|run|test|eval|infer|demo|finetune|pretrain)[^/]*\.py$")
_OTHERS = lazy(rb"(?m)^[ \t]*(?:import|from)[ \t]+(?:tensorflow|keras|edward|mxnet|paddle)\b")
_DEVICE = lazy(rb"(?i)\btorch\b|cuda|gpu|device")
_RAY = lazy(rb"(?m)^[ \t]*(?:@ray\.remote\b|.*\bray\.remote\()")
_GROUPS = lazy(rb"\binit_process_group\b|\btorch\.distributed\b|\bdeepspeed\b|\bAccelerator\(|\blightning\b")
_COLLECTED = lazy(
    rb"(?m)^[ \t]*(?:async[ \t]+)?def[ \t]+test_|^class[ \t]+Test|\bTestCase\b|\b(?:pytest|unittest|doctest)\b"
)
# a library that computes on devices of its own, and what a file asks of torch that keeps a tensor on a device
_COMPILES = lazy(rb"(?m)^[ \t]*(?:import|from)[ \t]+(?:tvm|onnxruntime)\b")
_ON_DEVICE = lazy(
    rb"\.cuda\b|\bis_cuda\b|nccl|[Gg]radScaler|\bautocast\b|\.to\(|\bdevice[ \t]*=|torch\.device\(|map_location"
)
_ASKS_MAIN = lazy(rb"(?m)^if[ \t]+__name__\b")
_TO_DEVICE, _SETS_DEVICE = lazy(rb"\.to\((?:device|DEVICE)\b"), lazy(rb"\b(?:device|DEVICE)[ \t]*=[^=]")
# a statement that moves something to a device as the file is imported
_MOVES = lazy(
    rb"(?m)^(?!(?:async|class|def|from|import)\b)[A-Za-z_](?:(?!\blambda\b)[^\n#])*?"
    rb"\.(?:cuda\(|to\((?![ \t]*(?:[\"']cpu|(?!torch\.)[\w.]+\.device\b|torch\.(?!device\b)\w|[\w.]*dtype\b)))"
)
# a question for CUDA that is answered as the file is imported
_ASKS_AT_ONCE = lazy(rb"(?m)^[A-Za-z_]\w*[ \t]*(?::[^=\n]*)?=[^\n#]*\bcuda\.is_available\(\)")
_READ = 1_000_000  # bytes of a page or of settings
_NONE = ("setup.py", "conftest.py", "noxfile.py")


def under_shims(shims: Collection[str], project: Project) -> tuple[str, ...]:
    """The files that run with transfer_to_npu, as a program imports both; `shims`: those that import it."""
    programs = {path for path in shims if not is_test(path)}
    return tuple(sorted(path for path in reached(programs, project.files) - {*shims} if not is_test(path)))


def shimmed(survey: Survey, also_npu: Callable[[str], bool]) -> Shimmed:
    def read(path: str) -> bytes:
        return beginning(survey.root / path, _READ) or b""

    project, called = survey.project, survey.named_as_commands()
    named = survey.named_in_scripts() | named_in_pages(survey.files, read, project)
    loaded, users = LoadedNames(survey.texts, survey.texts.__getitem__), DeviceUsers(survey.texts)
    own = {
        p: text
        for p, text in survey.texts.items()
        if not _is_of_pytest(p, text) and p.rpartition("/")[2] not in _NONE and not is_for_nvidia(text)
    }
    folders = {path[: -len("__init__.py")] for path in survey.files if path.endswith("/__init__.py")}
    taken = {file for path in own for file in project.files(path)}
    loading = survey.loading | {path for path, text in own.items() if _TORCH.search(text)}
    speaking = {path for path, text in own.items() if _speaks(text)}
    moving = {path for path, text in own.items() if (b".to(" in text or b".cuda(" in text) and _MOVES.search(text)}
    choosing = {path: place for path, text in own.items() if (place := _chooses(path, text, also_npu))}

    made = {path for path, text in own.items() if makes_targets(text)}
    settings = targets(survey.files, read, project) & own.keys() if made else frozenset[str]()

    def edges(path: str) -> set[str]:
        return project.files(path) | loaded.by(path) | (settings if path in made else set())

    def comes_at_once(path: str) -> bool:
        return bool(moving) and is_guarded(own[path]) and not moving.isdisjoint(reached([path], edges))

    def is_program(path: str) -> bool:
        text = own[path]
        if _PREPARES.search(path) and not _DEVICE.search(text) or _is_of_others(text):
            # else what it imports may speak of CUDA, as utilities do, and is not asked for it here
            return comes_at_once(path)
        if path.rpartition("/")[2] == "__main__.py" or path in called:
            return True
        if path in named and (is_guarded(text) or acts(text) or _CALL.search(text)):
            return True
        shows = is_guarded(text) and (_OPTIONS.search(text) or _MAIN.search(path) or _shows(text))
        if path in taken and not shows and not comes_at_once(path):
            return False
        if is_guarded(text):
            return True
        return folder_of(path) not in folders and (acts(text) or _calls(text) or _calls_imported(text))

    programs, chosen, reach = [], [], {}
    for path in filter(is_program, sorted(own)):
        reach[path] = reached([path], edges) & own.keys()
        if reach[path].isdisjoint(speaking) or reach[path].isdisjoint(loading):
            continue
        if path not in speaking and not users.may_use(path, reach[path]):
            continue
        places = sorted(choosing[file] for file in reach[path] & choosing.keys())
        if places:
            chosen.append((path, places[0]))
        else:
            programs.append(path)
    asking = {path for path, text in own.items() if b"cuda.is_available()" in text and _ASKS_AT_ONCE.search(text)}
    heads = {path: head for path in programs if asking and (head := _head(path, folders, survey.read(path)))}
    reach |= {head: reached([head], edges) & own.keys() for head in {*heads.values()}}
    fitting = {head for head in heads.values() if head in own and reach[head].isdisjoint(choosing)}
    heads = {p: head for p, head in heads.items() if head in fitting and not asking.isdisjoint(reach[head])}
    programs = sorted({heads.get(path, path) for path in programs})
    under = set().union(*(reach[path] for path in programs))
    beside = set().union(*(reach[path] for path, _ in chosen)) | choosing.keys()
    # a folder in PYTHONPATH may lead where the import of an empty package of that name seems to lead
    imported = {statement.module.rpartition(".")[2] for path in under for statement in survey.read(path)}
    apart = [path for path in speaking - under - beside if not _is_of_others(own[path])]
    unnamed = (path for path in apart if path.rpartition("/")[2].removesuffix(".py") not in imported)
    alone = sorted(p for p in unnamed if p in loading or not reached([p], project.files).isdisjoint(loading))
    workers = sorted(path for path in under - {*programs} if _RAY.search(own[path]))
    grouped = {path for path, text in own.items() if _GROUPS.search(text)}
    reach |= {path: reached([path], edges) for path in workers}
    distributed = tuple(path for path in (*programs, *workers) if not reach[path].isdisjoint(grouped))
    alone = alone if programs or chosen else alone[:1]
    return Shimmed(
        programs=tuple(programs),
        grouped=distributed,
        workers=tuple(workers),
        choosing=tuple(chosen),
        own=tuple(sorted(beside - under)),
        alone=tuple(alone),
        notebooks=_notebooks(survey, speaking, choosing),
        outside=tuple(sorted(own.keys() - under - beside - {*apart})) if programs else (),
    )


def _head(path: str, folders: Collection[str], imported: Iterable[Import]) -> str:
    """The package that a program lies in and imports from, which runs before it does; "" where there is none."""
    folder = folder_of(path)
    words = {statement.module.partition(".")[0] for statement in imported}
    is_inner = folder in folders and "" in words  # `from .data import Loader`
    while folder:
        above = folder_of(folder.rstrip("/"))
        name = folder.rstrip("/").rpartition("/")[2]
        if folder in folders and above not in folders and (is_inner or name in words):
            return f"{folder}__init__.py"
        folder = above
    return ""


def _notebooks(survey: Survey, speaking: set[str], choosing: Collection[str]) -> tuple[str, ...]:
    """Those whose imports lead to torch and to CUDA, and to nothing that chooses NPUs."""
    found = []
    for path, imported in survey.used_by_notebooks():
        files = reached(imported, survey.project.files)
        if files & speaking and files & survey.loading and files.isdisjoint(choosing):
            found.append(path)
    return tuple(sorted(found))


def _speaks(text: bytes) -> bool:
    """Whether a file speaks of CUDA, or imports what chooses it by itself, and not only to or for a library that computes on devices
    itself, while torch stays on the CPU."""
    if chooses_cuda(text):
        return True
    if _COMPILES.search(text) is None:
        return _CUDA.search(text) is not None
    rest = text.replace(b"torch.cuda.is_available()", b"")
    return _CUDA.search(rest) is not None and _ON_DEVICE.search(rest) is not None


def _is_of_others(text: bytes) -> bool:
    """Whether a file is of another framework."""
    return b"torch" not in text and _OTHERS.search(text) is not None


def _shows(text: bytes) -> bool:
    """Whether a module that is started by itself uses CUDA there: a demonstration."""
    asks = _ASKS_MAIN.search(text)
    if asks is None:
        return False
    moves = _TO_DEVICE.search(text, asks.end()) and not _SETS_DEVICE.search(text, asks.end())
    return moves or _CUDA.search(text, asks.end()) is not None


def _is_of_pytest(path: str, text: bytes) -> bool:
    if not is_test(path) or is_guarded(text) and _OPTIONS.search(text) and b"TestCase" not in text:
        return False
    return _COLLECTED.search(text) is not None


def _calls(text: bytes) -> bool:
    """Whether a file that imports torch, or gets it from a star import, does something as it is read."""
    if _CALL.search(text) is None:
        return False
    return _TORCH.search(text) is not None or _STAR.search(text) is not None and _OF_TORCH.search(text) is not None


def _calls_imported(text: bytes) -> bool:
    """Whether a file calls, as it is read, what it imports by its name: a program of one call."""
    called = {*_CALLED.findall(text)}
    return bool(called) and any(not called.isdisjoint(_WORD.findall(names)) for names in _NAMES.findall(text))


def _chooses(path: str, text: bytes, also_npu: Callable[[str], bool]) -> str:
    """Where a file speaks of NPUs otherwise than by importing the shim, "path:line"."""
    if also_npu(path):
        return f"{path}:1"
    is_shim = b"transfer_to_npu" in text
    for match in _NPU.finditer(text):
        start = text.rfind(b"\n", 0, match.start()) + 1
        line = text[start:].partition(b"\n")[0]
        if not (is_shim and _SHIM.match(line) or _FOR_OPERATORS.match(line) or line.lstrip().startswith(b"#")):
            line_number = text.count(b"\n", 0, start) + 1
            return f"{path}:{line_number}"
    return ""
