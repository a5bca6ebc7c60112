"""Mistakes in what porter is given to read, and in the promises of an edited text."""

from __future__ import annotations

from mutant import Mutant

MUTANTS = [
    Mutant(
        "a second pass over a text may find more",
        "analysis/text.py",
        "if again.changes(edits.unsafe) or again.failures.first:",
        "if again.failures.first:",
        "files/test_input.py",
        "breaks_a_promise",
    ),
    Mutant(
        "the line ends of a text may change",
        "analysis/text.py",
        "if _ends(document.data) != _ends(data):",
        "if False:",
        "files/test_input.py",
        "breaks_a_promise",
    ),
    Mutant(
        "the structure of a text may change",
        "analysis/text.py",
        "if same is not None and not same(looked.tree, again.tree):",
        "if False:",
        "files/test_input.py",
        "breaks_a_promise",
    ),
    Mutant(
        "a device is a file",
        "files/read.py",
        "elif not stat.S_ISREG(mode):",
        "elif stat.S_ISDIR(mode):",
        "files/test_input.py",
        "named_is_a_regular_file and device",
    ),
    Mutant(
        "a file ends where it says",
        "files/read.py",
        "if len(data) > size:",
        "if False:",
        "files/test_input.py",
        "another_size",
    ),
    Mutant(
        "one deep file ends the gathering of facts",
        "run/gather.py",
        "except (RecursionError, MemoryError):",
        "except ZeroDivisionError:",
        "files/test_input.py",
        "go_down",
    ),
    Mutant(
        "too little memory is porter's failure",
        "engine/refusals.py",
        "except MemoryError:",
        "except ZeroDivisionError:",
        "files/test_input.py",
        "little_memory",
    ),
    Mutant(
        "a file may be as much code as it likes",
        "python/trees.py",
        "            if many > most:",
        "            if False:",
        "analysis/test_memory.py",
        "too_much_code",
    ),
    Mutant(
        "a statement may be as long as it likes",
        "python/trees.py",
        "return len(text) <= _LONGEST and fits(text, MOST_FOR_LIBCST)",
        "return True",
        "analysis/test_memory.py",
        "too_much_for_libcst",
    ),
    Mutant(
        "the old tree lives on while its port is read",
        "analysis/python_promises.py",
        "        return cls(file.path, file.source,",
        "        file.source.tree = file.tree\n        return cls(file.path, file.source,",
        "analysis/test_memory.py",
        "old_tree_is_gone",
    ),
]
