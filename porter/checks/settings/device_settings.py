"""What settings say about devices, whatever the format: rules/settings.toml, [[option]] and [[variable]] rows over key paths."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from fnmatch import fnmatch
from functools import cached_property

from porter.checks.native.options import of_setting
from porter.checks.settings import variables_set
from porter.checks.settings.expressions import of_expression
from porter.checks.settings.rows import rows_of, word
from porter.checks.settings.simulator_devices import of_simulator
from porter.engine.rule import Hit, TextRule, named
from porter.engine.style_of import STYLES
from porter.python.evidence import CUDA_LIBRARIES, like
from porter.python.strings.holders import field
from porter.regex import lazy
from porter.rulebook.table import Option, Setting, Tables, Variable, hints
from porter.text.document import Document
from porter.text.settings.entries import ITEM, Entry, Settings
from porter.text.settings.scope import PROJECT, scope

_WORDS = lazy(r"(?i)cuda|nccl|--gpus")  # what a row for any key looks at
_FLAG = lazy(r"(--?[A-Za-z][\w-]*)=(cuda(?::\d+)?|nccl)")
_OF_TORCH = hints("torchs-own-attention")
_NAMED = ("_target_", "class_path", "target", "_partial_target_", "_type_")


class DeviceSettings(TextRule):
    code = "PRT830"
    reads = "settings"

    def __init__(self, tables: Tables) -> None:
        rows: tuple[Setting | Variable | Option, ...] = (
            *tables.settings,
            *tables.variables.values(),
            *(row for several in tables.options.values() for row in several),
        )
        self.codes = tuple(sorted({"PRT801", "PRT803", "PRT830", "PRT831", *(row.code for row in rows)}))

    def look(self, document: Document, settings: Settings) -> Iterator[Hit]:
        return _Look(document, settings).hits() if scope(document, settings) == PROJECT else iter(())


class _Look:
    def __init__(self, document: Document, settings: Settings) -> None:
        session = document.session
        self.document, self.settings, self.target = document, settings, session.target
        self.style = STYLES[session.target.style](session.target, session.has)
        self.named, self.wild = rows_of(session.rules)
        self.tables = session.rules.tables
        # the file chooses between GPUs and NPUs: nothing is certain
        self.also_npu = session.facts.accelerators.also_npu(document.path)
        self.words = session.facts.launch.words
        self.own, self.lists, self.variables = session.facts.own, session.facts.lists, session.facts.variables
        self.keys: set[str] = set()
        self._matching: dict[tuple[int, str], list[Entry]] = {}

    def hits(self) -> Iterator[Hit]:
        self.keys = {word(part) for entry in self.settings.entries for part in entry.path}
        for number, entry in enumerate(self.settings.entries):
            hits = list(self._entry(entry)) or list(variables_set.look(self, entry))
            for hit in hits:
                if hit.edits:
                    self.settings.edited.update(self._numbers(number, hit))
                yield hit

    def _numbers(self, number: int, hit: Hit) -> Iterator[int]:
        """The entries that an edit reaches: its own, and for a variable in two parts the other."""
        yield number
        entries = self.settings.entries
        for start, end, _ in hit.edits:
            for _, other in self._starts[bisect_left(self._starts, (start, 0)) : bisect_left(self._starts, (end, 0))]:
                if other != number and entries[other].owner == entries[number].owner:
                    yield other

    @cached_property
    def _starts(self) -> list[tuple[int, int]]:
        return sorted((entry.start, number) for number, entry in enumerate(self.settings.entries))

    def _entry(self, entry: Entry) -> Iterator[Hit]:
        key = word(entry.name)
        if entry.tag.startswith(("!new:", "!name:", "!apply:")):
            yield from self._class(entry, entry.tag.partition(":")[2], None)
        if key in _NAMED and entry.value.startswith(("torch.cuda.", "apex.")):
            yield from self._class(entry, entry.value, entry if entry.exact else None)
            return
        if entry.value.startswith("$") and (hit := of_expression(self.document, entry, self.style)):
            yield hit
        elif (hit := self._option(entry, key)) or (hit := self._setting(entry, key)) or (hit := self._argument(entry)):
            yield hit

    def _setting(self, entry: Entry, key: str) -> Hit | None:
        rows = self.named.get(key, [])
        if "." in key:  # trainer.gpus: 8
            rows = rows + self.named.get(key.rpartition(".")[2], [])
        if _WORDS.search(entry.value):
            rows = sorted([*rows, *self.wild], key=lambda item: item[0])
        for _, row, pattern in rows:
            match = pattern.fullmatch(entry.value)
            if match and row.code == "PRT405" and self._takes_torchs(entry, key):
                return None
            if match and self._fits(row, entry, key):
                return of_simulator(self.own, self.settings, row, entry) or self._hit(row, entry, match)
        return None

    def _fits(self, row: Setting, entry: Entry, key: str) -> bool:
        tail = key.rpartition(".")[2]
        if row.kind and not like(tail, row.kind):
            return False
        if "*" in row.keys and "--gpus" not in row.value:
            if entry.path[-1:] == (ITEM,) or tail in row.excepted or tail in self.words:
                return False
        above = {word(w) for part in entry.path[:-1] for w in part.split(".")} | set(key.split(".")[:-1])
        if row.under and not above.intersection(row.under):
            return False
        yields = entry.path[-1:] == (ITEM,) and self.keys.intersection(row.yields)
        if yields or row.beside and not any(self._is_beside(other, entry) for other in row.beside):
            return False
        if any(other is not entry for name in row.yields for other in self._set(entry.owner, name)):
            return False
        if (row.kind or "*" in row.keys) and self._other_library(entry, above):
            return False
        return not row.files or any(fnmatch(self.document.path.rpartition("/")[2], name) for name in row.files)

    def _is_beside(self, other: str, entry: Entry) -> bool:
        """Whether a key is somewhere in the file; with a value, `accelerator: gpu`, in the same mapping."""
        name, _, value = other.partition(": ")
        return name in self.keys if not value else any(one.value == value for one in self._set(entry.owner, name))

    def _other_library(self, entry: Entry, above: set[str]) -> bool:
        """`device: cuda` of xgboost, of an inference engine: no word of torch's."""
        near = self._libraries.get(entry.owner, ())
        return not CUDA_LIBRARIES.isdisjoint(above) or any(other is not entry for other in near)

    @cached_property
    def _libraries(self) -> dict[int, list[Entry]]:
        """By the mapping they stand in, the entries that name a class of another library."""
        by_owner: dict[int, list[Entry]] = {}
        for entry in self.settings.entries:
            if entry.name in _NAMED and str(entry.value).partition(".")[0] in CUDA_LIBRARIES:
                by_owner.setdefault(entry.owner, []).append(entry)
        return by_owner

    def _takes_torchs(self, entry: Entry, key: str) -> bool:
        """Whether the reader of an option takes torch's own attention, always or where the package flash_attn is not there."""
        if key.rpartition(".")[2] in self.own.falls_back:
            return True
        near = self.settings.among(entry.owner)
        return any(e.name in _NAMED and e.value.partition(".")[0] in _OF_TORCH for e in near)

    def _set(self, owner: int, key: str) -> list[Entry]:
        """The entries of a mapping, of this key, that a rule speaks of."""
        if (owner, key) not in self._matching:
            near = self.settings.among(owner)
            self._matching[owner, key] = [e for e in near if word(e.name) == key and self._setting(e, key)]
        return self._matching[owner, key]

    def _hit(self, row: Setting, entry: Entry, match: re.Match[str]) -> Hit:
        new = ""
        edits: tuple[tuple[int, int, str], ...] = ()
        if row.to is not None:
            rest = match[1] if match.re.groups else ""
            new = self._spelled(row.to, rest or "")
            span = entry.key if row.replace == "key" else (entry.start, entry.end) if entry.exact else None
            if span and self.style.one_world:
                edits = ((*span, new),)
        values = named(name=entry.name, old=" ".join(entry.value.split())[:80], new=new)
        place = entry.key if row.replace == "key" and entry.key else (entry.start, entry.end)
        safe = row.fix == "safe" and not self.also_npu and bool(edits)
        holder = field(entry.name) if row.code == "PRT830" and entry.name else ""
        return Hit(
            place,
            row.why,
            code=row.code,
            values=values,
            edits=edits,
            safe=safe,
            severity=row.severity,
            effort=row.effort,
            holder=holder,
            role="setting",
        )

    def _spelled(self, to: str, rest: str) -> str:
        target = self.target
        resource = "huawei.com/Ascend310P" if target.soc == "310P" else "huawei.com/Ascend910"
        words = {"device": target.device, "backend": target.backend, "upper_backend": target.backend.upper()}
        return to.format(**words, rest=rest, resource=resource)

    def _option(self, entry: Entry, key: str) -> Hit | None:
        """The [[option]] rows that keyword arguments have."""
        for row in self.tables.options.get(key, ()):
            written = "True" if entry.true else f"'{entry.value}'"
            if written in row.values and not row.calls:
                found, more = of_setting(row, key, self.own, self.lists, self.document.path)
                if found is None:
                    return None
                new = (found.to or "").strip("'")
                writes = new and entry.exact and self.style.one_world
                edits = ((entry.start, entry.end, new),) if writes else ()
                values = named(name=entry.name, old=entry.value, new=new, **more)
                severity, effort = found.severity or None, found.effort or None
                place = (entry.start, entry.end)
                return Hit(
                    place, found.why, code=found.code, values=values, edits=edits, severity=severity, effort=effort
                )
        return None

    def _argument(self, entry: Entry) -> Hit | None:
        """`args: [--device, cuda]`, `--device=cuda`: what a program is started with."""
        if entry.path[-1:] != (ITEM,) or not entry.exact:
            return None
        start, value = entry.start, entry.value
        if match := _FLAG.fullmatch(value):
            flag, value, start = match[1], match[2], start + match.start(2)
        elif re.fullmatch(r"cuda(?::\d+)?|nccl", value):
            before = self.settings.before(entry)
            flag = before.value if before and before.value.startswith("-") else ""
        else:
            return None
        kind = "backend" if value == "nccl" else "device"
        if not flag or not like(flag, kind):
            return None
        new = self.target.backend if kind == "backend" else self.target.device + value[4:]
        edits = ((start, entry.end, new),) if self.style.one_world else ()
        return Hit((start, entry.end), "flag", code="PRT830", values=named(name=flag, old=value, new=new), edits=edits, holder=field(flag), role="passed")  # fmt: skip

    def _class(self, entry: Entry, name: str, where: Entry | None) -> Iterator[Hit]:
        """`_target_: torch.cuda.amp.GradScaler`: a name that is looked up when the program runs."""
        if not name.startswith(("torch.cuda.", "apex.")):
            return
        move = self.tables.moves.get(name)
        if move and move.stays:
            return
        new = move and move.tail and self.style.name(move.tail)
        if new and where is not None:
            edits = ((where.start, where.end, new),) if self.style.one_world else ()
            values = named(old=name, new=new)
            yield Hit((entry.start, entry.end), "class", code="PRT831", values=values, edits=edits)
        else:
            yield Hit((entry.start, entry.end), "class-none", code="PRT831", values=named(old=name))
