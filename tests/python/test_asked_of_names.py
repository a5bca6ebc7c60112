"""What is asked of names and of the places around them, of a file that is read as a run reads it."""

from __future__ import annotations

import ast
import re
from textwrap import dedent, indent

import pytest

from porter.analysis.parsed import Parsed
from porter.analysis.session import open_session
from porter.python.assigned import values_of
from porter.python.index import Link, strings
from porter.python.leads_to_kernels import leads
from porter.python.source import Source
from porter.python.stopping import stops_without_gpu
from porter.python.strings.rows import arguments, read

SESSION = open_session()


def parsed(text: str) -> Parsed:
    return Parsed("train.py", Source(text.encode()), SESSION)


def question(text: str) -> Link:
    return next(link for link in parsed(text).buckets[ast.Call] if "torch.cuda" in ast.unparse(link[0].func))


def test_a_star_is_no_value_of_a_name():
    file = parsed("device, n = *where, 8\nuse(device, n)\n")
    device, n = (link for link in file.names.uses if link[0].id in ("device", "n") and link[0].lineno == 2)
    assert values_of(file.names, device[0], device) == []
    assert [ast.unparse(value) for value in values_of(file.names, n[0], n)] == ["8"]


GOES = "train()"
STOPS = "raise RuntimeError"


@pytest.mark.parametrize(
    ("condition", "with_gpu"),
    [
        ("torch.cuda.is_available()", True),
        ("not torch.cuda.is_available()", False),
        ("torch.cuda.is_available() == True", True),
        ("torch.cuda.is_available() is True", True),
        ("torch.cuda.is_available() != True", False),
        ("torch.cuda.is_available() is not True", False),
        ("torch.cuda.is_available() == False", False),
        ("torch.cuda.is_available() is False", False),
        ("torch.cuda.is_available() != False", True),
        ("not (torch.cuda.is_available() == True)", False),
        ("(not torch.cuda.is_available()) == True", False),
        ("torch.cuda.device_count() == 8", True),
        ("torch.cuda.device_count() != 8", False),
        ("torch.cuda.device_count() > 0", True),
        ("torch.cuda.device_count() == 0", False),
        ("torch.cuda.device_count() < 1", False),
        ("torch.cuda.device_count() < args.gpus", False),
        ("torch.cuda.device_count() >= args.gpus", True),
    ],
)
def test_which_branch_ends_without_a_gpu(condition, with_gpu):
    """`with_gpu`: what the condition is with one."""
    stops_below = f"if {condition}:\n    {GOES}\nelse:\n    {STOPS}\n"
    stops_at_once = f"if {condition}:\n    {STOPS}\nelse:\n    {GOES}\n"
    assert stops_without_gpu(question(stops_below)) is with_gpu
    assert stops_without_gpu(question(stops_at_once)) is not with_gpu


@pytest.mark.parametrize("condition", ["torch.cuda.current_device() is None", "x or torch.cuda.is_available() == True"])
def test_where_nobody_knows_nothing_ends(condition):
    for one, other in ((GOES, STOPS), (STOPS, GOES)):
        assert not stops_without_gpu(
            question(f"if {condition}:\n{indent(one, '    ')}\nelse:\n{indent(other, '    ')}\n")
        )


def string(file: Parsed, value: str) -> list[Link]:
    lines = [*range(1, len(file.source.starts) + 1)]
    return strings(file.tree, lines, re.compile(f"^{value}$"))


def given(text: str, value: str) -> list[tuple[str, int]]:
    """What a string of a file is for: the name of the argument, and how many places of the test read it."""
    file = parsed(text)
    (link,) = string(file, value)
    return [(argument.name, len(read(file.names, argument))) for argument in arguments(file.names, link)]


def test_what_stands_in_a_star_counts_on_from_its_place():
    text = """
        @pytest.mark.parametrize("a, b, c, d", [("one", *("two", "three"), "four")])
        def test(a, b, c, d):
            use(c)
    """
    text = dedent(text)
    assert [given(text, value) for value in ("one", "two", "three", "four")] == [[("a", 0)], [("b", 0)], [("c", 1)], []]


def test_rows_in_a_star_are_rows():
    text = """
        @pytest.mark.parametrize("a, b", [("one", 1), *[("two", 2), (2, "three")]])
        def test(a, b):
            use(a, b)
    """
    assert [given(dedent(text), value) for value in ("two", "three")] == [[("a", 1)], [("b", 1)]]


def test_a_fixture_is_asked_for_by_the_name_that_it_is_given():
    text = """
        @pytest.fixture(name="place", params=["cuda"])
        def place_fixture(request):
            return request.param

        def test(place):
            use(place)
    """
    assert given(dedent(text), "cuda") == [("place", 1)]


def test_a_key_in_a_row_is_no_argument_of_a_test():
    text = """
        @pytest.mark.parametrize("cfg, place", [({"place": "one"}, "two")])
        def test(cfg, place):
            use(place)

        @pytest.mark.parametrize("cfg", [{"place": "three"}])
        def test_alone(cfg, place):
            use(place)
    """
    assert [given(dedent(text), value) for value in ("one", "two", "three")] == [[], [("place", 1)], [("place", 0)]]


def test_the_keys_of_a_class_of_tests_are_its_attributes():
    text = """
        @parameterized_class([{"place": "cuda"}])
        class Test:
            pass
    """
    file = parsed(dedent(text))
    (link,) = string(file, "cuda")
    (argument,) = arguments(file.names, link)
    assert argument.name == "place" and isinstance(argument.owner[0], ast.ClassDef)


@pytest.mark.parametrize("order", ["ab", "ba"])
def test_what_functions_that_call_each_other_lead_to_does_not_depend_on_who_is_asked_first(order):
    def starts(file, func, link):
        return func.id == "kern"

    file = parsed("def a(x):\n    b(x)\n    kern(x)\n\n\ndef b(x):\n    a(x)\n\n\na(1)\nb(1)\n")
    names = {link[0].id: link[0] for link in file.names.uses if link[0].lineno > 8}
    assert all(leads(file, names[name], starts) for name in order)
