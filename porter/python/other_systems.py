"""Finds code that runs on systems without NPUs alone: behind `sys.platform == "darwin"`, `platform.system() == "Windows"`."""

from __future__ import annotations

import ast

from porter.engine.rule_file import Link, Node, RuleFile
from porter.python.evidence import call_name, constant
from porter.python.index import ancestors, walk
from porter.regex import lazy

# words of a file that may ask for one
_NAMES = (b"darwin", b"macos", b"macOS", b"MacOS", b"win32", b"win64", b"windows", b"win", b"nt")
_SAID = frozenset(word for name in _NAMES for word in (name, name.capitalize(), name.upper()))
_SYSTEM = lazy(r"(?i)darwin|macos|win(?:32|64|dows)?|nt")
_ASKED = frozenset({"platform", "system", "name"})  # sys.platform, platform.system(), os.name


def other_system(file: RuleFile, link: Link) -> str:
    """The system that a condition around a place asks for; "" for none."""
    if file.source.words.isdisjoint(_SAID):
        return ""
    child = link[0]
    for above, _ in ancestors(link):
        if above.__class__ in (ast.If, ast.IfExp):
            body = above.body if above.body.__class__ is list else [above.body]
            if child in body and (system := _asked(above.test)):
                return system
        elif above.__class__ is ast.BoolOp and above.op.__class__ is ast.And:
            before = above.values[: above.values.index(child)]
            if system := next(filter(None, map(_asked, before)), ""):
                return system
        child = above
    return ""


def _asked(test: Node) -> str:
    """`darwin` of `sys.platform == "darwin"`, also where more is asked with `and`."""
    if test.__class__ is ast.BoolOp and test.op.__class__ is ast.And:
        return next(filter(None, map(_asked, test.values)), "")
    if test.__class__ is ast.Compare and len(test.ops) == 1 and test.ops[0].__class__ in (ast.Eq, ast.In):
        asking, texts = test.left, [constant(n) for n in walk(test.comparators[0]) if constant(n) is not None]
    elif test.__class__ is ast.Call and call_name(test.func) == "startswith" and test.args:
        asking, texts = test.func.value, [constant(test.args[0])]
    else:
        return ""
    while asking.__class__ is ast.Call:  # platform.system().lower()
        asking = asking.func if call_name(asking.func) in _ASKED else getattr(asking.func, "value", None)
    named = getattr(asking, "attr", "") or getattr(asking, "id", "")
    are_others = texts and all(isinstance(text, str) and _SYSTEM.fullmatch(text) for text in texts)
    return str(texts[0]) if named in _ASKED and are_others else ""
