"""Each promise is fired by a bug planted on purpose; suppressions do what they say; the import goes where it belongs."""

from __future__ import annotations

import libcst as cst
import pytest
from cases import CASES, session
from drawn import share
from engine_world import OURS, codes, look, port, world

from porter.analysis.python import Analysis, analyse
from porter.checks.registry import discover
from porter.engine.rule import Hit, IndexRule, Rule
from porter.engine.session import Quiet
from porter.errors import Broken
from porter.finding import Change, apply
from porter.run.gather import gather

T, N = "import torch\n", f"import torch\n{OURS}\n"


class Plant(Rule):
    """`x.plant(...)` becomes whatever the subclass builds."""

    code, slug = "PRT950", "planted"
    methods = {"plant"}
    safe = True

    def visit(self, original, updated, file):
        return Hit(original, "planted", new=self.build(updated), safe=self.safe, after=self.after())

    def build(self, updated):
        return updated

    def after(self) -> tuple[str, ...]:
        return ()


class Unparsable(Plant):
    def build(self, updated):
        return cst.Name("class")


class OnlyLibcstReads(Plant):
    """LibCST does not look into strings, where `ast` misses the rest of an escape."""

    def build(self, updated):
        return cst.SimpleString(r'"\x"')


class UnparsableBelow(Plant):
    def build(self, updated):
        return cst.Name("done")

    def after(self):
        return ("x = (",)


class LosesComment(Plant):
    """With bytes that it makes itself: what it builds as a tree is held back."""

    def visit(self, original, updated, file):
        start = file.source.utf8.index(b"x.plant")
        change = Change(start, file.source.utf8.index(b")", start) + 1, b"print()")
        return Hit(original, "planted", more=(change,), safe=self.safe)


class BuildsWithoutComment(Plant):
    def build(self, updated):
        return updated.with_changes(func=cst.Name("print"), args=[])


class Unbinds(Plant):
    def build(self, updated):
        return cst.Name("nowhere")


class UnbindsImport(Rule):
    code, slug = "PRT950", "planted"
    nodes = ("Import",)

    def visit(self, original, updated, file):
        if original.names[0].name.value != "planted":
            return None
        return Hit(original, "planted", new=updated.with_changes(names=[cst.ImportAlias(cst.Name("other"))]), safe=True)


class Again(Plant):
    def build(self, updated):
        return updated.with_changes(args=[*updated.args, cst.Arg(cst.Integer("1"))])


class Unsettled(Plant):
    """A first pass that leaves work for the second."""

    methods = {"plant", "plant2"}

    def build(self, updated):
        word = "plant2" if updated.func.attr.value == "plant" else "sown"
        return updated.with_changes(func=updated.func.with_changes(attr=cst.Name(word)))


class BelowAgain(Plant):
    def build(self, updated):
        return None

    def after(self):
        return ("sown()",)


class Foreign(Plant):
    def build(self, updated):
        return cst.SimpleString('"设备"')


class LineFeed(Plant):
    def build(self, updated):
        return cst.SimpleString('"""\n"""')


CALL = "import torch\nx = torch.plant\na = x.plant(1)\n".replace("x = torch.plant\n", "x = print\n")
PLANTED: dict[str, tuple[type[Rule], bytes, str, dict[str, str]]] = {
    # name -> (rule, file, key of PRT003, some of its values)
    "does not parse": (Unparsable, CALL.encode(), "reparse", {"codes": "PRT950"}),
    "does not parse below": (UnparsableBelow, CALL.replace("a = ", "done = ").encode(), "reparse", {"codes": "PRT950"}),
    "only LibCST would read it": (OnlyLibcstReads, CALL.encode(), "reparse", {"codes": "PRT950"}),
    "comment lost": (
        LosesComment,
        b"import torch\ntorch = torch\nx = 1\nx.plant(1,  # why\n  2)\n",
        "comment",
        {"codes": "PRT950", "comment": "# why"},
    ),
    "one of two equal comments lost": (
        LosesComment,
        b"import torch\nx = 1  # why\nx.plant(1,  # why\n  2)\n",
        "comment",
        {"codes": "PRT950", "comment": "# why"},
    ),
    "unbound": (Unbinds, CALL.encode(), "unbound", {"codes": "PRT950", "name": "nowhere"}),
    "unbound by an import": (
        UnbindsImport,
        b"import torch, sys\nimport planted\nplanted.cuda\n",
        "unbound",
        {"codes": "PRT950", "name": "planted"},
    ),
    "edits again": (Again, CALL.encode(), "unstable", {"codes": "PRT950"}),
    "leaves work": (Unsettled, CALL.encode(), "unstable", {"codes": "PRT950"}),
    "inserts again": (BelowAgain, CALL.replace("a = ", "sown = ").encode(), "unstable", {"codes": "PRT950"}),
    "encoding cannot hold it": (
        Foreign,
        "# coding: latin-1\nimport torch\né = x = 1\nx.plant()\n".encode("latin-1"),
        "round-trip",
        {},
    ),
    "ASCII cannot hold it": (
        Foreign,
        b"# coding: ascii\nimport torch\nx = 1\nx.plant()\n",
        "reparse",
        {"codes": "PRT950"},
    ),
    "another newline": (LineFeed, b"import torch\r\nx = 1\r\nx.plant()\r\n", "newline", {"codes": "PRT950"}),
}


def only(result, code: str):
    found = [f for f in result.findings if f.code == code]
    assert len(found) == 1, codes(result)
    return found[0]


@pytest.mark.parametrize("safe", [True, False], ids=["auto", "review"])
@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_bug_is_refused(name: str, safe: bool) -> None:
    rule, data, why, values = PLANTED[name]
    if hasattr(rule, "safe"):
        rule = type(rule.__name__, (rule,), {"safe": safe})
    result = look(data, world(rule))
    broken = only(result, "PRT003")
    assert broken.why == why
    assert dict(broken.values).items() >= values.items()
    assert result.auto == result.review == ()
    planted = [f for f in result.findings if f.code == "PRT950"]
    assert planted and {(f.status, f.edit) for f in planted} == {("manual", ())}


@pytest.mark.parametrize("line", ["x.plant(1,  # why\n  2)", "x.plant(y.cuda(),\n  # why\n  2)"])
def test_an_edit_that_would_take_a_comment_with_it_is_held_back_alone(line: str) -> None:
    before = f"{T}x = y = 1  # why\n{line}\ny.cuda()\nx.plant(3)\n".encode()
    result = look(before, world(BuildsWithoutComment, core=True))
    new = line.replace("cuda", "npu")
    assert apply(before, result.auto) == f"{N}x = y = 1  # why\n{new}\ny.npu()\nprint()\n".encode()
    assert [f.status for f in result.findings if f.code == "PRT950"] == ["manual", "auto"]


def test_what_only_tells_writes_nothing() -> None:
    telling = type("Telling", (BelowAgain,), {"edits": False})
    before = f"{T}x = y = 1\nx.plant(); y.cuda()\n".encode()
    result = look(before, world(telling, core=True))
    assert apply(before, result.review) == f"{N}x = y = 1\nx.plant(); y.npu()\n".encode()
    assert [(f.code, f.status) for f in result.findings] == [("PRT950", "manual"), ("PRT130", "auto")]


@pytest.mark.parametrize("fuse", [False, True])
def test_a_ported_text_is_asked_what_can_be_written(fuse: bool) -> None:
    asked = []

    class Telling(Plant):
        code, methods, edits = "PRT951", {"tell"}, False

        def visit(self, original, updated, file):
            asked.append(self.code)
            return Hit(original, "planted")

    class Asked(Telling):
        code, edits = "PRT952", "fuse"

    look(f"{T}x = 1\nx.tell(); x.cuda()\n", world(Telling, Asked, core=True, fuse=fuse))
    assert asked[:2] == ["PRT951", "PRT952"]
    assert {*asked[2:]} == ({"PRT952"} if fuse else set())


def test_a_broken_review_leaves_what_is_automatic() -> None:
    planted = type("Review", (Unparsable,), {"safe": False})
    before = f"{T}x = y = 1\nx.plant(); y.cuda()\n".encode()
    result = look(before, world(planted, core=True))
    assert only(result, "PRT003").why == "reparse"
    assert apply(before, result.auto) == apply(before, result.review) == f"{N}x = y = 1\nx.plant(); y.npu()\n".encode()
    assert [(f.code, f.status) for f in result.findings] == [
        ("PRT003", "manual"), ("PRT950", "manual"), ("PRT130", "auto")
    ]  # fmt: skip


def test_a_broken_automatic_edit_takes_the_file_with_it() -> None:
    """With something to review beside it, there is still one finding about the promise."""

    class Review(Plant):
        code, methods, safe = "PRT951", {"plant_review"}, False

        def build(self, updated):
            return cst.Integer("1")

    before = f"{T}x = 1\nx.plant(); x.plant_review(); x.cuda()\n".encode()
    result = look(before, world(Unparsable, Review, core=True))
    assert dict(only(result, "PRT003").values)["codes"] == "PRT130, PRT950"
    assert result.auto == result.review == ()
    assert {f.status for f in result.findings} == {"manual"}


def patched(monkeypatch, change) -> None:
    real = Analysis.changes
    monkeypatch.setattr(Analysis, "changes", lambda self, unsafe: change(self, real(self, unsafe)))


ENGINE_BUGS = {
    "overlap": (
        "overlap",
        lambda looked, made: made and (*made, Change(made[-1].start, made[-1].end, b"twice")),
    ),
    "past the end": (
        "overlap",
        lambda looked, made: (
            made and (*made, Change(len(looked.file.source.utf8), len(looked.file.source.utf8) + 1, b""))
        ),
    ),
    "final newline gone": (
        "newline",
        lambda looked, made: (
            made and (*made, Change(len(looked.file.source.utf8) - 1, len(looked.file.source.utf8), b""))
        ),
    ),
    "final newline twice, then none": (
        "reparse",
        lambda looked, made: (
            made and (*made, Change(len(looked.file.source.utf8), len(looked.file.source.utf8), b"x x"))
        ),
    ),
}


@pytest.mark.parametrize("name", ENGINE_BUGS)
def test_an_engine_bug_is_refused(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    why, change = ENGINE_BUGS[name]
    patched(monkeypatch, change)
    result = look(f"{T}x = 1\nx.cuda()\n")
    assert only(result, "PRT003").why == why
    assert dict(only(result, "PRT003").values)["codes"] == "PRT130"
    assert result.auto == result.review == ()
    assert {f.status for f in result.findings} == {"manual"}


@pytest.mark.parametrize("size", [1, 2])
def test_edits_that_do_not_say_what_the_rules_changed_are_refused(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    """What is written comes from the edits, what was checked is the rendered tree: they are one."""
    from porter.python import rewrite

    trim = rewrite.trimmed

    def cut(old: bytes, change: Change) -> Change:
        made = trim(old, change)
        return Change(made.start, made.end, made.new[size:])

    monkeypatch.setattr(rewrite, "trimmed", cut)
    broken = only(look(f"{T}x.cuda()\n"), "PRT003")
    assert (broken.why, dict(broken.values)["codes"]) == ("overlap", "PRT130")


def test_what_libcst_cannot_read_is_refused_by_it() -> None:
    broken = only(look(CALL, world(Unparsable)), "PRT003")
    assert dict(broken.values) == {"error": "LibCST", "codes": "PRT950"} and broken.line == 3


# what both sides share may end, or begin, in the middle of a character
BORDERS = [
    ("é", "ã"),
    ("é", "ĩ"),
    ("日", "旦"),
    ("日", "ᗥ"),
    ("é", "éã"),
    ("é", "ãé"),
    ("éé", "é"),
    ("xé", "xã"),
    ("éx", "ĩx"),
    ("é", ""),
]


@pytest.mark.parametrize("before, after", BORDERS)
def test_an_edit_is_cut_between_characters(before: str, after: str) -> None:
    class Renames(Plant):
        def build(self, updated):
            return updated.with_changes(args=[cst.Arg(cst.SimpleString(f"'{after}'"))])

        def visit(self, original, updated, file):
            return super().visit(original, updated, file) if f"'{before}'" in file.text(original) else None

    text = f"# é\n{T}x = 1\nx.plant('{before}')\n"
    (change,) = look(text, world(Renames)).auto
    assert apply(text.encode(), (change,)) == text.replace(f"'{before}'", f"'{after}'").encode()
    for part in (text.encode()[: change.start], text.encode()[change.end :], change.new):
        part.decode("utf-8")  # which half a character is not


def test_a_lost_bom_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    stored = Analysis.stored
    monkeypatch.setattr(
        Analysis, "stored", lambda s, c: (Change(0, 3, b""), *stored(s, c)) if len(c) > 1 else stored(s, c)
    )
    result = look(f"\ufeff{T}x = 1\nx.cuda()\n")
    assert only(result, "PRT003").why in ("reparse", "newline")
    assert result.auto == ()


class Raises(Plant):
    def build(self, updated):
        raise KeyError("planted")


class RaisesLate(Plant):
    """After its first answer, as a generator may."""

    def visit(self, original, updated, file):
        yield super().visit(original, updated, file)
        raise KeyError("planted")


class PointsNowhere(Plant):
    def visit(self, original, updated, file):
        return Hit(cst.Name("nowhere"), "planted")


class SaysNothingKnown(Plant):
    def visit(self, original, updated, file):
        return Hit(original, "unheard of")


class AnswersWithText(Plant):
    def visit(self, original, updated, file):
        return "planted"


class ReadsWhatIsNotThere(Plant):
    """As every rule does that asks for an analysis that fails."""

    def visit(self, original, updated, file):
        file.flows = None
        return file.flows.said(original)


@pytest.fixture
def released(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PORTER_DEBUG", raising=False)


@pytest.mark.parametrize(
    "rule", [Raises, RaisesLate, PointsNowhere, SaysNothingKnown, AnswersWithText, ReadsWhatIsNotThere]
)
@pytest.mark.parametrize("safe", [True, False], ids=["auto", "review"])
def test_a_rule_that_raises_loses_its_own_hit(released, rule, safe) -> None:
    """The others keep their findings and their edits, in the same statement and elsewhere."""
    rule = type(rule.__name__, (rule,), {"safe": safe})
    text = f"{T}x = torch.ones(2)\n\ntorch.cuda.synchronize(x.plant())\ny = x.plant()\nx.cuda()\n"
    plain, result = look(text), look(text, world(rule, core=True))
    failed = only(result, "PRT003")
    assert (failed.why, failed.line, failed.severity) == ("rule", 4, "wrong"), "once, where it was first"
    assert dict(failed.values)["codes"] == "PRT950" and "Error" in dict(failed.values)["error"]
    assert tuple(f for f in result.findings if f is not failed) == plain.findings
    assert (result.auto, result.review) == (plain.auto, plain.review) and plain.auto


def test_of_one_rule_only_the_hit_that_raises_is_lost(released) -> None:
    class Picky(Plant):
        def build(self, updated):
            if len(updated.args) > 1:
                raise ValueError("two\nlines")
            return updated.with_changes(func=cst.Name("print"))

    text = f"{T}x = 1\nx.plant(1, 2)\nx.plant(1)\n"
    result = look(text, world(Picky))
    assert codes(result) == [(3, "PRT003", "rule"), (4, "PRT950", "planted")]
    assert dict(only(result, "PRT003").values)["error"] == "ValueError: two"
    assert apply(text.encode(), result.auto) == f"{T}x = 1\nx.plant(1, 2)\nprint(1)\n".encode()


def test_a_rule_that_raises_on_what_others_made_has_no_edit(released) -> None:
    """In the second walk an inner edit that waits for a look is made: the rule around it fails there alone."""

    class Inner(Plant):
        methods, safe = {"inner"}, False

        def build(self, updated):
            return cst.Name("x")

    class Outer(Plant):
        code, methods, safe = "PRT951", {"outer"}, False

        def build(self, updated):
            if "inner" not in cst.Module([]).code_for_node(updated):
                raise LookupError("no inner")
            return cst.Name("print")

    text = f"{T}x = 1\ny = x.outer(x.inner())\nz = x.inner()\n"
    result = look(text, world(Inner, Outer))
    assert codes(result) == [
        (3, "PRT003", "rule"),
        (3, "PRT951", "planted"),
        (3, "PRT950", "planted"),
        (4, "PRT950", "planted"),
    ]
    assert [f.status for f in result.findings] == ["manual", "manual", "review", "review"]
    assert [bool(f.edit) for f in result.findings] == [False, False, True, True]
    assert apply(text.encode(), result.review).endswith(b"y = x.outer(x)\nz = x\n") and not result.auto


def test_a_rule_that_raises_on_the_ported_text_ports_nothing(released) -> None:
    class Once(Plant):
        def visit(self, original, updated, file):
            if b"(0)" in file.source.utf8:
                raise RuntimeError("ported already")
            return super().visit(original, updated, file)

        def build(self, updated):
            return updated.with_changes(args=[cst.Arg(cst.Integer("0"))])

    result = look(f"{T}x = 1\nx.plant()\n", world(Once))
    assert codes(result) == [(1, "PRT003", "unstable"), (3, "PRT950", "planted")] and not result.auto


class NoTreeAtAll(Plant):
    def build(self, updated):
        return object()


def test_what_no_tree_can_hold_is_refused(released) -> None:
    result = look(f"{T}x = 1\ny = f(x.plant())\n", world(NoTreeAtAll))
    broken = only(result, "PRT003")
    assert (broken.why, dict(broken.values)["codes"]) == ("reparse", "PRT950") and not result.auto


@pytest.mark.parametrize("part", ["inventory", "observed", "add_methods"])
def test_a_part_of_the_analysis_that_fails_costs_what_it_would_have_said(released, monkeypatch, part) -> None:
    monkeypatch.setattr(f"porter.analysis.python.{part}", lambda *_: 1 / 0)
    result = look(CALL + "x.cuda()\n")
    plain = [f for f in result.findings if f.code != "PRT003"]
    assert only(result, "PRT003").why == "rule" and plain and result.auto


def test_a_rule_of_the_index_that_fails_costs_what_it_would_have_said(released) -> None:
    class Fails(IndexRule):
        code = "PRT951"
        codes = ("PRT951", "PRT952")

        def look(self, file):
            yield Hit(file.names.uses[0], "planted")
            raise ValueError

    result = look(CALL + "x.cuda()\n", world(Fails, core=True))
    failed = only(result, "PRT003")
    assert (failed.why, dict(failed.values)["codes"]) == ("rule", "PRT951, PRT952") and result.auto
    assert "PRT951" not in {f.code for f in result.findings}


def test_a_pattern_and_a_glance_that_fail_cost_their_rules(released, monkeypatch) -> None:
    from porter.analysis import nodes
    from porter.analysis.session import open_session

    text = "import torch\n\n\ndef f(x):\n    x.cuda()\n    return torch.nonzero(x).item()\n"
    rule = next(rule for rule in open_session().rules.all if rule.only and "item" in rule.methods)
    monkeypatch.setattr(nodes, "find", lambda *_: 1 / 0)
    monkeypatch.setattr(rule.only, "__code__", (lambda scene, link: 1 / 0).__code__)
    result = look(text, open_session())
    failed = [f for f in result.findings if f.code == "PRT003"]
    assert {f.why for f in failed} == {"rule"} and len(failed) == 2
    assert all(c.startswith("PRT6") for f in failed for c in dict(f.values)["codes"].split(", ")) and result.auto


def test_developers_see_what_failed(monkeypatch) -> None:
    monkeypatch.setenv("PORTER_DEBUG", "1")
    with pytest.raises(KeyError, match="planted"):
        look(CALL, world(Raises, core=True))


# ---- encodings

E = "import torch\ntorch.ones(1).cuda()\n"
ODD = {
    "utf-7": f"# coding: utf-7\n{E}x = '+AOk-'\n",
    "utf-7 on the second line": f"#!/usr/bin/python\n# coding: utf-7\n{E}x = '+AOk-'\n",
    "behind a long line": f"#{'x' * 3000}\n# coding: utf-7\n{E}",
    "unicode_escape": f"# coding: unicode_escape\n{E}x = '\\u00e9'\n",
    "raw_unicode_escape": f"# coding: raw-unicode-escape\n{E}x = '\\u00e9'\n",
    "raw_unicode_escape that comes back": f"# coding: raw-unicode-escape\n{E}x = '\\u0100'\n",
    "idna": f"# coding: idna\n{E}",
    "punycode": f"# coding: punycode\n{E}",
    "rot13": f"# coding: rot13\n{E}",
    "base64": f"# coding: base64\n{E}",
    "undefined": f"# coding: undefined\n{E}",
    "mbcs": f"# coding: mbcs\n{E}",
    "utf-16": f"# coding: utf-16\n{E}",
    "utf-32-le": f"# coding: utf-32-le\n{E}",
    "EBCDIC": f"# coding: cp037\n{E}",
    "hz": f"# coding: hz\n{E}x = '~{{<:Ky~}}'\n",
    "another than the BOM's": f"\ufeff# coding: latin-1\n{E}",
    "does not come back": f"# coding: iso2022_jp\n{E}x = '".encode() + b"\x1b$B\x1b(B'\n",
    "cut": f"# coding: gbk\n{E}x = '".encode() + b"\xd6'\n",
}


@pytest.mark.parametrize("name", ODD)
def test_an_encoding_that_nobody_edits_in_is_a_finding(name: str) -> None:
    data = ODD[name] if isinstance(ODD[name], bytes) else ODD[name].encode()
    result = look(data)
    assert [(f.code, f.why) for f in result.findings] == [("PRT002", "encoding")], result.findings
    assert not result.auto and not result.review


@pytest.mark.parametrize("name", ["utf8", "U8", "utf-8-sig", "us-ascii", "cp65001", "latin-1", "cp1252", "iso2022_jp"])
def test_an_encoding_that_is_edited_in(name: str) -> None:
    text = f"#!/usr/bin/python\n# coding: {name}\nimport torch\ns = 'x'; torch.ones(1).cuda()\n"
    assert port(text) == text.replace("cuda()", "npu()").replace(T, N).encode()


def test_a_state_that_an_encoding_keeps_is_none_of_the_edits(monkeypatch) -> None:
    text = "# coding: iso2022_jp\nimport torch\ns = '日本'; torch.ones(1).cuda(); t = '日'\n"
    assert port(text.encode("iso2022_jp")) == text.replace("cuda()", "npu()").replace(T, N).encode("iso2022_jp")
    stored = Analysis.stored
    # one byte too early, as an encoding would have it whose bytes do not add up
    monkeypatch.setattr(
        Analysis, "stored", lambda s, c: tuple(Change(x.start - 1, x.end - 1, x.new) for x in stored(s, c))
    )
    assert only(look(text.encode("iso2022_jp")), "PRT003").why == "round-trip"


def test_every_key_of_a_broken_promise_has_its_text() -> None:
    """A key that rules/porter.toml does not know would turn a refusal into a crash."""
    messages = world().rules.tables.rules["PRT003"]["messages"]
    keys = {why for _, _, why, _ in PLANTED.values()} | {why for why, _ in ENGINE_BUGS.values()}
    assert keys | {"crashed", "round-trip"} <= messages.keys()
    assert Broken("overlap", codes="PRT950").key == "overlap"


# ---- suppressions: (before, after, [(line, code, why)] of what is not suppressed)

S = "# porter: ignore[PRT130] on the CPU"
SUPPRESSED: dict[str, tuple[str, str, list[tuple[int, str, str]]]] = {
    "behind": (f"x.cuda()  {S}\ny.cuda()\n", f"x.cuda()  {S}\ny.npu()\n", [(3, "PRT130", "call")]),
    "on the first line": (f"f(  {S}\n  x.cuda(),\n  y.cuda())\n",) * 2 + ([],),
    "on the last line": (f"f(\n  x.cuda(),\n  y.cuda()\n)  {S}\n",) * 2 + ([],),
    "in the middle": (f"f(x.cuda(),\n  1,  {S}\n  y.cuda())\n",) * 2 + ([],),
    "alone above": (f"{S}\nx.cuda()\ny.cuda()\n", f"{S}\nx.cuda()\ny.npu()\n", [(4, "PRT130", "call")]),
    "several above": (f"{S}\n# porter: ignore[PRT132] why\nx.cuda(y.is_cuda)\n",) * 2 + ([],),
    "above, indented": (f"if a:\n    {S}\n    x.cuda()\n",) * 2 + ([],),
    "above, another indentation": (f"if a:\n{S}\n    x.cuda()\n",) * 2 + ([],),
    "a blank line between": (
        f"{S}\n\nx.cuda()\n",
        f"{S}\n\nx.npu()\n",
        [(2, "PRT001", "unused"), (4, "PRT130", "call")],
    ),
    "a comment between": (
        f"{S}\n# why\nx.cuda()\n",
        f"{S}\n# why\nx.npu()\n",
        [(2, "PRT001", "unused"), (4, "PRT130", "call")],
    ),
    "below": (f"x.cuda()\n{S}\n", f"x.npu()\n{S}\n", [(2, "PRT130", "call"), (3, "PRT001", "unused")]),
    "behind the line above": (
        f"y = 1  {S}\nx.cuda()\n",
        f"y = 1  {S}\nx.npu()\n",
        [(2, "PRT001", "unused"), (3, "PRT130", "call")],
    ),
    "header, not body": (
        f"if x.cuda():  {S}\n    y.cuda()\n",
        f"if x.cuda():  {S}\n    y.npu()\n",
        [(3, "PRT130", "call")],
    ),
    "above a header": (
        f"{S}\nif x.cuda():\n    y.cuda()\n",
        f"{S}\nif x.cuda():\n    y.npu()\n",
        [(4, "PRT130", "call")],
    ),
    "one code of two": (
        f"torch.cuda.synchronize(x.cuda())  {S}\n",
        f"torch.npu.synchronize(x.cuda())  {S}\n",
        [(2, "PRT101", "default")],
    ),
    "behind another comment": ("x.cuda()  # type: ignore  # porter: ignore[PRT130] why\n",) * 2 + ([],),
    "in prose": (
        "x.cuda()  # see porter: ignore[PRT130]\n",
        "x.npu()  # see porter: ignore[PRT130]\n",
        [(2, "PRT130", "call")],
    ),
    "two codes": ("torch.cuda.synchronize(x.cuda())  # porter: ignore[PRT130, PRT101] why\n",) * 2 + ([],),
    "one of two codes unused": (
        "x.cuda()  # porter: ignore[PRT130,PRT101] why\n",
        "x.cuda()  # porter: ignore[PRT130,PRT101] why\n",
        [(2, "PRT001", "unused")],
    ),
    "no code": (
        "x.cuda()  # porter: ignore\n",
        "x.npu()  # porter: ignore\n",
        [(2, "PRT005", "codes"), (2, "PRT130", "call")],
    ),
    "empty brackets": (
        "x.cuda()  # porter: ignore[] why\n",
        "x.npu()  # porter: ignore[] why\n",
        [(2, "PRT005", "codes"), (2, "PRT130", "call")],
    ),
    "not a code": (
        "x.cuda()  # porter: ignore[cuda]\n",
        "x.npu()  # porter: ignore[cuda]\n",
        [(2, "PRT005", "codes"), (2, "PRT130", "call")],
    ),
    "unknown code": (
        "x.cuda()  # porter: ignore[PRT099]\n",
        "x.npu()  # porter: ignore[PRT099]\n",
        [(2, "PRT005", "unknown"), (2, "PRT130", "call")],
    ),
    "unknown beside known": (
        "x.cuda()  # porter: ignore[PRT130,PRT099]\n",
        "x.cuda()  # porter: ignore[PRT130,PRT099]\n",
        [(2, "PRT005", "unknown")],
    ),
    "in a string": (
        f's = """\n{S}\n"""; x.cuda()\n',
        f's = """\n{S}\n"""; x.npu()\n',
        [(4, "PRT130", "call")],
    ),
    "spaces": ("x.cuda()  #porter:  ignore[ PRT130 ]  why\n",) * 2 + ([],),
    "all of them": (f"x.cuda()  {S}\nif y.cuda():  {S}\n    pass\n",) * 2 + ([],),
    "one-line if": (
        f"if a: x.cuda()  {S}\n",
        f"if a: x.cuda()  {S}\n",
        [],
    ),
    "decorator": (
        f"@x.cuda()  {S}\ndef f(a=y.cuda()): pass\n",
        f"@x.cuda()  {S}\ndef f(a=y.npu()): pass\n",
        [(3, "PRT130", "call")],
    ),
}


@pytest.mark.parametrize("newline", ["\n", "\r\n"], ids=["LF", "CRLF"])
@pytest.mark.parametrize("name", SUPPRESSED)
def test_suppression(name: str, newline: str) -> None:
    before, after, left = SUPPRESSED[name]
    expected = T + before if before == after else N + after
    assert "npu" in after or before == after
    before = (T + before).replace("\n", newline)
    result = look(before)
    assert apply(before.encode(), result.auto).decode() == expected.replace("\n", newline)
    assert result.review == result.auto
    assert sorted((f.line, f.code, f.why) for f in result.findings if f.suppressed is None) == left
    for finding in result.findings:
        if finding.suppressed is not None:
            assert finding.edit == ()
            assert finding.suppressed in ("on the CPU", "why", "")


def test_a_suppressed_finding_keeps_its_reason_and_status() -> None:
    (finding,) = look(f"{T}x = torch.ones(1).cuda()  {S}\n").findings
    assert (finding.suppressed, finding.status, finding.edit) == ("on the CPU", "auto", ())
    (finding,) = look(f"{T}x.cuda()  # porter: ignore[PRT130]\n").findings
    assert finding.suppressed == ""


def test_a_suppressed_edit_needs_no_import() -> None:
    assert port(f"{T}x.cuda()  {S}\nif device.type == 'cuda': pass\n") == (
        f"{T}x.cuda()  {S}\nif device.type == 'npu': pass\n".encode()
    )


@pytest.mark.parametrize("line", [1, 5, 10])
def test_skip_file(line: int) -> None:
    text = "#\n" * (line - 1) + "# porter: skip-file generated\n" + T + "x.cuda()\n"
    result = look(text)
    assert (result.findings, result.auto, result.review) == ((), (), ())


def test_skip_file_counts_in_the_first_ten_lines_only() -> None:
    text = "#\n" * 10 + "# porter: skip-file generated\n" + T + "x.cuda()\n"
    assert b"x.npu()" in port(text)


def test_skip_file_in_a_docstring_is_text() -> None:
    assert b"x.npu()" in port('"""\n# porter: skip-file\n"""\n' + T + "x.cuda()\n")


def test_quiet_codes_are_neither_found_nor_edited() -> None:
    about = world(quiet=Quiet(frozenset({"PRT130"})))
    assert port(f"{T}x.cuda(); torch.cuda.synchronize()\n", about) == f"{N}x.cuda(); torch.npu.synchronize()\n".encode()
    about = world(quiet=Quiet(below=(("legacy/*.py", frozenset({"PRT130"})),)))
    assert look(f"{T}x.cuda()\n", about, "legacy/x.py").findings == ()
    assert len(look(f"{T}x.cuda()\n", about, "new/x.py").findings) == 1
    # a suppression of a code that is off is not called unused
    assert look(f"{T}x.cuda()  {S}\n", about, "legacy/x.py").findings == ()


def test_a_comment_counts_where_the_tokenizer_gives_up() -> None:
    """Python's tokenizer knows no lone carriage return and no newer grammar; what looks like a comment counts then."""
    before = f"{T}y = 1 \\\n + 1\nx.cuda()  {S}\n".replace("\n", "\r")
    assert port(before) == before.encode()
    assert [f.suppressed for f in look(before).findings] == ["on the CPU"]


# ---- where the import goes: before -> after

IMPORTS: dict[str, tuple[str, str]] = {
    "behind the first torch import": (
        "import os\nimport torch\nimport torch.nn as nn\nx.cuda()\n",
        f"import os\nimport torch\n{OURS}\nimport torch.nn as nn\nx.npu()\n",
    ),
    "behind a from import": ("from torch import nn\nx.cuda()\n", f"from torch import nn\n{OURS}\nx.npu()\n"),
    "behind a submodule's": ("import torch.nn as nn\nx.cuda()\n", f"import torch.nn as nn\n{OURS}\nx.npu()\n"),
    "behind brackets": (
        "from torch import (\n    nn,\n    optim,  # c\n)\nx.cuda()\n",
        f"from torch import (\n    nn,\n    optim,  # c\n)\n{OURS}\nx.npu()\n",
    ),
    "behind a continued line": ("import os, \\\n    torch\nx.cuda()\n", f"import os, \\\n    torch\n{OURS}\nx.npu()\n"),
    "shared line": ("import torch; x = 1\nx.cuda()\n", "import torch; import torch_npu; x = 1\nx.npu()\n"),
    "end of a shared line": (
        "import os; import torch\nx.cuda()\n",
        "import os; import torch; import torch_npu\nx.npu()\n",
    ),
    "semicolon and nothing": ("import torch;\nx.cuda()\n", "import torch; import torch_npu;\nx.npu()\n"),
    "one-line if": ("if a: import torch\nx.cuda()\n", "if a: import torch; import torch_npu\nx.npu()\n"),
    "comment behind": ("import torch  # c\nx.cuda()\n", f"import torch  # c\n{OURS}\nx.npu()\n"),
    "future and docstring": (
        '"""Doc."""\nfrom __future__ import annotations\n\nimport torch\nx.cuda()\n',
        f'"""Doc."""\nfrom __future__ import annotations\n\nimport torch\n{OURS}\nx.npu()\n',
    ),
    "no torch import at all": ("x.cuda()  # torch\n", "x.npu()  # torch\n"),
    "torch of another package": ("from .torch import nn\nx.cuda()\n", "from .torch import nn\nx.npu()\n"),
    "a package that begins so": ("import torchvision\nx.cuda()\n", "import torchvision\nx.npu()\n"),
    "imported already": ("import torch, torch_npu\nx.cuda()\n", "import torch, torch_npu\nx.npu()\n"),
    "imported already, further down": (
        "import torch\nx.cuda()\nif a:\n    import torch_npu\n",
        "import torch\nx.npu()\nif a:\n    import torch_npu\n",
    ),
    "imported already, by from": (
        "import torch\nfrom torch_npu import npu\nx.cuda()\n",
        "import torch\nfrom torch_npu import npu\nx.npu()\n",
    ),
    "imported already, under a name": (
        "import torch\nimport torch_npu as t\nx.cuda()\n",
        "import torch\nimport torch_npu as t\nx.npu()\n",
    ),
    "imported already, a submodule": (
        "import torch\nimport torch_npu.npu as t\nx.cuda()\n",
        "import torch\nimport torch_npu.npu as t\nx.npu()\n",
    ),
    "the ported import loads it": (
        "import torch\nfrom torch.cuda import synchronize\nx.cuda()\n",
        f"import torch\n{OURS}\nfrom torch_npu.npu import synchronize\nx.npu()\n",
    ),
    "only an import of cuda": (
        "from torch import cuda\ncuda.synchronize()\n",
        "from torch_npu import npu as cuda\ncuda.synchronize()\n",
    ),
    "in a function": (
        "def f():\n    import torch\n    torch.cuda.synchronize()\n",
        f"def f():\n    import torch\n    {OURS}\n    torch.npu.synchronize()\n",
    ),
    "in two functions, one with edits": (
        "def f():\n\timport torch\n\ttorch.cuda.synchronize()\ndef g():\n\timport torch\n\ttorch.ones(1)\n",
        f"def f():\n\timport torch\n\t{OURS}\n\ttorch.npu.synchronize()\ndef g():\n\timport torch\n\ttorch.ones(1)\n",
    ),
    "in two functions, both with edits": (
        "def f():\n    import torch\n    torch.cuda.synchronize()\ndef g():\n    from torch import nn\n    x.cuda()\n",
        f"def f():\n    import torch\n    {OURS}\n    torch.npu.synchronize()\n"
        f"def g():\n    from torch import nn\n    {OURS}\n    x.npu()\n",
    ),
    "in a function and at the top": (
        "def f():\n    import torch\n    torch.cuda.synchronize()\nimport torch\n",
        f"def f():\n    import torch\n    torch.npu.synchronize()\nimport torch\n{OURS}\n",
    ),
    "in an if": ("if a:\n    import torch\nx.cuda()\n", f"if a:\n    import torch\n    {OURS}\nx.npu()\n"),
    "in a class": (
        "class A:\n  import torch\n  y = x.cuda()\n",
        f"class A:\n  import torch\n  {OURS}\n  y = x.npu()\n",
    ),
    "in the else of a try": (
        "try:\n    import os\nexcept ImportError:\n    pass\nelse:\n    import torch\nx.cuda()\n",
        f"try:\n    import os\nexcept ImportError:\n    pass\nelse:\n    import torch\n    {OURS}\nx.npu()\n",
    ),
    "a try that catches something else": (
        "try:\n    import torch\nexcept KeyError:\n    pass\nx.cuda()\n",
        f"try:\n    import torch\n    {OURS}\nexcept KeyError:\n    pass\nx.npu()\n",
    ),
    "guarded first, free later": (
        "try:\n    import torch\nexcept ImportError:\n    torch = None\nfrom torch import nn\nx.cuda()\n",
        f"try:\n    import torch\nexcept ImportError:\n    torch = None\nfrom torch import nn\n{OURS}\nx.npu()\n",
    ),
    "else of TYPE_CHECKING": (
        "if TYPE_CHECKING:\n    import os\nelse:\n    import torch\nx.cuda()\n",
        f"if TYPE_CHECKING:\n    import os\nelse:\n    import torch\n    {OURS}\nx.npu()\n",
    ),
}


@pytest.mark.parametrize("newline", ["\n", "\r\n"], ids=["LF", "CRLF"])
@pytest.mark.parametrize("name", IMPORTS)
def test_import(name: str, newline: str) -> None:
    before, after = (text.replace("\n", newline) for text in IMPORTS[name])
    assert port(before).decode() == after
    assert port(after).decode() == after
    assert not [f for f in look(before).findings if f.code in ("PRT003", "PRT004")]


@pytest.mark.parametrize("newline", ["\n", "\r\n"], ids=["LF", "CRLF"])
def test_an_installed_module_imports_it_where_its_edits_are(newline: str, tmp_path) -> None:
    """Of a package that others install, only the demo needs torch_npu."""
    head = "import torch\n\n\ndef net(x):\n    return {}\n\n\nif __name__ == '__main__':\n"
    before = (head.format("x") + "    # a demo\n    print(net(x.cuda()))\n").replace("\n", newline)
    after = (head.format("x") + f"    # a demo\n    {OURS}\n    print(net(x.npu()))\n").replace("\n", newline)
    for path in ("setup.py", "src/nets/__init__.py", "src/nets/small.py", "tools/show.py"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(before if path.count("/") == 2 or "show" in path else "")
    facts = gather(tmp_path, sorted(p.relative_to(tmp_path).as_posix() for p in tmp_path.rglob("*.py")))
    assert facts.roads.installed == ("src/nets",)

    def ported(text: str, path: str) -> str:
        return apply(text.encode(), look(text, world(facts=facts), path).auto).decode()

    assert ported(before, "src/nets/small.py") == after
    assert ported(after, "src/nets/small.py") == after
    assert OURS not in ported(before, "tools/show.py").partition("def net")[2]
    used = before.replace("return x", "return x.cuda()")
    in_a_line = before.replace(f":{newline}    # a demo{newline}    print", ": print")
    for text in (used, in_a_line):
        assert OURS in ported(text, "src/nets/small.py").partition("def net")[0]


GUARDED: dict[str, tuple[str, str, int]] = {
    "ImportError": ("try:\n    import torch\nexcept ImportError:\n    torch = None\nx.cuda()\n", "try", 2),
    "ModuleNotFoundError": ("try:\n    import torch\nexcept ModuleNotFoundError:\n    pass\nx.cuda()\n", "try", 2),
    "one of several": ("try:\n    import torch\nexcept (KeyError, ImportError) as e:\n    pass\nx.cuda()\n", "try", 2),
    "bare": ("try:\n    import torch\nexcept:\n    pass\nx.cuda()\n", "try", 2),
    "Exception": ("try:\n    import torch\nexcept Exception:\n    pass\nx.cuda()\n", "try", 2),
    "builtins.ImportError": ("try:\n    import torch\nexcept builtins.ImportError:\n    pass\nx.cuda()\n", "try", 2),
    "a with inside": ("try:\n    with a:\n        import torch\nexcept ImportError:\n    pass\nx.cuda()\n", "try", 3),
    "TYPE_CHECKING": (
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import torch\nx.cuda()\n",
        "type-checking",
        3,
    ),
    "typing.TYPE_CHECKING": (
        "import typing as t\nif t.TYPE_CHECKING:\n    from torch import nn\nx.cuda()\n",
        "type-checking",
        3,
    ),
}


@pytest.mark.parametrize("name", GUARDED)
def test_guarded_import(name: str) -> None:
    before, why, line = GUARDED[name]
    result = look(before)
    assert apply(before.encode(), result.auto).decode() == before.replace(".cuda", ".npu")
    found = only(result, "PRT004")
    assert (found.why, found.line) == (why, line)


def test_no_import_where_the_edits_do_not_need_it() -> None:
    assert port(f"{T}if device.type == 'cuda': pass\n") == f"{T}if device.type == 'npu': pass\n".encode()
    assert port(T + "x = 1\n") == (T + "x = 1\n").encode()


@pytest.mark.slow
def test_rules_that_are_said_to_tell_only_have_no_edits(monkeypatch) -> None:
    """What they would write is dropped: on every fixture of theirs, nothing is."""
    rules = [kind for kind in discover() if issubclass(kind, Rule)]
    telling = {kind.code for kind in rules if kind.edits is not True}
    cases = [case for case in CASES if case.name.partition("_")[0] in telling and (case / "before.py").exists()]
    assert len(telling) > 40 and len(cases) > 60
    results = {case: analyse("before.py", (case / "before.py").read_bytes(), session(case)) for case in share(cases, 2)}
    for kind in rules:
        monkeypatch.setattr(kind, "edits", True)
    for case, result in results.items():
        again = analyse("before.py", (case / "before.py").read_bytes(), session(case))
        assert (again.auto, again.review) == (result.auto, result.review), case.name


def test_a_last_line_of_one_character_without_a_newline_has_none_afterwards() -> None:
    before = b"from torch import (\n    cuda,\n)"
    after = port(before, world(core=True))
    assert b"npu as cuda" in after and not after.endswith(b"\n")
