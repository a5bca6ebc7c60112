"""Mistakes in keeping the places of one value together."""

from __future__ import annotations

from mutant import Mutant

JOINED = "analysis/test_joined.py"

MUTANTS = [
    Mutant(
        "files that are not named have no say",
        "project/unedited_places.py",
        "if not words or not self._others:",
        "if True:",
        JOINED,
        "field_its_type or setting_and",
    ),
    Mutant(
        "a read-only file is as good as another",
        "project/consistency.py",
        "locked = {path for path in with_sites if partners.is_read_only(path)}",
        "locked = set()",
        JOINED,
        "read-only",
    ),
    Mutant(
        "review is for each place alone",
        "project/consistency.py",
        'if why == "auto":',
        'if why in ("auto", "review"):',
        JOINED,
        "review_is_shared",
    ),
    Mutant(
        "a suppressed place keeps nobody",
        "python/strings/sites.py",
        'return "suppressed"',
        'return "auto"',
        JOINED,
        "comparison_stays and suppressed",
    ),
    Mutant(
        "what waits stands where it stood, whatever is inserted above",
        "engine/session.py",
        "sum(len(c.new) - (c.end - c.start) for c in changes if c.end <= offset)",
        "0",
        JOINED,
        "further_down",
    ),
    Mutant(
        "the cache does not know what waits",
        "run/cache.py",
        "(session.facts.digest_of(path), *sorted(session.held_in(path).values()))",
        "(session.facts.digest_of(path),)",
        JOINED,
        "processes or agree",
    ),
    Mutant(
        "stars hand nothing on",
        "project/definitions.py",
        "for star in self._table(user)[1])",
        "for star in ())",
        JOINED,
        "ways_to_use and star",
    ),
    Mutant(
        "a list is not looked into",
        "python/strings/ties.py",
        "(ast.Eq, ast.NotEq, ast.In, ast.NotIn)",
        "(ast.Eq, ast.NotEq)",
        JOINED,
        "field_its_type",
    ),
    Mutant(
        "programs of one project are one program",
        "project/unedited_places.py",
        "if not mine.isdisjoint(self._above(other))",
        "if mine",
        JOINED,
        "other_programs",
    ),
    Mutant(
        "who cannot be parsed has no say",
        "project/unedited_places.py",
        'if re.search(rb"\\b%s\\b" % re.escape(word).encode(), data):',
        "if False:",
        JOINED,
        "comparison_stays and refused",
    ),
    Mutant(
        "links lead nowhere",
        "project/definitions.py",
        "path in self.files or is_file(self.root / path)",
        "path in self.files",
        JOINED,
        "comparison_stays and link",
    ),
]
