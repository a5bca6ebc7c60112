"""Which options with a device or a backend the files of a project pass to its programs."""

from __future__ import annotations

import pytest

from porter.project.passed_options import options_passed
from porter.python.trees import parse

DEVICE, BACKEND = ("--device", "cuda"), ("--backend", "nccl")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('run(["python", "train.py", "--device", "cuda"])\n', [DEVICE]),
        ('os.system("python train.py --device cuda")\n', [DEVICE]),
        ('os.system(f"python {name} --backend nccl --device=cuda")\n', [BACKEND, DEVICE]),
        ("os.system(f\"python {names['a']} --device cuda\")\n", [DEVICE]),
        ('command += " --device cuda"\n', [DEVICE]),
        ('command = """\npython train.py \\\n    --device cuda\n"""\n', [DEVICE]),
        ('é = "é"; main(["--device=cuda"])\n', [DEVICE]),
        ("python train.py --device cuda\n", [DEVICE]),  # no Python at all: nobody can say
    ],
)
def test_a_program_passes_what_is_part_of_a_command(text: str, expected: list[tuple[str, str]]) -> None:
    assert [*options_passed("a.py", text.encode(), parse)] == expected


@pytest.mark.parametrize(
    "text",
    [
        '"""Scores a model.\n\n    python score.py --device cuda\n"""\n',
        'def main():\n    """>>> main(["--device", "cuda"])"""\n',
        "# python score.py --device cuda\nx = 1\n",
        'x = "train.py"  # --device cuda\n',
        'print("start it with --device cuda")\n',
        'print(f"start {name} with --device cuda")\n',
        'logger.info("start it with %s", "--device cuda")\n',
        'raise ValueError("give --device cuda")\n',
        'page.Markdown("Start `python serve.py --device cuda`, then look")\n',
        'parser = ArgumentParser(epilog="score.py --device cuda")\n',
        '@pytest.mark.skipif(not files, reason="make them first: score.py --device cuda")\ndef test(): ...\n',
        'pytest.skip("make them first: score.py --device cuda")\n',
        'parser.add_argument("--device", help="as in --device cuda")\n',
        'assert "--backend nccl" in readme\n',
    ],
)
def test_a_program_passes_nothing_where_it_only_says_how_it_is_called(text: str) -> None:
    assert [*options_passed("a.py", text.encode(), parse)] == []


def test_a_script_passes_what_its_variables_hold() -> None:
    text = b"backend=nccl\n# python a.py --device cuda\npython b.py --backend $backend\n"
    assert [*options_passed("a.sh", text, parse)] == [DEVICE, BACKEND]
