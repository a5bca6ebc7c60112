"""Finds the sites of a file: places that give, list, pass or compare a device or a backend; and holders with the same value.

All places of one value must be edited alike, or none of them. project/consistency.py decides that over all files.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeAlias

from porter.engine.suppress import Suppressions
from porter.finding import DECIDED, SHARED, Finding, Site
from porter.python.array_switches import decides_for
from porter.python.blocks import once, place
from porter.python.evidence import call_name, constant, device_like, listed, looked_up
from porter.python.half_guards import left_by
from porter.python.handed_on import given_to
from porter.python.held_questions import QUESTIONS
from porter.python.index import FUNCTIONS, Link, Node, ancestors, parents
from porter.python.kernel_branches import kernel
from porter.python.parallel_choices import one_device
from porter.python.parameters import defaulted
from porter.python.provider_choices import provider
from porter.python.refusing import refuses
from porter.python.simulated_devices import simulator_of
from porter.python.source import Source
from porter.python.strings.holders import Holders, field
from porter.python.strings.keyed import askers
from porter.python.strings.literals import BACKEND, DEVICE, named_strings
from porter.python.strings.sinks import OPTIONS, PUT
from porter.python.strings.ties import Ties

if TYPE_CHECKING:
    from porter.python.file import File


_Home: TypeAlias = "tuple[str | None, str]"  # a holder and a role
_Homes: TypeAlias = "Sequence[_Home] | bool | None"  # True: the node around passes the value on

_ASKED = ("startswith", "endswith", "__eq__")  # methods that compare
_OPTION = ("default", "choices", "const", "enum_values", "default_factory")  # keywords of an option with its values
_MOST = 200  # holders that are followed in one file


def sites_of(file: File) -> tuple[tuple[Site, ...], tuple[tuple[str, str], ...]]:
    """The sites of a file, still without their status, and pairs of holders with the same value."""
    links = named_strings(file)
    if not links:
        return (), ()
    look = _Sites(file)
    for link in links:
        text = link[0].value
        if link[1][0].__class__ is ast.JoinedStr:
            link = link[1]
        elif not (DEVICE.match(text) or BACKEND.match(text)):
            continue
        if not file.awareness.covers_link(link) and not _stays(file, link):
            look.follow(link)
    look.ask()
    return look.sites_and_ties()


def _stays(file: File, link: Link) -> bool:
    """Whether a string stays in any port: the program refuses that device, or chooses by it only CuPy, a provider, DataParallel or a
    CUDA kernel, so that an NPU takes its other way. So does a branch that waits for a person."""
    if refuses(link) or decides_for(file, link) is not None or _chooses_kernel(file, link):
        return True
    if (left := left_by(file, link)) is not None and left[0] != "opens":  # what opens a branch is written with it
        return True
    is_compared = link[1] is not None and link[1][0].__class__ is ast.Compare
    return is_compared and bool(one_device(file, link) or provider(file, link))


def _chooses_kernel(file: File, link: Link) -> bool:
    """Whether a comparison with the string chooses a CUDA kernel. An assert or a branch that raises does not count."""
    if link[1] is None or link[1][0].__class__ is not ast.Compare:
        return False
    around = next(node for node in parents(link) if isinstance(node, ast.stmt))
    ends = isinstance(around, ast.Assert) or isinstance(around, ast.If) and isinstance(around.body[-1], ast.Raise)
    name = None if ends else kernel(file, link)
    own = file.path.rpartition("/")[2].removesuffix(".py")  # a name that is only that of the file does not count
    return name is not None and name != own


def with_status(
    sites: tuple[Site, ...],
    findings: Iterable[Finding],
    source: Source,
    suppressions: Suppressions,
    quiet: frozenset[str],
) -> tuple[Site, ...]:
    """The sites with their status: that of the edit in the finding there, or why there is none."""
    by_place: dict[tuple[int, int], list[Finding]] = {}
    for finding in findings if sites else ():
        if finding.code in DECIDED:
            by_place.setdefault((finding.line, finding.column), []).append(finding)
    refused = any(finding.code == "PRT003" for finding in findings)

    def status(several: Sequence[Finding]) -> str:
        if edited := [f.status for f in several if f.edit and f.status != "manual"]:
            return max(edited)  # review, if any is
        if suppressions.skip is not None:
            return "skipped"
        if any(f.suppressed is not None for f in several):
            return "suppressed"
        if not several and not SHARED.isdisjoint(quiet):
            return "quiet"
        return "refused" if refused else "manual"

    return tuple(site._replace(status=status(by_place.get(source.place(site.offset), ()))) for site in sites)


class _Sites:
    """Collects the sites of one file. A handler is named after the class of the node around a value."""

    def __init__(self, file: File) -> None:
        self.file, self.names = file, file.names
        self.holders = Holders(file.names, file.facts.accelerators.functions)
        self.sites: dict[tuple[str, int], Site] = {}

    def sites_and_ties(self) -> tuple[tuple[Site, ...], tuple[tuple[str, str], ...]]:
        ties = Ties(self.file, self.holders).of({site.holder for site in self.sites.values()})
        return tuple(sorted(self.sites.values())), ties

    def follow(self, link: Link) -> None:
        """Adds the sites of a string: the holders that it is given to, or compared with."""
        offset = self.file.source.span(link[0])[0]
        foreign = given_to(self.names, link) is not None or simulator_of(self.file, link) is not None
        for holder, role in self._homes(link):
            # an attribute that goes to a library without NPUs, as the `device` of a simulator, is not the same value as
            # others of its name
            if holder and not (foreign and role in ("used", "declared") and holder.startswith("field:")):
                line = self.file.source.line(offset)
                self.sites.setdefault((holder, offset), Site(holder, offset, line, role))

    def ask(self) -> None:
        """Adds questions for a GPU that a device depends on: `args.device if torch.cuda.is_available() else "cpu"`. The question
        must be edited together with that device."""
        for link in self.names.spelled("torch"):
            question = next(up for up in ancestors(link) if up[0].__class__ is not ast.Attribute)
            test = question
            while test[1] is not None and test[1][0].__class__ is ast.BoolOp:
                test = test[1]
            if (
                question[0].__class__ is not ast.Call
                or (choice := test[1]) is None
                or choice[0].__class__ is not ast.IfExp
            ):
                continue
            chosen = choice[0].body if choice[0].test is test[0] else None
            if device_like(chosen) and self.names.resolve(question[0].func, question) in QUESTIONS:
                holder, offset = self.holders.of(chosen, choice), self.file.source.span(link[0])[0]
                if holder and not self.file.awareness.covers_link(link):
                    self.sites.setdefault((holder, offset), Site(holder, offset, self.file.source.line(offset), "used"))

    def _homes(self, link: Link) -> Iterator[_Home]:
        """The (holder, role) pairs of the value at a link."""
        listed = False
        if (asked := askers(self.names, link)) is not None:
            yield from ((self.holders.of(asker[0], asker), "used") for asker in asked.links)
        row = link
        while row[1] is not None and self.names.resolve(getattr(row[1][0], "func", None), row) == "torch.device":
            row = row[1]
        yield from ((holder, "given") for holder in self.holders.of_test(row))
        yield from ((holder, "listed") for holder in self.holders.of_row(row))
        for _ in range(40):
            node, up = link[0], link[1]
            if up is None:
                return
            above = up[0]
            handler = getattr(self, f"_{above.__class__.__name__.lower()}", None)
            if handler is None:
                return
            answer = handler(node, above, up)
            if answer is not True:
                yield from ((holder, "listed" if listed and role != "used" else role) for holder, role in answer or ())
                return
            listed |= above.__class__ in (ast.List, ast.Tuple, ast.Set, ast.Subscript)
            link = up

    # ---- nodes that pass the value on

    def _starred(self, node: Node, above: Node, up: Link) -> _Homes:
        return True

    _boolop = _lambda = _formattedvalue = _await = _starred

    def _list(self, node: Node, above: Node, up: Link) -> _Homes:
        words = listed(above)
        return not words.npu and not words.hccl

    _tuple = _set = _list

    def _ifexp(self, node: Node, above: Node, up: Link) -> _Homes:
        return node is not above.test

    def _binop(self, node: Node, above: Node, up: Link) -> _Homes:
        return isinstance(above.op, (ast.Add, ast.BitOr))

    def _attribute(self, node: Node, above: Node, up: Link) -> _Homes:
        """Passes the value on if its method is called: `"cuda".lower()`."""
        return up[1] is not None and up[1][0].__class__ is ast.Call and up[1][0].func is above

    def _subscript(self, node: Node, above: Node, up: Link) -> _Homes:
        return node is above.slice and call_name(above.value) in (
            "Literal",
            "Optional",
            "Union",
            "Annotated",
            "List",
            "list",
        )

    _matchor = _matchas = _matchvalue = _match_case = _starred

    # ---- nodes that compare the value

    def _compare(self, node: Node, above: Node, up: Link) -> _Homes:
        return [(self.holders.of(s, up), "used") for s in _holding(above) if s is not node]

    def _match(self, node: Node, above: Node, up: Link) -> _Homes:
        return [(self.holders.of(above.subject, up), "used")]

    # ---- nodes that give the value to a holder

    def _assign(self, node: Node, above: Node, up: Link) -> _Homes:
        return [(self.holders.of(t, up), "declared") for t in above.targets]

    def _annassign(self, node: Node, above: Node, up: Link) -> _Homes:
        return [(self.holders.of(above.target, up), "declared")]

    _namedexpr = _augassign = _for = _asyncfor = _comprehension = _annassign

    def _arg(self, node: Node, above: Node, up: Link) -> _Homes:
        function = next(a for a in ancestors(up) if isinstance(a[0], FUNCTIONS))
        return [(self.holders.parameter(function, above.arg), "declared")]

    def _arguments(self, node: Node, above: Node, up: Link) -> _Homes:
        return [(self.holders.parameter(up[1], defaulted(above, node).arg), "declared")]

    def _functiondef(self, node: Node, above: Node, up: Link) -> _Homes:
        return [(self.holders.result(up), "declared")] if node is above.returns else None

    _asyncfunctiondef = _functiondef

    def _return(self, node: Node, above: Node, up: Link) -> _Homes:
        function = next((a for a in ancestors(up) if isinstance(a[0], FUNCTIONS)), None)
        return [(self.holders.result(function), "declared")] if function else None

    def _dict(self, node: Node, above: Node, up: Link) -> _Homes:
        side, index = place(above, node)
        if side == "values":
            key = constant(above.keys[index])
            if not isinstance(key, str):
                return None
            # {"--backend": "nccl"} becomes a command line
            return [(field(key), "passed" if key.startswith("--") else "declared")]
        call = up[1]
        if call and call[0].__class__ is ast.Subscript and call[0].value is above:  # {"cuda": ...}[device]
            return [(self.holders.of(call[0].slice, up), "used")]
        return None

    def _keyword(self, node: Node, above: Node, up: Link) -> _Homes:
        call = up[1]
        if call[0].__class__ is not ast.Call or above.arg is None:
            return None
        if above.arg in _OPTION and self._is_option(call[0]):
            holder = self.holders.option(call[0])
            return [(holder, "option")] if holder else True  # field(default=...) of an annotated name
        if call_name(call[0].func) == "dict":
            return [(field(above.arg), "declared")]
        return [(self.holders.given(call[0], call, above.arg), "given")]

    @staticmethod
    def _is_option(call: ast.Call) -> bool:
        return call_name(call.func) in OPTIONS or bool(call.args) and str(constant(call.args[0])).startswith("-")

    def _call(self, node: Node, above: Node, up: Link) -> _Homes:
        if node is above.func:
            return True
        callee, method = call_name(above.func), above.func.__class__ is ast.Attribute
        if method and callee in _ASKED:
            return [(self.holders.of(above.func.value, up), "used")]
        if method and callee in PUT:
            return [(self.holders.of(above.func.value, up), "listed")]
        if looked_up(above) and node is not above.args[0]:
            return [(self.holders.of(above, up), "used"), *self._homes(up)]
        if callee == "Choice":
            return True  # click.Choice(["cuda", "cpu"]) is an argument of the option
        if self._is_option(above):
            return [(self.holders.option(above), "option")]
        return [(self.holders.given(above, up, place(above, node)[1]), "given")]


@once
def _holding(node: ast.Compare) -> tuple[ast.expr, ...]:
    """The sides of a comparison that are no constants; of `"cuda" in (source, target)` the names in it."""
    sides = (node.left, *node.comparators)
    return tuple(one for s in sides for one in getattr(s, "elts", (s,)) if one.__class__ is not ast.Constant)
