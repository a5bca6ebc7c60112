"""Requirements that leave no version of a package which runs on NPUs: those came later."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache

from porter.engine.portable import SINCE as PORTABLE_SINCE
from porter.engine.portable import has_accelerator, shared
from porter.engine.rule import Hit, named
from porter.engine.session import RuleSet
from porter.rulebook.table import Package
from porter.text.asked import Asked
from porter.text.document import Document
from porter.text.nobodys import nobodys
from porter.versions import allows, at_least, canonical, parse, reaches, release, sure


@lru_cache(maxsize=4)
def packages(rules: RuleSet) -> dict[str, list[tuple[str, Package]]]:
    """By the name that is installed: what is imported, and its row, of all that have a first version."""
    rows: dict[str, list[tuple[str, Package]]] = {}
    for imported, row in rules.tables.packages.items():
        for name in {canonical(name) for name in row.names} if row.since else ():
            rows.setdefault(name, []).append((imported, row))
    return rows


def too_old(document: Document, want: Asked, together: Sequence[Asked]) -> Hit | None:
    """What there is to say of one requirement; `together`: all that are installed with it, itself included."""
    for imported, row in packages(document.session.rules).get(want.name, ()):
        users = document.session.facts.lists.users(imported, document.path)
        if document.session.facts.own.has_package(imported.partition(".")[0], document.path):
            return None
        if "." in imported and not users:
            continue  # the rest of the package runs whatever its version
        first, other = _first(row, {asked.name for asked in together}, document.session.target.torch)
        changed_at, wants, _ = row.raised
        if want.spec and not reaches(want.spec, first):
            is_far = _is_far(document, want, changed_at)
            far = wants if is_far else ""
            held = [*_held(document, row, together)]
            why = "since-beside" if other else "since-plugin" if row.why and row.replacement else "since"
            why = "since-held" if held else "since-changed" if far and why == "since" else why
            asks = ", ".join([*(f"{asked.name}>={least}" for asked, least in held), *([far] if far else [])])
            pins = ", ".join(f"{asked.name}{asked.spec}" for asked, _ in held)
            more = named(held=pins, asks=asks) if held else named(wants=far) if why == "since-changed" else ()
            values = named(name=want.name, old=want.spec, new=first, other=other, plugin=", ".join(row.replacement))
            shown = (*values, *more, *(named(users=users) if "." in imported else ()))
            severity = None if row.why or other else row.severity
            edits = () if held or is_far or row.status != "native" else _edits(want, together, first)
            if not edits and nobodys(document, want.name, row):
                return None
            return Hit((want.start, want.end), why, code="PRT843", values=shown, severity=severity, edits=edits)
    return None


def first_of_portable(document: Document) -> tuple[int, ...]:
    """The first torch that a portable port runs with, which asks torch.accelerator; () where no port asks it."""
    target = document.session.target
    asks = target.style == "portable" and has_accelerator(shared(target))
    return PORTABLE_SINCE if asks else ()


def older_torch(document: Document, want: Asked) -> str:
    """The first torch that a portable port runs with, on GPUs as well, where a pin is one from before it, or a range takes some. They
    have no torch.accelerator."""
    least = first_of_portable(document)
    if not least or document.path in document.session.facts.lists.plain:
        return ""
    first = ".".join(map(str, least))
    is_limit = want.spec and (want.version is not None or want.kind != "script")
    return first if is_limit and not at_least(want.spec, first) else ""


def _first(row: Package, names: Collection[str], torch: tuple[int, ...]) -> tuple[str, str]:
    """The first version that runs on NPUs with this torch, and the package beside it that wants it as late, "" where none does."""
    firsts = [(row.since or "", "")]
    for name, version in row.beside:
        package, _, least = name.partition(">=")
        if least and torch >= release(least):
            firsts.append((version, ""))
        elif package in names and not least:
            firsts.append((version, name))
    return max(firsts, key=lambda pair: sure(pair[0]))


def _held(document: Document, row: Package, together: Sequence[Asked]) -> Iterator[tuple[Asked, str]]:
    """What is installed with it in a version that its first one cannot be installed with, and the least that it asks for."""
    _, _, asks = row.raised
    leasts = dict(asks)
    for asked in together:
        least = leasts.get(asked.name)
        if least and asked.spec and not reaches(asked.spec, least):
            hit = too_old(document, asked, together)
            if not (hit and hit.edits and sure(hit.edits[0][2]) >= sure(least)):
                yield asked, least


def _is_far(document: Document, want: Asked, changed_at: str) -> bool:
    """Whether what is written for the exact version that is asked for may have to be changed for the first one on NPUs."""
    if not changed_at or want.version is None:
        return False
    pin = parse(document.text[slice(*want.version)])
    return pin is not None and pin < sure(changed_at)


def _edits(want: Asked, together: Sequence[Asked], first: str) -> tuple[tuple[int, int, str], ...]:
    """The first version in the place of an exact one, where nothing else stands in its way."""
    others = (asked for asked in together if asked.name == want.name and asked.version is None)
    if want.version is None or want.locked or want.kind == "conda":
        return ()
    return ((*want.version, first),) if all(allows(asked.spec, first) for asked in others) else ()
