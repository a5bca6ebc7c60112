"""`Session` holds all that the analysis of a file depends on, besides its bytes. It can be pickled; each worker gets it once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

from porter.engine.facts import Facts
from porter.engine.libraries import Libraries
from porter.files.ignore import Patterns
from porter.finding import Change, Held
from porter.regex import lazy
from porter.target import Target

if TYPE_CHECKING:
    from porter.catalog.read.load import Catalogue
    from porter.catalog.read.verdict import Support
    from porter.rulebook.table import Tables
    from porter.rulebook.texts import Texts


_Rules: TypeAlias = list[Any]  # of Rule: engine/rule.py stands above this module


class Keys(Protocol):
    """The rules, by each key that they have. See checks/keys.py."""

    calls: dict[str, _Rules]
    references: dict[str, _Rules]
    prefixes: dict[str, _Rules]
    methods: dict[str, _Rules]
    builtins: dict[str, _Rules]
    attributes: dict[str, _Rules]
    imports: dict[str, _Rules]
    literals: dict[str, _Rules]
    patterns: dict[str, _Rules]
    nodes: dict[str, _Rules]
    only: dict[str, tuple[Any, ...]]  # glances, by name
    node_filters: list[tuple[Any, tuple[type, ...], Any]]  # (rule, types of nodes, patterns of the text)
    node_types: frozenset[type]
    origins: frozenset[str]  # packages with a name that some rule asks for

    def mentioned(self, name: str) -> bool: ...


class RuleSet(Protocol):
    """The rules for one chip. See checks/registry.py."""

    tables: Tables
    codes: frozenset[str]
    all: _Rules
    of_index: _Rules
    of_text: dict[str, _Rules]
    roots: frozenset[str]

    @property
    def texts(self) -> Texts: ...
    @property
    def keys(self) -> Keys: ...
    def writing(self, fuse: bool) -> RuleSet: ...
    def __hash__(self) -> int: ...

    def weights(self, code: str, why: str) -> tuple[str, str]: ...
    def once(self, code: str, why: str) -> bool: ...
    def apart(self, code: str, why: str) -> bool: ...
    def across(self, code: str) -> str: ...

    def may_stay(self, code: str, why: str) -> bool: ...

    def thought(self, code: str, why: str) -> str: ...


@cache
def _patterns(pattern: str) -> Patterns:
    return Patterns.of_settings([pattern])


class Quiet(NamedTuple):
    """Codes that are switched off."""

    everywhere: frozenset[str] = frozenset()
    below: tuple[tuple[str, frozenset[str]], ...] = ()  # (gitignore pattern, codes off there)
    on_host: frozenset[str] = frozenset()  # codes that are off in programs that use no device
    host: frozenset[str] = frozenset()  # these programs

    def codes(self, path: str) -> frozenset[str]:
        """The codes that are off in a file."""
        off = (codes for pattern, codes in self.below if _patterns(pattern).leave_out(path))
        return self.everywhere.union(*off, self.on_host if path in self.host else ())


# codes about speed and precision on a device, and about packages for one. Neither a project nor a program that uses no device is
# asked for them
_OF_DEVICES = lazy(r"PRT6\d\d$|PRT30[789]$|PRT311$|PRT70[26]$|PRT840$")


@dataclass(frozen=True)
class Session:
    """The settings and facts of one run."""

    rules_for: Callable[[str, str], RuleSet] = field(
        repr=False, compare=False
    )  # gives the rules of a chip; a function, because rules cannot be pickled
    target: Target = Target()
    facts: Facts = Facts()
    libraries: Libraries = Libraries()
    fuse: bool = False  # write fused operators, where porter can show that they are right
    quiet: Quiet = Quiet()
    held: tuple[Held, ...] = ()  # places that stay because others cannot be edited; offsets of the analysed text

    def held_in(self, path: str) -> dict[int, Held]:
        """The held places of a file, by offset."""
        return self._held.get(path, {})

    @cached_property
    def _held(self) -> dict[str, dict[int, Held]]:
        by_path: dict[str, dict[int, Held]] = {}
        for place in self.held:
            by_path.setdefault(place.path, {})[place.offset] = place
        return by_path

    def ported(self, path: str, changes: tuple[Change, ...]) -> Session:
        """The session for the text of a file after `changes`: held places have moved there."""
        if not self.held:
            return self
        held = self.held_in(path).values()
        return replace(self, held=tuple(place._replace(offset=moved(place.offset, changes)) for place in held))

    @cached_property
    def rules(self) -> RuleSet:
        return self.rules_for(self.target.soc, self.target.torch_npu)

    @cached_property
    def catalogue(self) -> Catalogue:
        from porter.catalog.read.load import fitting

        return fitting(self.target.torch_npu)

    @cached_property
    def support(self) -> Support:
        """How well the target supports each API of torch."""
        from porter.catalog.read.verdict import support_on

        return support_on(self.target)

    @property
    def compiles(self) -> bool:
        """Whether operators are compiled for each new shape. Early chips do so by default."""
        return self.facts.jit_compile == "on" or self.target.early and self.facts.jit_compile != "off"

    @property
    def anew(self) -> tuple[tuple[str, str], ...]:
        """For `Hit.values`: the part of a message that says that each new shape is compiled."""
        return (("recompiles", self.target.soc),) if self.compiles else ()

    def has(self, name: str) -> bool:
        """Whether the target offers a name."""
        return self.catalogue.has(name)

    def __getstate__(self) -> dict[str, Any]:
        made = ("rules", "catalogue", "support", "_held")
        return {k: v for k, v in self.__dict__.items() if k not in made}


def knowing(session: Session, facts: Facts) -> Session:
    """The session with the facts of a project. Where no device is used, in the project or a program, codes about devices are
    switched off."""
    roads, quiet = facts.roads, session.quiet
    if not roads.device or roads.host:
        idle = frozenset(filter(_OF_DEVICES.match, session.rules.codes))
        everywhere = quiet.everywhere if roads.device else quiet.everywhere | idle
        quiet = quiet._replace(everywhere=everywhere, on_host=idle, host=frozenset(roads.host))
    return replace(session, facts=facts, quiet=quiet)


def moved(offset: int, changes: tuple[Change, ...]) -> int:
    """Where the byte at `offset` stands after `changes`."""
    return offset + sum(len(c.new) - (c.end - c.start) for c in changes if c.end <= offset)


def concern(session: Session, data: bytes) -> bool:
    """Whether facts of libraries or of the project may be about a file, even if it has none of the words that rules look for."""
    return session.libraries.concern(data) or any(package.is_named(data) for package in session.facts.lists.absent)
