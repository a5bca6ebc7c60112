"""Something to be done right after a module has been imported, if the program ever imports it."""

import contextlib
import gc
import importlib.abc
import importlib.util
import sys


class AfterImport(importlib.abc.MetaPathFinder):
    """Calls `then` once, right after the module `name` has been imported."""

    def __init__(self, name, then):
        self.name, self.then, self.busy = name, then, False

    def find_spec(self, name, path, target=None):
        if name != self.name or self.busy:
            return None
        self.busy = True
        try:
            spec = importlib.util.find_spec(name)
        finally:
            self.busy = False
        if spec is None or spec.loader is None:
            return spec
        run = spec.loader.exec_module

        def exec_module(module):
            with _uncollected():
                run(module)
            if self in sys.meta_path:
                sys.meta_path.remove(self)
                self.then()

        spec.loader.exec_module = exec_module
        return spec


@contextlib.contextmanager
def _uncollected():
    """An import makes what stays: to look for garbage meanwhile takes a tenth of the time that torch and torch_npu need."""
    before = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if before:
            gc.enable()


def after_import(name, then):
    if name in sys.modules:
        then()
    else:
        sys.meta_path.insert(0, AfterImport(name, then))
