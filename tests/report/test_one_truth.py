"""What `porter explain` says of a name, and what porter finds where a program uses it: one answer."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import pytest
from drawn import share

from porter.analysis.python import analyse
from porter.analysis.session import open_session
from porter.catalog.read.load import load, versions
from porter.catalog.read.verdict import Verdict
from porter.checks.registry import load as rules_for
from porter.engine.session import Session
from porter.finding import Finding
from porter.report.verdicts import GRAVE, codes_of, moved, verdict, worst
from porter.rulebook import table
from porter.rulebook.texts import ApiText
from porter.target import SOCS, Target

TABLES = table.load()
OWN = "PRT0"  # what porter says of its own work
FINE = ("supported", "constrained", "silent", "value")  # kinds that promise, or say nothing
TARGETS = (("2.1.0.post17", "310P"), ("2.7.1.post11", "A2"), ("2.8.0.post5", "910"), ("2.14.0", "950"))
# one line each: read, called, handed on, set
LINES = ("x = {name}", "x = {name}()", "x = {name}(a, 1)", "f({name})", "x = f(y, key={name})", "{name} = True")
IN_A_STEP = "def step(x):\n    return {name}(x)"
ALONE = (*LINES, IN_A_STEP)
# of a name that no rule knows the same is found where all stand in one program, but for a name that is set
TOGETHER = ("a = {name}\nb = {name}()\nc = {name}(d, 1)\nf({name})\ne = f(y, key={name})\n" + IN_A_STEP, LINES[-1])


class Page(NamedTuple):
    move: ApiText | None
    verdict: Verdict | None
    codes: tuple[str, ...]


@cache
def session(version: str, soc: str) -> Session:
    return open_session(Target(version, soc))


def page(name: str, opened: Session) -> Page:
    move = moved(opened.support, opened.rules.texts, name, opened.target)
    standing = verdict(opened.support, opened.rules, name, move)
    return Page(move, standing, standing.rules if standing else codes_of(opened.rules, name))


def findings(code: str, opened: Session) -> list[Finding]:
    return [f for f in analyse("a.py", code.encode(), opened).findings if not f.code.startswith(OWN)]


def contradictions(name: str, opened: Session, programs: tuple[str, ...] = ALONE) -> list[str]:
    """What a short program is told that the page of the name denies or leaves out."""
    told, wrong = page(name, opened), []
    found_in = [findings(f"import {name.partition('.')[0]}\n{text.format(name=name)}\n", opened) for text in programs]
    for text, several in zip(programs, found_in):
        for found in several:
            here = f"{name}: {found.severity} {found.status} {found.code} {found.why} of {text!r}"
            if found.code not in told.codes:
                wrong.append(f"{here}, and the page knows {told.codes}")
            elif found.severity in GRAVE and told.verdict and told.verdict.kind in FINE:
                wrong.append(f"{here}, and the page says {told.verdict.kind}")
            elif told.move and found.code == told.move.code and told.move.status == "manual" != found.status:
                wrong.append(f"{here}, and the page says manual")
    if told.move and not told.move.stays:
        found_move = {f.code: f for f in found_in[0]}.get(told.move.code)  # where it is read
        if found_move is None:
            wrong.append(f"{name}: {told.move.code} of the page is not found")
        elif told.move.status == "auto" != found_move.status:
            wrong.append(f"{name}: auto on the page, {found_move.status} in a program")
    return wrong


def ruled_names(opened: Session) -> set[str]:
    keys = opened.rules.keys
    return {*TABLES.moves, *keys.calls, *keys.references}


def all_names(opened: Session) -> set[str]:
    """With every name of the catalogue and of the documents."""
    catalogue = opened.catalogue
    known = {*catalogue.cuda_names(), *catalogue.npu_names(), *catalogue.own_names(), "torch.cuda"}
    return known | {name for name in opened.support.documents.names() if name.startswith("torch.")}


NAMES = frozenset(ruled_names(session("2.7.1.post11", "A2")))  # those of one target are asked of each


@pytest.mark.slow
@pytest.mark.parametrize(("version", "soc"), TARGETS)
def test_no_page_of_any_name_contradicts_a_finding(version: str, soc: str) -> None:
    opened = session(version, soc)
    ruled = ruled_names(opened) | NAMES
    names = ruled | all_names(opened) if soc == "A2" else ruled
    thorough = ruled if soc == "A2" else set()  # of the other targets, what is told at some line
    suspects = [name for name in share(sorted(names - thorough), 2) if contradictions(name, opened, TOGETHER)]
    assert [
        line for name in sorted({*share(sorted(thorough), 2), *suspects}) for line in contradictions(name, opened)
    ] == []


def test_the_property_can_fail() -> None:
    """On pages as the catalogue alone would make them."""
    opened = session("2.7.1.post11", "A2")
    bare = opened.support.of("torch.stft")
    assert bare is not None and bare.kind == "constrained"
    graves = [f.code for f in findings("import torch\nx = torch.stft(a, 1)\n", opened) if f.severity in GRAVE]
    assert graves == ["PRT707"] and "PRT707" not in bare.rules


@pytest.mark.parametrize(
    ("name", "soc", "kind", "code"),
    [
        ("torch.channels_last", "A2", "depends", "PRT502"),
        ("torch.bfloat16", "910", "unfit", "PRT310"),
        ("torch.bfloat16", "A2", "value", None),
        ("torch.float8_e4m3fn", "A2", "unfit", "PRT317"),
        ("torch.float8_e4m3fn", "950", "value", None),
        ("torch.complex64", "A2", "depends", "PRT309"),
        ("torch.float64", "A2", "depends", "PRT307"),
        ("torch.float32", "A2", "value", None),
        ("torch.set_float32_matmul_precision", "A2", "idle", "PRT304"),
        ("torch.backends.cudnn.benchmark", "A2", "idle", None),
        ("torch.backends.mkldnn.enabled", "A2", "value", None),
        ("torch.sparse.mm", "A2", "depends", "PRT706"),
        ("torch.nn.DataParallel", "A2", "depends", "PRT205"),
        ("torch.stft", "A2", "depends", "PRT707"),
        ("torch.cuda.Event", "A2", "moved", "PRT101"),
        ("torch.cuda.Event.record", "A2", "moved", "PRT101"),
        ("torch.cuda", "A2", "depends", "PRT109"),
        ("torch.cuda.get_device_capability", "A2", "depends", "PRT110"),
        ("torch.cuda.nvtx.range", "A2", "moved", "PRT111"),
        ("torch.cuda.cudart", "A2", "missing", "PRT105"),
        ("torch.linalg.eigh", "A2", "cpu", "PRT702"),
        ("torch.relu", "A2", "supported", None),
    ],
)
def test_a_name_that_exists_is_not_supported_for_that(name: str, soc: str, kind: str, code: str | None) -> None:
    told = page(name, session("2.7.1.post11", soc))
    assert told.verdict is not None and told.verdict.kind == kind
    assert code is None or code in told.codes


def test_limits_name_the_argument_and_the_chip() -> None:
    opened = session("2.7.1.post11", "A2")
    of_lstm, of_bfloat16 = page("torch.nn.LSTM", opened).verdict, page("torch.bfloat16", opened).verdict
    assert of_lstm is not None and [limit.argument for limit in of_lstm.limits] == ["proj_size", "dtype"]
    assert of_bfloat16 is not None and of_bfloat16.limits[0].socs == ("910", "310P")


def test_a_stanza_is_no_evidence_that_a_name_exists() -> None:
    """A misspelt one would move what no torch has."""
    opened = session("2.7.1.post11", "A2")
    misspelt = opened.rules.texts.api("torch.cuda.empty_cache", opened.target)
    assert misspelt is not None
    standing = verdict(opened.support, opened.rules, "torch.cuda.empty_cashe", misspelt)
    assert standing is not None and standing.kind == "unknown"


def test_what_the_target_lacks_is_not_written() -> None:
    lacking = page("torch.cuda.ExternalStream", session("2.8.0.post5", "A2")).move
    having = page("torch.cuda.ExternalStream", session("2.7.1.post11", "A2")).move
    assert lacking is not None and (lacking.to, lacking.status, lacking.code) == (None, "manual", "PRT104")
    assert having is not None and (having.to, having.status) == ("torch.npu.ExternalStream", "auto")


MADE_BY_AN_EXTENSION = {
    f"torch.cuda.sparse.{kind}Tensor" for kind in "BFloat16 Byte Char Double Float Half Int Long Short".split()
}
# from before the oldest torch in the catalogue
OF_OLD = {name.partition(":")[2] for name in TABLES.pins if name.startswith("gone:torch.")}


@pytest.mark.slow
def test_every_name_that_a_rule_asks_for_is_one_of_torch() -> None:
    """Of stanzas and of classes. A name that no torch has is misspelt, and its rule never speaks."""
    keys = [rules_for(soc).keys for soc in SOCS]
    names = {*TABLES.moves, *TABLES.parameters, *MADE_BY_AN_EXTENSION}
    names |= {name for part in keys for asked in (part.calls, part.references, part.prefixes) for name in asked}
    names |= {call for sink in TABLES.sinks for call in sink.calls}
    names |= {call for rows in TABLES.options.values() for row in rows for call in row.calls}
    of_torch = [name for name in sorted(names) if name.startswith(("torch.", "torch_npu."))]
    assert len(of_torch) > 700
    assert {name for name in of_torch if not _is_known(name)} - OF_OLD == MADE_BY_AN_EXTENSION


def _is_known(name: str) -> bool:
    root, _, operator = name.rpartition(".")
    for catalogue in map(load, versions()):
        if catalogue.has(name) or catalogue.surface.gone(name):
            return True
        if root == "torch_npu" and catalogue.operators.overloads(f"npu::{operator}"):
            return True
        listed = name.startswith(("torch.cuda.", "torch.npu.", "torch_npu."))
        if not listed and catalogue.surface.has(name) is not False:
            return True
    return False


def test_limits_are_of_names_that_torch_has() -> None:
    texts = rules_for().texts
    names = texts.npu.limited()
    assert names and [name for name in names if not _is_known(name)] == []


def test_the_gravest_of_a_rule() -> None:
    assert worst(rules_for(), "PRT502") == "blocker"


IMPORTS = sorted(name for name in TABLES.packages if name.isidentifier())


@pytest.mark.slow
def test_no_page_of_a_package_contradicts_its_import() -> None:
    """A page of a package that runs, alone or with a plugin, and whose import is no finding, has no rule below it."""
    opened = session("2.7.1.post11", "A2")
    for package in IMPORTS:
        text = opened.rules.texts.package(package)
        assert text is not None, package
        found = findings(f"import torch\nimport {package}\n{package}.f(torch.ones(1).cuda())\n", opened)
        graves = [f for f in found if f.line == 2 and f.severity in GRAVE and f.code == text.row.code]
        shown = not graves or text.row.why or text.row.status not in ("native", "plugin")
        assert shown, f"the page of {package} shows no rule"
        assert text.row.status != "plugin" or text.message or opened.rules.texts.npu.steps(package), package


@pytest.mark.slow
def test_no_page_of_a_variable_contradicts_where_it_is_set() -> None:
    opened = session("2.7.1.post11", "A2")
    for name in TABLES.variables:
        text = opened.rules.texts.api(name, opened.target)
        assert text is not None, name
        found = findings(f'import os\nimport torch\nos.environ["{name}"] = "1"\n', opened)
        assert text.stays or found, f"the page of {name} tells of a rule, and a program is told nothing"
        assert text.status != "manual" or {f.status for f in found} <= {"manual"}, name
