"""All rules, by what they want to be asked about: forty rules cost what one costs."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
from collections import defaultdict
from functools import cached_property, lru_cache

import porter.checks
from porter.checks import table
from porter.checks.rule import Rule
from porter.python.index import BINDERS, TYPES

ROOTS = frozenset({"torch", "torch_npu", "apex", "amp_C", "torchvision", "torchaudio"})
# asked of every file before a rule is loaded
GATE = re.compile(
    rb"\btorch\b|cuda|nccl|CUDA|NCCL|\bapex\b|\bamp_C\b|CUBLAS|CUDNN|NVIDIA|NVCC|VLLM_WORKER"
    rb"|TORCH_(?:ALLOC|KERNEL|NVFUSER|DEVICE_BACKEND|FR_)"
)


class RuleMistake(Exception):
    """A rule that the engine cannot serve: a mistake in porter, found when it is loaded."""


def discover() -> list[type[Rule]]:
    """Every rule class of every module below porter/checks/<family>/. There is no list to keep."""
    found = []
    for family in sorted(pkgutil.iter_modules(porter.checks.__path__), key=lambda m: m.name):
        if family.ispkg:
            package = importlib.import_module(f"porter.checks.{family.name}")
            for module in sorted(pkgutil.iter_modules(package.__path__), key=lambda m: m.name):
                members = vars(importlib.import_module(f"{package.__name__}.{module.name}"))
                found += [
                    k
                    for k in members.values()
                    # not isinstance: it would look into a module that waits for its first use
                    if type(k) is type and issubclass(k, Rule) and "code" in vars(k) and k.__module__.endswith(module.name)
                ]
    return found


class Rules:
    def __init__(self, tables: table.Tables, rules: list[Rule]):
        self.tables, self.all = tables, rules
        self.gate = GATE
        self.roots = self.inventory = ROOTS
        self.codes = frozenset(tables.rules)
        self.calls, self.references, self.prefixes, self.methods, self.attributes, self.literals, self.nodes = (
            defaultdict(list) for _ in range(7)
        )
        filters: list[tuple[tuple[type, ...], tuple[re.Pattern[bytes], ...]]] = []
        for rule in rules:
            for index in ("calls", "references", "prefixes", "methods", "attributes", "literals", "nodes"):
                for key in getattr(rule, index):
                    getattr(self, index)[key].append(rule)
            texts = (rule.text,) if isinstance(rule.text, str) else rule.text
            for kind in rule.nodes:
                if kind not in TYPES:
                    raise RuleMistake(f"{rule.code} asks for {kind!r}; the index knows {', '.join(TYPES)}")
            kinds = tuple({at: None for kind in rule.nodes for at in TYPES[kind]})
            filters.append((kinds, tuple(re.compile(text.encode()) for text in texts)))
            if not any((rule.calls, rule.references, rule.prefixes, rule.methods, rule.attributes, rule.literals, rule.nodes)):
                raise RuleMistake(f"{rule.code} does not say what it wants to be asked about")
        self.node_filters = [(kinds, patterns) for kinds, patterns in filters if kinds]
        asked = (*self.calls, *self.references, *self.prefixes)
        self.origins = self.inventory | {name.partition(".")[0] for name in asked}
        self.wanted = frozenset({ast.Call, ast.Attribute, *BINDERS, *(kind for kinds, _ in filters for kind in kinds)})

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

    @cached_property
    def texts(self):
        from porter.checks.texts import Texts

        return Texts()


@lru_cache(maxsize=1)
def load() -> Rules:
    tables = table.load()
    return Rules(tables, [kind(tables) for kind in discover()])
