"""Training loops on apex.amp of which the whole pattern is in sight of one function: where each piece stands.

All pieces are in the known form, or there is no pattern: a loop that scales its loss but unscales no gradients, or
steps without the scaler, is worse than none. What is written in their place is in scaler.py.
"""

from __future__ import annotations

import ast
import re
from typing import NamedTuple

from porter.checks.apex.loss import Backward, Clip, Unknown, backward, clip, statement_of, suite_of
from porter.engine.rule_file import RuleFile
from porter.python.evidence import asks_for_main, constant
from porter.python.index import FUNCTIONS, Link, Node, ancestors, walk
from porter.regex import rare

NAMES = ("initialize", "scale_loss", "master_params", "state_dict", "load_state_dict")
_DROPPED = {
    "verbosity": None,
    "opt_level": None,
    "keep_batchnorm_fp32": (None, True, "True"),
    "loss_scale": (None, "dynamic"),
}
_SIMPLE = (ast.Name, ast.Attribute, ast.Subscript, ast.Constant, ast.Compare, ast.BoolOp, ast.UnaryOp, ast.expr_context,
           ast.cmpop, ast.boolop, ast.unaryop)  # fmt: skip


class Pattern(NamedTuple):
    start: Link  # of `amp.initialize`
    statement: ast.Assign
    guard: ast.If | None  # that is about nothing else
    enabled: str  # an expression, what the level says included; "" for always
    optimizer: str
    backwards: list[Backward]
    clips: list[Clip]
    steps: list[Link]  # of `optimizer.step` statements
    moved: dict[ast.stmt, ast.stmt]  # a step -> what clips in every batch, and where it is scaled right before the step
    states: list[Link]  # of `amp.state_dict` and its kin


# a loss that autocast refuses; inputs made half for O2's half weights
_HALF = rare(rb"\bBCELoss\b|\bbinary_cross_entropy\b|\.half\(\)")


def patterns(file: RuleFile) -> list[Pattern]:
    """Of every function that initialises apex.amp; Unknown where one piece of the file cannot be followed."""
    if _HALF.search(file.source.utf8):
        raise Unknown
    mentions = {name: file.meaning.mentions.of(frozenset({f"apex.amp.{name}"})) for name in NAMES}
    known = {link[0] for links in mentions.values() for link in links}
    for link in file.names.uses:
        if link[0].ctx.__class__ is not ast.Load:
            continue
        if (base := file.names.root(link[0].id, link)) and base.partition(".")[0] == "apex":
            while link[1] is not None and link[1][0].__class__ is ast.Attribute and link[0] not in known:
                link = link[1]
                base += "." + link[0].attr
            if (base + ".").startswith("apex.amp.") and link[0] not in known:
                raise Unknown
    members = [(name, link) for name in NAMES[1:] for link in mentions[name]]
    groups: dict[Node, tuple[Link, list[tuple[str, Link]]]] = {
        _function(link): (link, []) for link in mentions["initialize"]
    }
    if not groups or len(groups) < len(mentions["initialize"]):
        raise Unknown
    for name, link in members:
        home: Node = next((f for f in _functions(link) if f in groups), Unknown)
        if home is Unknown or _function(link) is home and link[0].lineno < groups[home][0][0].lineno:
            raise Unknown
        groups[home][1].append((name, link))
    return [_pattern(file, start, pieces) for start, pieces in groups.values()]


def _functions(link: Link) -> list[Node]:
    """The functions around, from the inside out, and the module; a method of a class sees nothing of its class."""
    return [*(a[0] for a in ancestors(link) if isinstance(a[0], FUNCTIONS)), None]


def _function(link: Link) -> Node:
    return _functions(link)[0]


def _pattern(file: RuleFile, start: Link, pieces: list[tuple[str, Link]]) -> Pattern:
    start_statement = statement_of(start)
    statement, call = start_statement[0], start[1][0]
    if statement.__class__ is not ast.Assign or call.__class__ is not ast.Call or statement.value is not call:
        raise Unknown
    names = [getattr(e, "id", "") for e in getattr(statement.targets[0], "elts", ())]
    if len(statement.targets) != 1 or len(names) != 2 or [getattr(a, "id", "?") for a in call.args] != names:
        raise Unknown
    model, optimizer = names
    if not all(_stays(names, link, start_statement) for _, link in pieces):
        raise Unknown
    guard, (enabled, level) = _guard(start_statement), _options(file, call)
    if guard is not None:
        enabled = _plain(file, guard.test)
        if not _is_bool(file, guard.test):  # autocast takes nothing else
            enabled = f"bool({enabled})"
        if {n.id for n in walk(guard.test) if n.__class__ is ast.Name} & _flags(file):
            raise Unknown  # whether apex is there decides
    wanted, enabled = _both(enabled, level), enabled or level
    target = next(t for t in file.names.others[optimizer] if t[0] is statement.targets[0].elts[1])
    steps = [_step(link) for link in file.names.readers(optimizer, target) if _steps(link)]
    if not steps or any(_function(s) is _function(start_statement) and s[0].lineno < statement.lineno for s in steps):
        raise Unknown
    backwards = [backward(link, model, optimizer, enabled) for name, link in pieces if name == "scale_loss"]
    backward_nodes = {n for b in backwards for n in walk(b.whole)}
    top = _function(start_statement) or file.tree
    if not backwards or any(getattr(n, "attr", "") == "backward" and n not in backward_nodes for n in walk(top)):
        raise Unknown  # gradients that nobody scales
    branch_calls = {b.clips[0] for b in backwards if b.clips}
    clips = [
        clip(link, optimizer, enabled)
        for name, link in pieces
        if name == "master_params" and link[1][0] not in branch_calls
    ]
    next_steps = [_before_step(c.whole or c.statement, c.mention, steps) for c in clips]
    moved: dict[Node, ast.stmt] = {}
    for back in backwards:
        if back.clips:
            next_steps.append(_before_step(back.whole, back.mention, steps, moved, back.clips[1]))
    if len(set(next_steps)) < len(next_steps):
        raise Unknown
    states = [link for name, link in pieces if name.endswith("state_dict")]
    return Pattern(start, statement, guard, wanted, optimizer, backwards, clips, steps, moved, states)


def _before_step(
    statement: ast.stmt,
    link: Link,
    steps: list[Link],
    moved: dict[Node, ast.stmt] | None = None,
    clips: ast.stmt | None = None,
) -> Node:
    """The step that follows where gradients are unscaled; Unknown where none does. `moved` gains what clips before."""
    while link[0] is not statement:
        link = link[1]
    while link[1] is not None:
        suite = suite_of(link)
        later = suite[suite.index(link[0]) :]
        for step in steps:
            if step[0] in later:
                return step[0]
            now_and_then = step[1][0]
            if (
                moved is not None
                and now_and_then in later
                and now_and_then.__class__ is ast.If
                and step[0] in now_and_then.body
            ):
                if clips is None or clips.__class__ is not ast.Expr:
                    break
                moved[step[0]] = clips
                return step[0]
        if link[1][0].__class__ is not ast.If:
            break
        link = link[1]
    raise Unknown


def _stays(names: list[str], link: Link, start_statement: Link) -> bool:
    """Whether what stands around a piece means the same model and optimiser: no function in between binds them anew."""
    for function in _functions(link):
        if function is None or any(a[0] is function for a in ancestors(start_statement)):
            return True
        parameters = {n.arg for n in walk(function.args) if n.__class__ is ast.arg}
        stored = {n.id for n in walk(function) if n.__class__ is ast.Name and n.ctx.__class__ is ast.Store}
        if (parameters | stored) & set(names):
            return False
    return True


def _both(enabled: str, level: str) -> str:
    """Two conditions as one: the switch may be on, and the level say that all stays as it is."""
    if not enabled or not level or enabled.replace("'", '"') == level:
        return enabled or level
    return f"{enabled} and {level}"


def _options(file: RuleFile, call: ast.Call) -> tuple[str, str]:
    """When apex is used, as an expression, "" where it always is; and what its level says of it."""
    level = enabled = ""
    for keyword in call.keywords:
        value = constant(keyword.value)
        if keyword.arg == "enabled":
            enabled = _plain(file, keyword.value)
            enabled = enabled if _is_bool(file, keyword.value) else f"bool({enabled})"
        elif keyword.arg not in _DROPPED:
            raise Unknown
        elif keyword.arg == "opt_level":
            if value is None:
                level = _plain(file, keyword.value)
                if keyword.value.__class__ in (ast.BoolOp, ast.Compare, ast.UnaryOp):  # `args.level or "O1"`
                    level = f"({level})"
            elif value not in ("O1", "O2"):
                raise Unknown
        elif (known := _DROPPED[keyword.arg]) and (keyword.value.__class__ is not ast.Constant or value not in known):
            raise Unknown
    return enabled, f'{level} != "O0"' if level else ""


def _is_bool(file: RuleFile, test: Node) -> bool:
    if test.__class__ is ast.Compare or test.__class__ is ast.UnaryOp and test.op.__class__ is ast.Not:
        return True
    name = getattr(test, "attr", "")
    switch = rb"--%b[\"'][^)]*store_(?:true|false)" % re.escape(name.replace("_", "-").encode()).replace(
        rb"\-", b"[-_]"
    )
    return bool(name) and file.source.says(re.compile(switch))


def _plain(file: RuleFile, node: ast.expr) -> str:
    """The text of an expression without a call, so that it may stand elsewhere."""
    if node.lineno != node.end_lineno or not all(isinstance(n, _SIMPLE) for n in walk(node)):
        raise Unknown
    start, end = file.source.span(node)
    return file.source.utf8[start:end].decode("utf-8")


def _guard(statement: Link) -> ast.If | None:
    """The `if` that decides whether apex is used, where it does nothing else."""
    above, guard = statement[1], None
    if above[0].__class__ is ast.If and not _main(above[0]):
        guard = above[0]
        if guard.orelse or not all(s is statement[0] or imports_amp(s) for s in guard.body):
            raise Unknown
        above = above[1]
    if not _main(above[0]) and isinstance(above[0], (ast.If, ast.Try, ast.ExceptHandler)):
        raise Unknown
    return guard


def _main(node: Node) -> bool:
    return node.__class__ is ast.If and asks_for_main(node.test) and not node.orelse


def imports_amp(statement: Node) -> bool:
    """`from apex import amp`, alone or in a `try` that has nothing to do without it."""
    if statement.__class__ is ast.Try:
        raises = all(len(h.body) == 1 and h.body[0].__class__ is ast.Raise for h in statement.handlers)
        return raises and not statement.orelse and not statement.finalbody and all(map(imports_amp, statement.body))
    if statement.__class__ is ast.ImportFrom:
        return statement.module == "apex" and [a.name for a in statement.names] == ["amp"]
    return statement.__class__ is ast.Import and [a.name for a in statement.names] in (["apex"], ["apex.amp"])


def _flags(file: RuleFile) -> set[str]:
    """The names that say whether apex could be imported."""
    names = set()
    for link in file.buckets[ast.ImportFrom] + file.buckets[ast.Import]:
        block = link[1] and link[1][0]
        if block.__class__ is ast.Try:
            names |= {n.id for n in walk(block) if n.__class__ is ast.Name and n.ctx.__class__ is ast.Store}
    return names


def _steps(link: Link) -> bool:
    return link[1][0].__class__ is ast.Attribute and link[1][0].attr == "step"


def _step(link: Link) -> Link:
    call = link[1][1]
    if call[0].__class__ is not ast.Call or call[0].args or call[0].keywords or call[1][0].__class__ is not ast.Expr:
        raise Unknown
    return call[1]
