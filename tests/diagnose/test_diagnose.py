"""`porter diagnose`: real texts, every symptom, what a log may look like, and what it must never make porter do."""

from __future__ import annotations

import gzip
import json
import re
import runpy
import tracemalloc
from pathlib import Path

import pytest
import tomli
from command_line import Porter, write
from diagnose_logs import (
    FALLING,
    MEGATRON,
    PACKAGES,
    RANK,
    TEXTS,
    diagnosed,
    epochs,
    known,
    losses,
    meanings,
    scales,
    scanned,
)
from drawn import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from porter.diagnose.conclude import conclude
from porter.diagnose.match import alternatives, matchers
from porter.diagnose.repository import Place, Repository
from porter.diagnose.scan import Scan
from porter.diagnose.traces import Frame
from porter.logs.clean import shown, split
from porter.logs.reading import LONG, blocks, opened
from porter.rulebook.log_patterns import LEAST, needle, wrong

HERE = Path(__file__).parents[1]
REAL = tomli.loads((HERE / "diagnose" / "texts.toml").read_text(encoding="utf-8"))["text"]
CAUSES = TEXTS.named("causes")
HAN = re.compile(r"[\u4e00-\u9fff]")


def names(text: str | bytes) -> list[str]:
    return [answer.name for answer in diagnosed(text).answers]


# ---- real texts


@pytest.mark.parametrize("text", REAL, ids=lambda text: text["source"])
def test_a_real_text(text):
    diagnosis = diagnosed(text["lines"].lstrip("\n"))
    wanted = text.get("cause", "unknown")
    if wanted == "unknown":
        assert not diagnosis.known and not [a.name for a in diagnosis.answers if a.kind == "cause"]
    else:
        assert diagnosis.answers[0].name == wanted


def test_there_are_enough_of_them():
    assert sum(text["set"] != "unrelated" and text.get("cause") != "unknown" for text in REAL) >= 50
    assert sum(text["set"] == "unrelated" for text in REAL) >= 20
    assert all(re.fullmatch(r"[\w.-]+/[\w.-]+#\d+(?:, .+)?", text["source"]) for text in REAL)


# ---- the rules


@pytest.mark.parametrize("name", CAUSES)
def test_every_cause(name):
    cause = CAUSES[name]
    for line in cause.get("example", ()):
        assert names(f"{line}\n")[:1] == [name]
    for key in ("title", "why", "cure"):
        assert HAN.search(cause[key]["zh"]) and not HAN.search(cause[key]["en"]), key
        assert cause[key]["en"] == cause[key]["en"].strip() and "  " not in cause[key]["en"]
    assert all(
        cause["why"][lang].endswith(end) and cause["cure"][lang].endswith(end)
        for lang, end in (("en", "."), ("zh", "。"))
    )


@pytest.mark.parametrize(("name", "lang"), [("causes.md", "en"), ("causes.zh.md", "zh")])
def test_every_cause_has_its_place_in_the_pages(name, lang, golden):
    pages = runpy.run_path(str(HERE.parent / "docs" / "causes_pages.py"))
    golden(HERE.parent / "docs" / name, pages["document"](lang).encode())


def test_every_line_of_a_cause_is_seen_in_an_example():
    """A pattern that no example fits may fit nothing."""
    for name, cause in CAUSES.items():
        text = "\n".join([*cause.get("example", ()), *(t["lines"] for t in REAL if t.get("cause") == name)])
        if cause.get("lines"):
            assert any(re.search(line, text) for line in cause["lines"]), name


@pytest.mark.slow
def test_what_is_said_is_heard_in_a_long_log_too():
    """Of a long log only lines with certain letters are looked at: all of these are."""
    said = [(cause["name"], line) for cause in CAUSES.values() for line in cause.get("example", ())]
    said += [(t["cause"], line) for t in REAL if t.get("cause") in CAUSES for line in t["lines"].splitlines()]
    for name, line in said:
        if scanned(f"{line}\n").sightings:
            assert Scan(matchers(())).interesting(f"quiet\n{line}\nquiet\n".encode()) == [6], (name, line)


def test_every_symptom_of_every_rule_leads_to_it():
    for code in TEXTS.codes():
        rule = TEXTS.rule(code)
        for symptom in {rule.symptom, *(TEXTS.about(code, why, "symptom") for why in rule.messages)} - {""}:
            said = alternatives(symptom)
            found = {
                meaning.code
                for part in said
                for meaning in meanings()
                if meaning.code and meaning.needle in part and meaning.pattern.search(part)
            }
            assert code in found, (code, symptom)


def test_a_message_that_anybody_may_have_written_counts_only_where_the_code_is():
    trace = (
        'Traceback (most recent call last):\n  File "/srv/pkg/version.py", line 2, in <module>\n'
        "    major = torch.version.cuda.split('.')[0]\nAttributeError: 'NoneType' object has no attribute 'split'\n"
    )
    assert names(trace) == []
    source = ["import torch", "major = torch.version.cuda.split('.')[0]"]
    place = Place("pkg/version.py", 2, 2, "PRT141", "wrong", "manual", "...")
    here = Repository(["pkg/version.py"], [place], lambda path: source)
    answer = diagnosed(trace, here).answers[0]
    assert (answer.name, answer.places) == ("PRT141", [place])
    elsewhere = Repository(["pkg/version.py", "a.py"], [place._replace(path="a.py")], lambda path: source)
    assert diagnosed(trace, elsewhere).answers == []


def test_every_package_of_gpus_that_is_not_there():
    for name, package in PACKAGES.items():
        if package.status in ("replace", "none"):
            answer = diagnosed(f"ModuleNotFoundError: No module named '{name}'\n").answers[0]
            assert answer.package == name or answer.name in ("flash-attention", "gpu-package"), name
    assert names("ModuleNotFoundError: No module named 'apexlib'\n") == []


@pytest.mark.parametrize("pattern", ["a.*b", "long words.+", "(?:a|b)c", "(", "", r"(?:long words)\s*"])
def test_a_pattern_that_may_not_be(pattern):
    assert wrong(pattern)


def test_a_needle_is_in_every_match():
    assert needle(r"NPU out of memory") == "NPU out of memory"
    assert needle(r"error code is (?:507015|507035)\b") == "error code is 5070"
    assert needle(r"(?:ab|cd)efgh.{0,3}xyz") == "efgh"
    assert len(needle(r"\d{1,3}(?:a|b)?")) < LEAST


# ---- what a log looks like

OOM = "RuntimeError: NPU out of memory. Tried to allocate 2.00 GiB"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "line"),
    [
        (f"a\nb\n{OOM}\n", 3),
        (f"a\r\nb\r\n{OOM}\r\n", 3),
        (f"a\r10%\r20%\rb\n{OOM}\n", 2),
        (f"a\n\x1b[31m{OOM[:20]}\x1b[0m{OOM[20:]}", 2),
        (b"\x80\xff\x00garbage \xfe\n" + OOM.encode(), 2),
        (f"x\n{OOM}\n".encode("utf-16"), 2),
        ("y" * (3 * LONG) + f"\nz\n{OOM}\n", 3),
        ("\r".join(f"{n}%|#| {n}/100" for n in range(20_000)) + f"\n{OOM}\n", 2),
        ("quiet line\n" * 60_000 + f"{OOM}\n" + "quiet line\n" * 60_000, 60_001),
    ],
    ids=["unix", "windows", "bars", "colours", "bytes", "utf-16", "long", "one-line-of-bars", "large"],
)
def test_a_log_of_any_kind(tmp_path, text, line):
    data = text.encode() if isinstance(text, str) else text
    for name, written in (("log", data), ("log.gz", gzip.compress(data))):
        (tmp_path / name).write_bytes(written)
        with opened(str(tmp_path / name)) as stream:
            diagnosis = conclude(Scan(known()).read(blocks(stream)), TEXTS, None)
        answer = diagnosis.answers[0]
        assert (answer.name, answer.evidence[0].line) == ("out-of-memory", line)


PIECES = [
    b"\n",
    b"\r",
    b"\r\n",
    b"Traceback (most recent call last):",
    b'  File "a.py", line 1, in f',
    b"    f()",
    b"KeyError: 1",
]
PIECES += [
    b"[rank1]: ",
    b"\xff",
    b"loss: nan",
    b"'loss': 1.5",
    b"\x1b[1m",
    b"error code is 507015",
    b"x" * 300,
    OOM.encode(),
    b"\x1e",
]


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(st.sampled_from(PIECES) | st.binary(max_size=8), max_size=60), st.sampled_from([3, 64, 1 << 18]))
def test_any_bytes_in_blocks_of_any_size(pieces, size):
    data = b"".join(pieces)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("porter.logs.reading.BLOCK", size)
        log = scanned(data)
    assert log.lines == data.count(b"\n") + (data != b"" and not data.endswith(b"\n"))
    whole = scanned(data)
    assert [(s.meaning.cause, s.line, s.count) for s in log.sightings.values() if s.meaning.cause] == [
        (s.meaning.cause, s.line, s.count) for s in whole.sightings.values() if s.meaning.cause
    ]
    assert [(e.text, e.line) for e in log.tracebacks.errors] == [(e.text, e.line) for e in whole.tracebacks.errors]


@pytest.mark.parametrize(
    ("prefix", "rank"),
    [
        ("[rank3]: ", 3),
        ("[default0]:", 0),
        ("(WorkerDict pid=4711) ", None),
        ("(VllmWorker rank=2 pid=10233) ERROR 06-17 06:11:34 [multiproc_executor.py:492] ", 2),
        ("ERROR 05-07 05:58:46 core.py:291] ", None),
        ("worker-1: ", None),
        ("12: ", 12),
        ("2025-06-25 10:45:23,123 ", None),
        ("(pid=3339191) [Rank 0 | Local Rank 0] ", 0),
    ],
)
def test_what_launchers_put_before_a_line(prefix, rank):
    _, text, own = split(f"{prefix}  File")
    assert (text, own) == ("  File", rank)
    assert split("RuntimeError: 3: x")[1] == "RuntimeError: 3: x"
    assert split("EI0006: [PID: 1] x")[1] == "EI0006: [PID: 1] x"


def test_ranks_that_write_in_between_each_other():
    lines = []
    for number, rank in enumerate([0, 1] * 3):
        part = number // 2
        text = (
            "Traceback (most recent call last):",
            f'  File "/w/r{rank}.py", line 5, in run',
            f"KeyError: 'of {rank}'",
        )[part]
        lines.append(f"[rank{rank}]: {text}")
    errors = scanned("\n".join(lines)).tracebacks.errors
    assert [(e.text, e.rank, e.frames[0].file) for e in errors] == [
        ("KeyError: 'of 0'", 0, "/w/r0.py"),
        ("KeyError: 'of 1'", 1, "/w/r1.py"),
    ]


def test_errors_that_follow_each_other():
    text = """\
Traceback (most recent call last):
  File "/w/a.py", line 1, in load
    x()
ImportError: libhccl.so: cannot open shared object file: No such file or directory

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "/w/b.py", line 2, in main
    load()
    ^^^^^^
RuntimeError: Failed to load
"""
    first, second = scanned(text).tracebacks.errors
    assert second.chain == [first, second] and second.frames[0] == Frame("/w/b.py", 2, "main", "load()")
    diagnosis = diagnosed(text)
    assert diagnosis.answers[0].name == "cann-missing" and diagnosis.errors == []


def test_who_waits_for_a_rank_that_failed():
    failed = '[rank0]: Traceback (most recent call last):\n[rank0]:   File "/w/a.py", line 7, in main\n[rank0]: {}\n'
    waits = "[rank1]: EI0006: Getting socket times out. Reason: Remote Rank did not send the data in time.\n"
    diagnosis = diagnosed(failed.format("KeyError: 'labels'") + waits)
    assert [(a.name, a.kind) for a in diagnosis.answers] == [("hccl-connect", "effect")]
    assert [e.text for e in diagnosis.errors] == ["KeyError: 'labels'"] and not diagnosis.known
    diagnosis = diagnosed(waits + failed.format(OOM))
    assert [(a.name, a.kind) for a in diagnosis.answers] == [("out-of-memory", "cause"), ("hccl-connect", "effect")]
    assert diagnosed(waits).known


def test_an_error_after_all_that_is_explained_is_told_as_well():
    trace = 'Traceback (most recent call last):\n  File "/w/a.py", line 7, in main\n{}\n'
    diagnosis = diagnosed(
        trace.format("ModuleNotFoundError: No module named 'flash_attn'") + trace.format("KeyError: 1")
    )
    assert [a.name for a in diagnosis.answers] == ["flash-attention"] and diagnosis.known
    assert [e.text for e in diagnosis.errors] == ["KeyError: 1"]
    diagnosis = diagnosed(
        trace.format("KeyError: 1") + trace.format("ModuleNotFoundError: No module named 'flash_attn'")
    )
    assert diagnosis.known and diagnosis.errors == []


def test_nothing_of_a_log_reaches_the_terminal_as_it_is():
    text = shown(f"{OOM} \x1b]0;title\x07 \u202e\x00\x9b31m")
    assert text.isprintable() and "\u202e" not in text
    assert len(shown("x" * 10_000)) < 300


# ---- the code


SOURCE = ["import torch", "", "def step(x):", "    m = torch.zeros(3).cuda()", "    return m + x"]
CUDA = """\
Traceback (most recent call last):
  File "/srv/job/proj/src/train.py", line {line}, in step
    m = torch.zeros(3).cuda()
  File "/venv/lib/python3.10/site-packages/torch/cuda/__init__.py", line 289, in _lazy_init
    raise AssertionError("Torch not compiled with CUDA enabled")
AssertionError: Torch not compiled with CUDA enabled
"""


def repository(opened_paths: list[str]) -> Repository:
    def lines(path: str) -> list[str]:
        opened_paths.append(path)
        return SOURCE

    places = [
        Place("src/other.py", 1, 1, "PRT130", "blocker", "auto", "other"),
        Place("src/train.py", 4, 4, "PRT130", "blocker", "auto", "here"),
    ]
    return Repository(["src/other.py", "src/train.py"], places, lines)


@pytest.mark.parametrize("line", [4, 40])
def test_the_place_in_the_code(line):
    paths: list[str] = []
    answer = diagnosed(CUDA.format(line=line), repository(paths)).answers[0]
    assert answer.spots[-1][:2] == ("src/train.py", 4)
    assert [place.message for place in answer.places] == ["here", "other"]
    assert set(paths) == {"src/train.py"}


def test_what_is_found_where_an_unknown_error_was_raised():
    text = CUDA.format(line=4).replace("AssertionError: Torch not compiled with CUDA enabled", "Boom: no")
    code = repository([])
    diagnosis = diagnosed(text, code)
    assert not diagnosis.known and [place.message for place in code.at(diagnosis.spots[6])] == ["here"]


def test_no_path_of_a_log_is_opened():
    paths: list[str] = []
    for file in (
        "/etc/passwd",
        "../../etc/passwd",
        "C:\\work\\train.py",
        "/venv/lib/python3.10/site-packages/src/train.py",
    ):
        trace = f'Traceback (most recent call last):\n  File "{file}", line 1, in x\nKeyError: 1\n'
        diagnosis = diagnosed(trace, repository(paths))
        assert diagnosis.spots == {3: []}
    assert paths == []


# ---- numbers


def bars(what: str) -> str:
    line = "\r{}  1%|    | {}/500 [0{}:{:02d}<1:00:00,  2.0s/it]"
    return "".join(line.format(what, n, 3 + n // 30, n % 30) for n in range(1, 90))


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (losses(FALLING), []),
        (losses([*FALLING[:30], "nan", "nan"]), ["nan-loss"]),
        (losses([*FALLING[:30], "inf"]), ["nan-loss"]),
        (losses([2.302585] * 30), ["flat-loss"]),
        (losses([2.302585] * 10), []),
        (losses([*FALLING[:60], 40.0, *FALLING[60:]]), ["loss-spike"]),
        (losses([1.0 + 3 * (n % 2) + n / 1e3 for n in range(200)]), ["oscillating-loss"]),
        (losses([0.7 + 0.05 * (n % 9) for n in range(200)]), []),
        ("".join(MEGATRON.format(n=n, ms=180000 if n == 1 else 900.5) for n in range(1, 20)), ["slow-first-step"]),
        ("".join(MEGATRON.format(n=n, ms=1800 if n == 1 else 900.5) for n in range(1, 20)), []),
        (epochs(0.91), ["data-gap"]),
        (epochs(0.01), []),
        ("".join(RANK.format(r=r, n=n, ms=2000 if r == 3 else 900) for n in range(1, 20) for r in range(4)), ["slow-rank"]),
        (
            losses(FALLING, lambda n: f"\n{{'eval_accuracy': 0.1, 'epoch': {n}}}" if n % 50 == 49 else ""),
            ["stuck-metric"],
        ),
        (
            losses(FALLING, lambda n: f"\n{{'eval_accuracy': 0.{n}, 'epoch': {n}}}" if n % 50 == 49 else ""),
            [],
        ),
        (bars(""), ["slow-first-step"]),
        (bars("Loading shards:"), []),
        (scales(20), ["loss-scale"]),
        (scales(3), []),
        (losses(FALLING, lambda n: " grad_norm: nan" if n < 2 else " grad_norm: 1.0"), []),
    ],
)  # fmt: skip
def test_numbers(text, wanted):
    assert names(text) == wanted


@pytest.mark.slow
def test_a_long_log_takes_little_memory_and_is_read_to_its_end():
    def stream():
        line = "[rank1]: step {n} {{'loss': {loss}, 'grad_norm': 0.5}} [ERROR] HCCL({n}) nothing that is known {n}\n"
        for part in range(8):
            yield "".join(line.format(n=n, loss=2 + n % 7) for n in range(part * 1000, part * 1000 + 1000)).encode()
        yield f"{OOM}\n".encode()

    tracemalloc.start()
    log = Scan(known()).read(stream())
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert log.lines == 8_001 and log.sightings["out-of-memory", ""].line == 8_001
    assert peak < 6_000_000


# ---- the command


@pytest.fixture(scope="module")
def porter(tmp_path_factory):
    folder = tmp_path_factory.mktemp("diagnose") / "project"
    files = {"src/train.py": "\n".join(SOURCE) + "\n", "pyproject.toml": "", "log": CUDA.format(line=4)}
    unknown = 'Traceback (most recent call last):\n  File "/w/a.py", line 1, in f\nBoom: \x1b[31mno\n'
    write(folder, {**files, "unknown": unknown, "fine": "epoch 1 done\n", "cut.gz": gzip.compress(b"x" * 5000)[:20]})
    with pytest.MonkeyPatch.context() as patch:
        yield Porter(patch, folder)


@pytest.mark.slow
def test_the_command(porter):
    done = porter("diagnose", "log")
    assert (done.code, done.err) == (0, "")
    assert "src/train.py:4: here the traceback ends" in done.text and "src/train.py:4: PRT130" in done.text
    done = porter("diagnose", "-", "--format", "json", "--lang", "zh", stdin=CUDA.format(line=4).encode())
    document = json.loads(done.out)
    assert done.code == 0 and document["known"] and document["causes"][0]["name"] == "cuda-used"
    assert document["causes"][0]["places"][0]["line"] == 4 and HAN.search(document["causes"][0]["title"])
    assert porter("analyze", ".", "-o", "f.json").code == 1
    done = porter("diagnose", "log", "--findings", "f.json", "--lang", "zh")
    assert done.code == 0 and "src/train.py:4: PRT130" in done.text and "原因" in done.text


@pytest.mark.slow
def test_the_command_where_nothing_is_known(porter):
    done = porter("diagnose", "unknown")
    assert (done.code, done.err) == (1, "")
    assert "unknown" in done.text and "Boom: no" in done.text and "\x1b" not in done.text
    document = json.loads(porter("diagnose", "unknown", "--format", "json").out)
    assert not document["known"] and document["unexplained"][0]["text"] == "Boom: no" and document["next"]
    assert "no error in this log" in porter("diagnose", "fine").text


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["missing"], "porter: missing: no such file or directory\n"),
        (["cut.gz"], "porter: cut.gz: damaged gzip"),
        (["src"], "porter: src: not a regular file"),
        (["log", "--repo", ".", "--findings", "f.json"], "porter: --repo and --findings"),
        (["log", "--format", "html"], "porter: --format: 'html' is none of text, json"),
    ],
)
def test_what_the_command_cannot_do(porter, arguments, said):
    done = porter("diagnose", *arguments)
    assert done.code == 2 and done.err.startswith(said)


# ---- codes that torch_npu and HCCL write


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("RuntimeError: ERR02002 DIST invalid type: Tensors must be contiguous", "not-contiguous"),
        (
            "    work = group.allreduce([tensor], opts)\nRuntimeError: Tensors must be contiguous\n"
            "[ERROR] 2024-08-18-22:15:47 (PID:23232, Device:0, RankID:0) ERR02002 DIST invalid type",
            "not-contiguous",
        ),
        ("[ERROR] ERR02002 DIST invalid type", "torch-npu-refused"),
        ("[ERROR] ERR01100 OPS call acl api failed", "inner-error"),
        ("EI0009: Transport init error.\nHcclCommInitRootInfo error", "transport-failed"),
        ("EI0009: the link failed", "transport-failed"),
        ("EI0006: Getting socket times out.", "hccl-connect"),
    ],
)
def test_their_own_codes_speak_of_an_npu(text, cause):
    diagnosis = diagnosed(text)
    assert diagnosis.log.npu
    assert [answer.name for answer in diagnosis.answers][:1] == [cause]
