"""All rules, by what they want to be asked about: forty rules cost what one costs."""

from __future__ import annotations

import ast
import importlib
import pkgutil
from collections import defaultdict
from functools import cached_property, lru_cache

import porter.checks
from porter.checks.mistakes import LISTS, check, check_made, failed, without_code
from porter.engine.rule import AnyRule, IndexRule, Rule, TextRule
from porter.python.index import BINDERS, COMPREHENSIONS, TYPES
from porter.python.searches import Sought
from porter.rulebook import table
from porter.rulebook.gate import GATE
from porter.target import DEFAULT_SOC

ROOTS = frozenset({"torch", "torch_npu", "apex", "amp_C", "torchvision", "torchaudio"})


def discover() -> list[type[AnyRule]]:
    """Every rule class of every module below porter/checks/<family>/. There is no list to keep."""
    found, bases = [], []
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
                        (found if "code" in vars(k) else bases).append(k)
    without_code(bases)
    return found


class Rules:
    def __init__(self, tables: table.Tables, found: list[AnyRule]):
        self.tables, self.all = tables, [rule for rule in found if isinstance(rule, Rule)]
        self.of_index = [rule for rule in found if isinstance(rule, IndexRule)]
        self.of_text: dict[str, list[TextRule]] = defaultdict(list)  # by what they read
        for rule in found:
            if isinstance(rule, TextRule):
                self.of_text[rule.reads].append(rule)
        rules = self.all
        self._writing: dict[bool, Rules] = {}
        self.gate = GATE
        self.roots = self.inventory = ROOTS
        self.codes = frozenset(tables.rules)
        self.calls, self.references, self.prefixes, self.methods, self.builtins = (defaultdict(list) for _ in range(5))
        self.attributes, self.imports, self.literals, self.patterns, self.nodes = (defaultdict(list) for _ in range(5))
        filters: list[tuple[Rule, tuple[type, ...], tuple[Sought, ...]]] = []
        for rule in rules:
            for index in LISTS:
                for key in getattr(rule, index):
                    getattr(self, index)[key].append(rule)
            texts = (rule.text,) if isinstance(rule.text, str) else rule.text
            kinds = tuple({at: None for kind in rule.nodes for at in TYPES[kind]})
            filters.append((rule, kinds, tuple(map(Sought, texts))))
        self.node_filters = [row for row in filters if row[0].nodes]
        asking: dict[str, list[Rule]] = {}  # a method and a builtin may share a name
        for index in (self.calls, self.methods, self.builtins):
            for name, several in index.items():
                asking.setdefault(name, []).extend(several)
        self.only = {  # by name: the glances of which one must let a place through; names that some rule wants anyhow are absent
            name: tuple(dict.fromkeys(rule.only for rule in several))
            for name, several in asking.items()
            if all(rule.only for rule in several)
        }
        asked = (*self.calls, *self.references, *self.prefixes)
        self.origins = self.inventory | {name.partition(".")[0] for name in asked}
        kinds = {kind for row in filters for kind in row[1]}
        self.wanted = frozenset({ast.Call, ast.Attribute, ast.For, *BINDERS, *COMPREHENSIONS, *kinds})

    def writing(self, fuse: bool) -> Rules:
        """Those that have edits: all that a ported text is asked for."""
        if fuse not in self._writing:
            found = Rules(self.tables, [rule for rule in self.all if rule.edits is True or rule.edits and fuse])
            found.wanted = self.wanted
            self._writing[fuse] = found
        return self._writing[fuse]

    def mentioned(self, name: str) -> bool:
        """Whether a rule asks for mentions of a name, or of something it starts with."""
        references, prefixes = self.references, self.prefixes
        while name:
            if name in references or name in prefixes:
                return True
            name = name.rpartition(".")[0]
        return False

    def weights(self, code: str, why: str) -> tuple[str, str]:
        """Severity and effort of a message."""
        rule = self.tables.rules[code]
        return rule["messages"][why]

    def once(self, code: str, why: str) -> bool:
        """Whether the first finding with a message speaks for all of them in a file."""
        said = self.tables.rules[code]["once"]
        return said.get(why, said[""])

    @cached_property
    def texts(self):
        from porter.rulebook.texts import Texts

        return Texts()


@lru_cache(maxsize=4)
def load(soc: str = DEFAULT_SOC) -> Rules:
    """The rules for one chip: what is not about it is never asked for."""
    tables, taken, made = table.load(), {}, []
    for kind in discover():
        check(kind, tables, taken)
        if not kind.socs or soc in kind.socs:
            try:
                rule = kind(tables)
            except Exception as error:
                raise failed(kind.__module__, error) from error
            check_made(rule, tables)
            made.append(rule)
    return Rules(tables, made)
