"""Mistakes about which files lead to torch."""

from __future__ import annotations

from mutant import Mutant

TESTS = "project/test_roads.py"

MUTANTS = [
    Mutant(
        "every file has a road",
        "project/roads.py",
        "return path not in roads.astray",
        "return True",
        TESTS,
        "without_torch",
    ),
    Mutant(
        "an edit without a road is made all the same",
        "analysis/python.py",
        "            not why_left(self.file, piece.unit, self._leads)\n            and (",
        "            (",
        TESTS,
        "without_torch",
    ),
    Mutant(
        "tests make a road for a project",
        "project/roads.py",
        "self.bearers = {path for path in self.loading if not is_test(path)}",
        "self.bearers = set(self.loading)",
        TESTS,
        "tests_alone",
    ),
    Mutant(
        "tests hand their road on",
        "project/roads.py",
        "for path in up if not is_test(path)))",
        "for path in up))",
        TESTS,
        "tests_hand",
    ),
    Mutant(
        "an optional import speaks for a project of another framework",
        "project/roads.py",
        "if any(self._is_foreign(path) for path in self.texts if not is_test(path)):",
        "if False:",
        TESTS,
        "optional_import",
    ),
    Mutant(
        "who imports an importer has no road",
        "project/roads.py",
        "up = reached(bearers, lambda path: above.get(path, ()))",
        "up = set(bearers)",
        TESTS,
        "long_row",
    ),
    Mutant(
        "what a file imports gets none",
        "project/roads.py",
        "return up.union(*(below[path] for path in up if not is_test(path)))",
        "return set(up)",
        TESTS,
        "command_line",
    ),
    Mutant(
        "a package hands nothing on",
        "project/imports.py",
        "files.update((file,), *(self.behind(file, name) for name in names))",
        "files.add(file)",
        TESTS,
        "hands_on",
    ),
    Mutant(
        "an import in a text is one",
        "project/loads_torch.py",
        "if any(not is_quoted(text, statement) for statement in torch_imports)",
        "if any(torch_imports)",
        TESTS,
        "no_road_of_its_own",
    ),
    Mutant(
        "a folder called torch is torch",
        "project/roads.py",
        'not in ("", "torch")',
        'not in ("",)',
        TESTS,
        "folder_called_torch",
    ),
    Mutant(
        "the cache forgets the road",
        "engine/facts.py",
        "of_roads = (roads.astray, roads.host, roads.lost, roads.settings)",
        "of_roads = ((), roads.host, roads.lost, roads.settings)",
        TESTS,
        "not_believed",
    ),
    Mutant(
        "standard input is read from the disk",
        "run/run.py",
        "given = dict([stdin]) if",
        "given = {} if",
        TESTS,
        "standard_input",
    ),
    Mutant(
        "scripts are edited in any project",
        "analysis/text.py",
        "if not leads(document.path, code, session.facts.roads):",
        "if False:",
        TESTS,
        "other_kinds",
    ),
    Mutant(
        "an array namespace is torch",
        "python/strings/sinks.py",
        'certain = kind != "device" or not self._any_array(func, call)',
        "certain = True",
        TESTS,
        "array_namespaces",
    ),
]
