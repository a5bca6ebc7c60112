"""All that the analysis of one file depends on besides its bytes. Picklable; a worker gets it once."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

from porter.finding import Change, Held
from porter.project.facts import Facts
from porter.project.reach.known import Libraries
from porter.target import Target


@dataclass(frozen=True)
class Session:
    target: Target = Target()
    facts: Facts = Facts()
    libraries: Libraries = Libraries()
    fuse: bool = False  # write fused operators in, where that can be shown to be right
    quiet: frozenset[str] = frozenset()  # codes that are off everywhere
    quiet_in: tuple[tuple[str, frozenset[str]], ...] = field(default=())  # (gitignore pattern, codes off there)

    held: tuple[Held, ...] = ()  # places whose edits wait for others, in the offsets of the analysis

    def held_in(self, path: str) -> dict[int, Held]:
        return self._held.get(path, {})

    @cached_property
    def _held(self) -> dict[str, dict[int, Held]]:
        found: dict[str, dict[int, Held]] = {}
        for one in self.held:
            found.setdefault(one.path, {})[one.offset] = one
        return found

    def ported(self, path: str, changes: tuple[Change, ...]) -> Session:
        """For the text of a file after `changes`, where what is held stands elsewhere."""
        if not self.held:
            return self
        held = self.held_in(path).values()
        return replace(self, held=tuple(one._replace(offset=moved(one.offset, changes)) for one in held))

    @cached_property
    def rules(self):
        from porter.checks.registry import load

        return load(self.target.soc)

    @cached_property
    def catalogue(self):
        from porter.catalog.load import load, nearest, versions

        wanted = self.target.torch_npu
        return load(wanted if wanted in versions() else nearest(wanted))

    @cached_property
    def support(self):
        """What each API of torch is on the target."""
        from porter.catalog import documents
        from porter.catalog.verdict import Support

        return Support(self.catalogue, documents.load(self.target.torch_npu), self.target.soc)

    def has(self, name: str) -> bool:
        """Whether the target offers a name."""
        return self.catalogue.has(name)

    def quiet_for(self, path: str) -> frozenset[str]:
        """Codes that are switched off for a file."""
        if not self.quiet_in:
            return self.quiet
        return self.quiet | self._matched(path)

    def _matched(self, path: str) -> frozenset[str]:
        import pathspec

        found = frozenset()
        for pattern, codes in self.quiet_in:
            if pathspec.GitIgnoreSpec.from_lines([pattern]).match_file(path):
                found |= codes
        return found

    def __getstate__(self):
        return {k: v for k, v in self.__dict__.items() if k not in ("rules", "catalogue", "support", "_held")}


def moved(offset: int, changes: tuple[Change, ...]) -> int:
    """Where the byte at `offset` stands after `changes`."""
    return offset + sum(len(c.new) - (c.end - c.start) for c in changes if c.end <= offset)
