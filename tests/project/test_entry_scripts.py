"""Which files count as scripts that start something with torch, told from their imports."""

from __future__ import annotations

import pytest

from porter.project.entry_scripts import Scripts
from porter.project.import_lines import imports

GUARD = "if __name__ == '__main__':\n    main()\n"
TRAIN = {"train.py": "import torch\nmain()\n"}


@pytest.mark.parametrize(
    ("files", "entries"),
    [
        ({"a.py": "import os, torch\n" + GUARD}, ["a.py"]),
        ({"a.py": "import os, torch.nn as nn\nmain()\n"}, ["a.py"]),
        ({"a.py": "import os, kit\n" + GUARD, "kit/__init__.py": "import sys, torch\n"}, ["a.py"]),
        ({"a.py": "from .torch import x\nmain()\n"}, []),  # a file beside it
        ({**TRAIN, "use.py": "from lib.train.models import run\n"}, ["train.py"]),  # a folder of that name
        ({**TRAIN, "use.py": "import os, lib.train\n"}, []),
        ({**TRAIN, "use.py": "from .train import run\n"}, []),
        ({**TRAIN, "use.py": "from lib import train\n"}, []),
        ({**TRAIN, "use.py": "from lib import models, train as run\n"}, []),
    ],
)
def test_what_a_file_imports_decides(files, entries):
    scripts = Scripts(files)
    for path, text in files.items():
        scripts.look(path, text.encode(), imports(text.encode()))
    assert scripts.entries() == entries
