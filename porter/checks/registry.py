"""All rules: where they are found, and what is known of them together."""

from __future__ import annotations

import importlib
import pkgutil
from collections import defaultdict
from functools import cache, cached_property
from typing import TYPE_CHECKING

import porter.checks
from porter.checks.keys import Keys
from porter.checks.mistakes import check, check_made, failed, without_code
from porter.engine.rule import AnyRule, IndexRule, Rule, TextRule
from porter.rulebook import table
from porter.target import DEFAULT_SOC

if TYPE_CHECKING:
    from porter.rulebook.texts import Texts

ROOTS = frozenset({"torch", "torch_npu", "apex", "amp_C", "torchvision", "torchaudio"})


def discover() -> list[type[AnyRule]]:
    """Every rule class of every module below porter/checks/<family>/. There is no list to keep."""
    classes: list[type[AnyRule]] = []
    bases: list[type[AnyRule]] = []
    for family in sorted(pkgutil.iter_modules(porter.checks.__path__), key=lambda m: m.name):
        if family.ispkg:
            package = importlib.import_module(f"porter.checks.{family.name}")
            for module in sorted(pkgutil.iter_modules(package.__path__), key=lambda m: m.name):
                name = f"{package.__name__}.{module.name}"
                try:
                    members = vars(importlib.import_module(name))
                except Exception as error:
                    raise failed(name, error) from error
                for k in members.values():
                    # not isinstance: it would look into a module that waits for its first use
                    if type(k) is type and issubclass(k, AnyRule) and k.__module__ == name:
                        (classes if "code" in vars(k) else bases).append(k)
    without_code(bases)
    return classes


class Rules:
    def __init__(self, tables: table.Tables, rules: list[AnyRule]) -> None:
        self.tables, self.all = tables, [rule for rule in rules if isinstance(rule, Rule)]
        self.of_index = [rule for rule in rules if isinstance(rule, IndexRule)]
        self.of_text: dict[str, list[TextRule]] = defaultdict(list)  # by what they read
        for rule in rules:
            if isinstance(rule, TextRule):
                self.of_text[rule.reads].append(rule)
        self.roots = ROOTS
        self.codes = frozenset(tables.rules)
        self.keys = Keys(self.all, ROOTS)
        self._writing: dict[bool, Rules] = {}

    def writing(self, fuse: bool) -> Rules:
        """Those that have edits: all that a ported text is asked for."""
        if fuse not in self._writing:
            rules = Rules(self.tables, [rule for rule in self.all if rule.edits is True or rule.edits and fuse])
            rules.keys.node_types = self.keys.node_types
            self._writing[fuse] = rules
        return self._writing[fuse]

    def weights(self, code: str, why: str) -> tuple[str, str]:
        """Severity and effort of a message."""
        severity, effort = self.tables.rules[code]["messages"][why]
        return severity, effort

    def once(self, code: str, why: str) -> bool:
        """Whether the first finding with a message speaks for all of them in a file."""
        return self._flag("once", code, why)

    def apart(self, code: str, why: str) -> bool:
        """Whether each place is work of its own, also where a function has several that say the same."""
        return self._flag("apart", code, why)

    def may_stay(self, code: str, why: str) -> bool:
        """Whether nothing is to be done where it says so: it is listed in the inventory, and told to nobody."""
        return self._flag("inventory", code, why)

    def _flag(self, name: str, code: str, why: str) -> bool:
        flags = self.tables.rules[code][name]
        return bool(flags.get(why, flags[""]))

    def thought(self, code: str, why: str) -> str:
        """What answers all places of a function that say it or something near; "" where each is a thought of its own."""
        return str(self.tables.rules[code]["joined"].get(why, ""))

    def across(self, code: str) -> str:
        """Of what one file speaks for all that say the same: "program", "folder", or "" for none; "thought" of a program, where what
        `thought` answers counts as the same."""
        return str(self.tables.rules[code]["across"])

    @cached_property
    def texts(self) -> Texts:
        from porter.rulebook.texts import Texts

        return Texts()


def load(soc: str = DEFAULT_SOC, torch_npu: str = "") -> Rules:
    """The rules for one chip, where what is not about it is never asked for, and one torch_npu, where that matters."""
    return _load(soc, torch_npu if table.names_older(table.load(), torch_npu) else "")


@cache
def _load(soc: str, torch_npu: str) -> Rules:
    tables, rules = table.read_by(table.load(), torch_npu), list[AnyRule]()
    taken: dict[tuple[str, str], type[AnyRule]] = {}
    for kind in discover():
        check(kind, tables, taken)
        if not kind.socs or soc in kind.socs:
            try:
                rule = kind(tables)
            except Exception as error:
                raise failed(kind.__module__, error) from error
            check_made(rule, tables)
            rules.append(rule)
    return Rules(tables, rules)
