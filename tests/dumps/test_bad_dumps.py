"""Whatever is wrong with a dump is one line that names the file; nothing in it is executed, and no path of it leads anywhere."""

from __future__ import annotations

import json
import os
import tracemalloc

import pytest
from checkpoint_world import W, f4, npy, numpy, zipped
from drawn import examples
from dumps_world import Made, net, tensor
from hypothesis import given, settings
from hypothesis import strategies as st

from porter.dumps import find
from porter.dumps.compared import compare
from porter.dumps.document import document
from porter.dumps.show import lines
from porter.errors import UserError
from porter.files.errors import FilesError
from porter.terminal import plain


def refused(one, other) -> str:
    with pytest.raises((UserError, FilesError)) as raised:
        compare(str(one), str(other))
    en, zh = raised.value.text("en"), raised.value.text("zh")
    assert "\n" not in en + zh and en != zh
    return en.replace(os.sep, "/")


@pytest.fixture
def gpu(tmp_path):
    return net().write(tmp_path / "gpu")


def test_what_is_no_dump(tmp_path, gpu):
    assert "absent: no such file" in refused(gpu, tmp_path / "absent")
    (tmp_path / "empty").mkdir()
    assert "no dump.json" in refused(gpu, tmp_path / "empty")
    (tmp_path / "file").write_text("x")
    assert "no dump.json" in refused(gpu, tmp_path / "file")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not a dump"),
        ("[1]", "not a dump"),
        ('{"task": "statistics"}', "not a dump"),
        ('{"data": []}', "no call"),
        ('{"level": "L0", "data": {}}', "no call"),
        ('{"data": {"optimizer": {}, "Module.a.B.forward.0": 3}}', "no call"),
        ('{"data": {"Functional.a.0.forward": {"input_args": [', "ends in the middle"),
        ('{"data": {"Functional.a.0.forward": {]' + " " * 40, "damaged JSON at character"),
        ('{"data": {"Functional.a.0.forward": ' + "[" * 200_000, "nested too deeply"),
    ],
)
def test_a_file_that_is_cut_or_something_else(tmp_path, gpu, text, message):
    folder = tmp_path / "npu"
    folder.mkdir()
    (folder / "dump.json").write_text(text)
    said = refused(gpu, folder)
    assert message in said and "npu/dump.json" in said or message == "not a dump" and "dump.json" in said


def test_modules_that_are_written_elsewhere_or_nowhere(tmp_path, gpu):
    """Of a dump that was copied without what its links lead to, the calls are compared all the same."""
    npu = net().write(tmp_path / "npu")
    (npu / "construct.json").unlink(missing_ok=True)
    os.symlink(tmp_path / "gone.json", npu / "construct.json")
    assert compare(str(gpu), str(npu))


def test_more_folders_than_are_looked_at(tmp_path, gpu, monkeypatch):
    monkeypatch.setattr(find, "_FOLDERS", 4)
    for step in range(3):
        net().write(tmp_path / "npu" / f"step{step}" / "rank0")
    assert "npu: more than 4 folders; give" in refused(gpu, tmp_path / "npu")
    net().write(tmp_path / "one" / "step0" / "rank0")
    assert compare(str(gpu), str(tmp_path / "one"))


def test_ranks_and_steps_that_are_not_there(tmp_path):
    for rank in (0, 1):
        net().write(tmp_path / "gpu" / "step0" / f"rank{rank}")
        net().write(tmp_path / "npu" / "step0" / f"rank{rank + 2}")
        net().write(tmp_path / "late" / f"step{rank + 3}" / "rank0")
        net().write(tmp_path / "several" / "step0" / f"proc{rank + 100}")
    assert "none of its ranks" in refused(tmp_path / "gpu", tmp_path / "npu")
    assert "none of its steps" in refused(tmp_path / "gpu", tmp_path / "late")
    assert "step0/proc100 and step0/proc101 are of one step" in refused(tmp_path / "gpu", tmp_path / "several")
    for mode in ("GRAPH_MODE", "PYNATIVE_MODE"):
        net().write(tmp_path / "modes" / mode / "step0" / "rank0")
    assert "_MODE/step0/rank0 are of one step" in refused(tmp_path / "gpu", tmp_path / "modes")
    net().write(tmp_path / "npu" / "step0" / "rank0")
    found = document(compare(str(tmp_path / "gpu"), str(tmp_path / "npu")), "en")
    assert [note["text"] for note in found["notes"]] == ["ranks that are on one side alone, left out: 1, 2, 3"]


def named(folder, file: str, data: bytes | None = None):
    made = Made(level="L0").forward("Module.a.Linear.forward.0", [], [tensor(shape=(2, 2), data_name=file)])
    made.write(folder)
    if data is not None:
        (folder / "dump_tensor_data").mkdir(exist_ok=True)
        (folder / "dump_tensor_data" / file).write_bytes(data)
    return folder


NUMBERS = npy("<f4", (2, 2), f4(1, 2, 3, 4))


@pytest.mark.parametrize("file", ["../../secret.npy", "/etc/passwd", "a/../../b.npy", "C:x.npy", "a\0b"])
def test_a_path_that_leads_out(tmp_path, file):
    (tmp_path / "secret.npy").write_bytes(NUMBERS)
    numpy()
    assert "gpu/dump.json" in refused(named(tmp_path / "gpu", file), named(tmp_path / "npu", "x.npy", NUMBERS))


class Runs:
    def __reduce__(self):
        return os.mkdir, ("executed",)


def test_a_pickle_that_would_run_something(tmp_path, monkeypatch):
    import pickle

    numpy()
    monkeypatch.chdir(tmp_path)
    for data in (
        pickle.dumps(Runs()),
        b"\x93NUMPY\1\0\x40\0"
        + b"{'descr': '|O', 'fortran_order': False, 'shape': (1,)}".ljust(64)
        + pickle.dumps(Runs()),
    ):
        one, other = named(tmp_path / "gpu", "x.pt", data), named(tmp_path / "npu", "x.pt", NUMBERS)
        try:
            compare(str(one), str(other))
        except UserError as error:
            assert "x.pt" in str(error)
    assert not (tmp_path / "executed").exists()


DAMAGED = {"empty": b"", "words": b"nothing", "zip": zipped([W(f4(1, 2, 3, 4), (2, 2))])[:90], "npy": NUMBERS[:60]}


@pytest.mark.parametrize("data", DAMAGED.values(), ids=DAMAGED)  # a zip has the time in it
def test_a_tensor_that_is_damaged(tmp_path, data):
    numpy()
    one, other = named(tmp_path / "gpu", "x.pt", NUMBERS), named(tmp_path / "npu", "x.pt", data)
    assert "npu/dump_tensor_data/x.pt" in refused(one, other)


def test_stacks_that_cannot_be_read_are_a_note(tmp_path):
    one, other = net().write(tmp_path / "gpu"), net({"head": 1.1}).write(tmp_path / "npu")
    (other / "stack.json").write_text('{"0": [["a"], [')
    (one / "stack.json").write_text("")
    found = document(compare(str(one), str(other)), "zh")
    assert found["reason"] == "outputs" and found["stack"]["frames"] == []
    assert "stack.json" in found["notes"][0]["text"]


@pytest.mark.slow
def test_stacks_of_any_size_are_read_in_bounded_memory(tmp_path):
    one, other = net().write(tmp_path / "gpu"), net({"head": 1.1}).write(tmp_path / "npu")
    frames = ["File /data/repo/a.py, line 1, in f, \n " + "x" * 1000] * 20
    with (other / "stack.json").open("w") as file:
        file.write("{")
        for number in range(1500):  # 30 MB
            file.write(f'"{number}": {json.dumps([[f"Functional.a.{number}.forward"], frames])},')
        file.write('"end": []}')
    tracemalloc.start()
    try:
        assert compare(str(one), str(other)).result.verdict.reason == "outputs"
        assert tracemalloc.get_traced_memory()[1] < 25e6
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("into", "one", "other"),
    [
        ({}, {"Norm": None}, {"Norm": None, "Mean": 0.7}),
        ({}, {"Min": None}, {"Min": None, "Max": 3.0}),
        ({}, {"Norm": 0.0}, {"Norm": 0.0, "Mean": 0.7}),
        ({}, {"Norm": -1.0}, {"Norm": 1.0}),
        ({"Mean": 1e300}, {}, {"Norm": 99.0}),
    ],
)
def test_statistics_that_do_not_fit_each_other_are_still_compared(tmp_path, into, one, other):
    for side, changed in (("gpu", one), ("npu", other)):
        made = Made(level="L0").forward("Module.a.LayerNorm.forward.0", [tensor(**into)], [tensor(**changed)])
        made.write(tmp_path / side)
    verdict = compare(str(tmp_path / "gpu"), str(tmp_path / "npu")).result.verdict
    assert verdict.reason == "outputs"


def test_a_name_of_an_input_is_shown_and_not_obeyed(tmp_path):
    for side, scale in (("gpu", 1.0), ("npu", 2.0)):
        into = [{"a\x1b\u202e": tensor(scale=scale)}]
        Made(level="L0").forward("Module.a.Linear.forward.0", into, [tensor()]).write(tmp_path / side)
    found = document(compare(str(tmp_path / "gpu"), str(tmp_path / "npu")), "zh")
    assert found["reason"] == "data" and "\\x1b" in found["sentence"] and found["sentence"].isprintable()


def test_a_shape_that_no_memory_holds_is_left_out(tmp_path):
    for side in ("gpu", "npu"):
        shape = (1 << 39,) * 40
        made = Made(level="L0").forward(
            "Module.a.Linear.forward.0", [tensor(), {**tensor(), "shape": shape}], [tensor()]
        )
        made.write(tmp_path / side)
    assert compare(str(tmp_path / "gpu"), str(tmp_path / "npu")).result.verdict.reason == "equal"


NUMBER = st.one_of(st.none(), st.floats(), st.integers(), st.text(max_size=3), st.booleans())
VALUE = st.fixed_dictionaries(
    {"type": st.just("torch.Tensor"), "dtype": st.sampled_from(["torch.float32", "torch.int64", "x", "Float32"])},
    optional={key: NUMBER for key in ("Max", "Min", "Mean", "Norm", "md5")}
    | {"shape": st.lists(st.integers(-1, 9), max_size=3)},
)
ROW = st.dictionaries(
    st.sampled_from(["input_args", "input_kwargs", "input", "output", "parameters", "weight"]),
    st.one_of(NUMBER, st.lists(VALUE, max_size=3)),
)
NAME = st.sampled_from([f"{kind}.{way}" for kind in ("Module.a.Linear", "Cell.b.Dropout") for way in ("forward.0", "backward.0", "parameters_grad.0")] + ["Functional.topk.0.forward", "Tensor.add.0.backward", "x"])  # fmt: skip


@pytest.mark.slow
@settings(max_examples=examples(60), deadline=None)
@given(st.dictionaries(NAME, ROW, max_size=6), st.dictionaries(NAME, ROW, max_size=6))
def test_whatever_it_holds_it_is_an_answer_or_one_line(tmp_path_factory, one, other):
    folder = tmp_path_factory.mktemp("drawn")
    for name, data in (("gpu", one), ("npu", other)):
        (folder / name).mkdir()
        (folder / name / "dump.json").write_text(json.dumps({"data": data}))
    try:
        found = compare(str(folder / "gpu"), str(folder / "npu"))
    except (UserError, FilesError) as error:
        assert "\n" not in error.text("en")
        return
    for lang in ("en", "zh"):
        value = document(found, lang)
        assert plain(lines(value, lang)) and json.loads(json.dumps(value, allow_nan=False))
