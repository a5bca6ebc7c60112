"""Shell scripts: what is edited, what stays to the byte, and what no grammar understands."""

from __future__ import annotations

import re

import pytest
from drawn import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from porter.analysis.analyse import analyse, may_concern
from porter.analysis.session import open_session
from porter.engine.facts import Facts
from porter.engine.launch import Launch
from porter.engine.session import Session
from porter.finding import apply
from porter.rulebook.texts import Texts
from porter.run.gather import gather
from porter.target import Target
from porter.text.shells.images import brings_cuda
from porter.text.shells.script import Word

ABOUT = open_session(
    facts=Facts(launch=Launch(options=(("backend", "backend", "train.py"), ("device", "device", "train.py"))))
)
CODES = [code for code in Texts().codes() if re.match(r"PRT82\d|PRT860", code)]


def codes(data: bytes, name: str = "run.sh", session: Session = ABOUT) -> list[str]:
    return [finding.code for finding in analyse(name, data, session).findings]


def ported(text: str, session: Session = ABOUT, unsafe: bool = False) -> str:
    result = analyse("run.sh", text.encode(), session)
    assert not {"PRT002", "PRT003"} & {f.code for f in result.findings}, result.findings
    return apply(text.encode(), result.review if unsafe else result.auto).decode()


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("'a b'", "a b"), ('"a b"', "a b"), ("--name='a b'", "--name=a b"), ("''", ""),
        ("'a'b'c'", None), (r"'it'\''s'", None), ('"a"b"c"', None), ('"$x"', None),
        ("*.py", "*.py"), ("~/x", "~/x"), ("{a,b}", "{a,b}"),
    ],
)  # fmt: skip
def test_the_value_of_a_word(text, value):
    assert Word(0, len(text), text).value == value


@pytest.mark.parametrize("code", CODES)
def test_the_example_of_a_rule(code):
    rule = Texts().rule(code)
    beginnings = {"FROM": "Dockerfile", "# README.md": "README.md"}
    name = next((name for head, name in beginnings.items() if rule.before.lstrip().startswith(head)), "run.sh")
    session = open_session(facts=Facts(launch=Launch(name)))
    result = analyse(name, rule.before.encode(), session)
    assert code in {f.code for f in result.findings}
    assert apply(rule.before.encode(), result.review).decode() == rule.after
    if rule.by_hand:
        open_ones = [f for f in analyse(name, rule.by_hand.encode(), session).findings if not f.optional]
        assert code not in {f.code for f in open_ones if f.why != "option"}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("X=1 CUDA_VISIBLE_DEVICES=$gpu python a.py\n", "X=1 ASCEND_RT_VISIBLE_DEVICES=$gpu python a.py\n"),
        ("declare -x CUDA_LAUNCH_BLOCKING=1\n", "declare -x ASCEND_LAUNCH_BLOCKING=1\n"),
        ("a=1 b=2\nexport CUDA_LAUNCH_BLOCKING\n", "a=1 b=2\nexport ASCEND_LAUNCH_BLOCKING\n"),
        ("x=${#CUDA_VISIBLE_DEVICES}\n", "x=${#ASCEND_RT_VISIBLE_DEVICES}\n"),
        ("bash -c 'python t.py --device cuda'\n", "bash -c 'python t.py --device npu'\n"),
        ('bash -c "echo \\"x\\"; python t.py --device cuda"\n', 'bash -c "echo \\"x\\"; python t.py --device npu"\n'),
        ("if x; then\n  nvidia-smi\nfi\n", "if x; then\n  npu-smi info\nfi\n"),
        ("sudo nvidia-smi\n", "sudo npu-smi info\n"),
        ("# é\npython t.py --note é --device=cuda # é cuda\n", "# é\npython t.py --note é --device=npu # é cuda\n"),
    ],
)
def test_what_is_edited_unseen(before, after):
    assert ported(before) == after
    assert ported(before.replace("\n", "\r\n")) == after.replace("\n", "\r\n")


@pytest.mark.parametrize(
    "text",
    [
        "CUDA_VISIBLE_DEVICES=1,0 python a.py; echo $CUDA_VISIBLE_DEVICES\n",  # the order is a matter for a person
        "cat > run.sh <<EOF\nexport CUDA_VISIBLE_DEVICES=0\nEOF\nexport CUDA_VISIBLE_DEVICES=0\n",
        "export ASCEND_RT_VISIBLE_DEVICES=0\nexport CUDA_VISIBLE_DEVICES=0\n",  # ported already
        "nvidia-smi | head\n", "x=$(nvidia-smi)\n", "nvidia-smi && x\n", "/usr/bin/nvidia-smi -L\n",
        "note='use --device cuda'\necho $note\ngit commit -m 'python a.py --device cuda'\n",
        "python a.py --nothing cuda\n", "python a.py --device cudatoolkit\n", "echo python --device cuda\n",
    ],
)  # fmt: skip
def test_what_is_not(text):
    assert ported(text) == text or text.startswith("note")


def test_a_value_that_no_edit_can_convert_leaves_the_name_alone():
    text = "export NCCL_BUFFSIZE=$size\nexport NCCL_BUFFSIZE=268435456\n"
    assert ported(text, unsafe=True) == text and "PRT802" in codes(text.encode())


def test_a_value_that_is_handed_on_is_converted_as_one_that_is_exported():
    text = "python submit.py --env NCCL_BUFFSIZE=536870912 --env 'NCCL_IB_TIMEOUT=19'\n"
    assert ported(text, unsafe=True) == "python submit.py --env HCCL_BUFFSIZE=512 --env 'HCCL_RDMA_TIMEOUT=19'\n"
    larger = "export NCCL_BUFFSIZE=250000000\n"  # HCCL counts whole MB: the buffer is no smaller than it was
    assert ported(larger, unsafe=True) == "export HCCL_BUFFSIZE=239\n"
    for written, as_megabytes in (('2"684354560"', "2560"), ('"2684354560"', '"2560"')):
        text = f"export NCCL_BUFFSIZE={written}\n"
        assert ported(text, unsafe=True) == f"export HCCL_BUFFSIZE={as_megabytes}\n"


def test_wheels_for_other_gpus_are_nobodys_business():
    text = "pip install torch==2.3.1 torchvision==0.18.1 --index-url https://download.pytorch.org/whl/{}\n"
    assert codes(text.format("rocm6.0").encode()) == []
    assert codes(text.format("cu121").encode()) == ["PRT840", "PRT840", "PRT840", "PRT841"]


def test_options_wait_for_a_look_where_nothing_says_what_they_are():
    text = "python train.py --backend nccl --device cuda:1\n"
    assert ported(text, open_session()) == text
    assert ported(text, open_session(), unsafe=True) == "python train.py --backend hccl --device npu:1\n"
    portable = open_session(facts=ABOUT.facts, target=Target(style="portable"))
    assert ported(text, portable) == text


def test_an_option_is_what_every_program_of_the_project_says(tmp_path):
    (tmp_path / "run.sh").write_text("python a.py --backend nccl --device cuda\n")
    (tmp_path / "a.py").write_text("p.add_argument('--backend', default='nccl')\np.add_argument('--device')\n")
    (tmp_path / "b.py").write_text("import x\np.add_argument('--backend', choices=['lmdb', 'disk'])\n")
    (tmp_path / "a.py").write_text("import x\n" + (tmp_path / "a.py").read_text())
    found = gather(tmp_path, ["a.py", "b.py", "run.sh"])
    assert found.launch.options == (("device", "device", "a.py"),)
    assert found.launch.passes("--backend", "nccl") == "run.sh" and found.launch.passes("--device", "cuda") is None


def test_a_script_waits_for_the_parser_of_its_program(tmp_path):
    """`--backend hccl` before the program takes it would be worse than no port."""
    from porter.run.config import Settings
    from porter.run.run import run

    (tmp_path / "pyproject.toml").write_text("[project]\n")
    (tmp_path / "run.sh").write_text("python a.py --backend nccl\n")
    option = "p.add_argument('--backend', default='nccl', choices=['nccl'])"
    program = "import argparse, torch\np = argparse.ArgumentParser()\n{}\ntorch.distributed.init_process_group(p.parse_args().backend)\n"
    for mark, status in (("", "auto"), ("  # porter: ignore[PRT209] kept", "manual")):
        (tmp_path / "a.py").write_text(program.format(option + mark))
        files = {file.path: file for file in run(tmp_path, [str(tmp_path)], Settings(), open_session()).files}
        assert [f.status for f in files["run.sh"].findings if f.code == "PRT825"] == [status]
        assert bool(files["run.sh"].auto) is bool(files["run.sh"].review) is (status == "auto")
        assert bool(files["a.py"].auto) is (status == "auto")


def test_the_launcher_is_one_of_many(tmp_path):
    for name in ("tests/train.sh", "tools/run.sh", "train.sh", "zero.sh"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("torchrun train.py\n")
    facts = gather(tmp_path, ["tests/train.sh", "tools/run.sh", "train.sh", "zero.sh"])
    assert facts.launch.script == "train.sh"
    assert "PRT826" in codes(b"torchrun train.py\n", "train.sh", open_session(facts=facts))
    assert "PRT826" not in codes(b"torchrun train.py\n", "zero.sh", open_session(facts=facts))


@pytest.mark.parametrize(
    "data",
    [
        b"if [ cuda; then\nCUDA_VISIBLE_DEVICES=0 (\n",
        b"#!/bin/bash\necho \xff\xfe cuda\n",
        b"\x7fELF\x02\x01\x01\x00\x00nvidia-smi\n\x00\x01",
        b"CUDA_LAUNCH_BLOCKING=1 ) ( \x0b\n" * 3,
    ],
)
def test_what_cannot_be_read_is_one_note(data):
    result = analyse("run.sh", data, open_session())
    assert [f.code for f in result.findings] == ["PRT002"] and not result.review
    assert result.findings[0].severity == "note"


def test_a_part_that_cannot_be_read_leaves_the_rest():
    text = "export CUDA_LAUNCH_BLOCKING=1\npython train.py\nls -l\nCUDA_LAUNCH_BLOCKING=2 ( ) python a.py\n"
    result = analyse("run.sh", text.encode(), ABOUT)
    assert "PRT002" in [f.code for f in result.findings]
    assert apply(text.encode(), result.auto).decode().startswith("export ASCEND_LAUNCH_BLOCKING=1\n")


@pytest.mark.parametrize("twin", ["run_npu.sh", "ascend-run.sh", "run.npu.sh"])
def test_a_script_with_a_twin_for_npus_is_left_alone(tmp_path, twin):
    """Who keeps a script for each device has ported it: this one has to stay the GPU's."""
    script = b"export CUDA_VISIBLE_DEVICES=0\ntorchrun train.py --backend nccl\nnvidia-smi\n"
    program = b'import argparse\np = argparse.ArgumentParser()\np.add_argument("--backend", default="nccl")\n'
    for name, data in (("run.sh", script), ("train.py", program)):
        (tmp_path / name).write_bytes(data)
    alone = gather(tmp_path, ["run.sh", "train.py"])
    assert len(codes(script, session=open_session(facts=alone))) == 4
    facts = gather(tmp_path, ["run.sh", "train.py", twin])
    assert facts.accelerators.npu_twins == ("run.sh",) and facts.launch.passed == ()
    assert facts.launch.script == "" and not codes(script, session=open_session(facts=facts))


def test_what_is_broken_before_is_no_broken_promise():
    text = "echo ) (\nnvidia-smi -q | wc -l\necho ) (\nmodule load cuda\n"
    result = analyse("run.sh", text.encode(), ABOUT)
    assert [(f.code, f.why, f.line) for f in result.findings if f.code < "PRT1"] == [("PRT002", "unchecked", 1)]
    assert not result.auto and not result.review and all(f.status == "manual" for f in result.findings)


@pytest.mark.slow
def test_a_long_generated_script():
    data = b"export A_1=1 # x\npython train.py --lr 0.1 --x $FOO\n" * 20_000 + b"nvidia-smi\n"
    result = analyse("run.sh", data, ABOUT)
    assert apply(data, result.auto).endswith(b"\nnpu-smi info\n") and len(result.auto) == 1


def test_most_scripts_never_meet_the_parser():
    assert not may_concern("clean.sh", b"#!/bin/bash\nrm -rf build\nfind . -name '*.pyc' -delete\n", ABOUT)


PIECES = (
    "export CUDA_VISIBLE_DEVICES=0,1\n", "CUDA_LAUNCH_BLOCKING=1 python a.py --device cuda\n", "# é cuda\n", "\n",
    "nvidia-smi\n", "nvidia-smi -L | wc -l\n", "if true; then\n  nvidia-smi\nfi\n", 'x="$CUDA_VISIBLE_DEVICES"\n',
    "cat <<EOF\ncuda $CUDA_VISIBLE_DEVICES nccl\nEOF\n", "torchrun a.py \\\n  --backend nccl \\\n  -x\n", "\tls 'é'\n",
    "export NCCL_BUFFSIZE=268435456\n", "pip install torch==2.1.0+cu118\n", "docker run --gpus all x\n", "f() {\n\tdate\n}\n",
    "case $1 in\n  cuda) nvidia-smi ;;\n  *) ;;\nesac\n", "a=(--device cuda)\n", "module load cuda\n", "echo ) (\n",
)  # fmt: skip


@pytest.mark.slow
@settings(max_examples=examples(150), deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=8), st.booleans(), st.booleans(), st.booleans())
def test_bytes_outside_the_edits_stay(pieces, windows, bom, unsafe):
    text = "".join(pieces).replace("\n", "\r\n" if windows else "\n")
    data = (b"\xef\xbb\xbf" if bom else b"") + text.encode()
    result = analyse("run.sh", data, ABOUT)
    assert "PRT003" not in {f.code for f in result.findings}
    changes = result.review if unsafe else result.auto
    after, at = apply(data, changes), 0
    for change in changes:  # what is between two edits is found again, in its order
        assert after.find(data[at : change.start]) >= 0 and change.start >= at
        at = change.end
    assert len(after) == len(data) + sum(len(c.new) - (c.end - c.start) for c in changes)
    again = analyse("run.sh", after, ABOUT)
    assert not (again.review if unsafe else again.auto)
    assert after.count(b"\r\n") == data.count(b"\r\n") and after.count(b"#") == data.count(b"#")


def test_a_dockerfile_is_never_edited_unseen():
    text = "FROM python:3.11\nENV CUDA_VISIBLE_DEVICES=0\nRUN nvidia-smi\nCMD python t.py --device cuda\n"
    result = analyse("Dockerfile", text.encode(), ABOUT)
    assert not result.auto and apply(text.encode(), result.review).decode() == (
        "FROM python:3.11\nENV ASCEND_RT_VISIBLE_DEVICES=0\nRUN npu-smi info\nCMD python t.py --device npu\n"
    )


def test_a_dockerfile_that_ends_in_the_middle_of_a_line_and_one_that_names_an_argument():
    text = "FROM python:3.11\nARG CUDA_LAUNCH_BLOCKING\nRUN python t.py && \\\n  nvidia-smi \\"
    found = [(f.line, f.code, f.status) for f in analyse("Dockerfile", text.encode(), ABOUT).findings]
    assert found == [(2, "PRT801", "review"), (4, "PRT002", "manual")], "what stands there is told, not lost"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("RUN cat <<EOF > x\nhello\nEOF\n", []),
        ("RUN cat <<A <<-'B' > x\nA\n\tB\n", []),
        ("COPY <<EOF /x\nRUN nvidia-smi\nENV CUDA_HOME=1\nEOF\n", []),
        ("RUN <<EOF python3\nnvidia-smi\nEOF\n", []),
        ("RUN <<EOF\n#!/usr/bin/env python3\nnvidia-smi\nEOF\n", []),
        ("RUN --mount=type=cache <<EOF\nset -e\n# nvidia-smi\nnvidia-smi\nEOF\n", [(5, "PRT145")]),
        ('RUN --mount=type=cache ["nvidia-smi"]\n', []),
        ("RUN echo '1 <<EOF x'\n", []),
        ("RUN pip install \\\n\n  numpy \\\n\n# x\n\n torch==2.1.0+cu118\n", [(8, "PRT840"), (8, "PRT840")]),
        ("RUN a \\\n  \n&& nvidia-smi\n", [(4, "PRT145")]),
    ],
)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_where_the_shell_of_an_instruction_ends(text, told, end):
    text = f"FROM python:3.11\n{text}RUN nvidia-smi -L\nRUN CUDA_VISIBLE_DEVICES=0 torchrun train.py\n"
    last = text.count("\n")
    found = [(f.line, f.code) for f in analyse("Dockerfile", text.replace("\n", end).encode(), ABOUT).findings]
    assert found == [*told, (last - 1, "PRT145"), (last, "PRT801")]


DOCKER = (
    "FROM nvidia/cuda:12\n", "ENV A=1 CUDA_LAUNCH_BLOCKING=1 \\\n  B='x y'\n", "RUN a && \\\n# é cuda\n  nvidia-smi\n", "\n",
    "RUN pip install torch==2.1.0+cu118 \\\n\n  numpy\n", "ARG CUDA_HOME\n", "COPY . .\n", "# cuda\n", "RUN <<EOF\nnvidia-smi\nEOF\n",
    "RUN cat <<EOF > x\n# cuda\n\nEOF\n", 'CMD ["nvidia-smi"]\n', "RUN (\n", "RUN --mount=type=cache,target=/x \\\n  nvidia-smi\n", "RUN \\\n",
)  # fmt: skip
MAKE = (
    "A ?= --backend nccl\n", "a: b\n\tnvidia-smi\n", "\t@CUDA_LAUNCH_BLOCKING=1 x $$Y $(A) $@\n", "N := $(shell nvidia-smi -L)\n",
    "export CUDA_LAUNCH_BLOCKING\n", "# cuda é\n", "\n", "ifeq ($(CUDA_HOME),)\n", "endif\n", "\tpython t.py \\\n\t  --device cuda\n",
    "define x\n\tnvidia-smi $(\nendef\n", "\t-nvidia-smi ${A\n",
)  # fmt: skip


@settings(max_examples=examples(150), deadline=None)
@given(st.sampled_from([("Dockerfile", DOCKER), ("Makefile", MAKE)]), st.data(), st.booleans(), st.booleans())
def test_around_the_shell_nothing_moves(kind, data, windows, unsafe):
    name, pieces = kind
    text = "".join(data.draw(st.lists(st.sampled_from(pieces), max_size=8)))
    source = text.replace("\n", "\r\n" if windows else "\n").encode()
    result = analyse(name, source, ABOUT)
    assert "PRT003" not in {f.code for f in result.findings}
    changes = result.review if unsafe else result.auto
    after = apply(source, changes)
    again = analyse(name, after, ABOUT)
    assert not (again.review if unsafe else again.auto)
    assert after.count(b"\n") == source.count(b"\n") and after.count(b"#") == source.count(b"#")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("RUN = python train.py --device cuda\n", "RUN = python train.py --device npu\n"),
        ("a:\n\techo $$CUDA_VISIBLE_DEVICES\n", "a:\n\techo $$ASCEND_RT_VISIBLE_DEVICES\n"),
        ("ifeq ($(shell python train.py --device cuda),cuda)\n", "ifeq ($(shell python train.py --device npu),cuda)\n"),
        (
            "a:\n\tpython train.py $(shell x y) $@ --device ${D} --backend nccl $(or $(A),cuda)\n",
            "a:\n\tpython train.py $(shell x y) $@ --device ${D} --backend hccl $(or $(A),cuda)\n",
        ),
    ],
    ids=["variable", "two dollars", "shell", "put in"],
)
def test_what_make_reads_first(before, after):
    assert apply(before.encode(), analyse("Makefile", before.encode(), ABOUT).auto).decode() == after


@pytest.mark.slow
def test_a_line_without_end_costs_no_time():
    """Data in a script's clothes: every search over it is linear."""
    import time

    from porter.project.other_frameworks import of_others
    from porter.project.program_options import launcher

    started = time.process_time()
    for line in (b"python a " * 20_000, b"train " * 30_000, b"'" * 50_000 + b" cuda", b"$(" * 3_000 + b"cuda"):
        launcher({"a.sh": line}, of_others([], lambda path: None))
        for name in ("a.sh", "Makefile", "Dockerfile"):
            analyse(name, {"a.sh": b"", "Makefile": b"a:\n\t", "Dockerfile": b"RUN "}[name] + line, ABOUT)
    assert time.process_time() - started < 10


def test_variables_that_nobody_knows_are_told_of_in_one_note():
    text = b"export NCCL_FASTRAK_IFNAME=eth0\nexport NCCL_FASTRAK_USE_SNAP=1\nexport NCCL_DEBUG=INFO\n"
    notes = [f for f in analyse("run.sh", text, ABOUT).findings if f.why in ("several", "unknown")]
    assert [(f.line, f.why, dict(f.values)["count"]) for f in notes] == [(1, "several", "2")]
    (alone,) = [f for f in analyse("run.sh", text.split(b"\n")[0] + b"\n", ABOUT).findings]
    assert alone.why == "unknown"


def test_a_test_runs_in_an_environment_that_is_there():
    for path, expected in (("train.sh", ["PRT826"]), ("tests/run.sh", []), ("pkg/tests/integration_tests/run.sh", [])):
        session = open_session(facts=Facts(launch=Launch(path)))
        assert codes(b"python train.py\n", path, session) == expected


@pytest.mark.parametrize(
    "source", ["https://github.com/NVlabs/nvdiffrast/", "https://github.com/NVlabs/tiny-cuda-nn/#subdirectory=a"]
)
def test_a_package_from_its_repository(source):
    assert codes(f"pip install git+{source}\n".encode()) == ["PRT401"]
    assert [f.code for f in analyse("requirements.txt", f"git+{source}\n".encode(), ABOUT).findings] == ["PRT401"]
    assert codes(b"pip install git+https://github.com/openai/CLIP.git\n") == []


def test_parts_of_one_installation_are_told_of_together():
    (one,) = analyse("run.sh", b"conda install -y numpy pytorch-cuda=11.8 cuda-nvcc -c nvidia\n", ABOUT).findings
    assert (one.code, dict(one.values)) == ("PRT842", {"name": "pytorch-cuda, cuda-nvcc"})


def test_a_build_for_cuda_gives_way_to_the_plain_one() -> None:
    script = b"pip install --pre dgl-cu101 mxnet-cu112\npip install nvidia-cublas-cu12 tensorrt-cu12\n"
    build, part = analyse("run.sh", script, ABOUT).findings
    assert (build.code, build.why, build.line) == ("PRT842", "build", 1)
    assert dict(build.values) == {"name": "dgl-cu101, mxnet-cu112", "new": "dgl, mxnet"}
    assert (part.code, part.why, dict(part.values)) == (
        "PRT842",
        "default",
        {"name": "nvidia-cublas-cu12, tensorrt-cu12"},
    )


def test_a_folder_that_pip_installs_is_the_package_of_its_name() -> None:
    assert codes(b"pip install ./submodules/simple-knn\n") == ["PRT401"]
    assert codes(b"pip install submodules/diff-gaussian-rasterization/ plyfile\n") == ["PRT401"]
    assert codes(b"pip install ./submodules/tools third_party/plyfile .\n") == []


@pytest.mark.parametrize(
    ("image", "brings"),
    [
        ("nvcr.io/nvidia/pytorch:24.01-py3", True),
        ("pytorch/pytorch:2.1.0-cuda12.1-cudnn8-runtime", True),
        ("someone/torch:2.1-cu121", True),
        ("someone/torch:2.1-gpu", True),
        ("someone/torch:2.1", False),
        ("quay.io/ascend/vllm-ascend:v0.9-cuda", False),
        ("nvcr.io/nvidia/tritonserver:23.01-py3", True),
        ("nvcr.io/nvidia/tritonserver:23.01-py3-sdk", False),
    ],
)
def test_which_images_bring_cuda(image, brings):
    assert brings_cuda(image) is brings


@pytest.mark.parametrize(
    ("page", "told"),
    [
        ("pip install qwen-cpp-python==0.3.1+cu130\n", []),
        ("\npip install qwen-cpp-python==0.3.1+cu130\n", []),
        ("pip install torch==2.1.0+cu118\n", ["install"]),
        ("\npip install numpy==1.26 torch-2.1.0+cu118-cp310.whl\n", ["install"]),
        ("\npip install 'numpy==1.26' torch-2.1.0+cu118-cp310.whl\n", ["install"]),
        ("pip install torch==2.1.0+cu118 numpy==1.26\n", ["install"]),
        ("# Optional: apex\n\ngit clone https://github.com/NVIDIA/apex\n", ["optional"]),
        ("About\n\n# Optional: apex\n\ngit clone https://github.com/NVIDIA/apex\n", ["optional"]),
        ("Optional: apex\n\ngit clone https://github.com/NVIDIA/apex\n", ["package"]),
    ],
)
def test_where_a_word_of_a_page_stands(page, told):
    """In the first line as in others, and behind another package as before it."""
    assert [f.why for f in analyse("README.md", page.encode(), ABOUT).findings] == told
