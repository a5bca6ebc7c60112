"""What `.gitignore` files say, as git itself reads them (`git check-ignore` is the test), without running git.

One directory level at a time, like git: below an excluded directory nothing is asked any more. The user's own
`core.excludesFile` is not read: the same tree gives the same answer on every machine.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Container, Iterable

from porter.files.read import beginning

LIMIT = 10_000_000  # bytes of one ignore file
_LONGEST_PATH = 4096
SPECIAL = frozenset("*?[\\")
CLASSES: dict[str, Callable[[str], bool]] = {
    "alnum": str.isalnum,
    "alpha": str.isalpha,
    "blank": lambda c: c in " \t",
    "cntrl": lambda c: c < " " or c == "\x7f",
    "digit": str.isdigit,
    "graph": lambda c: "!" <= c <= "~",
    "lower": str.islower,
    "print": lambda c: " " <= c <= "~",
    "punct": lambda c: "!" <= c <= "~" and not c.isalnum(),
    "space": lambda c: c in " \t\n\v\f\r",
    "upper": str.isupper,
    "xdigit": lambda c: c in "0123456789abcdefABCDEF",
}
LATIN = [chr(n) for n in range(256)]


def as_bytes(path: str) -> str:
    """One character per byte, because git's `?` and `[...]` match bytes."""
    return path if path.isascii() else os.fsencode(path).decode("latin-1")


class Patterns:
    """The lines of one ignore file."""

    def __init__(self, lines: Iterable[str]):
        self.rules: list[tuple[bool, bool, bool, re.Pattern[str]]] = []  # negated, directories only, whole path, regex
        literals, suffixes, names, paths = set(), [], [], []
        for line in lines:
            if not line or line.startswith("#"):
                continue
            negated = line.startswith("!")
            pattern = line[negated:]
            directory = pattern.endswith("/")
            pattern = pattern[: len(pattern) - directory]
            if not pattern:
                continue
            whole = "/" in pattern
            if whole:
                pattern = pattern[pattern.startswith("/") :]
            expression = translate(pattern, whole, f"r{len(self.rules)}_")
            if expression is None:
                continue
            self.rules.append((negated, directory, whole, re.compile(expression, re.DOTALL)))
            if whole:
                paths.append(expression)
            elif SPECIAL.isdisjoint(pattern):
                literals.add(pattern)
            elif pattern[0] == "*" and SPECIAL.isdisjoint(pattern[1:]):
                suffixes.append(pattern[1:])
            else:
                names.append(expression)
        self.literals, self.suffixes = frozenset(literals), tuple(suffixes)
        self.names, self.paths = _any(names), _any(paths)

    @classmethod
    def of_file(cls, data: bytes) -> Patterns:
        text = data.removeprefix(b"\xef\xbb\xbf").decode("latin-1")
        return cls(_trimmed(line.removesuffix("\r")) for line in text.split("\n"))

    @classmethod
    def of_settings(cls, lines: Iterable[str]) -> Patterns:
        return cls(_trimmed(as_bytes(line)) for line in lines)

    def verdict(self, path: str, name: str, directory: bool) -> bool | None:
        """True: ignored. False: a later `!` takes it back. None: no line speaks of it. Arguments are `as_bytes`."""
        # most names are matched by no line at all; the last one that matches decides
        if not (
            name in self.literals
            or (self.suffixes and name.endswith(self.suffixes))
            or (self.names is not None and self.names.fullmatch(name))
            or (self.paths is not None and self.paths.fullmatch(path))
        ):
            return None
        for negated, only_directories, whole, regex in reversed(self.rules):
            if (directory or not only_directories) and regex.fullmatch(path if whole else name):
                return not negated
        return None

    def leave_out(self, path: str) -> bool:
        """Whether these lines alone ignore a file, or a folder that it lies in: a POSIX path, as it is on the disk."""
        path, end = as_bytes(path), -1
        while end < len(path):
            start, end = end + 1, path.find("/", end + 1)
            directory, end = end >= 0, end if end >= 0 else len(path)
            if self.verdict(path[:end], path[start:end], directory):
                return True
        return False


def _any(expressions: list[str]) -> re.Pattern[str] | None:
    return re.compile("|".join(f"(?:{e})" for e in expressions), re.DOTALL) if expressions else None


def _trimmed(line: str) -> str:
    """Without trailing spaces, unless a backslash keeps them."""
    end = i = 0
    while i < len(line):
        if line[i] == "\\":
            if i + 1 == len(line):
                return line
            i += 1
        i += 1
        if line[i - 1] != " " or line[i - 2 : i - 1] == "\\":
            end = i
    return line[:end]


def translate(pattern: str, whole: bool, prefix: str = "g") -> str | None:
    """A regular expression for `fullmatch`, or None for what can never match."""
    out: list[str] = []
    stars: list[int] = []  # where in `out` the current path segment has a `*`
    i, literal_run = 0, True
    while i < len(pattern):
        c = pattern[i]
        i += 1
        plain = c not in SPECIAL
        if c == "*":
            start = i - 1
            while pattern[i : i + 1] == "*":
                i += 1
            # git skips the part without wildcards before it looks, so that `a/b**` counts as a `**` of its own
            alone = literal_run or pattern[start - 1] == "/"
            following = pattern[i : i + 2]
            if not whole or (i - start > 1 and alone and (following in ("", "\\/") or following[0] == "/")):
                if whole and following[:1] == "/":
                    out.append("(?:.*/)?")
                    i += 1
                    stars = []
                else:
                    out.append(".*" if whole else "[^/]*")
            else:
                out.append("[^/]*")
            if out[-1] == "[^/]*":
                stars.append(len(out) - 1)
        elif c == "?":
            out.append("[^/]")
        elif c == "[":
            chars, i = _bracket(pattern, i)
            if chars is None:
                return None
            allowed = "".join(re.escape(x) for x in LATIN if x in chars and x != "/")
            out.append(f"[{allowed}]" if allowed else "(?!)")
        else:
            if c == "\\":
                if i == len(pattern):
                    return None
                c = pattern[i]
                i += 1
            out.append(re.escape(c))
            if c == "/":
                _tame(out, stars, prefix)
                stars = []
        literal_run = literal_run and plain
    _tame(out, stars, prefix)
    return "".join(out)


def _tame(out: list[str], stars: list[int], prefix: str) -> None:
    """Many stars in one name: what stands between two of them is taken where it first fits, which loses nothing, so
    that a hostile pattern cannot make the search exponential."""
    if len(stars) < 3:
        return
    close = ""
    for star in stars[:-1]:
        out[star] = f"{close}(?=(?P<{prefix}{star}>[^/]*?"
        close = f"))(?P={prefix}{star})"
    out[stars[-1]] = close + out[stars[-1]]


def _bracket(pattern: str, i: int) -> tuple[frozenset[str] | None, int]:
    """The characters of `[...]` and the place behind it; None where it is never closed."""
    negated = pattern[i : i + 1] in ("!", "^")
    i += negated
    characters: set[str] = set()
    previous, first = "", True
    while True:
        c = pattern[i : i + 1]
        if not c:
            return None, i
        if c == "]" and not first:
            break
        first = False
        following = pattern[i + 1 : i + 2]
        if c == "\\":
            if not following:
                return None, i
            i, c = i + 1, following
            characters.add(c)
        elif c == "-" and previous and following and following != "]":
            i, c = i + 1, following
            if c == "\\":
                i += 1
                c = pattern[i : i + 1]
                if not c:
                    return None, i
            characters.update(x for x in LATIN if previous <= x <= c)
            c = ""
        elif c == "[" and following == ":":
            end = pattern.find("]", i + 2)
            if end < 0:
                return None, i
            if end - i - 3 >= 0 and pattern[end - 1] == ":":
                kind = CLASSES.get(pattern[i + 2 : end - 1])
                if kind is None:
                    return None, i
                characters.update(x for x in LATIN[:128] if kind(x))
                i, c = end, ""
            else:
                characters.add(c)
        else:
            characters.add(c)
        previous = c
        i += 1
    return frozenset(x for x in LATIN if (x in characters) != negated), i + 1


def ignore_files(folder: str, entries: Container[str] | None = None) -> tuple[list[Patterns], bool]:
    """What `.gitignore` and the repository's own exclude file in `folder` say, the stronger first, and whether a
    repository begins here. `entries`: the names in `folder`, where they are known."""
    candidates = []
    if entries is None or ".gitignore" in entries:
        candidates.append(_file(os.path.join(folder, ".gitignore")))
    directory = git_directory(folder) if entries is None or ".git" in entries else None
    if directory:
        candidates.append(_file(os.path.join(directory, "info", "exclude")))
    return [patterns for patterns in candidates if patterns is not None and patterns.rules], directory is not None


def _file(name: str) -> Patterns | None:
    data = beginning(name, LIMIT, links=False)  # like git, not through a symlink
    return None if data is None else Patterns.of_file(data)


def git_directory(folder: str, common: bool = True) -> str | None:
    """Where the repository at `folder` keeps what all its worktrees share (`info/exclude`), or what is this one's own
    (its index); None where there is none."""
    git = os.path.join(folder, ".git")
    try:
        if os.path.isfile(git):  # a worktree or a submodule
            word, _, place = os.fsdecode(beginning(git, _LONGEST_PATH) or b"").partition(":")
            if word != "gitdir":
                return None
            git = os.path.join(folder, place.strip())
            if not common:
                return git
            shared = beginning(os.path.join(git, "commondir"), _LONGEST_PATH)
            return git if shared is None else os.path.join(git, os.fsdecode(shared).strip())
        return git if os.path.lexists(os.path.join(git, "HEAD")) else None
    except (OSError, ValueError):
        return None
