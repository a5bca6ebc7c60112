"""What a version is, in all the ways in which projects, wheels and CANN write one."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest

from porter.versions import allows, base, begins, limits, parse, pinned, reaches, release

NONE = ["", " ", "newest", "torch2.7", "*", ".", "1..2", "2.7..1", "-1", "²", "٣.1", "\x00", "\ud800", "v", "rc1"]
READ = {
    "2.7.1": (2, 7, 1),
    " 2.7 ": (2, 7),
    "2.7.1.post11+cpu": (2, 7, 1),
    "2.7.1+cu118": (2, 7, 1),
    "2.7.0a0+ecf3bae40a.nv25.02": (2, 7, 0),
    "2.8.0.dev20250601": (2, 8, 0),
    "2.*": (2,),
    "2.7.*": (2, 7),
    "2.7.1-cu118": (2, 7, 1),
    "2.0.x": (2, 0),
    "8.3.RC1.alpha003": (8, 3),
    "7.3.0.1.231": (7, 3, 0),
}


@pytest.mark.parametrize("text", [*NONE, "9" * 5000, "2." * 5000, "1." + "0" * 100_000, "2.7.1+" + "a" * 100_000])
def test_no_text_raises(text):
    began = time.process_time()
    numbers = release(text)
    assert bool(numbers) is (text not in NONE)
    assert len(release(text, 3)) == (3 if numbers else 0)
    assert len(base(text)) <= len(text)
    begins(text, "2.7"), begins("2.7", text), pinned(f"=={text}"), limits(f">={text}")
    for operator in ("==", "!=", "~=", "~", "^", "=", "===", "<", ">", "<=", ">="):
        allows(operator + text, "2.7.1"), allows(f"{operator}2.7", text)
    assert time.process_time() - began < 2


@pytest.mark.parametrize("text", READ)
def test_the_first_three_numbers(text):
    assert release(text) == READ[text]
    assert release(text, 3) == (*READ[text], 0, 0)[:3]


def test_versions_have_an_order():
    ordered = ["2.1.0.post17", "2.6", "2.7.1rc1", "2.7.1", "2.7.1.post8", "2.7.1.post11", "2.9.1", "2.13.0"]
    assert sorted(reversed(ordered), key=parse) == ordered


def test_the_torch_that_a_torch_npu_is_made_for():
    pairs = {"2.7.1.post11": "2.7.1", "2.13.0": "2.13.0", "2.9": "2.9", "2.7.0a0+git12": "2.7.0", "trunk": "trunk"}
    assert {text: base(text) for text in pairs} == pairs


@pytest.mark.parametrize(
    ("text", "starts", "others"),
    [
        (
            "2.7.1.post11",
            ["2", "2.7", "2.7.1", "2.7.1.post11"],
            ["2.7.1.post1", "2.7.1.1", "2.70", "2.7.1rc1", "", "x"],
        ),
        ("8.3.RC1.alpha003", ["8", "8.3", "8.3.RC1", "8.3.rc1"], ["8.3.RC2", "8.3.1", "8.5"]),
        ("8.5.0.alpha001", ["8.5", "8.5.0"], ["8.5.1"]),
        ("9.1.0", ["9.1"], ["9.0", "9.10"]),
        ("9.1", ["9", "9.1"], ["9.1.0"]),
        ("8.0.T63", ["8.0"], ["8.0.RC2"]),
    ],
)
def test_a_version_begins_with_another(text, starts, others):
    assert [start for start in starts + others if begins(text, start)] == starts


@pytest.mark.parametrize(
    ("spec", "numbers"),
    [
        ("==2.7.1+cu118", (2, 7, 1)),
        ("=2.13", (2, 13)),
        ("^2.1.0", (2, 1, 0)),
        ("~2.1", (2, 1)),
        ("~=2.4,!=2.4.1", (2, 4)),
        ("==2.7.*", (2, 7)),
        ("==2.*", ()),
        (">=2.0,<2.5", ()),
        ("", ()),
    ],
)
def test_what_a_requirement_pins(spec, numbers):
    assert pinned(spec) == numbers


@pytest.mark.parametrize(
    ("spec", "taken", "refused"),
    [
        (">=2.0,<2.8", "2.7.1.post11", "2.8.0"),
        (">= 2.0 , < 2.8", "2.0", "1.13.1"),
        (">2.7", "2.7.1", "2.7.0.post3"),
        ("<=2.7", "2.7.0", "2.7.1"),
        ("==2.7", "2.7.1.post11", "2.8"),
        ("=2.7", "2.7.1", "2.70.1"),
        ("===2.7.1", "2.7.1.post11", "2.7.0"),
        ("==2.*", "2.13.0", "3.0"),
        ("!=2.7", "2.8", "2.7.1"),
        ("!=2.7.*,>=2", "2.8", "2.7.1"),
        ("~=2.1", "2.13", "3.0"),
        ("~=2.7.0", "2.7.1", "2.8.0"),
        ("~=2", "3.0", "1.13"),
        ("^2.1.0", "2.13.0", "3.0"),
        ("^2.1.0", "2.1", "2.0.1"),
        ("^0.22", "0.22.1", "0.23"),
        ("~2.1", "2.1.2", "2.2"),
        ("~2", "2.13", "3.0"),
        (">=2.7rc2", "2.7.1", "2.6"),
        ("", "2.7.1", "newest"),
        ("*", "2.7.1", "1..2"),
    ],
)
def test_what_a_requirement_takes(spec, taken, refused):
    assert (allows(spec, taken), allows(spec, refused)) == (True, False)


@pytest.mark.parametrize(
    ("spec", "reached"),
    [
        ("", True),
        (">=0.1", True),
        ("==0.25.0", True),
        ("==0.25", True),
        ("==0.*", True),
        (">0.26,<0.30", True),
        (">=0.28.1,<0.28.3", True),
        ("~=0.20", True),
        ("!=0.25.0", True),
        ("==0.24.1", False),
        ("=0.24", False),
        ("<0.25", False),
        ("<=0.24.9,>=0.1", False),
        ("~=0.24.0", False),
        ("===0.20.3", False),
    ],
)
def test_whether_a_requirement_takes_a_version_or_a_later_one(spec, reached):
    assert reaches(spec, "0.25.0") is reached


@pytest.mark.slow
def test_packaging_is_imported_where_there_is_a_version_to_read():
    code = (
        "import sys, porter.target, porter.project.pins, porter.doctor.judge, porter.catalog.read.documents\n"
        "from porter.versions import release\n"
        "assert 'packaging' not in sys.modules; release('2.7')\n"
        "assert 'packaging.version' in sys.modules and 'packaging.specifiers' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    ("spec", "below"),
    [
        ("==0.8", False),
        (">=0.7", False),
        ("~=0.7", False),
        ("==0.6", True),
        (">=0.6", True),
        (">0.6,<0.8", True),
        ("<1", True),
        ("!=0.8", True),
        ("==1.0,<0.5", False),
    ],
)
def test_below(spec, below):
    assert reaches(spec, "0", "0.7") is below


@pytest.mark.parametrize(
    ("spec", "between"),
    [
        ("", True),
        ("==1.24.3", True),
        ("==1.25.*", True),
        (">=1.18,<1.24.1", True),
        (">=1.18,<1.24", False),
        ("!=1.24", True),
        (">1.99", True),
        (">=2.0", False),
        ("==2.1.0", False),
        ("<1.20", False),
    ],
)
def test_between(spec, between):
    assert reaches(spec, "1.24", "2.0") is between
