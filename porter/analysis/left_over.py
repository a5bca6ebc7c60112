"""Finds words of CUDA that no rule speaks of (PRT007). They are reported because nobody would look for them otherwise."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from porter.engine.refusals import own
from porter.finding import Finding
from porter.python import held_torch
from porter.python.blocks import place
from porter.python.evidence import RUNNERS, call_name, constant, like, logged, starts_alone
from porter.python.handed_on import taken_by
from porter.python.index import FUNCTIONS, Link, Node, ancestors, lines_of, owner_of, strings, walk
from porter.python.labels import is_label
from porter.python.receivers import OTHER, OWN
from porter.python.searches import Sought, lines_with
from porter.python.strings.environ import Variable
from porter.python.strings.literals import BACKEND, DEVICE, TYPED, named_strings
from porter.python.strings.sinks import ATTRIBUTES, PATHS
from porter.regex import lazy, rare
from porter.rulebook.table import package_row

if TYPE_CHECKING:
    from porter.analysis.file import File

LEFT = "PRT007"
# searches for lines with a string that may be the name of a variable
_VARIABLES = tuple(map(Sought, (r"CUDA_(?<=[\"']CUDA_)", r"NCCL_(?<=[\"']NCCL_)")))
# the name of a variable; not the folder of the toolkit, of which the rules about builds speak
_VARIABLE = lazy(r"(?:CUDA|NCCL)_(?!(?:HOME|PATH|ROOT)$)[A-Z0-9_]+$")
# words of a command that name CUDA: `CUDA_LAUNCH_BLOCKING=`, `--device=cuda`
_COMMAND = lazy(r"\b(?:CUDA|NCCL)_[A-Z0-9_]+=|(?<= )--\w+[= ](?:cuda|nccl)\b")
_SETTING = lazy(r"[+]{0,2}[A-Za-z_][\w.]*=(?:cuda(?::\d+)?|nccl)$")  # `["trainer.device=cuda"]`, which Hydra reads
# searches for lines that may hold such a command or setting
_COMMANDS = tuple(
    map(Sought, (r"CUDA_[A-Z0-9_]+=", r"NCCL_[A-Z0-9_]+=", r"cuda\b(?<=[= ]cuda)", r"nccl\b(?<=[= ]nccl)"))
)
_HOSTS = frozenset({"cpu", "mps", "xpu", "npu"})  # of a table of devices
_WORDS = PATHS | ATTRIBUTES  # functions whose arguments are parts of paths or names of attributes
_MODULE_HELD = rare(rb"\.(?<=\w\.)\w+\.cuda\.")  # `self.torch.cuda.f`


def left_over(file: File, told_lines: set[int], leads: bool) -> list[Finding]:
    """Findings for words of CUDA on lines that no other finding speaks of. `leads`: whether a road leads from the file to
    torch; without it there are none."""
    if not leads or file.suppressions.skip is not None or LEFT in file.session.quiet.codes(file.path):
        return []
    out = []
    for link in (*_texts(file), *_attributes(file)):
        ported, command = _in_command(file, link)
        told = not told_lines.isdisjoint(_lines(link)) and not (ported and command)
        told = told or _is_told_where_compared(link, told_lines) or _is_handed_on(file, link, told_lines)
        told = told or _is_told_where_imported(file, link)
        if not (
            told or file.awareness.covers_link(link) or _is_word(link) or _is_unread(file, link) or is_label(file, link)
        ):
            start, end = file.source.span(link[0])
            text = command or file.source.utf8[start:end].decode()
            line, column = file.source.place(start)
            reason = file.suppressions.reason(LEFT, *lines_of(link))
            is_backend = BACKEND.match(str(getattr(link[0], "value", ""))) is not None
            library = None if is_backend else taken_by(file.names, link)
            row = file.rules.tables.packages.get(library or "")
            if row is not None and row.why:  # what is said of the package says which device it takes
                continue
            why = "library" if library else "archive" if _is_of_archive(link) else "left"
            finding = own(file.path, line, LEFT, why, file.session, column=column, old=text, library=library or "")
            out.append(replace(finding, suppressed=reason))
    return out


def _in_command(file: File, link: Link) -> tuple[str, str]:
    """For a command in a string: the variable in it that a rule speaks of, and the first other word that names CUDA."""
    whole = link[1] if link[1][0].__class__ is ast.JoinedStr else link
    literal = file.literals.get(file.source.span(whole[0])[0])
    ported = literal.name if isinstance(literal, Variable) and literal.role == "command" else ""
    words = (match[0].strip() for match in _COMMAND.finditer(str(getattr(link[0], "value", ""))))
    return ported, next((word for word in words if not (ported and word.startswith(ported))), "")


def _is_word(link: Link) -> bool:
    """Whether a string is part of a text for people or of a path, or names an attribute or a flag."""
    above = link[1][0]
    if above.__class__ is ast.keyword and above.arg in ("dest", "help"):  # of `add_argument`
        return True
    if _is_off(link):
        return True
    return logged(link) or above.__class__ is ast.Call and call_name(above.func) in _WORDS or _is_flag(link)


def _is_off(link: Link) -> bool:
    """`{"cuda": False, "lr": 0.1}`: a setting that is off, and no table of devices."""
    value, above = _under(link), link[1][0]
    return value is not None and constant(value) is False and _HOSTS.isdisjoint(map(constant, above.keys))


def _names_no_text(link: Link) -> bool:
    """Whether a string is the key of a number, or of True: the environment takes texts alone, so that it is an option."""
    value = _under(link)
    return value.__class__ is ast.Constant and not isinstance(value.value, str)


def _under(link: Link) -> Node:
    """What stands in a dictionary under a string, None where that is no key."""
    above = link[1][0]
    side, index = place(above, link[0]) if above.__class__ is ast.Dict else ("", -1)
    return above.values[index] if side == "keys" else None


def _is_flag(link: Link) -> bool:
    """`"cuda"` of `if opt["cuda"]:` and of `opt["cuda"] = args.cuda`."""
    key, (above, up) = link[0], link[1]
    if above.__class__ is not ast.Subscript or above.slice is not key or not up:
        return False
    user = up[0]
    if user.__class__ is ast.Assign:
        return above in user.targets and getattr(user.value, "attr", "") == constant(key)
    asked, around = above, iter([up, *ancestors(up)])
    asker = next(around)[0]
    while asker.__class__ is ast.BoolOp:
        asked, asker = asker, next(around)[0]
    negated = asker.__class__ is ast.UnaryOp and asker.op.__class__ is ast.Not
    return negated or getattr(asker, "test", None) is asked


def _is_of_archive(link: Link) -> bool:
    """Whether a string is compared with constants in a TorchScript graph, which say what they were saved with:
    `for node in graph.findAllNodes("prim::Constant"): if str(node["value"]).startswith("cuda")`."""
    loops = (above for above, _ in ancestors(link) if above.__class__ is ast.For)
    return any(call_name(loop.iter.func) == "findAllNodes" for loop in loops if loop.iter.__class__ is ast.Call)


def _is_told_where_compared(link: Link, told_lines: set[int]) -> bool:
    """Whether a finding speaks of the comparison of a string already: of `impl == "cuda"` in the function, or of
    `self.impl == "cuda"` in the class, for `def f(x, impl="cuda")` and `assert impl in ("plain", "cuda")`."""
    name = _default_of(link) if link[1][0].__class__ is ast.arguments else _listed_for(link)
    function = next((above for above in ancestors(link) if above[0].__class__ in FUNCTIONS), None)
    if not name or function is None:
        return False
    comparisons = (node for node in walk(owner_of(function) or function[0]) if node.__class__ is ast.Compare)
    told = (node for node in comparisons if node.lineno in told_lines)
    return any({name, constant(link[0])} <= {*map(_spelled, (node.left, *node.comparators))} for node in told)


def _is_told_where_imported(file: File, link: Link) -> bool:
    """Whether a string is for a package that another takes the place of, which the finding of its import says:
    `OrtValue.ortvalue_from_numpy(x, "cuda", 0)`."""
    call = link[1][1] if link[1][0].__class__ is ast.keyword else link[1]
    if call[0].__class__ is not ast.Call or link[0] is call[0].func:
        return False
    known = package_row(file.names.resolve(call[0].func, call) or "", file.rules.tables.packages)
    return known is not None and known[1].status in ("replace", "none") and bool(known[1].why)


def _is_handed_on(file: File, link: Link, told_lines: set[int]) -> bool:
    """Whether `def f(x, impl="cuda")` only hands `impl=impl` on, and another function of the file has the comparison."""
    name = _default_of(link) if link[1][0].__class__ is ast.arguments else None
    function = next((above for above in ancestors(link) if above[0].__class__ in FUNCTIONS), None)
    if not name or function is None:
        return False
    uses = [node for node in walk(function[0]) if node.__class__ is ast.Name and node.id == name]
    handed = [node.value for node in walk(function[0]) if node.__class__ is ast.keyword and node.arg == name]
    told = (compared[0] for compared in file.buckets.get(ast.Compare, ()) if compared[0].lineno in told_lines)
    sides = ({*map(_spelled, (node.left, *node.comparators))} for node in told)
    return (
        bool(uses) and all(use in handed for use in uses) and any({name, constant(link[0])} <= side for side in sides)
    )


def _default_of(link: Link) -> object:
    """The parameter with this default."""
    arguments: ast.arguments = link[1][0]
    positional = [*arguments.posonlyargs, *arguments.args]
    pairs = [
        *zip(reversed(positional), reversed(arguments.defaults)),
        *zip(arguments.kwonlyargs, arguments.kw_defaults),
    ]
    return next((parameter.arg for parameter, default in pairs if default is link[0]), None)


def _listed_for(link: Link) -> object:
    """`impl` for a string in `impl in ("plain", "cuda")`; None for others."""
    above = link[1][1]
    listed = link[1][0].__class__ in (ast.Tuple, ast.List, ast.Set) and above[0].__class__ is ast.Compare
    return _spelled(above[0].left) if listed else None


def _spelled(side: ast.expr) -> object:
    """`impl` for a name `impl` or an attribute `x.impl`; the value for a constant; None for others."""
    return getattr(side, "attr", getattr(side, "id", getattr(side, "value", None)))


def _is_unread(file: File, link: Link) -> bool:
    """Whether a value is only assigned to a name that is never read: `place = "cuda:{}".format(rank)` in a function, or
    under `if __name__ == "__main__":`."""
    above = next(a for a in ancestors(link) if isinstance(a[0], ast.stmt))
    target = above[0].targets[0] if isinstance(above[0], ast.Assign) and len(above[0].targets) == 1 else None
    if not isinstance(target, ast.Name):
        return False
    alone = file.names.scopes.home(target.id, (target, above)).__class__ in FUNCTIONS or starts_alone(above)
    return alone and not file.names.readers(target.id, (target, above))


def _lines(link: Link) -> set[int]:
    """The lines on which a finding about a node may stand: its own, and those of the functions that are called with it."""
    lines = {*range(link[0].lineno, link[0].end_lineno + 1)}
    for node, _ in ancestors(link):
        if node.__class__ is ast.Call:
            lines |= {*range(node.func.lineno, node.func.end_lineno + 1)}
        elif isinstance(node, ast.stmt):
            break
    return lines


def _texts(file: File) -> Iterator[Link]:
    """Strings that name devices, backends, variables, or options with such values."""
    for link in named_strings(file):
        text, above = link[0].value, link[1][0]
        if above.__class__ is ast.JoinedStr:
            if above.values[0] is link[0]:
                yield link[1]
        elif above.__class__ is not ast.Expr and any(p.match(text) for p in (DEVICE, BACKEND, TYPED)):
            yield link
    lines = lines_with(file.source, *_VARIABLES)
    for link in strings(file.tree, lines, _VARIABLE) if lines else ():
        row = file.rules.tables.variables.get(link[0].value)
        beside = row is not None and row.to is not None and row.to.encode() in file.source.utf8
        told = file.facts.variables.elsewhere(link[0].value, file.path) == ""  # the finding of another file is for all
        if (
            not beside
            and not told
            and link[1][0].__class__ not in (ast.Expr, ast.JoinedStr)
            and not _names_no_text(link)
        ):
            yield link
    lines = lines_with(file.source, *_COMMANDS)
    for link in strings(file.tree, lines, _COMMAND) if lines else ():
        above = link[1] if link[1][0].__class__ is ast.JoinedStr else link
        call = above[1][0]
        if call.__class__ is ast.Call and call_name(call.func) in RUNNERS:
            yield link
    for link in strings(file.tree, lines, _SETTING) if lines else ():
        key, _, value = link[0].value.partition("=")
        if link[1][0].__class__ is not ast.Expr and like(
            key.rpartition(".")[2], "backend" if value == "nccl" else "device"
        ):
            yield link


def _attributes(file: File) -> Iterator[Link]:
    """`x.cuda()`, `x.is_cuda`, `torch.cuda.f`. Not if `x` is of another library or a class of the project, nor if the
    inventory counts the place."""
    if file.source.words.isdisjoint((b"cuda", b"is_cuda")):
        return
    counted = {link[0] for links in file.apis.values() for link in links}  # the first name of each chain
    held = held_torch.named(file) if _MODULE_HELD.search(file.source.utf8) else frozenset()
    for link in file.buckets[ast.Attribute]:
        node, above = link[0], link[1][0]
        if node.attr != "cuda" and node.attr != "is_cuda":
            continue
        called = above.__class__ is ast.Call and above.func is node
        named = getattr(node.value, "id", "") == "torch" or getattr(node.value, "attr", "") in held
        if called or named or node.attr == "is_cuda":
            put = node.ctx.__class__ is not ast.Load and file.names.resolve(node, link)  # `torch.Tensor.is_cuda = ...`
            if (
                not put
                and node.value not in counted
                and file.receivers.judge(file.source.span(node)[1]) not in (OTHER, OWN)
            ):
                yield link
