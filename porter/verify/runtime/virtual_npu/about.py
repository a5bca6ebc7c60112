"""Which package, and in which version, an error speaks of, where that is neither the program's own nor Python's.

A program that ran once, and stops at a name or an argument that a library does not know, met another version of it.
"""

import importlib.metadata
import re
import sys
import types

_CALLED = re.compile(
    r"([A-Za-z_]\w*)[\w.]*\(\) (?:got an unexpected keyword|got multiple values|missing \d+ required|takes )"
)


def package(error, trace, root):
    """`transformers 5.24.0`, `library ` with a space where no version is known, or an empty text."""
    if isinstance(error, (AttributeError, TypeError)) and _is_on_the_way(trace, root):
        return _with_version("torch_npu")
    if isinstance(error, AttributeError):
        held = error.obj if isinstance(error.obj, type) else type(error.obj)
        found = _foreign(getattr(held, "__module__", ""), root)
        return "" if found.startswith("torch ") else found  # what a program asks of its own module
    called = _CALLED.match(str(error)) if isinstance(error, TypeError) else None
    if called is None or trace is None:
        return ""
    while trace.tb_next:
        trace = trace.tb_next
    names = trace.tb_frame.f_globals
    found = {_foreign(home, root) for home in _homes(called[1], names)}
    if found:  # of several functions of that name one may be the program's
        return "" if "" in found else min(found)
    # what a library calls of the program's: a function that it hands more than it did, or less
    caller = _foreign(names.get("__name__", ""), root)
    return "" if caller.startswith("torch ") else caller


def _is_on_the_way(trace, root):
    """Whether the program's code called torch_npu's, which called what failed."""
    passed = False
    while trace:
        frame, trace = trace.tb_frame, trace.tb_next
        if root and frame.f_code.co_filename.startswith(root):
            passed = False
        elif frame.f_globals.get("__name__", "").startswith("torch_npu."):
            passed = True
    return passed


def _homes(name, names):
    """The modules that define what a frame may call by that name, alone or behind a module's."""
    held = [names.get(name), *(vars(m).get(name) for m in names.values() if isinstance(m, types.ModuleType))]
    return [thing.__module__ for thing in held if isinstance(getattr(thing, "__module__", None), str)]


def _foreign(module, root):
    name = module.partition(".")[0]
    file = getattr(sys.modules.get(module), "__file__", None) or ""
    if name in sys.stdlib_module_names or name == "__main__" or not file:
        return ""
    if root and file.startswith(root) and "site-packages" not in file:
        return ""
    return _with_version(name)


def _with_version(name):
    try:
        return f"{name} {importlib.metadata.version(name)}"
    except importlib.metadata.PackageNotFoundError:
        return f"{name} "
