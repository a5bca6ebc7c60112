"""Finds what skips tests without a GPU, where a test that it guards asks Lightning for one: `@RunIf(min_gpus=1)` above
`cfg.trainer.accelerator = "gpu"`. On an NPU that test would no longer be skipped, and Lightning refuses.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from porter.engine.native_code import Needed
from porter.files.paths import is_test
from porter.project.imports import Project
from porter.regex import rare

_GIVEN = rare(rb"\baccelerator[\"']?\]?[ \t]*=[ \t]*[\"'](gpu|cuda)[\"']")


def skipping_guards(texts: Mapping[str, bytes], project: Project) -> Iterator[Needed]:
    """Functions and classes that other files of tests import for this."""
    tests = [path for path in sorted(texts) if is_test(path)]
    guards = {path for path in tests if b"skipif" in texts[path] and b"torch.cuda." in texts[path]}
    for path in tests if guards else ():
        if given := _GIVEN.search(texts[path]):
            for statement in project.read(path):
                for home in sorted(guards.intersection(project.named(path, statement.module)) - {path}):
                    for name, called in statement.names:
                        if _asks(called or name, texts[path]):
                            yield Needed(home, name, f'accelerator="{given[1].decode()}"')


def _asks(name: str, text: bytes) -> bool:
    """Whether a guard is told to want a GPU."""
    return re.search(rb"\b%s\([^()]*gpu" % re.escape(name.encode()), text) is not None
