"""What one analysis takes and leaves behind. A tree that waits for the collector costs memory, and time for each file."""

from __future__ import annotations

import ast
import gc
from collections.abc import Callable, Iterator

import libcst as cst
import pytest
from cases import CASES, beside, called, session
from drawn import share

from porter.analysis import python_promises as promises
from porter.analysis.analyse import analyse
from porter.analysis.session import open_session
from porter.python import trees

pytestmark = pytest.mark.slow


@pytest.fixture
def left() -> Iterator[Callable[[], set[str]]]:
    """The trees that wait for the collector. What was there before is none of its business: to walk all that a test run
    holds costs more than an analysis."""
    gc.freeze()
    gc.disable()
    gc.set_debug(gc.DEBUG_SAVEALL)

    def look() -> set[str]:
        gc.collect()
        return {type(o).__name__ for o in gc.garbage if isinstance(o, (ast.stmt, ast.expr, cst.CSTNode))}

    try:
        yield look
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()
        gc.unfreeze()


@pytest.mark.parametrize("case", share(CASES, 3), ids=lambda case: case.name)
def test_trees_are_freed_without_the_collector(case, left):
    analyse(called(case), beside(case, "before").read_bytes(), session(case))
    assert not left()


def test_a_tree_in_a_circle_would_be_seen(left):
    tree = ast.parse("x = 1")
    tree.body[0].above = tree
    del tree
    assert left() >= {"Assign", "Name"}


def test_the_old_tree_is_gone_before_the_port_is_read(monkeypatch: pytest.MonkeyPatch):
    """Two trees of a file full of edits are twice the memory."""
    alive = []

    def modules() -> list[object]:
        return [o for o in gc.get_objects() if isinstance(o, (ast.Module, cst.Module))]

    class Counting(promises.Source):
        def __init__(self, data: bytes):
            alive.append([type(tree).__name__ for tree in modules() if id(tree) not in before])
            super().__init__(data)

    gc.collect()
    before = {id(tree) for tree in modules()}
    monkeypatch.setattr(promises, "Source", Counting)
    long = b"a" * 3_000  # trees of short statements are kept, a few of them: python/spare_trees.py
    result = analyse(
        "a.py",
        b"import torch\ny = (x.cuda(), '%s')\n"
        b"m = AutoModel.from_pretrained(p, attn_implementation='flash_attention_3', note='%s')\n" % (long, long),
        open_session(),
    )
    assert result.auto and result.review != result.auto
    assert alive == [[], []]  # of the automatic edits, and with those to review


def test_a_file_of_too_much_code_is_told_and_not_parsed(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(trees, "tree_of", lambda text: pytest.fail("parsed"))
    data = b"import torch\nx.cuda()\ny = [" + b"1," * (trees.MOST // 2) + b"]\n"
    (finding,) = analyse("a.py", data, open_session()).findings
    assert (finding.code, finding.why) == ("PRT002", "vast")
    assert trees.parse(data) is None


@pytest.mark.parametrize("data", ['y = """' + "cuda is " * 80_000 + '"""\n', "# cuda\n" * 90_000, "\n" * 460_000])
def test_text_and_blank_lines_are_no_code(data: str):
    assert trees.fits(data)


def test_what_stands_in_formatted_strings_is_code():
    assert not trees.fits('f"""' + "{a}" * trees.MOST + '"""')


@pytest.mark.parametrize("long", ["1," * (trees.MOST_FOR_LIBCST // 2), " " * 1_000_000])
def test_a_statement_that_is_too_much_for_libcst_costs_itself(long: str):
    """A list of numbers as long as a book: LibCST needs kilobytes for each."""
    long = f"x = torch.tensor([{long}]).cuda()\n".encode()
    result = analyse("a.py", b"import torch\n" + long + b"x.cuda()\n", open_session())
    assert [(f.line, f.code, f.why) for f in result.findings] == [(2, "PRT002", "statement"), (3, "PRT130", "dropped")]
    assert len(result.auto) == 2  # the call, and the import
