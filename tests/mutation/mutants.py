"""Mistakes to make on purpose in a copy of porter: each substitution applies exactly once, and the tests named must fail."""

from __future__ import annotations

from typing import NamedTuple

CASES, PROMISES = "test_engine_cases.py", "test_engine_promises.py"


class Mutant(NamedTuple):
    name: str
    path: str  # below porter/
    before: str
    after: str
    tests: str  # a file of tests/
    only: str  # what pytest -k selects of it


MUTANTS = [
    Mutant(
        "build from the original node",
        "checks/device/cuda_method.py",
        "new = file.style.method(updated, file)",
        "new = file.style.method(original, file)",
        CASES,
        "three_deep or chained or nested_receiver or three or namespace",
    ),
    Mutant(
        "insert the import again",
        "python/imports.py",
        " or file.names.bound(file.target.module) or _loaded(file):",
        ":",
        PROMISES,
        "test_import",
    ),
    Mutant(
        "ignore shadowing",
        "python/names.py",
        "return self.plain.get(name) or self._by_scope(name, link, below)",
        "return self.imports[name][0][0]",
        CASES,
        "parameter or shadowed",
    ),
    Mutant(
        "ignore suppressions",
        "python/analyse.py",
        " and self.reason(code, hit, piece) is None",
        "",
        PROMISES,
        "test_suppression",
    ),
    Mutant(
        "follow calls in names",
        "python/file.py",
        """            tail.append(root.attr.value)
            root = root.value
        if type(root)""",
        """            tail.append(root.attr.value)
            root = root.value
            while type(root).__name__ == "Call":
                root = root.func
        if type(root)""",
        CASES,
        "behind_a_call",
    ),
    Mutant(
        "skip the second pass", "python/guard.py", "if again.changes(unsafe):", "if False:", PROMISES, "planted_bug"
    ),
    Mutant(
        "count characters as bytes", "python/units.py", "if not text.isascii():", "if False:", CASES, "wide or tabs"
    ),
    Mutant("forget the BOM", "python/analyse.py", "shift = len(source.bom)", "shift = 0", CASES, "test_bytes"),
    Mutant(
        "write \\n whatever the file has",
        "python/source.py",
        'return found[0] if found else b"\\n"',
        'return b"\\n"',
        CASES,
        "test_bytes",
    ),
    Mutant(
        "treat review as safe",
        "python/analyse.py",
        "return hit.safe and not self._builds[piece.unit]",
        "return True",
        CASES,
        "comparison",
    ),
    Mutant(
        "trim a byte too much",
        "python/rewrite.py",
        "return Change(change.start + head, change.end - tail, after[head : len(after) - tail])",
        "return Change(change.start + head, change.end - tail, after[head + 1 : len(after) - tail])",
        CASES,
        "chained",
    ),
    Mutant(
        "look one line too far up",
        "suppress.py",
        "self.ignores[at - 1].line == first:",
        "self.ignores[at - 1].line == first - 1:",
        PROMISES,
        "test_suppression",
    ),
    Mutant(
        "let any comment speak of the line below",
        "suppress.py",
        "if at and self.ignores[at - 1].alone and",
        "if at and",
        PROMISES,
        "test_suppression",
    ),
    Mutant(
        "be certain of every literal",
        "python/literals.py",
        "Literal(link, kind, *role)",
        "Literal(link, kind, role.role, True)",
        CASES,
        "comparison",
    ),
    Mutant(
        "never see NPU code",
        "python/aware.py",
        "return self.whole or at > 0 and offset < self._reach[at - 1]",
        "return False",
        CASES,
        "left_alone",
    ),
    Mutant(
        "take every alias",
        "python/names.py",
        "if len(links) == 1 and name not in self.imports",
        "if name not in self.imports",
        CASES,
        "alias",
    ),
    Mutant(
        "take the first of two answers",
        "python/names.py",
        "return found.pop() if len(found) == 1 else None",
        "return max(found, default=None)",
        CASES,
        "two_answers or answers",
    ),
    Mutant(
        "lose comments",
        "python/guard.py",
        "if lost := comments(source) - comments(new):",
        "if lost := 0:",
        PROMISES,
        "planted_bug",
    ),
    Mutant(
        "leave names unbound",
        "python/guard.py",
        "if name := unbound(file, again.file):",
        "if name := None:",
        PROMISES,
        "planted_bug",
    ),
    Mutant(
        "let edits overlap",
        "python/guard.py",
        "if any(a.end > b.start for a, b in zip(changes, changes[1:])) or changes",
        "if changes",
        PROMISES,
        "engine_bug",
    ),
    Mutant(
        "let the last newline go",
        "python/guard.py",
        ") != bool(LINE_END.search(source.data[-2:])):",
        ") == 3:",
        PROMISES,
        "engine_bug",
    ),
    Mutant(
        "trust LibCST alone",
        "python/guard.py",
        "if len(again.file.hidden) > len(file.hidden):",
        "if False:",
        PROMISES,
        "planted_bug",
    ),
    Mutant(
        "squeeze text into an encoding",
        "python/source.py",
        'return utf8.decode("utf-8").encode(self.encoding)',
        'return utf8.decode("utf-8").encode(self.encoding, "replace")',
        PROMISES,
        "planted_bug",
    ),
    Mutant(
        "count bytes as columns",
        "python/source.py",
        'len(self.utf8[self.starts[line - 1] : offset].decode("utf-8", "replace")) + 1',
        "offset - self.starts[line - 1] + 1",
        CASES,
        "columns",
    ),
    Mutant(
        "end lines at form feeds",
        "python/source.py",
        "self.utf8.splitlines(keepends=True)",
        "[line.encode() for line in self.utf8.decode().splitlines(keepends=True)]",
        CASES,
        "pythons_lines or tabs",
    ),
    Mutant(
        "put defaults inside",
        "python/names.py",
        "grand in node.args.defaults",
        "grand in ()",
        CASES,
        "default",
    ),
    Mutant(
        "let methods see class names",
        "python/names.py",
        "if node in table and (first or node.__class__ is not ast.ClassDef):",
        "if node in table:",
        CASES,
        "class",
    ),
    Mutant(
        "put the first iterable inside",
        "python/names.py",
        "if not (child is node.generators[0] and grand is child.iter):",
        "if True:",
        CASES,
        "iterable",
    ),
    Mutant(
        "keep a walrus in its comprehension", "python/names.py", "is ast.NamedExpr:", "is ast.Lambda:", CASES, "walrus"
    ),
    Mutant(
        "import for type checkers",
        "python/imports.py",
        'if last == "TYPE_CHECKING" and child in node.body:',
        'if last == "NEVER" and child in node.body:',
        PROMISES,
        "guarded_import",
    ),
    Mutant(
        "import where ImportError is caught",
        "python/imports.py",
        'return "try"',
        "return None",
        PROMISES,
        "guarded_import",
    ),
    Mutant(
        "skip any file that says so",
        "suppress.py",
        "comment.line <= _HEAD and",
        "True and",
        PROMISES,
        "skip_file",
    ),
    Mutant("cut elif as it stands", "python/units.py", "        start += 2", "        start += 0", CASES, "elif"),
    Mutant(
        "lose the indentation",
        "python/imports.py",
        "[indent + line.encode()",
        "[line.encode()",
        PROMISES,
        "test_import",
    ),
    Mutant(
        "put the import on its own line, whatever shares it",
        "python/imports.py",
        'if begin + len(indent) != start or rest and not rest.startswith(b"#"):',
        "if False:",
        PROMISES,
        "test_import",
    ),
    Mutant(
        "edit what is switched off",
        "python/analyse.py",
        "code not in self.session.quiet_for(self.file.path) and",
        "",
        PROMISES,
        "quiet",
    ),
    Mutant(
        "take f-strings that go on",
        "python/literals.py",
        'len(node.values) == 2 and constant(node.values[0]) == "cuda:"',
        'constant(node.values[0]) == "cuda:"',
        CASES,
        "f_string or goes_on or goes",
    ),
    Mutant(
        "let the parser recurse",
        "python/units.py",
        "if len(text) > _DEEPEST and _deeper(unit, _DEEPEST):",
        "if False:",
        CASES,
        "deep_statement",
    ),
    Mutant(
        "read another function's local",
        "python/names.py",
        "return self._readers[name].get(self.home(name, link), [])",
        "return self._loads.get(name, [])",
        CASES,
        "one_function or function",
    ),
    Mutant(
        "say nothing of unused suppressions",
        "own.py",
        "elif code not in ignore.used and code not in quiet:",
        "elif False:",
        PROMISES,
        "test_suppression",
    ),
    Mutant(
        "keep the edits of a refused file",
        "python/analyse.py",
        "changes = {False: (), True: ()}",
        "changes = {False: edits, True: edits}",
        PROMISES,
        "planted_bug",
    ),
    Mutant(
        "port a loop that backs another loss as well",
        "python/apexamp.py",
        'if not backwards or any(getattr(n, "attr", "") == "backward" and n not in made for n in ast.walk(top)):',
        "if not backwards:",
        "test_apex.py",
        "one_unknown_piece",
    ),
    Mutant(
        "unscale once per batch",
        "python/apexamp.py",
        "                moved[step[0]] = clips\n",
        "                pass\n",
        "test_fixtures.py",
        "PRT350",
    ),
    Mutant(
        "half of a pattern where one piece is ignored",
        "python/scaler.py",
        "    if not ignored.isdisjoint(_RULES) or not quiet.isdisjoint(_RULES):\n",
        "    if False:\n",
        "test_apex.py",
        "one_unknown_piece or whole_pattern_with_it",
    ),
    Mutant(
        "give advice although something speaks against it",
        "advice/rank.py",
        "    excused = frozenset(world.near(found, against))\n",
        "    excused = frozenset()\n",
        "test_advice.py",
        "seeds-missing or clip-grad-missing",
    ),
    Mutant(
        "one project of a collection speaks for all",
        "advice/world.py",
        "        if not self.collection:\n",
        "        if True:\n",
        "test_advice.py",
        "collection",
    ),
]
