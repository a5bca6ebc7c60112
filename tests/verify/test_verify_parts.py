"""What verify does before and after a program runs: none of it needs torch."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest
from command_line import Porter

from porter.commands.verify import _steps_to_watch
from porter.errors import UserError
from porter.rulebook.words import words
from porter.verify import install, launch, legs, standins
from porter.verify.compare import TOLERANCE, compare
from porter.verify.interpreter import Interpreter
from porter.verify.launch import Limits, Outcome, command, devices_asked_for
from porter.verify.records import Operator, Point, Records, read
from porter.verify.result import Result, as_json, data
from porter.verify.show import text

pytestmark = pytest.mark.slow

OURS = Interpreter("/py", "3.11.9", "cpython-311", "x86_64", "Linux", Path("/h"), Path("/t"), "2.13.0", None, "", ())


def outcome(
    *losses: float, code: int | None = 0, operators: tuple[str, ...] = (), saved: dict | None = None,
    dtype: str = "Float",
) -> Outcome:  # fmt: skip
    points = [Point(loss, f"train.py:{n}") for n, loss in enumerate(losses)]
    found = [Operator(name, "m.py:1", "native", False, 1, 1, dtype, 1, ()) for name in operators]
    return Outcome(
        code, "said\n", Records({"loss": points} if points else {}, saved or {}, found, [], steps=len(losses))
    )


def verdict(one: Outcome, other: Outcome, tolerance: float | None = None) -> str:
    return compare(one, other, tolerance).verdict


def test_curves_agree_bit_for_bit_or_not_at_all():
    assert verdict(outcome(1.0, 0.5), outcome(1.0, 0.5)) == "equal"
    assert verdict(outcome(1.0, 0.5), outcome(1.0, 0.5000000000000001)) == "apart"
    assert verdict(outcome(1.0, 0.5), outcome(1.0)) == "apart"
    assert verdict(outcome(), outcome()) == "silent"
    assert verdict(outcome(float("nan")), outcome(float("nan"))) == "equal"
    assert verdict(outcome(float("inf")), outcome(1.0), 0.5) == "apart"


def test_what_is_more_than_renamed_and_made_no_difference_is_listed():
    both = compare(outcome(1.0), outcome(1.0))
    result = Result(device(), 1, outcome(1.0), outcome(1.0), both, edited=3, missed=("b.py:7",), unfelt=("a.py:3",))
    assert "\n".join(text(data(result), "en")).splitlines()[-2] == (
        "Edited statements that ran: 2 of 3. Of these, more than renamed and yet without a difference in this run: a.py:3. "
        "The others remain unproven: b.py:7"
    )
    assert "a.py:3" not in "\n".join(text(data(Result(device(), 1, outcome(1.0), outcome(1.0), both, edited=3)), "zh"))


@pytest.mark.parametrize(("port", "limit", "steps"), [
    (outcome(1.0, 0.5, 0.3, 0.1), 0, 4), (outcome(1.0, 0.5, 0.3, 0.1), 3, 3), (outcome(2.0), 1, 1),
    (outcome(1.0, 0.5, code=1), 0, 4), (outcome(1.0, 0.5, 0.2, 0.1, saved={"w": 1}), 0, 0),
])  # fmt: skip
def test_what_is_run_once_more_goes_to_where_the_port_parts_or_stops(port, limit, steps):
    original = outcome(1.0, 0.5, 0.2, 0.1)
    assert _steps_to_watch(compare(original, port) if port.ran else None, port, limit) == steps


@pytest.mark.parametrize(
    ("dtype", "near", "far"), [("Float", 1 + 1e-6, 1 + 1.6e-4), ("BFloat16", 1 + 1.6e-4, 1 + 2e-3)]
)
def test_a_fused_step_of_one_side_alone_allows_what_its_types_round(dtype, near, far):
    """In float32 another order shows in the seventh digit; another epsilon, or beta2, in the fourth or fifth."""
    fused = outcome(1.0, operators=("aten::_fused_adamw_",), dtype=dtype)
    assert compare(fused, outcome(near)).exchanged == ("aten::_fused_adamw_",)
    assert verdict(fused, outcome(near)) == verdict(outcome(near), fused) == "close"
    assert verdict(fused, outcome(far)) == "apart"
    assert verdict(fused, outcome(near, operators=("aten::_fused_adamw_",), dtype=dtype)) == "apart"
    assert verdict(fused, outcome(1 + 1.6e-4, operators=("npu::npu_rms_norm",))) == "close"


def test_fused_operators_of_the_port_allow_a_tolerance():
    fused = ("npu::npu_rms_norm",)
    near, far = 1.0 + TOLERANCE / 2, 1.0 + TOLERANCE * 2
    assert verdict(outcome(1.0), outcome(near, operators=fused)) == "close"
    assert verdict(outcome(1.0), outcome(far, operators=fused)) == "apart"
    assert verdict(outcome(1.0, operators=fused), outcome(near, operators=fused)) == "apart"  # both run it
    assert verdict(outcome(1.0), outcome(near, operators=("npu::npu_format_cast",))) == "apart"  # changes no number
    later = [1.0] * 20
    assert verdict(outcome(*later, 1.0), outcome(*later, 5.0, operators=fused)) == "close"


def test_where_they_part():
    found = compare(outcome(1.0, 0.5, 0.25), outcome(1.0, 0.6, 0.2)).curves[0]
    assert (found.equal, found.parts_at) == (1, 1)
    both = compare(outcome(1.0, 0.5), outcome(1.0, 0.6))
    shown = "\n".join(text(data(Result(device(), 1, outcome(1.0, 0.6), outcome(1.0, 0.5), both)), "en"))
    assert "loss parts at step 2: 0.5 (train.py:1), 0.6 (train.py:1)" in shown and "NOT VERIFIED" in shown


def test_saved_tensors_count():
    one, other = {"a.pt:w": ["f", [1], "00"]}, {"a.pt:w": ["f", [1], "01"]}
    assert verdict(outcome(1.0, saved=one), outcome(1.0, saved=one)) == "equal"
    assert verdict(outcome(1.0, saved=one), outcome(1.0, saved=other)) == "apart"
    assert verdict(outcome(1.0, saved=one), outcome(1.0)) == "apart"
    assert verdict(outcome(1.0), outcome(1.0, saved=one)) == "apart"


def test_what_is_saved_under_the_name_of_the_device_has_its_partner_there():
    cuda, npu = {"rng.pth:cuda": ["uint8", [2], "ab"]}, {"rng.pth:npu": ["uint8", [2], "ab"]}
    # where a library keeps both, the original has CUDA's as well, which is the NPU's
    assert compare(outcome(1.0, saved={**cuda, **npu}), outcome(1.0, saved=npu)).saved == (2, 2, ())
    assert verdict(outcome(1.0, saved=cuda), outcome(1.0, saved=npu)) == "equal"


def test_a_file_that_has_another_name_in_each_run_is_the_same_file():
    one, other = ({f"{digit * 32}.pt:w": ["float32", [2], "ab"]} for digit in "4c")
    assert verdict(outcome(1.0, saved=one), outcome(1.0, saved=other)) == "equal"


def test_files_that_differ_in_nothing_but_another_name_in_each_run_are_all_compared():
    """The second of three numbers differs."""
    first, second = ({f"m-{digit * 32}.pt:w": value for digit, value in zip(digits, values)}
                     for digits, values in (("123", "abc"), ("456", "axc")))  # fmt: skip
    assert compare(outcome(1.0, saved=first), outcome(1.0, saved=second)).saved == (2, 3, ("m-uuid.pt:w (2)",))
    assert compare(outcome(1.0, saved=first), outcome(1.0, saved=first)).saved == (3, 3, ())


def test_where_there_is_no_curve_what_is_saved_decides():
    one, other = {"m.pt:w": ["f", [1], "00"]}, {"m.pt:w": ["f", [1], "01"]}
    assert verdict(outcome(saved=one), outcome(saved=one)) == "equal"
    assert verdict(outcome(saved=one), outcome(saved=other)) == "apart"
    assert verdict(outcome(saved=one), outcome()) == "apart"
    assert verdict(outcome(saved=one), outcome(saved=one), 0.5) == "equal"
    assert verdict(outcome(saved=one), outcome(saved=other), 0.5) == "silent"  # other bits may be near


def test_what_is_saved_under_the_name_of_the_device_differs():
    cuda = {"rng.pth:cuda": ["uint8", [2], "ab"]}
    assert compare(outcome(1.0, saved=cuda), outcome(1.0, saved={"rng.pth:npu": ["uint8", [2], "cd"]})).saved[2] == (
        "rng.pth:cuda",
    )


def device() -> install.Device:
    return install.Device("2.13.0", "2.13.0", None, Path("s"), Path("l"))


@pytest.mark.parametrize(
    ("ported", "original", "expected"),
    [
        (outcome(1.0, code=1), outcome(1.0), "port"),
        (outcome(1.0, code=None), outcome(1.0), "port"),
        (outcome(1.0, code=-11), None, "port"),
        (outcome(1.0), outcome(1.0, code=2), "original"),
        (outcome(1.0), None, "smoke"),
        (outcome(1.0), outcome(1.0), "equal"),
    ],
)
@pytest.mark.parametrize("lang", ["en", "zh"])
def test_verdicts_and_what_they_say(ported, original, expected, lang):
    both = original is not None and original.ran and ported.ran
    result = Result(device(), 1, ported, original, compare(original, ported) if both else None)
    assert result.verdict == expected
    assert result.verified == (expected in ("smoke", "equal"))
    shown = "\n".join(text(data(result), lang))
    assert words("verify", lang)[f"verdict.{expected}"] in shown
    assert json.loads(as_json(result))["verdict"] == expected


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["train.py", "--lr", "1"], ["/py", "train.py", "--lr", "1"]),
        (["python", "-m", "pkg.train"], ["/py", "-m", "pkg.train"]),
        (["python3.11", "train.py"], ["/py", "train.py"]),
        (
            ["torchrun", "--nproc_per_node=2", "t.py"],
            ["/py", "-m", "torch.distributed.run", "--nproc_per_node=2", "t.py"],
        ),
        (["accelerate", "launch", "t.py"], ["/py", "-m", "accelerate.commands.launch", "t.py"]),
        (["bash", "run.sh"], ["bash", "run.sh"]),
    ],
)
def test_commands(words, expected):
    assert command(words, OURS) == expected


def test_devices_that_a_launcher_names():
    assert devices_asked_for(["torchrun", "--nproc_per_node=4", "t.py"]) == 4
    assert devices_asked_for(["torchrun", "--nproc-per-node", "2", "t.py"]) == 2
    assert devices_asked_for(["accelerate", "launch", "--num_processes", "3", "t.py"]) == 3
    assert devices_asked_for(["train.py"]) == 1


def test_no_program_is_one_clear_line():
    with pytest.raises(UserError, match=r"porter verify train\.py"):
        command([], OURS)


def test_records_of_several_ranks_and_a_line_cut_off(tmp_path):
    def row(kind, name="", value=None, where="t.py:1"):
        return json.dumps({"kind": kind, "name": name, "value": value, "where": where}) + "\n"

    operator = {
        "class": "native",
        "sync": True,
        "calls": 2,
        "in_steps": 1,
        "dtype": "Float",
        "shapes": 1,
        "late_shapes": [],
    }
    (tmp_path / "0-10.jsonl").write_text(
        row("loss", value=(0.1).hex())
        + row("operator", "aten::add", operator)
        + row("end", value={"steps": 3}, where="")
    )
    (tmp_path / "1-11.jsonl").write_text(
        row("loss", value=(0.2).hex())
        + row("operator", "aten::add", operator)
        + row("error", "E", {"text": "text", "about": ""})
        + '{"kind": "lo'
    )
    found = read(tmp_path)
    assert {name: [p.value for p in points] for name, points in found.series.items()} == {
        "loss": [0.1],
        "loss of rank 1": [0.2],
    }
    assert [(o.name, o.calls, o.in_steps) for o in found.operators] == [("aten::add", 4, 2)]
    assert found.steps == 3 and found.errors[0].rank == 1


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"system": "Darwin", "machine": "arm64"}, "container"),
        ({"torch": None}, r"npu-porter\[verify\]"),
        ({"lacks": ("yaml",)}, "pip install pyyaml"),
        ({}, "porter verify --setup --python /py"),
    ],
)
def test_what_is_missing_is_one_line_with_its_cure(change, expected, monkeypatch, tmp_path):
    from dataclasses import replace

    monkeypatch.setenv("PORTER_CACHE_DIR", str(tmp_path))
    with pytest.raises(UserError, match=expected):
        install.find(replace(OURS, **change))


def test_a_wheel_for_another_torch_does_not_fit():
    assert install._fits("2.7.1.post11", "2.7.1") and install._fits("2.13.0", "2.13.0")
    assert not install._fits("2.7.10", "2.7.1") and not install._fits("2.8.0", "2.7.1")


def test_copies_link_what_git_ignores_and_leave_the_tree_alone(tmp_path):
    root = tmp_path / "project"
    (root / "data" / "images").mkdir(parents=True)
    (root / "pkg").mkdir()
    (root / ".git").mkdir()
    (root / ".gitignore").write_text("data/\n*.bin\n")
    (root / "train.py").write_text("x = 1\n")
    (root / "pkg" / "weights.bin").write_text("w")
    (root / "data" / "images" / "1.txt").write_text("d")
    wanted = {"original": {}, "ported": {"train.py": b"x = 2\n"}}
    made = legs.make(root, wanted, root / "pkg", tmp_path / "two")
    old, new = made["original"].root, made["ported"].root
    assert made["ported"].folder == new / "pkg"
    assert (old / "train.py").read_text() == "x = 1\n" and (new / "train.py").read_text() == "x = 2\n"
    for copy in (old, new):
        assert (copy / "data").is_symlink() and (copy / "data/images/1.txt").read_text() == "d"
        assert (copy / "pkg/weights.bin").is_symlink() and not (copy / ".git").exists()
    (new / "train.py").write_text("changed")
    assert (root / "train.py").read_text() == "x = 1\n"
    (new / "data" / "made.txt").write_text("by a run")  # below a link, as docs/reference.md says
    assert (root / "data" / "made.txt").exists() and (old / "data" / "made.txt").exists()


def test_what_an_inplace_run_replaced_is_the_original(tmp_path):
    from porter.files.journal import Transaction, originals, undo

    (tmp_path / "a.py").write_text("1\n")
    for content in (b"2\n", b"3\n"):
        with Transaction(tmp_path) as run:
            run.add("a.py", content)
            run.commit()
    assert originals(tmp_path) == {"a.py": b"1\n"}
    undo(tmp_path)
    assert originals(tmp_path) == {"a.py": b"1\n"}
    undo(tmp_path)
    assert originals(tmp_path) == {}


def test_a_tree_too_large_to_copy_is_refused(tmp_path, monkeypatch):
    (tmp_path / "big.txt").write_text("x" * 100)
    monkeypatch.setattr(legs, "_LARGEST", 50)
    with pytest.raises(UserError, match="to copy for each run; .*--original OLD --ported NEW"):
        legs.make(tmp_path, {"ported": {}}, tmp_path, tmp_path / "two")


def run_plain(words: list[str], tmp_path: Path, monkeypatch, **limits: int) -> Outcome:
    """A program that touches no torch, through the real launcher."""
    from dataclasses import replace

    monkeypatch.setattr(install, "environment", lambda device: {})
    ours = replace(OURS, path=sys.executable)
    return launch.run(words, tmp_path, tmp_path, ours, device(), Limits(**limits), original=False)


def test_a_program_that_hangs_is_stopped_with_its_children(tmp_path, monkeypatch, needs_linux):
    (tmp_path / "t.py").write_text(
        "import subprocess, time\nsubprocess.Popen(['sleep', '300'])\nprint('on', flush=True)\ntime.sleep(300)\n"
    )
    found = run_plain(["t.py"], tmp_path, monkeypatch, seconds=2)
    assert found.code is None and not found.ran and found.output == "on\n"
    assert found.how_it_ended() == ("timeout", "")


def test_what_a_hanging_program_was_compiling_is_not_left_locked(tmp_path, monkeypatch, needs_linux):
    monkeypatch.setenv("TORCH_EXTENSIONS_DIR", str(tmp_path))
    (tmp_path / "adam").mkdir()
    (tmp_path / "t.py").write_text("import os, time\nos.open('adam/lock', os.O_CREAT | os.O_EXCL)\ntime.sleep(300)\n")
    assert run_plain(["t.py"], tmp_path, monkeypatch, seconds=2).code is None
    assert (tmp_path / "adam").is_dir() and not (tmp_path / "adam" / "lock").exists()


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_stopped_from_outside_it_stops_what_it_started(tmp_path, name, needs_linux):
    number = signal.Signals[name]
    program = "import os, time\nopen('alive', 'w').write(str(os.getpid()))\ntime.sleep(300)\n"
    assert stopped(tmp_path, program, "launch.Limits()", "alive", number) == 128 + number


def test_stopped_while_it_stops_what_it_started_it_leaves_nothing(tmp_path, needs_linux):
    """The time limit is over, and what runs does not obey."""
    program = """
        import os, signal, time
        signal.signal(signal.SIGTERM, lambda *_: open("asked", "w").write("to end"))
        open("alive", "w").write(str(os.getpid()))
        while True:
            time.sleep(300)
    """
    assert (
        stopped(tmp_path, textwrap.dedent(program), "launch.Limits(2)", "asked", signal.SIGTERM) == 128 + signal.SIGTERM
    )


def stopped(folder: Path, program: str, limits: str, sign: str, number: int) -> int:
    """With what porter ends that gets the signal once there is a file `sign`; what it ran is gone."""
    (folder / "t.py").write_text(program)
    (folder / "run.py").write_text(
        "import sys\nfrom dataclasses import replace\nfrom pathlib import Path\n"
        "from test_verify_parts import OURS, device\nfrom porter.verify import install, launch\n"
        "install.environment = lambda device: {}\n"
        f"ours, here = replace(OURS, path=sys.executable), Path({str(folder)!r})\n"
        f"launch.run(['t.py'], here, here, ours, device(), {limits}, original=False)\n"
    )
    path = os.pathsep.join(map(str, Path(__file__).parents[:3]))
    porter = subprocess.Popen(
        [sys.executable, str(folder / "run.py")],
        env={**os.environ, "PYTHONPATH": path},
        preexec_fn=lambda: signal.signal(
            number, signal.SIG_DFL
        ),  # the tests may run under nohup, which hands its own on
    )
    until = time.monotonic() + 60
    while not ((folder / sign).is_file() and (folder / sign).read_text()) and time.monotonic() < until:
        time.sleep(0.05)
    porter.send_signal(number)
    code = porter.wait(60)
    with pytest.raises(ProcessLookupError):
        os.kill(int((folder / "alive").read_text()), 0)
    return code


def test_a_native_crash_is_a_result(tmp_path, monkeypatch, needs_linux):
    (tmp_path / "t.py").write_text("import os\nos.abort()\n")
    assert run_plain(["t.py"], tmp_path, monkeypatch).how_it_ended() == ("signal", "SIGABRT")


def test_a_memory_limit_holds(tmp_path, monkeypatch, needs_linux):
    (tmp_path / "t.py").write_text("x = bytearray(3 << 30)\n")
    found = run_plain(["t.py"], tmp_path, monkeypatch, memory_gb=1)
    assert found.code == 1 and "MemoryError" in found.output


def test_a_program_that_is_not_there(tmp_path, monkeypatch, needs_linux):
    with pytest.raises(UserError, match="no-such-program"):
        run_plain(["no-such-program"], tmp_path, monkeypatch)


def test_stand_ins_have_a_body_for_each_symbol_that_is_missing(tmp_path, needs_compiler, needs_linux):
    """Against a library made here: needs one library that there is nowhere, and two functions."""
    import ctypes
    import platform

    (tmp_path / "torch/lib").mkdir(parents=True)
    (tmp_path / "npu").mkdir()
    (tmp_path / "missing.c").write_text(
        "int nobody_has_this(void) { return 7; }\nint aclrtGetDeviceCount(unsigned *n) { return 9; }\n"
    )
    (tmp_path / "user.c").write_text(
        "int nobody_has_this(void); int aclrtGetDeviceCount(unsigned *);\n"
        "int ask(void) { unsigned n = 99; int e = aclrtGetDeviceCount(&n); return e * 1000 + n * 10 + nobody_has_this(); }\n"
    )
    cc = ["cc", "-shared", "-fPIC"]
    subprocess.run(
        [*cc, "-o", tmp_path / "libmissing.so", "-Wl,-soname,libmissing.so", tmp_path / "missing.c"], check=True
    )
    subprocess.run(
        [*cc, "-o", tmp_path / "npu/libuser.so", tmp_path / "user.c", f"-L{tmp_path}", "-lmissing"], check=True
    )
    (tmp_path / "libmissing.so").unlink()
    count = standins.generate(tmp_path / "torch", tmp_path / "npu", tmp_path / "out", platform.machine())
    assert count == 2
    ctypes.CDLL(str(tmp_path / "out/libcannstandin.so"), ctypes.RTLD_GLOBAL)
    ctypes.CDLL(str(tmp_path / "out/libmissing.so"), ctypes.RTLD_GLOBAL)
    assert ctypes.CDLL(str(tmp_path / "npu/libuser.so")).ask() == 10  # one device, no error, and zero


def test_what_a_library_compiles_for_npus_finds_headers_and_libraries(tmp_path, needs_compiler, needs_linux):
    import platform

    (tmp_path / "torch/lib").mkdir(parents=True)
    headers = tmp_path / "npu/include/third_party/acl/inc/acl"
    headers.mkdir(parents=True)
    (headers / "acl.h").write_text("int aclrtSetOpWaitTimeout(unsigned);\n")
    (tmp_path / "op.c").write_text("#include <acl/acl.h>\nint main(void) { return aclrtSetOpWaitTimeout(1); }\n")
    for _ in range(2):  # a device may be made again
        standins.generate(tmp_path / "torch", tmp_path / "npu", tmp_path / "out", platform.machine())
    home = standins.environment(tmp_path / "out")["ASCEND_HOME_PATH"]
    command = ["cc", "-o", tmp_path / "op", tmp_path / "op.c", f"-I{home}/include", f"-L{home}/lib64", "-lcannstandin"]
    subprocess.run(command, check=True)
    subprocess.run([tmp_path / "op"], env={"LD_LIBRARY_PATH": f"{home}/lib64"}, check=True)


def test_the_whole_command_says_what_is_missing(tmp_path, monkeypatch):
    porter = Porter(monkeypatch, tmp_path)
    assert porter("verify", "x.py", "--format", "xml").code == 2
    got = porter("verify", "--original", "a", "--", "x.py")
    assert porter("verify").code == 2
    assert got.code == 2 and "--original OLD and --ported NEW go together" in got.err


@pytest.mark.parametrize("before", [True, False])
def test_garbage_is_not_collected_during_an_import_and_as_before_after_it(tmp_path, before):
    (tmp_path / "heavy.py").write_text("import gc\nprint(gc.isenabled())\n")
    program = (
        f"import gc\n{'gc.enable' if before else 'gc.disable'}()\nfrom after_import import after_import\n"
        "after_import('heavy', lambda: print(gc.isenabled()))\nimport heavy\n"
    )
    path = os.pathsep.join([str(install.RUNTIME), str(tmp_path)])
    done = subprocess.run([sys.executable, "-c", program], env={"PYTHONPATH": path}, capture_output=True, text=True)
    assert done.stdout.split() == ["False", str(before)]
