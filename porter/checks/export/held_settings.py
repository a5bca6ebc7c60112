"""Settings of argparse and its kin that a file puts into its checkpoints: objects, by the text of the file."""

from __future__ import annotations

import re

from porter.engine.rule_file import RuleFile
from porter.python.blocks import once_for_file
from porter.regex import lazy

_NAMES = frozenset(name.encode() for name in "args opt opts cfg hparams flags FLAGS".split())
_OBJECT = rb"(?:self\.)?(?:%s)\s*[,})\n]"  # what stands under a key
_PLAIN = lazy(rb"[\[{]|(?:vars|dict|list|json|yaml)\b")
_IN_CODE = rb"^[^#\n]*?"  # a dictionary may have rows that somebody took out
_SAVES = lazy(rb"(?i)save")  # else a dictionary goes elsewhere
_METHODS = rb"(?:get|keys|items|values|update|pop|copy|setdefault)\b"  # of a dictionary


@once_for_file
def held_settings(file: RuleFile) -> str | None:
    """The key under which an object with settings goes into a checkpoint, or of which something is asked that no dictionary has."""
    used = sorted(_NAMES & file.source.words)
    plain = {name for name in used if _is_plain(name, file)}
    held = _OBJECT % b"|".join(sorted(_NAMES - plain))
    for name in used:
        if not any(file.source.says(name + end) for end in (b"'", b'"')):
            continue  # it is no key
        written = rb":\s*" + held + b"|" if file.source.says(_SAVES) else b""
        pattern = _IN_CODE + name + rb"['\"]\s*(?:" + written + rb"\]\.(?!" + _METHODS + rb")\w)"
        if file.source.says(re.compile(pattern, re.MULTILINE)) or _put(name, held, file):
            return name.decode()
    return None


def _is_plain(name: bytes, file: RuleFile) -> bool:
    """Whether a file sets a name to lists and dictionaries alone, which are loaded without being asked: `cfg = []`."""
    values = re.findall(rb"(?m)^[ \t]*%s[ \t]*=(?!=)[ \t]*(\S+)" % name, file.source.utf8)
    return bool(values) and all(_PLAIN.match(value) for value in values)


def _put(name: bytes, held: bytes, file: RuleFile) -> bool:
    """`package["args"] = args` of what is saved."""
    if not file.source.says(b"save") or not any(file.source.says(name + end) for end in (b"']", b'"]')):
        return False
    pattern = re.compile(rb"\b(\w+)\[['\"]" + name + rb"['\"]\]\s*=\s*" + held)
    holders = set(pattern.findall(file.source.utf8))
    return any(file.source.says(re.compile(rb"\bsave\(\s*%s\b" % holder)) for holder in holders)
