"""Whatever is wrong with a profile is one line that names the file, the place and the cure; and memory is bounded."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import tracemalloc
from pathlib import Path

import pytest
from drawn import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from profiles_world import (
    API,
    KERNEL,
    OPERATOR,
    STATISTIC,
    STEP,
    collective,
    event,
    kernel,
    process,
    step,
    table,
    trace,
)

from porter.errors import UserError
from porter.files.errors import FilesError
from porter.profiles.document import document
from porter.profiles.find import read_run
from porter.profiles.show import fragment, lines
from porter.profiles.stream import events
from porter.profiles.tables import Table
from porter.terminal import plain

OUTPUT = "ASCEND_PROFILER_OUTPUT"


def refused(path: Path) -> str:
    with pytest.raises(UserError) as raised:
        read_run(str(path))
    en, zh = raised.value.text("en"), raised.value.text("zh")
    assert "\n" not in en + zh and en != zh
    return en.replace(str(path.parent) + os.sep, "")


def test_what_is_not_there(tmp_path):
    with pytest.raises(FilesError):
        read_run(str(tmp_path / "absent"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "t.json: no trace"),
        ("7", "t.json: no trace"),
        ('"text"', "t.json: no trace"),
        ('{"lr": 1}', "t.json: no trace"),
        ('{"traceEvents": 3}', "t.json: no trace"),
        ("[]", "t.json: no operator"),
        ('[{"ph": "X"', "t.json: ends in the middle of a value"),
        ('[{"ph": "X"}', "t.json: ends in the middle of a value"),
        ('{"traceEvents": [', "t.json: ends in the middle of a value"),
        ('{"traceEvents": [{"name": "a', "t.json: ends in the middle of a value"),
        ('[{"ph": X, "name": "a name that is long enough"}]', "t.json: damaged JSON at character 9"),
        ('[{"ph": 1} {"ph": 2}]', "t.json: damaged JSON at character 12"),
        ('{7: [], "traceEvents": []}', "t.json: damaged JSON at character 2"),
        ("[" + '{"a":' * 100_000, "t.json: damaged JSON at character 2: nested too deeply"),
    ],
)
def test_a_damaged_trace(tmp_path, text, message):
    file = tmp_path / "t.json"
    file.write_text(text)
    assert refused(file).startswith(message)


def test_damaged_gzip(tmp_path):
    data = gzip.compress(json.dumps({"traceEvents": [event(f"n{n}", n, 1, "cpu_op") for n in range(5000)]}).encode())
    (tmp_path / "cut.json.gz").write_bytes(data[:-2000])
    assert refused(tmp_path / "cut.json.gz").startswith("cut.json.gz: ends in the middle of a value")
    (tmp_path / "odd.json.gz").write_bytes(data[:200] + b"\0" * 50 + data[250:])
    assert "gzip" in refused(tmp_path / "odd.json.gz") or "JSON" in refused(tmp_path / "odd.json.gz")


def kernels(tmp_path: Path) -> Path:
    rows = [kernel(1, f"Cast{n}", "Cast", "AI_VECTOR_CORE", 3.0, "8,16") for n in range(9)]
    return table(tmp_path / OUTPUT, "kernel_details.csv", KERNEL, rows)


def test_a_table_that_was_cut(tmp_path):
    file = kernels(tmp_path)
    file.write_bytes(file.read_bytes()[:-30])
    assert refused(tmp_path / OUTPUT).startswith(f"{OUTPUT}/kernel_details.csv:10: ")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (b"Duration(us)", b"Length", "kernel_details.csv: no column 'Duration(us)'"),
        (b",3.0,", b",soon,", "kernel_details.csv:2: Duration(us): 'soon' is no number"),
        (b",3.0,", b",inf,", "kernel_details.csv:2: Duration(us): 'inf' is no number"),
        (b"Cast3", b"Ca\0st", "kernel_details.csv:5: a NUL"),
        (b"Cast3", b'"Cast', "kernel_details.csv:"),
    ],
)
def test_a_damaged_table(tmp_path, old, new, message):
    file = kernels(tmp_path)
    file.write_bytes(file.read_bytes().replace(old, new))
    assert message in refused(tmp_path / OUTPUT)


def test_a_header_with_a_name_twice_is_as_wide_as_it_is(tmp_path):
    file = kernels(tmp_path)
    head, rest = file.read_bytes().split(b"\n", 1)
    width = head.count(b",") + 1
    file.write_bytes(b",," + head + b"\n" + rest)  # two columns without a name, and rows that lack both
    assert f"{width} values for {width + 2} columns" in refused(tmp_path / OUTPUT)


def test_an_empty_table_and_an_empty_profile(tmp_path):
    table(tmp_path / OUTPUT, "kernel_details.csv", KERNEL, [])
    assert refused(tmp_path / OUTPUT).startswith(f"{OUTPUT}: no operator, no kernel and no step")
    (tmp_path / OUTPUT / "kernel_details.csv").write_bytes(b"")
    assert "no column 'Name'" in refused(tmp_path / OUTPUT)


def test_the_wrong_folder(tmp_path):
    for name, message in (
        ("empty", "no profile in it"),
        ("code/train.py", "no profile in it"),
        ("raw/w_ascend_pt/PROF_000001_2025/host", "not parsed yet"),
        (f"db/w_ascend_pt/{OUTPUT}/ascend_pytorch_profiler_0.db", "exported as a database only"),
    ):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"") if path.suffix else path.mkdir()
        assert message in refused(tmp_path / name.partition("/")[0])
    file = kernels(tmp_path / "one")
    assert "give the folder" in refused(file)


def test_links_out_of_the_folder_are_not_followed(tmp_path):
    kernels(tmp_path / "outside")
    inside = tmp_path / "inside"
    inside.mkdir()
    (inside / "link").symlink_to(tmp_path / "outside")
    assert "no profile in it" in refused(inside)


def test_a_device_is_not_read(tmp_path):
    with pytest.raises(FilesError):
        read_run(os.devnull)
    os.mkfifo(tmp_path / "pipe.json")
    with pytest.raises(FilesError):
        read_run(str(tmp_path / "pipe.json"))


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Path:
    """A profile with every file."""
    folder = tmp_path_factory.mktemp("whole") / "w_ascend_pt"
    kernels(folder)
    table(folder / OUTPUT, "step_trace_time.csv", STEP, [step(1, 1, 1, 1)])
    table(folder / OUTPUT, "op_statistic.csv", STATISTIC, [{"OP Type": "Cast", "Count": 3, "Total Time(us)": 9}])
    table(folder / OUTPUT, "api_statistic.csv", API, [{"API Name": "x", "Time(us)": 9, "Count": 2}])
    table(folder / OUTPUT, "operator_details.csv", OPERATOR, [{"Name": "aten::mm", "Host Self Duration(us)": 4}])
    one = {"step1": {"collective": {"hcom_send__1@1": collective(1.0, 0.5, 0.25, {"HCCS": (1, 1, {"1.0": [1, 1]})})}}}
    (folder / OUTPUT / "communication.json").write_text(json.dumps(one))
    rows = [event("ProfilerStep#1", 0, 9, "cpu_op"), event("Computing", "1.5", 3), process(1, "Overlap Analysis")]
    (folder / OUTPUT / "trace_view.json").write_text(json.dumps(rows))
    (folder / "profiler_info_1.json").write_text('{"config": {"experimental_config": {"_profiler_level": "Level1"}}}')
    (folder / "profiler_metadata.json").write_text(
        '{"ENV_VARIABLES": {"A": "1"}, "parallel_group_info": {"a": {"global_ranks": [1]}}}'
    )
    return folder


@pytest.mark.slow
@settings(max_examples=examples(150), deadline=None)
@given(st.data())
def test_whatever_a_file_holds_there_is_an_answer(whole, tmp_path_factory, data):
    """Bytes that are not what the profiler wrote give a profile, or one line: never anything else."""
    folder = tmp_path_factory.mktemp("torn")
    shutil.copytree(whole, folder / whole.name)
    file = data.draw(st.sampled_from(sorted(path for path in (folder / whole.name).rglob("*") if path.is_file())))
    content = bytearray(file.read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(content) - 1))
        piece = data.draw(
            st.binary(max_size=3) | st.sampled_from([b'"', b"{", b"[", b"null", b"-1", b"1e999", b"[]", b",,", b"\n"])
        )
        content[at : at + data.draw(st.integers(0, 8))] = piece
    file.write_bytes(content)
    try:
        value = document([read_run(str(folder))], "1", "zh")
    except (UserError, FilesError):
        return
    finally:
        shutil.rmtree(folder)
    assert plain(lines(value, "zh")) and fragment(value, "en")


def test_names_without_end_are_one(tmp_path, monkeypatch):
    monkeypatch.setattr("porter.profiles.model.NAMES", 5)
    monkeypatch.setattr("porter.profiles.trace.NAMES", 5)
    rows = [event(f"kernel{n}", 10 * n, 1, "kernel") for n in range(50)]
    rows += [event(f"cuda{n}", 10 * n, 1, "cuda_runtime") for n in range(50)]
    (profile,) = read_run(str(trace(tmp_path / "t.json", rows))).profiles
    assert len(profile.kernels) == 6 and profile.kernels["(others)", ""].count == 45
    assert len(profile.host.apis) == 6


@pytest.mark.slow
def test_memory_does_not_grow_with_the_file(tmp_path, monkeypatch):
    monkeypatch.setattr("porter.profiles.hostops.MOST", 1000)
    peaks = []
    for thousands in (12, 60):
        file = tmp_path / f"{thousands}.json"
        with file.open("w") as stream:
            stream.write("[")
            for n in range(1000 * thousands):
                row = event(f"train.py({n % 900}): forward", n, 2, "python_function", args={"Python id": n})
                stream.write(json.dumps(row) + ",\n")
            stream.write(json.dumps(event("gemm", 1, 2, "kernel")) + "]")
        tracemalloc.start()
        read_run(str(file))
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        file.unlink()
    assert peaks[1] < 1.2 * peaks[0] + 1_000_000


def test_a_value_without_end_is_refused_in_bounded_memory(tmp_path, monkeypatch):
    monkeypatch.setattr("porter.profiles.stream.LARGEST", 1 << 16)
    monkeypatch.setattr("porter.profiles.stream.PIECE", 1 << 12)
    file = tmp_path / "t.json"
    file.write_text('[{"name": "' + "a" * (1 << 20))
    with pytest.raises(UserError, match="too large"):
        list(events(str(file), {}))


def test_lines_without_end_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("porter.profiles.tables.LONG", 1000)
    file = table(tmp_path / OUTPUT, "step_trace_time.csv", STEP, [step(1, 1, 1, 1)])
    file.write_text(file.read_text() + "9" * 5000)
    assert "a line without an end" in refused(tmp_path / OUTPUT)


def test_a_long_call_stack_is_read(tmp_path):
    file = tmp_path / "t.csv"
    file.write_text(f"Name,Call Stack\nadd,{'f;' * 100_000}\n")
    assert [len(row[1]) for row in Table(str(file), ("Name",)).rows()] == [200_000]
