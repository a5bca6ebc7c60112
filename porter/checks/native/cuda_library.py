"""`ctypes.CDLL("libcudart.so")`: CUDA's own libraries, loaded by their names."""

from __future__ import annotations

from porter.engine.rule import Answer, Hit, Rule, cst
from porter.engine.rule_file import RuleFile
from porter.python.guards import load_guarded
from porter.regex import lazy
from porter.rulebook.table import any_of

_CUDA = lazy(rf"(?i)(?:^|/|lib)(?:{any_of('library-of-cuda')})(?:$|[-.\d_])")


class CudaLibrary(Rule):
    code = "PRT404"
    edits = False
    calls = frozenset(f"ctypes.{name}" for name in ("CDLL", "PyDLL", "cdll.LoadLibrary", "util.find_library", "WinDLL"))

    def visit(self, original: cst.Call, updated: cst.Call, file: RuleFile) -> Answer:
        value = original.args[0].value if original.args else None
        text = value.raw_value if isinstance(value, cst.SimpleString) else ""
        if not _CUDA.search(text):
            return None
        severity = "note" if load_guarded(file.link(original.func)) else None
        return Hit(original, "loaded", values=(("name", text),), severity=severity)
