"""The commands: what they print, what they write, how they end."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time

import pytest
import typer
from command_line import TESTED, Porter, Stream, git, process, unmeasured, write

from porter import __version__
from porter.__main__ import main
from porter.checks.registry import load as registry
from porter.cli.app import app
from porter.rulebook.table import load

TRAIN = """\
import torch


def main():
    torch.cuda.synchronize()
    model = torch.nn.Linear(2, 2).cuda()
    capability = torch.cuda.get_device_capability()
    return model, capability


main()
"""


@pytest.fixture
def porter(tmp_path, monkeypatch):
    (tmp_path / "r").mkdir()
    return Porter(monkeypatch, write(tmp_path / "r", {"train.py": TRAIN, "clean.py": "x = 1\n"}))


def test_version_before_anything_is_imported(tmp_path):
    code = (
        "import sys; from porter.__main__ import main; sys.argv[1:] = ['--version']; main(); print(sorted(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=TESTED, capture_output=True, text=True, env=unmeasured())
    version, modules = done.stdout.splitlines()
    assert version == f"porter {__version__}"
    assert "'porter'" in modules
    for heavy in ("typer", "rich", "libcst", "packaging", "dataclasses", "re'", "porter.cli.app"):
        assert heavy not in modules


def test_version_alone_and_among_other_options(porter):
    for args in (["--version"], ["-V"], ["-V", "analyze"]):
        assert porter(*args).out == f"porter {__version__}\n".encode()


def test_an_interrupt_while_porter_is_still_being_imported(porter, monkeypatch):
    class Slow:
        def find_spec(self, name, *_):
            if name == "porter.cli.app":
                raise KeyboardInterrupt

    monkeypatch.delitem(sys.modules, "porter.cli.app", raising=False)
    monkeypatch.setattr(sys, "meta_path", [Slow(), *sys.meta_path])
    answer = porter("analyze", ".")
    assert (answer.code, answer.out, answer.err) == (130, b"", "")


@pytest.mark.slow
def test_nothing_is_collected_when_the_interpreter_ends(tmp_path):
    code = (
        "import atexit, gc, sys\nfrom porter.__main__ import main\n"
        "atexit.register(lambda: print(gc.get_freeze_count() > 0))\n"  # runs after what porter registers
        "sys.argv[1:] = ['rules', '--nope']\n"
        "main()"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=TESTED, capture_output=True, text=True)
    assert done.stdout == "True\n", done.stderr


@pytest.mark.parametrize(
    ("words", "made"),
    [
        (["analyze", "."], ["analyze"]),
        (["--version", "check", "."], ["check"]),
        (["catalog", "list"], ["catalog"]),
        (["--help"], []),  # []: all
        (["--lang", "zh", "analyze"], []),
        (["analyse"], []),
    ],
)
def test_only_the_command_that_is_called_is_made(words, made):
    from typer.main import get_command

    from porter.cli import app

    all_of_them = sorted(get_command(app.app).commands)
    assert sorted(get_command(app._of(words)).commands) == (made or all_of_them)
    assert sorted(get_command(app.app).commands) == all_of_them


def _modules(args, folder):
    """What a command has imported when it ends."""
    code = (
        "import sys\nfrom porter.__main__ import main\n"
        f"sys.argv[1:] = {args!r}\n"
        "try:\n    main()\nexcept SystemExit:\n    print(sorted(sys.modules), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=folder,
        capture_output=True,
        text=True,
        env={**unmeasured(), "PYTHONPATH": str(TESTED)},
    )
    return done.stderr.splitlines()[-1]


@pytest.mark.slow
@pytest.mark.parametrize("args", [["explain", "PRT101"], ["explain", "HCCL_BUFFSIZE"], ["rules"]])
def test_what_only_reads_the_rules_loads_no_analysis(args, tmp_path):
    modules = _modules(args, tmp_path)
    assert "'porter.rulebook.texts'" in modules
    assert [
        heavy for heavy in ("libcst", "porter.analysis", "porter.checks", "porter.python") if heavy in modules
    ] == []


@pytest.mark.slow
def test_what_speaks_of_a_name_asks_the_rules_and_analyses_nothing(tmp_path):
    modules = _modules(["explain", "torch.cuda.Event"], tmp_path)
    assert "'porter.checks.registry'" in modules and "porter.analysis" not in modules


@pytest.mark.slow
@pytest.mark.parametrize(
    "args", [["analyze", "train.py"], ["migrate", "train.py"], ["analyze", "clean.py", "--format", "json"]]
)
def test_what_costs_is_not_imported_where_it_is_not_used(args, tmp_path):
    write(tmp_path, {"train.py": "import torch\ntorch.zeros(2)\n", "clean.py": "x = 1\n"})
    modules = _modules(args, tmp_path)
    unused = (
        "rich",
        "jinja2",
        "pygments",
        "multiprocessing",
        "concurrent.futures",
        "libcst._nodes",
        "packaging.specifiers",
    )
    for heavy in unused:
        assert f"'{heavy}'" not in modules, heavy


@pytest.mark.slow
def test_help_lists_the_three_commands_first_and_has_examples(porter):
    text = porter("--help").text
    commands = [line.split()[0] for line in text.partition("Commands:\n")[2].split("\n\n")[0].splitlines()]
    assert commands[:3] == ["analyze", "migrate", "explain"]
    assert "porter migrate src/ --inplace" in text and "Exit codes" in text
    assert max(map(len, text.splitlines())) <= 110
    for command in commands:
        shown = porter(command, "--help")
        assert shown.code == 0 and "Usage: porter " + command in shown.text


@pytest.mark.slow
def test_help_speaks_chinese(porter, monkeypatch):
    from porter.cli.help import chinese

    def below(command):
        yield command
        for one in getattr(command, "commands", {}).values():
            yield from below(one)

    commands = list(below(typer.main.get_command(app)))
    said = {text for c in commands for text in (c.help, *(getattr(p, "help", None) for p in c.params)) if text}
    said |= {c.epilog for c in commands if c.epilog}
    assert not said - chinese().keys()
    clicks = {"Show this message and exit.", "Usage: ", "Options", "Arguments", "Commands"}
    assert chinese().keys() - said == clicks
    shown = porter("analyze", "--help", "--lang", "zh").text
    assert shown.startswith("用法：porter analyze") and "\n选项:\n" in shown and "缓存" in shown
    monkeypatch.setenv("PORTER_LANG", "zh")
    assert "返回值：0" in porter("--help").text and "命令:" in porter("--help").text
    assert "没有起作用的抑制注释" in porter("rules").text
    assert "Usage:" in porter("rules", "--help", "--lang", "en").text


@pytest.mark.slow
@pytest.mark.parametrize(
    "args",
    [["analyze", "."], ["explain", "PRT101"], ["rules"], ["migrate", "."], ["catalog", "list"], ["cache", "clean"]],
    ids=" ".join,
)
def test_the_language_may_stand_before_the_command(porter, monkeypatch, args):
    def said(*args):
        got = porter(*args)
        return got.out.decode() + got.err

    said(*args), said(*args, "--lang", "zh")  # what this process reads for the first time, it keeps in the cache
    porter("cache", "clean")  # the first says something else than the next
    english, chinese = said(*args), said(*args, "--lang", "zh")
    assert english != chinese == said("--lang", "zh", *args) == said("--lang=zh", *args)
    assert chinese == said(args[0], "--lang", "zh", *args[1:])
    assert english == said("--lang", "zh", *args, "--lang", "en"), "the nearest counts"
    monkeypatch.setenv("PORTER_LANG", "zh")
    assert chinese == said(*args) and english == said("--lang", "en", *args)


@pytest.mark.slow
def test_errors_and_help_hear_of_the_language_wherever_it_stands(porter, monkeypatch):
    assert "文件或目录不存在" in porter("--lang", "zh", "analyze", "gone.py").err
    assert "no such file" in porter("--lang", "zh", "analyze", "gone.py", "--lang=en").err
    assert porter("--lang", "zh", "analyze", "--help").text.startswith("用法：")
    assert "--lang: 'fr' is none of en, zh" in porter("--lang", "fr", "analyze", ".").err
    monkeypatch.setenv("PORTER_LANG", "zh")
    assert "no such file" in porter("--lang", "en", "analyze", "gone.py").err


def test_no_command_shows_the_help_and_fails(porter):
    got = porter()
    assert got.code == 2 and "Commands:" in got.text


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["analyse", "."], "No such command 'analyse'"),
        (["analyze", "--frmat"], "No such option"),
        (["analyze", "--format", "xml"], "--format: 'xml' is none of text, full, concise, grouped, json"),
        (["analyze", "--format", "jsn"], "did you mean 'json'?"),
        (["analyze", "--all", "--format", "full"], "--all is short for --format grouped"),
        (["report", "f.json", "--format", "full"], "--format: 'full' is none of json, html"),
        (
            ["analyze", "--output", "x.pdf"],
            "--output x.pdf: the suffix chooses the format; it is one of .csv, .htm, .html, .json, .md, .sarif, .txt",
        ),
        (["analyze", "--fail-on", "bad"], "--fail-on: 'bad' is none of blocker, wrong, slow, note"),
        (["analyze", "--lang", "fr"], "--lang: 'fr' is none of en, zh"),
        (["analyze", "-j", "-1"], "-j"),
        (["analyze", "gone.py"], "gone.py: no such file or directory"),
        (["analyze", "-", "x.py"], "'-' reads standard input and stands alone"),
        (["analyze", "--stdin-filename", "x.py"], "pass '-' as the path"),
        (["analyze", "--target", "torch_npu=1"], "--target: no catalogue of torch_npu '1'"),
        (["migrate", "--inplace", "--out", "x"], "--inplace and --out exclude each other"),
        (["migrate", "--inplace", "--check"], "--inplace and --check exclude each other"),
        (["migrate", "-", "--inplace"], "--inplace needs files"),
        (["explain", "PRT999"], "nothing is known about 'PRT999'"),
        (["explain", "torch.cuda.synchronise"], "did you mean torch.cuda.synchronize"),
        (["rules", "--format", "xml"], "--format: 'xml' is none of text, json"),
    ],
)
def test_wrong_usage_is_one_line_and_exit_2(porter, args, said):
    got = porter(*args)
    assert got.code == 2 and said in got.err and got.err.count("\n") == 1 and got.out == b""
    assert got.err.startswith("porter: ")


def test_analyze_text(porter):
    got = porter("analyze", ".")
    lines = got.text.splitlines()
    assert got.code == 1 and got.err == ""
    assert lines[0].startswith("Target: torch_npu ")
    assert lines[1] == "Files: 2 scanned, 1 parsed, 1 with findings"
    assert got.text.index("Target") < got.text.index("train.py  3 findings") < got.text.index("Edits")
    assert lines[-3].split("  ", 1)[1].split() == "2 automatic in 1 file porter migrate . --inplace".split()
    assert lines[-1].startswith("Effort ") and " person-days: 1 other cause, looking at the edits, " in lines[-1]
    everything = porter("analyze", ".", "--all").text
    assert everything.splitlines()[2] == "Ported by porter itself: 2 of 3 CUDA-dependent places (66 %)"
    assert everything.index("train.py  3 findings") < everything.index("3 findings: 2 auto")
    assert "clean.py" not in got.text
    assert [line.split()[:2] for line in lines if line.startswith("  5:") or line.startswith("   5:")] == [
        ["5:5", "PRT101"]
    ]


def test_quiet_is_one_line_for_each_finding(porter):
    got = porter("analyze", "-q").text.splitlines()
    assert [line.split(": ")[0] for line in got] == ["train.py:5:5", "train.py:6:13", "train.py:7:18"]
    assert porter("analyze", "-q", "clean.py").out == b""


@pytest.mark.slow
def test_the_flags_are_short_for_shapes(porter):
    write(porter.folder, {"train.py": TRAIN + "x = 1  # porter: ignore[PRT101] old\n"})
    assert porter("analyze", ".", "--format", "grouped").out == porter("analyze", ".", "--all").out
    assert porter("analyze", ".", "--format", "grouped", "--all").out == porter("analyze", ".", "--all").out
    assert porter("analyze", ".", "--format", "concise").out == porter("analyze", ".", "-q").out
    assert porter("analyze", ".", "--format", "text").out == porter("analyze", ".").out
    assert porter("analyze", ".", "--format", "grouped", "-v").out == porter("analyze", ".", "-v").out
    assert "PRT001" not in porter("analyze", ".", "-q").text
    assert "PRT001 note manual" in porter("analyze", ".", "--format", "concise", "-v").text


def test_full_shows_the_line_the_place_and_the_edit(porter):
    text = porter("analyze", ".", "--format", "full").text
    place = """\
train.py:6:13: PRT130 blocker auto
  use `.npu()`: `.cuda()` moves to a CUDA device
 6 -     model = torch.nn.Linear(2, 2).cuda()
                 ^^^^^^^^^^^^^^^^^^^^^^^^^^^^
   +     model = torch.nn.Linear(2, 2).npu()
"""
    assert place in text
    manual = text.partition("\ntrain.py:7:18: ")[2].partition("\n\n")[0].splitlines()
    assert manual[-2:] == [
        " 7 |     capability = torch.cuda.get_device_capability()",
        "   |                  ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^",
    ]
    everything = porter("analyze", ".", "--all").text
    assert text.splitlines()[:3] == everything.splitlines()[:3] and text.splitlines()[-1] == everything.splitlines()[-1]
    assert "by hand: " in porter("analyze", ".", "--format", "full", "-v").text
    porter("analyze", ".", "--format", "full", "-o", "a.txt")
    assert (porter.folder / "a.txt").read_text() == text


def test_nothing_found(porter):
    got = porter("analyze", "clean.py")
    assert got.code == 0 and "Nothing CUDA-dependent found." in got.text and "%" not in got.text


def test_a_project_without_torch(porter):
    game = {
        "game.py": "import pynvml\nimport tensorflow as tf\n\npynvml.nvmlInit()\n",
        "requirements.txt": "tensorflow-gpu\n",
    }
    for path in porter.folder.rglob("*.py"):
        path.unlink()
    write(porter.folder, game)
    got = porter("analyze", ".")
    assert got.code == 0 and "Nothing to port: no file imports torch" in got.text and "PRT" not in got.text
    found = json.loads(porter("analyze", ".", "--format", "json").text)
    assert found["findings"] == [] and all("torchless" in row["values"] for row in found["left_alone"])
    assert {row["code"] for row in found["left_alone"]} >= {"PRT401", "PRT843"}


def test_paths_can_be_opened_from_where_the_command_runs(porter):
    write(porter.folder, {"setup.py": "", "sub/b.py": TRAIN})
    up = porter.folder.parent
    assert porter("analyze", "r/sub", "-q", cwd=up).text.startswith("r/sub/b.py:5:5: ")
    inside = porter("analyze", "b.py", cwd=porter.folder / "sub").text
    assert "Paths start at the root of the project." in inside and "\nsub/b.py  " in inside


def test_json_and_outputs(porter):
    got = porter("analyze", ".", "--format", "json", "--output", "a.json", "--output", "b.txt")
    document = json.loads(got.out)
    assert (porter.folder / "a.json").read_bytes() == got.out
    written, shown = (
        (porter.folder / "b.txt").read_text().splitlines(),
        porter("analyze", ".", "--all").text.splitlines(),
    )
    assert [line for line in shown if line not in written] == [line for line in shown if "-v" in line], "but for notes"
    assert document["summary"]["readiness"] == {"auto": 2, "places": 3}
    assert porter("analyze", ".", "--output", "no/a.json").code == 2


@pytest.mark.parametrize("words", [(), ("-q",), ("-v",)])
def test_a_text_that_is_kept_has_the_notes(porter, words):
    write(porter.folder, {"README.md": "    conda create -n x python=3.6\n"})
    shown = porter("analyze", ".", *words, "--output", "b.txt").text
    assert ("PRT860" in shown) == ("-v" in words)
    assert "PRT860" in (porter.folder / "b.txt").read_text()


@pytest.mark.parametrize(("severity", "code"), [("blocker", 1), ("wrong", 1), ("slow", 1), ("note", 1)])
def test_fail_on_blocker_fails_always(porter, severity, code):
    assert porter("analyze", ".", "--fail-on", severity).code == code


def test_fail_on_note(porter):
    write(porter.folder, {"train.py": "import torch\nx = 1  # porter: ignore[PRT101] old\n"})
    assert porter("analyze", ".").code == 0
    assert porter("analyze", ".", "--fail-on", "note").code == 1, "an unused suppression is a note"


def test_notes_are_folded_and_the_line_says_so(porter):
    write(porter.folder, {"train.py": TRAIN + "x = 1  # porter: ignore[PRT101] old\n"})
    assert "PRT001" not in porter("analyze", ".").text
    assert "+ 1 of severity note (-v shows them)" in porter("analyze", ".", "--all").text
    assert "PRT001" not in porter("analyze", ".", "-q").text, "what the default hides"
    assert porter("analyze", ".").text.splitlines()[-1].split() == "Notes 1 porter analyze . -v".split()
    assert "PRT001" in porter("analyze", ".", "-v").text


def test_suppressed_findings_do_not_count(porter):
    write(porter.folder, {"train.py": "import torch\ntorch.cuda.synchronize()  # porter: ignore[PRT101] GPU only\n"})
    got = porter("analyze", ".")
    assert got.code == 0 and "Suppressed in the source: 1" in got.text
    document = json.loads(porter("analyze", ".", "--format", "json").out)
    assert [f["suppressed"] for f in document["findings"]] == ["GPU only"]


def test_verbose_tells_symptom_and_effort(porter):
    text = porter("analyze", ".", "-v").text
    assert "at run time: " in text and "by hand: " in text and "porter explain PRT1" in text


def test_chinese(porter):
    text = porter("analyze", ".", "--lang", "zh", "-v").text
    assert "可自动迁移：3 处 CUDA 依赖中的 2 处（66%）" in text and "阻断" in text and "blocker" not in text


@pytest.mark.slow
def test_colour_on_a_terminal_only(porter, monkeypatch):
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("COLORTERM", raising=False)
    assert b"\033[" not in porter("analyze", ".").out
    shown = porter("analyze", ".", terminal=True).out
    assert b"\033[" in shown
    assert b"\033[" in porter("migrate", ".", terminal=True).out
    monkeypatch.setenv("NO_COLOR", "1")
    assert b"\033[3" not in porter("analyze", ".", terminal=True).out
    assert b"\033[" not in porter("migrate", ".", terminal=True).out


def test_refused_files_are_named_up_front(porter):
    write(porter.folder, {"old.py": "import torch\nprint 'cuda'\n", "blob.py": b"cuda\0\1"})
    got = porter("analyze", ".")
    head = got.text.partition("train.py  3 findings")[0]
    assert (
        "Not analysed, or left as they were: 2" in head
        and "old.py:2  PRT002  this is Python 2" in head
        and "blob.py:1  PRT003  holds binary data" in head
    )
    assert got.code == 1


def test_unreadable_file_is_a_finding_and_the_run_goes_on(porter):
    if os.geteuid() == 0:
        (porter.folder / "locked.py").mkdir()  # root reads everything; this is what it cannot read as a file
        (porter.folder / "loop.py").symlink_to("loop.py")
        got = porter("analyze", "loop.py", "train.py")
    else:
        write(porter.folder, {"locked.py": TRAIN})
        (porter.folder / "locked.py").chmod(0)
        got = porter("analyze", "locked.py", "train.py")
    assert got.code in (1, 2) and ("train.py" in got.text or "loop.py" in got.err)


@pytest.mark.slow
def test_huge_file_is_a_finding(porter, monkeypatch):
    from porter.files import read

    with open(porter.folder / "huge.py", "wb") as file:
        file.truncate(read.LIMIT + 1)
    got = porter("analyze", ".")
    assert "huge.py:1  PRT003  has " in got.text and got.code == 1


def test_broken_promise_is_123(porter, monkeypatch):
    from porter.analysis import python

    def broken(looked, changes, unsafe):
        if changes:
            raise python.Broken("unstable", codes="PRT101")

    monkeypatch.setattr(python, "check", broken)
    got = porter("analyze", ".", "--no-cache")
    assert got.code == 123 and "left as they were: 1" in got.text
    assert porter("migrate", ".", "--inplace", "--no-cache").code == 123
    assert (porter.folder / "train.py").read_text() == TRAIN


def test_a_crash_in_porter_is_123_and_one_line(porter, monkeypatch):
    monkeypatch.setattr("porter.commands.analyze.prepare", lambda *_, **__: 1 / 0)
    got = porter("analyze", ".")
    assert got.code == 123 and got.err.startswith("porter: internal error") and got.err.count("\n") == 1


def test_interrupt_is_130(porter, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("porter.commands.job.run", interrupted)
    assert porter("analyze", ".").code == 130


def _hear() -> None:
    """What a shell starts in the background, a whole suite for example, has SIGINT ignored, and so have its children."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def test_interrupt_before_anything_is_imported(monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("porter.cli.app.main", interrupted)
    monkeypatch.setattr(sys, "argv", ["porter", "analyze"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 130


@pytest.mark.slow
def test_interrupt_from_the_keyboard(tmp_path):
    write(tmp_path / "r", {f"m{n}.py": TRAIN * 50 for n in range(300)})
    for delay in (1.5, 1.0, 0.7, 0.4, 0.2):  # a fast machine is through before a long one
        child = subprocess.Popen(
            [sys.executable, "-m", "porter", "analyze", ".", "-j", "2", "--no-cache"],
            cwd=tmp_path / "r",
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(TESTED)},
            preexec_fn=_hear if os.name == "posix" else None,
        )
        time.sleep(delay)
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=60)
        assert b"Traceback" not in err
        if child.returncode == 130:
            return
        assert child.returncode == 1 and out  # over before it could be interrupted
    pytest.fail("no run was interrupted")


@pytest.mark.slow
def test_nobody_reads_on(porter):
    done = subprocess.run(
        f"{sys.executable} -m porter analyze . | head -1; echo ${{PIPESTATUS[0]}}",
        shell=True, executable="/bin/bash", cwd=porter.folder, capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": str(TESTED)},
    )  # fmt: skip
    assert "Traceback" not in done.stderr and "BrokenPipe" not in done.stderr
    assert done.stdout.startswith("Target: ")


def test_stdin(porter):
    got = porter("analyze", "-", "-q", stdin=TRAIN.encode())
    assert got.code == 1 and got.text.startswith("stdin.py:5:5: PRT101 ")
    assert porter("analyze", "-", "-q", "--stdin-filename", "sub/x.py", stdin=TRAIN.encode()).text.startswith(
        "sub/x.py:5"
    )
    assert b"--- a/x.py\n" in porter("migrate", "-", "--stdin-filename", "x.py", stdin=TRAIN.encode()).out
    assert porter("analyze", "-", "-q", stdin=b"").code == 0


@pytest.mark.slow
def test_output_that_the_terminal_cannot_show(porter):
    write(porter.folder, {"设备.py": TRAIN})
    done = process("analyze", ".", "-q", cwd=porter.folder, PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert done.returncode == 1 and b"\\u8bbe\\u5907.py:5:5" in done.stdout


@pytest.mark.slow
def test_same_bytes_for_any_hash_seed_and_any_number_of_processes(porter, monkeypatch):
    files = {f"p{n}/m{n}.py": TRAIN + f"y = 'cuda:{n}'\ntorch.zeros(1, device=y)\n" * (n % 5) for n in range(30)}
    write(porter.folder, files)
    seen = set()
    for seed, jobs in (("0", "1"), ("1", "2"), ("7", "4")):
        done = process(
            "analyze", ".", "--format", "json", "--no-cache", "-j", jobs, cwd=porter.folder, PYTHONHASHSEED=seed
        )
        assert done.returncode == 1, done.stderr
        seen.add(done.stdout)
    monkeypatch.setattr("porter.run.run.PARALLEL_FROM", 2)
    seen.add(porter("analyze", ".", "--format", "json", "--no-cache", "-j", "2").out)
    assert len(seen) == 1
    assert str(porter.folder).encode() not in seen.pop(), "no absolute path"


def test_explain(porter):
    got = porter("explain", "PRT130")
    assert got.code == 0 and "PRT130 cuda-method" in got.text and "porter: ignore[PRT130]" in got.text
    assert "Before" in got.text and "After" in got.text and ".npu()" in got.text
    assert porter("explain", "cuda-method").out == got.out == porter("explain", "prt130").out
    assert "迁移前" in porter("explain", "PRT130", "--lang", "zh").text
    assert "\n参考：https://" in porter("explain", "PRT901", "--lang", "zh").text
    findings = porter("explain", "PRT406").text.partition("\nFindings\n")[2].split("\n\n")[0].splitlines()
    assert len(findings) == len(set(findings)) > 1
    api = porter("explain", "torch.cuda.synchronize")
    assert api.text.startswith("torch.cuda.synchronize becomes torch.npu.synchronize  auto\n")


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_explain_has_a_table_of_kernels(porter, lang):
    text = porter("explain", "PRT850", "--lang", lang).text
    assert "{cure}" not in text and "  swiglu                   " in text and "torch_npu.npu_swiglu" in text
    more = "Faster are `mx_driving" if lang == "en" else "更快的有 `mx_driving"
    assert f"\n{'':27}{more}" in text, "what more there is to know of a cure stands below it"
    assert text.count("Ascend C or Triton" if lang == "en" else "Ascend C、Triton") == 2, "of kernels nobody knows"
    assert {kernel.why for kernel in load().kernels} <= {line.split()[0] for line in text.splitlines() if line.strip()}
    assert "  swiglu  " in porter("explain", "PRT411").text and "swiglu" not in porter("explain", "PRT401").text


@pytest.mark.slow
def test_explain_reflows_its_prose(porter, monkeypatch):
    wide = porter("explain", "PRT850").text
    prose = wide.partition("At run time")[0].splitlines()
    assert max(map(len, prose)) <= 100 and min(map(len, prose[3:-2])) > 80
    monkeypatch.setenv("COLUMNS", "80")
    assert porter("explain", "PRT850").out == wide.encode(), "no terminal"
    narrow = porter("explain", "PRT850", terminal=True).text
    lines = re.sub(r"\x1b\[[\d;]*m", "", narrow).splitlines()
    assert max(map(len, lines)) <= 80 and " ".join(" ".join(lines).split()) == " ".join(wide.split())
    monkeypatch.setenv("COLUMNS", "200")
    widest = re.sub(r"\x1b\[[\d;]*m", "", porter("explain", "PRT850", terminal=True).text)
    assert widest.splitlines() == wide.splitlines()


@pytest.mark.slow
def test_what_explain_says_of_a_name_is_one_story(porter):
    """The headline, and what wheel and documents say below."""
    stories = {
        "stays as it is": "supported",
        "has no counterpart.": "missing",
        "is deprecated.": "deprecated",
        "cannot simply be renamed.": "depends on how it is used",
    }
    texts, told = registry().texts, set()
    names = [n for n in texts.apis() if n.startswith(("torch.", "torch_npu.")) and not texts.api(n).to]
    for name in [*names[::9], "torch.cuda.OutOfMemoryError", "torch.cuda.get_device_capability"]:
        head, *rest = porter("explain", name).text.splitlines()
        claim = next(claim for claim in stories if head.startswith(f"{name} {claim}"))
        for line in rest:
            if line.startswith(f"{name} on torch_npu"):
                assert line.endswith(f": {stories[claim]}"), line
                told.add(claim)
    assert told == stories.keys()
    got = porter("explain", "torch.cuda.OutOfMemoryError").text
    assert "PRT105" not in got and "npu-smi" not in got and ": supported\n" in got and ": missing" not in got
    assert "By hand" not in porter("explain", "torch.cuda.CudaError").text
    assert "By hand" in porter("explain", "torch.cuda.temperature").text


@pytest.mark.slow
def test_explain_a_package(porter):
    got = porter("explain", "flash_attn")
    assert got.code == 0 and got.text.startswith("flash_attn  has to be replaced\n")
    assert "In its place: torch.nn.functional.scaled_dot_product_attention" in got.text and "PRT401" in got.text
    assert porter("explain", "flash-attn").out == got.out
    assert "需要替换" in porter("explain", "flash_attn", "--lang", "zh").text
    for name, row in load().packages.items():
        for lang in ("en", "zh"):
            got = porter("explain", name, "--lang", lang)
            assert got.code == 0 and got.text.startswith(name) and (not row.why or row.code in got.text)
    assert "did you mean xformers" in porter("explain", "xformer").err


@pytest.mark.slow
def test_every_code_can_be_explained_in_both_languages(porter):
    rules = json.loads(porter("rules", "--format", "json").out)["rules"]
    assert [rule["code"] for rule in rules] == sorted({rule["code"] for rule in rules})
    assert len(porter("rules").text.splitlines()) == len(rules) > 10
    for rule in rules:
        for lang in ("en", "zh"):
            got = porter("explain", rule["code"], "--lang", lang)
            assert got.code == 0 and rule["title"][lang] in got.text


@pytest.mark.slow
def test_completion(porter):
    done = process(cwd=porter.folder, _PORTER_COMPLETE="complete_bash", COMP_WORDS="porter mi", COMP_CWORD="1")
    assert done.stdout.split() == [b"migrate"]


def test_repository_in_git_without_a_clean_state_is_analysed(porter):
    git(porter.folder, "init", "-q")
    assert porter("analyze", ".").code == 1


def test_progress_bar_on_a_terminal_only(monkeypatch):
    from porter.commands import progress

    monkeypatch.setattr(progress, "PATIENCE", 0)
    for terminal, quiet, lang, shown in (
        (True, False, "zh", "分析中"),
        (True, True, "en", ""),
        (False, False, "en", ""),
    ):
        stream = Stream(terminal)
        monkeypatch.setattr("sys.stderr", stream)
        with progress.progress(lang, quiet) as show:
            assert (show is None) is (shown == "")
            until = time.monotonic() + 60
            while show and shown not in stream.buffer.getvalue().decode() and time.monotonic() < until:
                show("analysis", 1, 2)
                time.sleep(0.01)
        text = stream.buffer.getvalue().decode()
        assert shown in text and bool(text) is bool(shown)


def test_no_bar_for_a_short_run(monkeypatch):
    from porter.commands import progress

    monkeypatch.setattr("sys.stderr", Stream(True))
    monkeypatch.setattr(progress, "PATIENCE", 60)
    with progress.progress("en", False) as show:
        show("analysis", 1, 2)
    assert sys.stderr.buffer.getvalue() == b""


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["analyze", "--format", "jsn"], "--format：'jsn' 不在可选值之内"),
        (["analyze", "--format", "jsn"], "；是否想写 'json'？"),
        (["migrate", "--inplace", "--check"], "--inplace 与 --check 不能同时使用"),
        (["analyze", "--target", "torch_npu=1"], "没有 torch_npu '1' 的目录数据"),
        (["explain", "PRT999"], "没有关于 'PRT999' 的信息"),
        (["analyze", "gone.py"], "gone.py：文件或目录不存在"),
    ],
)
def test_errors_in_chinese(porter, args, said):
    got = porter(*args, "--lang", "zh")
    assert got.code == 2 and said in got.err and got.err.count("\n") == 1
