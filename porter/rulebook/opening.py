"""For which words a file is read at all, computed from the stanzas of rules/*.toml: what rulebook/gate.py looks for.

Names that move, packages, variables, options and settings open the gate by themselves; `gate` of a rule adds words that
stand in no other key.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from typing import Any

from porter.regex import lazy
from porter.rulebook.gone import of_keyword
from porter.rulebook.log_patterns import head
from porter.rulebook.table import Stanza
from porter.versions import canonical

KINDS = ("python", "notebook", "script", "settings", "yaml", "requirements", "source", "page")  # of files
_SPECIAL = lazy(r"[\\^$.*+?()\[\]{}|]")
_LEAST = 3  # letters at the beginning of a pattern: what makes a search fast
_GROUPED = 4  # letters that words have in common which are looked for together


def wrong(value: object) -> str | None:
    """What is wrong with the `gate` of a rule."""
    if not isinstance(value, dict) or not value:
        return f"is not a table of {', '.join(KINDS)}"
    for kind, patterns in value.items():
        if kind not in KINDS:
            return f"has the unknown kind of file {kind!r}; known: {', '.join(KINDS)}"
        if fault := wrong_patterns(patterns):
            return f"of {kind} {fault}"
        for pattern in patterns if kind == "python" else ():
            if len(head(_whole(pattern))) < _LEAST:
                return f"of python has {pattern!r}, which does not begin with {_LEAST} letters"
    return None


def wrong_patterns(value: object) -> str | None:
    if not isinstance(value, list) or not value or not all(isinstance(pattern, str) and pattern for pattern in value):
        return "is not a list of regular expressions"
    for pattern in value:
        try:
            re.compile(pattern)
        except re.error as error:
            return f"has {pattern!r}, which is no regular expression: {error}"
    return None


def opening(stanzas: Iterable[tuple[str, str, Stanza]]) -> dict[str, Any]:
    """`packages`, and for each kind of file what is looked for: patterns, or (words, patterns) of text in lower case."""
    by_kind: dict[str, list[Stanza]] = {}
    for kind, _, stanza in stanzas:
        by_kind.setdefault(kind, []).append(stanza)
    gates: dict[str, list[str]] = {kind: [] for kind in KINDS}
    for rule in by_kind.get("rule", ()):
        for kind, patterns in rule.get("gate", {}).items():
            gates[kind] += patterns
    gates["python"] += _of_gone(by_kind.get("gone", ()))
    variables = [name for s in by_kind.get("variable", ()) for name in _listed(s["match"])]
    packages = _packages(by_kind.get("package", ()))
    options = [word for s in by_kind.get("option", ()) if "call" not in s for word in _of_option(s)]
    plain = _plain(gates["python"])
    owned = sorted(name for name, whole in packages.items() if whole or not _holds(name, plain))
    imported = "(?:" + "|".join(_without(owned, plain)) + r")\b"
    settings = [*gates["settings"], *(word for s in by_kind.get("setting", ()) for word in _of_setting(s))]
    required = _without(_installed(by_kind.get("package", ())) | _spelled(packages), _plain(gates["requirements"]))
    passed = [word for s in by_kind.get("option", ()) if "beside" in s for word in _of_option(s)]
    lowered = _without({word.lower() for word in [*variables, *passed]}, _plain(gates["script"]))
    return {
        "packages": sorted({*owned, *_aged(by_kind.get("package", ()))}),
        "python": _headed(
            *(_whole(rf"\b{root}\b") for root in _roots(by_kind)),
            *map(_whole, dict.fromkeys(gates["python"])),
            *_grouped(_without([*variables, *options], plain)),
            *([rf"import[ \t]+{imported}", rf"from[ \t]+{imported}"] if owned else ()),
        ),
        "settings": _both(settings, [*options, *variables]),
        "yaml": _both(gates["yaml"], patterns=filter(None, [_pinned(by_kind.get("package", ()))])),
        "requirements": _both(
            gates["requirements"], patterns=[name.replace("-", "[-_.]") for name in _shortest(required)]
        ),
        "script": "|".join([*dict.fromkeys(gates["script"]), *_grouped(lowered)]),
        "notebook": "|".join(dict.fromkeys(gates["notebook"])),
        "source": "|".join(dict.fromkeys(gates["source"])),
        "page": "|".join(dict.fromkeys(gates["page"])),
    }


def _listed(value: str | list[str]) -> list[str]:
    return value if isinstance(value, list) else [value]


def _roots(by_kind: dict[str, list[Stanza]]) -> list[str]:
    """The packages whose names move: of torch.cuda.Event it is torch."""
    names = [s["from"] for s in by_kind.get("namespace", ())]
    names += [name for kind in ("api", "parameter") for s in by_kind.get(kind, ()) for name in _listed(s["match"])]
    return sorted({name.partition(".")[0] for name in names})


def _packages(stanzas: Iterable[Stanza]) -> dict[str, bool]:
    """Packages of which porter speaks, and whether it speaks of the whole package rather than of parts."""
    packages: dict[str, bool] = {}
    for stanza in stanzas:
        if stanza.get("gate", "message" in stanza):
            for name in _listed(stanza["import"]):
                top = name.partition(".")[0]
                packages[top] = packages.get(top, False) or name == top
    return packages


def _installed(stanzas: Iterable[Stanza]) -> set[str]:
    """What packages are installed as of which requirements are told (text/packages.py)."""
    installed = set()
    for stanza in stanzas:
        if "message" in stanza or "since" in stanza or "replacement" in stanza and stanza["status"] != "native":
            imports = _listed(stanza["import"])
            tops = {name.partition(".")[0].lower() for name in imports if "." in name}
            names = {canonical(name) for name in _listed(stanza.get("name", imports[0]))}
            installed |= names if "since" in stanza else names - {canonical(top) for top in tops}
    return installed


def _aged(stanzas: Iterable[Stanza]) -> set[str]:
    """What is imported of packages that not every version of runs on NPUs."""
    return {name.partition(".")[0] for stanza in stanzas if "since" in stanza for name in _listed(stanza["import"])}


def _pinned(stanzas: Iterable[Stanza]) -> str:
    """An item of a list of YAML that asks for some versions of a package that not every version of runs on NPUs."""
    rows = (stanza for stanza in stanzas if "since" in stanza)
    names = {canonical(name) for s in rows for name in _listed(s.get("name", _listed(s["import"])[0]))}
    return rf"""- ["']?(?:{"|".join(sorted(names)).replace("-", "[-_.]")})[ \t]*[=<~]""" if names else ""


def _spelled(packages: dict[str, bool]) -> set[str]:
    return {canonical(name) for name, whole in packages.items() if whole}


def _of_option(stanza: Stanza) -> list[str]:
    """A string says it all; True and numbers say nothing, and the keyword is looked for."""
    return [value[1:-1] for value in _listed(stanza["value"]) if value[0] == "'"] or _listed(stanza["keyword"])


def _of_gone(stanzas: Iterable[Stanza]) -> list[str]:
    """Patterns for names that are gone, by their modules; for whole modules; and for members and keywords."""
    by_module: dict[str, list[str]] = {}
    whole: list[str] = []
    members: list[str] = []
    for stanza in stanzas:
        whole += map(re.escape, stanza.get("module", ()))
        for name in (*stanza.get("same", ()), *stanza.get("instead", ()), *stanza.get("moved", ())):
            module, _, last = name.rpartition(".")
            by_module.setdefault(re.escape(module), []).append(last)
        members += map(re.escape, stanza.get("member", ()))
        members += (of_keyword(call, keyword) for call in stanza.get("call", ()) for keyword in stanza["keyword"])
        if "answer" in stanza:  # the library's name is enough: most files that import it are read anyhow
            members.append(re.escape(stanza["import"]))
    named = [
        rf"{module}(?:\.|[ \t]+import\b[^\n]*\b)(?:{'|'.join(sorted(names))})\b"
        for module, names in sorted(by_module.items())
    ]
    every = f"(?:{'|'.join(sorted(whole))})"
    return [
        *named,
        *dict.fromkeys(members),
        *([rf"import(?<!\w[ \t]import)[ \t]+{every}\b", rf"from[ \t]+{every}[ \t]+import\b"] if whole else []),
    ]


def _of_setting(stanza: Stanza) -> list[str]:
    if "gate" in stanza:
        gate: list[str] = stanza["gate"]
        return gate
    return [key.replace("_", "[-_]") for key in _listed(stanza.get("key", [])) if key != "*"]


def _whole(pattern: str) -> str:
    r"""`\bcuda` as `cuda(?<!\wcuda)`: a pattern that begins with letters can be looked for by them."""
    match = re.match(r"\\b(\w+)", pattern)
    return f"{match[1]}(?<!\\w{match[1]}){pattern[match.end() :]}" if match else pattern


def _plain(patterns: Iterable[str]) -> list[str]:
    """The words among patterns; a full stop may be escaped."""
    return [word for word in (p.replace(r"\.", "\0") for p in patterns) if not _SPECIAL.search(word)]


def _holds(word: str, others: Iterable[str]) -> bool:
    return any(other.replace("\0", ".") in word for other in others)


def _without(words: Iterable[str], known: list[str]) -> list[str]:
    """Each once, but for those that hold a word which is looked for anyhow."""
    return [word for word in sorted(set(words)) if not _holds(word, known)]


def _shortest(words: Iterable[str]) -> list[str]:
    """Those that hold no other."""
    kept: list[str] = []
    for word in sorted(set(words), key=lambda word: (len(word), word)):
        if not _holds(word, kept):
            kept.append(word)
    return sorted(kept)


def _grouped(words: list[str]) -> list[str]:
    """Patterns for words: those that begin alike are one pattern."""
    groups: dict[str, list[str]] = {}
    for word in _shortest(words):
        groups.setdefault(word[:_GROUPED], []).append(word)
    patterns = []
    for several in groups.values():
        start = os.path.commonprefix(several)  # noqa: RUF071
        tails = "|".join(re.escape(word[len(start) :]) for word in several)
        patterns.append(re.escape(start) + (f"(?:{tails})" if len(several) > 1 else ""))
    return patterns


def _headed(*patterns: str) -> dict[str, list[str]]:
    """Patterns by a text that every match holds; none where the text is all of it."""
    by_text: dict[str, list[str]] = {}
    for pattern in sorted(patterns, key=lambda pattern: len(head(pattern))):
        text = head(pattern)
        if above := next((other for other in by_text if other in text), ""):
            by_text[above] += [pattern] if by_text[above] else []
        else:
            by_text[text] = [] if re.escape(text) == pattern else [pattern]
    return {text: by_text[text] for text in dict.fromkeys(map(head, patterns)) if text in by_text}


def _both(gate: list[str], words: Iterable[str] = (), patterns: Iterable[str] = ()) -> tuple[list[str], list[str]]:
    """Words and patterns of text in lower case."""
    plain = _plain(dict.fromkeys(gate))
    expressions = [pattern for pattern in dict.fromkeys(gate) if not _plain([pattern]) and not _holds(pattern, plain)]
    expressions += _grouped(_without({word.lower() for word in words}, plain))
    expressions += ["|".join(several)] if (several := [*patterns]) else []
    return [word.replace("\0", ".") for word in plain], expressions
