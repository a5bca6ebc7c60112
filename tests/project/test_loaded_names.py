"""Which modules may be loaded by a name that is made at run time."""

from __future__ import annotations

import pytest

from porter.project.loaded_names import LoadedNames

LISTS = b"names = [f for f in listdir(folder) if f.endswith('_arch.py')]\n"


@pytest.mark.parametrize(
    ("file", "text", "loaded"),
    [
        ("main.py", b"import_module(name)", {"lib/a.py", "lib/deep/b_arch.py", "tools/c.py", "d.py"}),
        ("tools/main.py", b"__import__(\n    name)", {"tools/c.py"}),
        ("main.py", b"import_module('lib.a')", set()),
        ("main.py", b"import_module(f'lib.deep.{name}')", {"lib/deep/b_arch.py"}),
        ("main.py", b"import_module('lib.' + name)", {"lib/a.py", "lib/deep/b_arch.py"}),
        ("main.py", b"import_module('lib.%s' % name)", {"lib/a.py", "lib/deep/b_arch.py"}),
        ("main.py", LISTS + b"import_module(f'lib.{name}')", {"lib/deep/b_arch.py"}),
        ("tools/main.py", LISTS + b"import_module(name)", {"tools/c.py"}),
        ("main.py", b"import_module", set()),
        ("lib/__init__.py", b"import_module(f'.{name}', __name__)", {"lib/a.py", "lib/deep/b_arch.py"}),
        ("lib/deep/__init__.py", b"import_module('.' + name, package=__package__)", {"lib/deep/b_arch.py"}),
        ("lib/__init__.py", b"import_module(f'.{name}', home)", {"lib/a.py", "lib/deep/b_arch.py"}),
        ("lib/c.py", b"import_module(f'.{name}', __name__)", {"lib/a.py", "lib/deep/b_arch.py"}),
    ],
)
def test_what_may_be_loaded(file: str, text: bytes, loaded: set[str]) -> None:
    texts = {file: text, **dict.fromkeys(("lib/a.py", "lib/deep/b_arch.py", "tools/c.py", "d.py"), b"x = 1\n")}
    names = LoadedNames(texts, texts.__getitem__)
    assert {path for path in texts if path != file and names.has(path)} == loaded
