"""Pickles made to run code: none of it runs, none of it is imported, and each is told by its name."""

from __future__ import annotations

import ast
import json
import struct
import subprocess
import sys
import tracemalloc
import zipfile
from pathlib import Path

import pytest
from checkpoint_world import MAGIC, PROTOCOL, archive, f4, npy, opcodes, pickled, safetensors
from drawn import share

from porter.checkpoint.document import document
from porter.checkpoint.find import read
from porter.checkpoint.rules import verdict
from porter.errors import UserError

ROOT = Path(__file__).parents[2]
WIRE = "import pathlib\npathlib.Path('{mark}').touch()\ndef run(*args, **more):\n    pass\nclass Kind:\n    def __new__(cls, *args, **more):\n        return object.__new__(cls)\n"


def text(value: str) -> bytes:
    return b"\x8c" + bytes([len(value)]) + value.encode()


RUN, SYSTEM, TOUCH = b"ctripwire\nrun\n", b"cos\nsystem\n", "touch MARK"
CODE = "open('MARK','w')"
# name -> what it names, and the instructions between the protocol and the end
CALLS: dict[str, tuple[str, bytes]] = {
    "reduce": ("os.system", SYSTEM + opcodes((TOUCH,)) + b"R"),
    "the module of os by itself": ("posix.system", b"cposix\nsystem\n" + opcodes((TOUCH,)) + b"R"),
    "eval": ("builtins.eval", b"cbuiltins\neval\n" + opcodes((CODE,)) + b"R"),
    "eval of Python 2": ("builtins.eval", b"c__builtin__\neval\n" + opcodes((CODE,)) + b"R"),
    "exec": ("builtins.exec", b"cbuiltins\nexec\n" + opcodes((CODE,)) + b"R"),
    "inst": ("os.system", b"(" + opcodes(TOUCH) + b"ios\nsystem\n"),
    "obj": ("os.system", b"(" + SYSTEM + opcodes(TOUCH) + b"o"),
    "newobj": ("tripwire.Kind", b"ctripwire\nKind\n)\x81"),
    "newobj_ex": ("tripwire.Kind", b"\x80\x04" + text("tripwire") + text("Kind") + b"\x93)}\x92"),
    "build": ("tripwire.Kind", b"ctripwire\nKind\n)\x81}(" + opcodes("__setstate__") + SYSTEM + b"ub"),
    "stack_global": ("os.system", b"\x80\x04" + text("os") + text("system") + b"\x93" + opcodes((TOUCH,)) + b"R"),
    "its names from the memo": (
        "os.system",
        b"\x80\x04" + text("system") + b"\x940" + text("os") + b"\x94h\0" + b"\x93" + opcodes((TOUCH,)) + b"R",
    ),
    "its names put there by dup, pop and long_binput": (
        "os.system",
        b"\x80\x04" + text("os") + b"2r\xff\xff\0\0" + b"0" + text("system") + b"\x93" + opcodes((TOUCH,)) + b"R",
    ),
    "a dotted name": ("torch.serialization.os.system", b"\x80\x04" + text("torch") + text("serialization.os.system") + b"\x93"),
    "a call behind a mark that is popped": ("os.system", b"(" + SYSTEM + opcodes((TOUCH,)) + b"R1" + b"N"),
    "an import alone": ("tripwire.run", RUN),
    "runpy": ("runpy.run_path", b"crunpy\nrun_path\n" + opcodes(("tripwire.py",)) + b"R"),
    "subprocess": ("subprocess.check_output", b"csubprocess\ncheck_output\n" + opcodes((["touch", "MARK"],)) + b"R"),
    "getattr of a module": (
        "builtins.getattr",
        b"cbuiltins\ngetattr\n(cbuiltins\n__import__\n" + opcodes(("os",)) + b"R" + opcodes("system") + b"tR" + opcodes((TOUCH,)) + b"R",
    ),
    "a pickle in a pickle": ("os.system", b"c_pickle\nloads\n" + opcodes((b"cos\nsystem\n(" + opcodes(TOUCH) + b"tR.",)) + b"R"),
    "a key of a dictionary": ("os.system", b"}" + SYSTEM + opcodes((TOUCH,)) + b"RNs"),
    "in a set": ("os.system", b"\x80\x04\x8f(" + SYSTEM + opcodes((TOUCH,)) + b"R\x90"),
    "behind a persistent id": ("tripwire.run", RUN + b"Q"),
    "before the end is cut": ("os.system", SYSTEM + opcodes((TOUCH,)) + b"R\x8c\xffx"),
    "before a damaged instruction": ("os.system", SYSTEM + opcodes((TOUCH,)) + b"R\xff"),
}  # fmt: skip
NOT_PICKLE = {"behind a persistent id", "a dotted name"}  # nothing that the standard library would run by itself


def written(kind: str, body: bytes) -> bytes:
    data = b"\x80\x02" + body + b"."
    if kind == "zip":
        return archive({"a/data.pkl": data, "a/data/0": f4(1)})
    if kind == "stream":
        return pickled(MAGIC) + pickled(PROTOCOL) + pickled({"little_endian": True}) + data + pickled([])
    return data


@pytest.fixture
def wire(tmp_path, monkeypatch):
    """A module that leaves a mark where it is imported, in a folder where every call would leave one, too."""
    (tmp_path / "tripwire.py").write_text(WIRE.format(mark=tmp_path / "MARK"))
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    assert "tripwire" not in sys.modules and not (tmp_path / "MARK").exists()


@pytest.mark.parametrize("kind", ["pickle", "zip", "stream"])
@pytest.mark.parametrize("name", share([*CALLS], 2))
def test_nothing_runs_and_all_is_told(wire, name, kind):
    named, body = CALLS[name]
    (wire / "a.pt").write_bytes(written(kind, body))
    try:
        found = document(read("a.pt"), "en")
    except UserError as error:
        assert name.startswith("before") and named in str(error) and "\n" not in str(error)
        return
    assert named in {row["name"] for row in found["globals"] if not row["weights_only"]}
    assert named in json.dumps(found["notes"])


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(CALLS.keys() - NOT_PICKLE))
def test_the_standard_library_would_run_them(tmp_path, name):
    """What is tested above is no straw man."""
    (tmp_path / "tripwire.py").write_text(WIRE.format(mark=tmp_path / "MARK"))
    (tmp_path / "a.pkl").write_bytes(written("pickle", CALLS[name][1]))
    program = "import pickle; pickle.load(open('a.pkl', 'rb'))"
    subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True)
    assert (tmp_path / "MARK").exists()


def test_extension_codes(wire):
    for code in (b"\x82\x05", b"\x83\x05\x01", b"\x84\x05\0\1\0"):
        (wire / "a.pt").write_bytes(b"\x80\x02" + code + b")R.")
        found = document(read("a.pt"), "en")
        assert any(row["name"].startswith("copyreg.extension ") and row["runs"] for row in found["globals"])


def test_bytes_that_torch_would_load_again(wire):
    inner = written("stream", CALLS["reduce"][1])
    (wire / "a.pt").write_bytes(pickled({}) [:-2] + b"ctorch.storage\n_load_from_bytes\n" + opcodes((inner,)) + b"R.")  # fmt: skip
    names = {row["name"] for row in document(read("a.pt"), "en")["globals"] if row["runs"]}
    assert {"torch.storage._load_from_bytes", "os.system"} <= names


def test_persistent_ids_that_are_no_storage(wire):
    (wire / "a.pt").write_bytes(b"\x80\x02" + opcodes(("file", "/etc/passwd")) + b"Q.")
    assert document(read("a.pt"), "en")["persistent"] == ["file"]
    (wire / "a.pt").write_bytes(b"P/etc/passwd\n.")
    assert document(read("a.pt"), "en")["persistent"] == ["/etc/passwd"]


def test_arrays_of_objects(wire):
    (wire / "a.npy").write_bytes(npy("|O", (1,), written("pickle", CALLS["reduce"][1])))
    found = document(read("a.npy"), "en")
    assert {note["key"] for note in found["notes"]} >= {"objects", "runs"}
    assert found["weights"][0]["dtype"] == "object"


def test_what_a_call_is_given_is_shown_without_its_control_characters(wire):
    (wire / "a.pt").write_bytes(b"\x80\x02" + SYSTEM + opcodes(("echo \x1b[2J\u202e",)) + b"R.")
    from porter.checkpoint.show import inspected
    from porter.terminal import plain

    said = plain(inspected(document(read("a.pt"), "en"), "en"))
    assert "os.system" in said and "\x1b" not in said and "\u202e" not in said
    (wire / "a.pt").write_bytes(safetensors({"a\x1b[2J": ("F\x1b[7m", (), b"")}, {"\x1b": "\x1b"}))
    said = plain(inspected(document(read("a.pt"), "en"), "en"))
    assert "a\\x1b[2J" in said and "\x1b" not in said


def refused(wire, data: bytes) -> str:
    (wire / "a.pt").write_bytes(data)
    with pytest.raises(UserError) as raised:
        read("a.pt")
    en, zh = raised.value.text("en"), raised.value.text("zh")
    assert en.startswith("a.pt: ") and "\n" not in en + zh and en != zh
    return en


@pytest.mark.parametrize(
    "body",
    [
        b"R", b"b", b"a", b"u", b"t", b"e", b"s", b"0", b"2", b"h\7", b"g7\n", b"\x85", b"\x93", b"Q", b"o", b"(o", b"\x90", b"\x92",
        b"N(Nu", b"]NNs" + b"0" * 9, b"\x8a\xff\1", b"X\xff\xff\xff\xff", b"B\xff\xff\xff\x7f", b"\x8d" + b"\xff" * 8, b"\x8e" + b"\xff" * 8,
        b"\x96" + b"\xff" * 8, b"\x95" + b"\xff" * 8, b"I" + b"9" * 99999 + b"\n", b"cos\n", b"V\\ud8\n", b"S'", b"F1e\n",
    ],
)  # fmt: skip
def test_stacks_and_lengths_that_lie(wire, body):
    assert refused(wire, b"\x80\x04" + body)


@pytest.mark.slow
def test_deep_wide_and_circular(wire):
    from porter.checkpoint.show import inspected

    def told(body: bytes) -> dict:
        (wire / "a.pt").write_bytes(b"\x80\x04" + body + b".")
        found = document(read("a.pt"), "en")
        assert inspected(found, "en")
        return found

    assert told(b"]" * 200_000 + b"a" * 199_999)["notes"][0]["key"] == "cut"
    assert told(b")" + b"\x85" * 200_000)["notes"][0]["key"] == "cut"
    assert told(b"}" + b"N" + b")" + b"\x85" * 200_000 + b"N" + b"s" * 1)["weights"] == []  # a key that is deep
    assert told(b"]\x94h\0a")["weights"] == []  # a list that holds itself
    assert told(b"}\x94Nh\0s")["weights"] == []
    doubled = b"]" + b"".join(b"\x94]" + b"h" + bytes([n]) + b"ah" + bytes([n]) + b"a" for n in range(60))
    assert told(doubled)["notes"][0]["key"] == "cut"  # 2 ** 60 values, if each is counted


def test_tensors_of_arguments_that_are_none(wire):
    for args in ((), (None,) * 7, (1, 2, 3, 4, 5, 6), ("a",) * 8, ([], {}, (), -1, 0, 1, 2)):
        for name in ("_rebuild_tensor", "_rebuild_tensor_v2", "_rebuild_tensor_v3", "_rebuild_parameter", "_rebuild_qtensor",
                     "_rebuild_sparse_tensor", "_rebuild_meta_tensor_no_storage", "_rebuild_device_tensor_from_numpy"):  # fmt: skip
            (wire / "a.pt").write_bytes(f"\x80\x02ctorch._utils\n{name}\n".encode("latin-1") + opcodes(args) + b"R.")
            assert document(read("a.pt"), "en")["weights"] == []


def test_instructions_without_end(wire, monkeypatch):
    monkeypatch.setattr("porter.checkpoint.torch_files.MOST", 1000)
    assert "more than" in refused(wire, b"\x80\x02" + b"N0" * 600 + b"N.")


def test_a_member_that_grows_beyond_memory(wire):
    data = archive({"a/data.pkl": b"\x80\x02N" + b"N0" * 3_000_000 + b"."}, zipfile.ZIP_DEFLATED)
    at = data.rfind(b"PK\1\2")  # what the list of members says of its size
    lie = data[: at + 24] + struct.pack("<I", 1 << 31) + data[at + 28 :]
    assert "compressed in a way" in refused(wire, lie)


@pytest.mark.parametrize("name", ["os.system", "builtins.eval", "posix.system", "runpy._run_code", "torch.load", "torch.jit.load", "copyreg.extension 7",
                                  "numpy.load", "functools.partial", "operator.attrgetter", "torch.serialization.os.system"])  # fmt: skip
def test_what_runs(name):
    assert verdict(name) == "runs"


@pytest.mark.parametrize(
    "name", ["argparse.Namespace", "my.net.Net", "osmium.read", "numpy.dtype", "torch.nn.modules.linear.Linear"]
)
def test_what_is_only_refused(name):
    assert verdict(name) == "refused"


@pytest.mark.slow
def test_no_module_of_the_room_can_unpickle():
    for path in (ROOT / "porter" / "checkpoint").glob("*.py"):
        tree = ast.parse(path.read_bytes())
        names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
        names |= {str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
        calls = {getattr(node.func, "id", "") for node in ast.walk(tree) if isinstance(node, ast.Call)}
        assert not names & {"pickle", "_pickle", "torch", "importlib", "marshal", "runpy", "subprocess"}
        assert not calls & {"eval", "exec", "compile", "__import__"}


@pytest.mark.slow
@pytest.mark.parametrize(
    "body",
    [
        b"](" + b"N" * 50_000 + b"e\x940" + b"ccollections\nOrderedDict\n\x94h\0\x85R" + b"0h\1h\0\x85R" * 30_000,
        b"(" + b"K\1" * 50_000 + b"t\x940" + b"ctorch\nSize\n\x94h\0\x85R" + b"0h\1h\0\x85R" * 30_000,
        b"X\xff\x0f\0\0" + b"x" * 4095 + b"\x940" + b"c_codecs\nencode\n\x94h\0\x85R" + b"h\1h\0\x85R" * 30_000,
        b"](" + b"N" * 50_000 + b"e\x94" + b"](" + b"h\0" * 30_000 + b"e",
        b"".join(b"\x8c\xfa" + f"{n:0250}".encode() + b"\x940" for n in range(110)) + b"".join(b"h%ch%c\x930" % (n, m) for n in range(110) for m in range(110)) + b"N",
    ],
)  # fmt: skip
def test_little_that_becomes_much(wire, body):
    """One list that a million calls copy, or a million lists hold: told, in little memory."""
    (wire / "a.pt").write_bytes(b"\x80\x04" + body + b".")
    tracemalloc.start()
    try:
        assert document(read("a.pt"), "en")["notes"][0]["key"] in ("cut", "refused")
    except UserError as error:
        assert "more than" in str(error)
    assert tracemalloc.get_traced_memory()[1] < 200_000_000
    tracemalloc.stop()


def test_metadata_of_a_folder_that_would_run(wire):
    from checkpoint_world import distributed

    folder = distributed(wire / "dcp", {"w": ((1,), [((0,), (1,), f4(1))])})
    for body in (CALLS["reduce"][1] + b".", CALLS["reduce"][1] + b"\xff"):
        (folder / ".metadata").write_bytes(b"\x80\x02" + body)
        with pytest.raises(UserError, match=r"a pickle names os\.system: do not load it"):
            read("dcp")
