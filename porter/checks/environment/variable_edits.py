"""How a variable is written for NPUs: under its other name, or in a portable port in a second statement below."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from porter.checks.device.fakes import stands_in
from porter.engine.nodes import quoted
from porter.engine.rule import Hit, cst
from porter.engine.rule_file import Link, Node, RuleFile
from porter.engine.rule_file import Variable as VariableName
from porter.finding import Change
from porter.python.blocks import once, once_for_file
from porter.python.evidence import constant, is_log_call
from porter.python.index import FUNCTIONS, ancestors, walk
from porter.regex import lazy
from porter.rulebook.table import Variable, hints
from porter.rulebook.variable_values import by_default, is_list
from porter.text.shells.programs import gpu_program

_DETERMINISTIC = frozenset({"torch.use_deterministic_algorithms"})
_FRAMEWORKS = hints("another-framework")
_AMD = lazy(r"(?i)(?:^|_)(?:hip|rocr|rocm)(?:_|$)")
_PLAIN = frozenset({"str", "join", "map", "setdefault", "putenv", "format", "int"})  # twice is as good as once


def for_both(hit: Hit | None, literal: VariableName, row: Variable, file: RuleFile) -> Hit | None:
    """A variable under both its names: set in a second statement, and asked for by the new name first."""
    if hit is None or literal.set or (more := _asked_first(literal, row.to or "", file)) is None:
        return _beside(hit, literal, row, file)
    if not more:
        return None
    is_plain = hit.why == row.why  # else the answer explains why the name stays
    return replace(hit, more=more, safe=row.fix == "safe" and literal.certain) if is_plain else hit


def _beside(hit: Hit | None, literal: VariableName, row: Any, file: RuleFile) -> Hit | None:
    text = file.source.utf8[slice(*file.source.span(file.statement))].decode()
    is_plain = file.statement.__class__ in (ast.Assign, ast.Expr) and "\n" not in text and text.count(literal.name) == 1
    if hit is None or not literal.set or literal.role != "key" or not is_plain:
        return hit
    safe = row.fix == "safe" and literal.certain and hit.why != "order" and not _works(file.statement)
    is_asked = _is_asked_for(literal)
    safe = safe and not is_asked
    more = unspaced(literal, row, file)  # in both, which stay alike
    for change in more:
        start = file.source.span(file.statement)[0]
        before, behind = text.encode()[: change.start - start], text.encode()[change.end - start :]
        text = (before + change.new + behind).decode()
    if is_asked:
        text = by_default(text)
    return replace(hit, after=(text.replace(literal.name, row.to),), safe=safe, more=more)


def without_spaces(hit: Hit | None, literal: VariableName, row: Variable | None, file: RuleFile) -> Hit | None:
    if hit is None or hit.new is None or row is None:
        return hit
    return replace(hit, more=(*unspaced(literal, row, file), *_labels(literal, row, file)))


def _labels(literal: VariableName, row: Variable, file: RuleFile) -> Iterator[Change]:
    """The name in the texts of a call that shows the value: `print("CUDA_VISIBLE_DEVICES:", env.get("CUDA_VISIBLE_DEVICES"))`, also in the
    f-string around it."""
    call = (
        next((above for above, _ in ancestors(literal.link) if is_log_call(above)), None) if not literal.set else None
    )
    pattern = re.compile(rb"(?<!\w)%s(?!\w)" % literal.name.encode())
    asked = (
        [file.source.span(other.link[0]) for other in file.literals.values() if other.kind == "variable"]
        if call
        else []
    )
    for argument in call.args if isinstance(call, ast.Call) else ():
        text = getattr(getattr(argument, "func", None), "value", argument)  # of `"...".format(value)`
        if isinstance(text, (ast.Constant, ast.JoinedStr)) and text is not literal.link[0]:
            for match in pattern.finditer(file.source.utf8, *file.source.span(text)):
                if not any(first <= match.start() < last for first, last in asked):
                    yield Change(match.start(), match.end(), (row.to or "").encode())


def unspaced(literal: VariableName, row: Variable, file: RuleFile) -> tuple[Change, ...]:
    """`", ".join(gpus)` without its space, which CANN does not read in a list of devices."""
    value = getattr(file.statement, "value", None) if is_list(row) and literal.set else None
    calls = (node for node in (walk(value) if value is not None else ()) if node.__class__ is ast.Call)
    joined = next((call.func.value for call in calls if getattr(call.func, "attr", "") == "join"), None)
    if joined is None or not re.fullmatch(r" *, +| +, *", str(constant(joined))):
        return ()
    start, end = file.source.span(joined)
    return (Change(start, end, file.source.utf8[start:end].replace(b" ", b"")),)


def _is_asked_for(literal: VariableName) -> bool:
    """`if "CUDA_VISIBLE_DEVICES" not in os.environ:` above it, which asks for one of the two names."""
    tests = (above.test for above, _ in ancestors(literal.link) if above.__class__ is ast.If)
    return any(constant(node) == literal.name for test in tests for node in walk(test))


def _works(statement: Any) -> bool:
    """Whether it computes what may differ, or take its time, when it is computed twice."""
    calls = (node for node in walk(statement.value) if node.__class__ is ast.Call)
    return not {getattr(call.func, "id", getattr(call.func, "attr", "")) for call in calls} <= _PLAIN


def renamed_in(node: cst.Arg | cst.BaseString, to: str) -> cst.CSTNode | None:
    if isinstance(node, cst.Arg):
        return node.with_changes(keyword=node.keyword and node.keyword.with_changes(value=to))
    return quoted(node, to) if isinstance(node, cst.SimpleString) else None


def in_command(node: cst.BaseString, to: str, name: str) -> cst.CSTNode | None:
    """`f"CUDA_VISIBLE_DEVICES={gpu} python train.py"`"""

    def ported(text: cst.SimpleString | cst.FormattedStringText) -> Any:
        return text.with_changes(value=re.sub(rf"(?<!\w){name}=", f"{to}=", text.value))

    if isinstance(node, cst.SimpleString):
        new: cst.CSTNode = ported(node)
        return new
    if not isinstance(node, cst.FormattedString):
        return None
    return node.with_changes(
        parts=[ported(part) if isinstance(part, cst.FormattedStringText) else part for part in node.parts]
    )


def twice(node: cst.CSTNode, name: str, to: str, file: RuleFile) -> cst.BaseExpression | None:
    """`f"ASCEND_RT_VISIBLE_DEVICES={gpu} CUDA_VISIBLE_DEVICES={gpu} python train.py"`: what stands before a command sets both."""
    text = file.text(node)
    given = re.findall(rf"(?<!\w){name}=((?:[\w.,:-]|\{{[\w.]+\}})+)(?=[ ])", text)
    if len(given) != 1 or text.count(f"{name}=") != 1:
        return None
    return cst.parse_expression(text.replace(f"{name}=", f"{to}={given[0]} {name}="))


def _asked_first(literal: VariableName, to: str, file: RuleFile) -> tuple[Change, ...] | None:
    """`os.environ.get("ASCEND_RT_VISIBLE_DEVICES", os.environ.get("CUDA_VISIBLE_DEVICES", ""))`; () where it stands so already, and
    None where no plain call asks."""
    name, up = literal.link
    call: Node = up[0]
    is_plain = call.__class__ is ast.Call and len(call.args) in (1, 2) and not call.keywords and call.args[0] is name
    if not is_plain or getattr(call.func, "attr", "") not in ("get", "getenv"):
        return None
    above: Node = up[1][0] if up[1] is not None else None
    if above.__class__ is ast.Call and call in above.args[1:] and constant(above.args[0]) == to:
        return ()
    utf8, (start, end), (_, last) = file.source.utf8, file.source.span(name), file.source.span(call)
    asks = utf8[slice(*file.source.span(call.func))]
    if name.lineno != call.end_lineno or utf8[start:end].strip(b"\"'").decode() != literal.name:
        return None
    quoted = utf8[start:end].replace(literal.name.encode(), to.encode())
    return (
        Change(start, start, b"%s, %s(" % (quoted, asks)),
        Change(last, last, b")"),
    )


def kept_name(node: cst.CSTNode, literal: VariableName, row: Variable, file: RuleFile) -> Hit | None:
    """What is said of a variable that has another name for NPUs, and is not meant for them here."""
    if library := _for_amd(literal.link) if literal.set else _of_another(literal.link, file):
        return Hit(node, "of-another", values=(("old", literal.name), ("library", library)))
    if literal.role == "command" and (program := gpu_program(_text(literal.link[0], file))):
        return Hit(node, "of-gpus", values=(("old", literal.name), ("program", program)))
    if row.code == "PRT801" and stands_in(file):
        return Hit(node, "stands-in", values=(("old", literal.name), ("new", row.to or "")), severity="note")
    return None


def _text(command: Node, file: RuleFile) -> str:
    return file.source.utf8[slice(*file.source.span(command))].decode()


@once_for_file
def computes_otherwise(file: RuleFile) -> bool:
    """Whether a file always imports another framework and never says torch: the variable may be meant for that alone, though what
    the file imports of the project leads to torch."""
    if file.source.says(b"torch"):
        return False
    return any(_imported_framework(s) for s in file.tree.body if isinstance(s, (ast.Import, ast.ImportFrom)))


def _for_amd(link: Link) -> str:
    """`if hip_visible: os.environ["CUDA_VISIBLE_DEVICES"] = hip_visible`: what ROCm's own variables choose."""
    child = link[0]
    for above, _ in ancestors(link):
        if above.__class__ is ast.If and child in above.body and above.test.__class__ in (ast.Name, ast.Attribute):
            if _AMD.search(getattr(above.test, "id", "") or getattr(above.test, "attr", "")):
                return "ROCm"
        child = above
    return ""


def _of_another(link: Link, file: RuleFile) -> str:
    """The framework that the function around imports, or another method of its class, where neither says torch."""
    around = [above[0] for above in ancestors(link) if above[0].__class__ in (*FUNCTIONS, ast.ClassDef)]
    if not around or file.source.says(b"torch", around[-1]):
        return ""
    return _imported_framework(around[-1])


@once
def _imported_framework(owner: ast.AST) -> str:
    for node in walk(owner):
        names = [a.name for a in node.names] if node.__class__ is ast.Import else [getattr(node, "module", None) or ""]
        if root := next((root for name in names if (root := name.partition(".")[0]) in _FRAMEWORKS), ""):
            return root
    return ""


def is_taken_out(literal: VariableName) -> bool:
    """`del os.environ["NAME"]`, `os.environ.pop("NAME", None)` as a statement, or an `if` that does it: nothing is left of it."""
    node, above = literal.link[1][0], literal.link[1][1][0]
    if node.__class__ is ast.Compare and above.__class__ is ast.If:
        return len(above.body) == 1 and not above.orelse and _takes_out(above.body[0])
    return above.__class__ in (ast.Delete, ast.Expr) and _takes_out(above)


def _takes_out(statement: ast.stmt) -> bool:
    called = getattr(getattr(statement, "value", None), "func", None)
    return statement.__class__ is ast.Delete or getattr(called, "attr", "") == "pop"


def is_deterministic(variable: VariableName, file: RuleFile) -> bool:
    """Whether the function does already what is to take the place of cuBLAS's variable; or the project, where it is set on import."""
    around, function = file.scene.function(variable.link), file.scene.function
    if around is None and variable.set and file.facts.variables.deterministic:
        return True
    for link in file.meaning.mentions.of(_DETERMINISTIC):
        call, above = link[1][0], function(link)
        if call.__class__ is ast.Call and call.args and constant(call.args[0]) is True:
            if (above and above[0]) is (around and around[0]):
                return True
    return False
