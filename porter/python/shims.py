"""Where a program imports transfer_to_npu: behind `import torch`, and before anything that may take names of torch.cuda."""

from __future__ import annotations

import ast
import sys
from typing import TYPE_CHECKING, NamedTuple

from porter.finding import Change
from porter.python.evidence import call_name
from porter.regex import lazy
from porter.rulebook.table import any_of, hints

if TYPE_CHECKING:
    from porter.python.file import File

LINES = ("import torch_npu  # noqa: F401", "from torch_npu.contrib import transfer_to_npu  # noqa: F401")
CODE = "PRT152"
# from torch 2.12 on torch.distributed.broadcast, which torch calls by itself, too, compares the compute capability of a tensor
# that says is_cuda; torch_npu answers None unless it is told one
ASKED_SINCE, ANSWER = (2, 12), "TORCH_NPU_DEVICE_CAPABILITY"
_ANSWERS = f'os.environ.setdefault("{ANSWER}", "8.0")  # torch.distributed.broadcast compares it'
_STARTS = lazy(rb"(?m)^(?:import|from)[ \t]")
# a statement, or a keyword `device`: neither `map_location="cpu"` nor `if device == "cpu"`
_ON_CPU = lazy(rb"(?m)^(?:[\w.]+|[^#\n]*\bdevice)[ \t]*=[ \t]*(?:torch\.device\([\"']cpu[\"']\)|[\"']cpu[\"'])")
# builds an extension: with the shim, torch.cuda.is_available() would take CUDA's sources in; and what no machine without an
# NVIDIA GPU imports
_BUILDS = lazy(rb"\bcreate_extension\(|\bBuildExtension\b")
_NVIDIAS = lazy(rb"(?m)^(?:import|from)[ \t]+(?:mmcv\.)?(?:%s)\b" % any_of("never-on-an-npu-host").encode())
# starts the kernel of a notebook again
_RESTARTS = lazy(rb"\b(?:condacolab\.install\w*\(|do_shutdown\(|os\._exit\(|os\.kill\(os\.getpid\()")
# `# prevent loading error`, `# has to be imported first`; not `# avoids a circle`, `# in order to`
_FIRST = lazy(
    rb"(?i)#.*\b(?:(?:prevents?|avoids?)\b.*\b(?:error|crash|segfault|segmentation)|import(?:ed)?[ \t]+(?:\w+[ \t]+)?(?:first|before))\b"
)
_FOR_HUB = lazy(r"(?:os\.)?environ\[.(?:HF|HUGGINGFACE|TRANSFORMERS|DATASETS)_")
_SAYS_CUDA = lazy(rb"(?m)^[^#\n]*cuda")


class Place(NamedTuple):
    """Of the imports: what they are for, the line, and the edit; None where only a person finds the place."""

    why: str  # a message of PRT152
    line: int
    change: Change | None


def starts(data: bytes) -> bool:
    """Whether a file may be a program that imports something."""
    return _STARTS.search(data) is not None


def is_for_nvidia(text: bytes) -> bool:
    """Whether a file builds extensions or imports TensorRT or the like: it gets no shim."""
    return _BUILDS.search(text) is not None or _NVIDIAS.search(text) is not None


def place(file: File) -> Place | None:
    """What is told of a file that imports it, or has to; None where nothing is."""
    if not file.target.shims and file.path not in file.facts.accelerators.shims:
        return None
    answers = file.answers["shim"]
    if CODE not in answers:
        quiet = file.suppressions.skip is not None or CODE in file.session.quiet.codes(file.path)
        answers[CODE] = None if quiet else _place(file)
    found: Place | None = answers[CODE]
    return found


def written(file: File) -> list[Change]:
    """The imports, where they are due."""
    found = place(file)
    if found is None or found.change is None or file.suppressions.reason(CODE, found.line, found.line) is not None:
        return []
    return [found.change]


def _place(file: File) -> Place | None:
    known, present = file.facts.accelerators.shimmed, _present(file)
    if not file.target.shims:
        return Place("stands", present, None) if present else None
    asked = file.target.torch >= ASKED_SINCE and file.path in known.grouped
    if present:
        answered = not asked or ANSWER.encode() in file.source.utf8
        return Place("present" if answered else "unanswered", present, None)
    chosen = dict(known.choosing).get(file.path)
    if chosen is not None:
        return Place("chosen", 1, None)
    if file.path in known.alone:
        return Place("library", 1, None)
    is_notebook = file.path.endswith(".ipynb") and (
        _uses_cuda(file) or file.path in known.notebooks and not _is_on_cpu(file)
    )
    is_program = file.path in known.programs or is_notebook
    if not is_program and file.path not in known.workers:
        return None
    why = "program" if is_program else "worker"
    line, change = _change(file, asked)
    return Place(("grouped" if asked and is_program else why) if change else "by-hand", line, change)


def _uses_cuda(file: File) -> bool:
    return _SAYS_CUDA.search(file.source.utf8) is not None and file.path not in file.facts.accelerators.shimmed.own


def _is_on_cpu(file: File) -> bool:
    """A notebook that has chosen the CPU, and says nothing of CUDA: `device = torch.device("cpu")`, `import openvino`."""
    if _ON_CPU.search(file.source.utf8) is not None:
        return True
    imported = (name for link in file.buckets[ast.Import] for name in (alias.name for alias in link[0].names))
    taken = (link[0].module or "" for link in file.buckets[ast.ImportFrom] if not link[0].level)
    return any(name.partition(".")[0] in hints("chooses-cpu") for names in (imported, taken) for name in names)


def _present(file: File) -> int:
    """The line that imports it already; 0 where none does."""
    if b"transfer_to_npu" not in file.source.utf8:
        return 0
    links = [*file.buckets[ast.ImportFrom], *file.buckets[ast.Import]]
    return next((link[0].lineno for link in links if any(a.name.endswith("transfer_to_npu") for a in link[0].names)), 0)


def _change(file: File, asked: bool) -> tuple[int, Change | None]:
    """The line, and the insertion there; `asked`: for a compute capability, too."""
    statement, is_behind = _anchor(file)
    if statement is None:
        return 1, None
    lines = [*LINES]
    if asked:
        body = _running(file)
        ahead = body[: body.index(statement) + is_behind]
        lines += [_ANSWERS] if any(map(_binds_os, ahead)) else ["import os", _ANSWERS]
        lines = lines if len(lines) == 3 else [lines[2], *lines[:2], lines[3]]
    return _behind(file, statement, lines) if is_behind else _before(file, statement, lines)


def _binds_os(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Import) and any((a.asname or a.name) == "os" for a in statement.names)


def _anchor(file: File) -> tuple[ast.stmt | None, bool]:
    """The statement that the imports stand at, and whether they follow it."""
    last: ast.stmt | None = None
    body = _running(file)
    for statement in body:
        if isinstance(statement, (ast.Import, ast.ImportFrom)):
            kind = _kind(statement)
            if kind == "torch" or kind == "other" and not _comes_first(file, statement):
                return (_prepared(body, statement) or statement, True) if kind == "torch" else (statement, False)
            last = statement
        elif last is not None and _is_main(statement):
            break
        elif _imports_within(statement) and not _is_for_types(statement):
            return statement, False
        elif last is None and _is_text(statement):
            last = statement
    if last is not None:
        return last, True
    return (body[0] if body else None), False


def _comes_first(file: File, statement: ast.stmt) -> bool:
    """`import open3d as o3d  # prevent loading error`: its author wants it before all others."""
    end = file.source.span(statement)[1]
    return _FIRST.search(file.source.utf8, end, file.source.line_end(end)[0]) is not None


def _prepared(body: list[ast.stmt], torch: ast.stmt) -> ast.stmt | None:
    """`os.environ["HF_HOME"] = ...` behind the import of torch: transfer_to_npu imports the libraries that read it."""
    for statement in body[body.index(torch) + 1 :]:
        text = ast.unparse(statement)
        if isinstance(statement, ast.Assign) and _FOR_HUB.match(text):
            return statement
        if isinstance(statement, (ast.Import, ast.ImportFrom)):
            if _kind(statement) == "other" and getattr(statement, "module", "") != "torch":
                return None
        elif not isinstance(statement, (ast.Assign, ast.Expr)):
            return None
        if "cuda" in text:
            return None
    return None


def _running(file: File) -> list[ast.stmt]:
    """The statements of a module; of a notebook, those behind the last that restarts its kernel, which forgets imports."""
    body = file.tree.body
    if not file.path.endswith(".ipynb") or not _RESTARTS.search(file.source.utf8):
        return body
    restarts = (i for i in range(len(body) - 1, -1, -1) if _is_restart(file, body[i]))
    return body[next(restarts, -1) + 1 :] or body


def _is_restart(file: File, statement: ast.stmt) -> bool:
    return (
        isinstance(statement, (ast.Expr, ast.If))
        and _RESTARTS.search(file.source.utf8, *file.source.span(statement)) is not None
    )


def _kind(statement: ast.Import | ast.ImportFrom) -> str:
    """`torch` of a module of torch as a whole, `plain` of what has nothing to do with it, `other` of all else."""
    if isinstance(statement, ast.ImportFrom):
        return "plain" if not statement.level and _is_plain(statement.module or "") else "other"
    names = [alias.name for alias in statement.names]
    if all(name.partition(".")[0] == "torch" for name in names):
        return "torch"
    return "plain" if all(map(_is_plain, names)) else "other"


def _is_plain(module: str) -> bool:
    first = module.partition(".")[0]
    return first in sys.stdlib_module_names or first in hints("imports-no-torch")


def _imports_within(statement: ast.stmt) -> bool:
    """An import that runs with the module, in a block: `try: import apex`; or a program that imports as it begins."""
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return False
    inner = [node for node in ast.walk(statement) if isinstance(node, (ast.Import, ast.ImportFrom))]
    return any(_kind(node) != "plain" for node in inner) or _is_main(statement)


def _is_main(statement: ast.stmt) -> bool:
    test = getattr(statement, "test", None)
    return isinstance(test, ast.Compare) and getattr(test.left, "id", "") == "__name__"


def _is_for_types(statement: ast.stmt) -> bool:
    test = getattr(statement, "test", None)
    return test is not None and call_name(test) == "TYPE_CHECKING"


def _is_text(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _behind(file: File, statement: ast.stmt, texts: list[str]) -> tuple[int, Change | None]:
    source = file.source
    end = source.span(statement)[1]
    before, behind = source.line_end(end)
    rest = source.utf8[end:before].strip()
    if rest and not rest.startswith(b"#"):
        return statement.lineno, None
    lines = [line.encode() for line in texts]
    if _is_text(statement):
        lines.insert(0, b"")
    if before == behind:  # the last line has no newline, and shall have none
        return statement.lineno, Change(before, before, source.newline + source.newline.join(lines))
    return statement.lineno, Change(behind, behind, b"".join(line + source.newline for line in lines))


def _before(file: File, statement: ast.stmt, texts: list[str]) -> tuple[int, Change | None]:
    source = file.source
    start = source.span(statement)[0]
    begin = source.starts[source.line(start) - 1]
    if begin != start:
        return statement.lineno, None
    text = b"".join(line.encode() + source.newline for line in texts)
    is_import = isinstance(statement, (ast.Import, ast.ImportFrom))
    text = text if is_import else text + source.newline
    if file.path.endswith(".ipynb"):  # what is put before a cell would end the one above
        first = source.utf8[begin : begin + 1]
        return statement.lineno, Change(begin, begin + 1, text + first)
    return statement.lineno, Change(begin, begin, text)
