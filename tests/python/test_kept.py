"""What single files say is asked once of the same bytes, and again where anything else that it depends on has changed."""

from __future__ import annotations

from functools import partial

import pytest

from porter.native.kernels import built_by
from porter.project.gloo_groups import gloo_groups
from porter.project.program_options import takes
from porter.project.saved_objects import saved_objects
from porter.python.trees import parse

SAVES = b"import torch\nparser.parse_args()\ntorch.save({'a': args, 'b': [seed()]}, p)\n"
SEED = b"import numpy as np\ndef seed():\n    return np.random.get_state()\n"
GROUP = b"group = dist.new_group(backend='gloo')\n"
OPTION = b"parser.add_argument('--device', default='cuda')\n"
BUILDS = b"from torch.utils.cpp_extension import CUDAExtension\nCUDAExtension('pkg._C', ['a.cu'])\n"
SHELL = ("--device", "cuda", "run.sh")


@pytest.fixture
def asked():
    """The questions that were answered anew, since the last look, of what is kept."""
    known, new = {}, []

    def kept(key, make):
        if key not in known:
            new.append(key.partition("\0")[0])
            known[key] = make()
        return known[key]

    def look() -> list[str]:
        out, new[:] = [*new], []
        return out

    kept.look = look
    return kept


QUESTIONS = {
    "saved": (partial(saved_objects, files=["a.py"]), SAVES),
    "gloo": (gloo_groups, GROUP),
    "options": (partial(takes, [SHELL]), OPTION),
    "extensions": (built_by, BUILDS),
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_the_same_bytes_are_parsed_once(asked, question):
    answer, text = QUESTIONS[question]
    parsed = []

    def counted(data):
        parsed.append(data)
        return parse(data)

    want = answer({"a.py": text}, parse=parse)
    assert want
    assert answer({"a.py": text}, parse=counted, kept=asked) == want and parsed == [text]
    assert answer({"a.py": text}, parse=counted, kept=asked) == want and parsed == [text]
    assert asked.look() == [question]
    more = text + b"x = 1\n"
    assert answer({"a.py": more}, parse=counted, kept=asked) == want and parsed == [text, more]


def test_what_other_files_say_of_a_file_is_no_part_of_it(asked):
    texts = {"a.py": SAVES.replace(b"args}", b"1}").replace(b"'a': args, ", b"")}
    assert saved_objects(texts, parse, texts, asked) == ()
    texts["seed.py"] = SEED
    assert saved_objects(texts, parse, texts, asked) == saved_objects(texts, parse, texts)
    assert takes([SHELL], {"a.py": OPTION}, parse, asked) and asked.look().count("options") == 1
    assert not takes([("--device", "nccl", "run.sh")], {"a.py": OPTION}, parse, asked)
    assert asked.look() == ["options"]


def test_extensions_are_those_of_their_file(asked):
    found = built_by({"a/setup.py": BUILDS, "b/setup.py": BUILDS}, parse, asked)
    assert [extension.path for extension in found] == ["a/setup.py", "b/setup.py"]
    assert asked.look() == ["extensions", "extensions"]
