"""What a script installs: builds of torch for CUDA, packages that only GPUs can use."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import lru_cache

from porter.engine.rule import Hit, TextRule, named
from porter.engine.session import RuleSet
from porter.files.kinds import DOCKERFILE, SHELL, kind_of
from porter.files.paths import is_test
from porter.regex import lazy
from porter.rulebook.table import Package, any_of
from porter.target import first_python
from porter.text import first_versions, packages
from porter.text.built_here import built_here
from porter.text.document import Document
from porter.text.indexes import of_builds
from porter.text.nobodys import listed, nobodys
from porter.text.shells import old_images, stages
from porter.text.shells.script import Command, Script, Word
from porter.versions import canonical

_BUILD = lazy(r"[\"']?torchtext(?:==|~=|>=)[\w.]*(\+cu\d+)")
_TORCHS = frozenset({"torch", "torchvision", "torchaudio"})
_INDEX = lazy(r"https?://[\w.]*pytorch\.org/whl/(?:nightly/|test/)?(cu\d+)\b|torch_stable\.html")
_RIVAL = lazy(r"https?://[\w.]*pytorch\.org/whl/(?:nightly/|test/)?(?:rocm|xpu)")  # wheels for AMD's and Intel's GPUs
_CUDA = lazy(rf"(?i)^(?:{any_of('installed-for-cuda')})$")
_FOR_CUDA = lazy(r"^(?!nvidia-)([\w-]+)-cu\d{2,3}(?:-\w+)?$")
_NAME = lazy(r"[A-Za-z][\w.-]*")
_VERSION = "0123456789."
_CONDAS = frozenset({"conda", "mamba", "micromamba"})
_OLD = frozenset({"old-image", "old-python"})
_BESIDE = frozenset({"missing", "loose", "through", "conda"})  # what is said of torch-npu beside torch
_SERVED = lazy(r"(?i)torch[-_]npu|ascend|[ \t]-r[ \t]*\S")  # torch-npu, or a list that may have it
_WITHOUT = frozenset({"replace", "none"})  # status of packages that do not run on NPUs
_VALUED = frozenset(
    {"-f", "--find-links", "-r", "-c", "-i", "--index-url", "--extra-index-url", "-n", "-t", "--target"}
)
_INSTALLERS = frozenset({"pip", "conda", "mamba", "micromamba", "apt", "apt-get", "yum", "dnf"})


class Installs(TextRule):
    code = "PRT841"
    reads = "script"

    def look(self, document: Document, script: Script) -> Iterator[Hit]:
        foreign = stages.foreign(document)
        alone = _brings_torch_alone(document)
        for_gpus = stages.for_gpus(document, script)
        found: list[Hit] = []
        for command in script.commands:
            if (index := _installed(command)) is not None and not any(command.start in stage for stage in foreign):
                hits = list(_hits(document, command.words[index:], _kind(command, index, alone)))
                if any(command.start in stage for stage in for_gpus):
                    # only what the project's own files import, which have to do without it
                    hits = [hit for hit in hits if hit.code == "PRT401"]
                found += (hit for hit in hits if alone or hit.code != "PRT840" or hit.why not in _BESIDE)
                alone = alone and not any(hit.why in _BESIDE for hit in hits)  # once for a script
        told = list(_waiting(document, list(_together(found))))
        yield from told
        if document.session.facts.roads.torch and not any(hit.why in _OLD for hit in told):
            yield from _pythons(document)


def _pythons(document: Document) -> Iterator[Hit]:
    """The environment that a script makes with too old a Python, where nothing that it installs says so."""
    torch, is_image = document.session.target.torch, kind_of(document.path) == DOCKERFILE
    for span, said in old_images.old_environments(document.text, torch, is_image=is_image):
        values = named(**{**said, "old": f"={said['old']}"}, name="python", python=said["old"])
        yield Hit(span, "python", code="PRT840", values=values)


def _brings_torch_alone(document: Document) -> bool:
    """Whether nothing else says what the project needs, no list and no other command of this script."""
    if ("torch", "", "") in document.session.facts.lists.asked or kind_of(document.path) not in (DOCKERFILE, SHELL):
        return False
    return not is_test(document.path) and not _SERVED.search(document.text)


def _kind(command: Command, index: int, alone: bool) -> str:
    """How the packages of a command are installed; conda names torch pytorch, and `conda run pip install` is pip's."""
    installers = [name for word in command.words[:index] if (name := word.name.rstrip(_VERSION)) in _INSTALLERS]
    if installers and installers[-1] in _CONDAS:
        return "conda"
    return "script" if alone else "pip"


def _together(hits: list[Hit]) -> Iterator[Hit]:
    """The parts of CUDA that a script installs go together, and so do builds for it."""
    parts: dict[str, list[Hit]] = {}
    for hit in hits:
        if hit.code == "PRT842":
            parts.setdefault(hit.why, []).append(hit)
    for hit in hits:
        if hit.code != "PRT842":
            yield hit
        elif hit is parts[hit.why][0]:
            said = [dict(part.values) for part in parts[hit.why]]
            joined = {key: ", ".join(dict.fromkeys(values[key] for values in said)) for key in said[0]}
            yield replace(hit, values=named(**joined))


def _waiting(document: Document, hits: list[Hit]) -> Iterator[Hit]:
    """The hits, without edits and without those of torch where it cannot be installed before the Python is another one."""
    is_image = kind_of(document.path) == DOCKERFILE
    of_torch = [hit for hit in hits if hit.code == "PRT840"]
    torch = document.session.target.torch
    first = first_python(torch)
    edited = any(hit.edits for hit in hits)
    python = old_images.old_python(document.text, first, is_image=is_image) if edited else ""
    sources = old_images.built_torch(document.text) if is_image and of_torch and not python else ""
    if not python and not sources:
        yield from hits
        return
    for hit in hits:
        if of_torch and hit is of_torch[0]:
            values = named(old=python or sources, new=_dotted(first), torch=_dotted(torch))
            why = ("old-image" if is_image else "old-python") if python else "built"
            yield Hit(hit.at, why, code="PRT840", values=values)
        elif hit.code != "PRT840":
            yield replace(hit, edits=())


def _dotted(numbers: tuple[int, ...]) -> str:
    return ".".join(map(str, numbers))


def _installed(command: Command) -> int | None:
    """Where the packages of `pip install`, `python -m pip install`, `uv pip install`, `conda create` begin."""
    has_installer = command.words[0].name.rstrip(_VERSION) == "pip_install"
    for index, word in enumerate(command.words):
        if index and has_installer and word.value in ("install", "create", "add"):
            return index + 1
        has_installer = has_installer or word.name.rstrip(_VERSION) in _INSTALLERS
    return None


@lru_cache(maxsize=2)
def _rows(rules: RuleSet) -> dict[str, tuple[str, Package]]:
    """What is imported and its row, if that says something, by the name that is installed."""
    rows: dict[str, tuple[str, Package]] = {}
    for imported, row in rules.tables.packages.items():
        if row.why and "." not in imported:  # of a package with a part for GPUs, the rest may be what is wanted
            for name in (*row.names, imported):
                if f"{name}-gpu" in row.names:  # onnxruntime is for the CPU
                    continue
                name = name.lower().replace("_", "-")
                if name == imported.lower().replace("_", "-"):  # of several that a row names, the one of this name
                    rows[name] = imported, row
                rows.setdefault(name, (imported, row))
    return rows


def _hits(document: Document, words: tuple[Word, ...], kind: str) -> Iterator[Hit]:
    if any(_RIVAL.search(word.text) for word in words):
        return
    versions = list(_versions(document, words, kind))
    yield from versions
    rows = _rows(document.session.rules)
    skip = False
    told = {hit.at[0] for hit in versions if hit.code == "PRT843"}
    for word in words:
        if word.start in told:
            continue
        text, value, skip = word.text, skip, False
        if match := _BUILD.match(text):
            start, end = word.start + match.start(1), word.start + match.end(1)
            values = named(old=match[1], npu=document.session.target.torch_npu)
            yield Hit((word.start, word.end), "local", code="PRT841", values=values, edits=((start, end, ""),))
        elif (match := _INDEX.search(text)) and text.strip("\"'").endswith(".whl"):
            # the file's name, too, says what it was built for
            target = document.session.target
            torch = ".".join(map(str, target.torch))
            values = named(old=match[1] or match[0], torch=torch, npu=target.torch_npu)
            yield Hit((word.start, word.end), "wheel", code="PRT841", values=values)
        elif match and not _are_for_gpus_alone(words, rows):  # else there is nothing at the index for the CPU either
            if match[1]:
                toolkit = word.start + match.start(1), word.start + match.end(1)
                yield of_builds(document, (word.start, word.end), toolkit, match[0])
            else:
                yield Hit((word.start, word.end), "foreign", code="PRT841", values=named(old=match[0]))
        elif value:
            continue
        elif text.startswith("-"):
            skip = text in _VALUED
        elif name := packages.CLONED.match(text.strip("\"'")):
            yield from _package(document, word, name[1].lower().replace("_", "-"), rows)
        elif name := packages.FOLDER.match(text.strip("\"'")):
            own = built_here(document, name[0], (word.start, word.end))
            yield from list(_package(document, word, canonical(name[1]), rows)) or filter(None, [own])
        elif wheel := packages.WHEEL.match(text):
            known = list(_package(document, word, canonical(wheel[1]), rows))
            yield from known or packages.built(document, wheel, word.start)
        elif name := _NAME.match(text.strip("\"'")):
            yield from _package(document, word, name[0].lower().replace("_", "-"), rows)


def _are_for_gpus_alone(words: tuple[Word, ...], rows: Mapping[str, tuple[str, Package]]) -> bool:
    """Whether a command installs nothing but packages that have no build for NPUs, or for the CPU: `pip install xformers`."""
    named = [word for word, before in zip(words, (None, *words)) if before is None or before.text not in _VALUED]
    names = [match[0] for word in named if (match := _NAME.match(word.text.strip("\"'")))]
    known = [rows.get(name.lower().replace("_", "-")) for name in names]
    return bool(known) and all(entry is not None and entry[1].status in _WITHOUT for entry in known)


def _versions(document: Document, words: tuple[Word, ...], kind: str) -> Iterator[Hit]:
    """Of torch and what belongs to it, and of packages that not every version of runs on NPUs, as a list of requirements
    has them."""
    requirements = []
    for word in words:
        quoted = word.text.startswith(('"', "'"))
        requirement = packages.wanted(document.text, word.start + quoted, word.end - quoted, kind=kind)
        requirements += [requirement] if requirement is not None else []
    torchs = _TORCHS | {"pytorch"} if kind == "conda" else _TORCHS
    of_torch = [requirement for requirement in requirements if requirement.name in torchs]
    if of_torch:
        yield from packages.hits(document, of_torch)
    if not packages.for_npus(document.path):
        yield from filter(None, (first_versions.too_old(document, want, requirements) for want in requirements))


def _package(document: Document, word: Word, name: str, rows: Mapping[str, tuple[str, Package]]) -> Iterator[Hit]:
    imported, row = rows.get(name, ("", None))
    if row is not None and nobodys(document, name, row):
        return
    if row is not None:
        at = word.start, word.end
        yield listed(document, at, name, imported, row) or Hit(
            at, row.why, code=row.code, values=(("name", name),), severity=row.severity
        )
    elif (plain := _FOR_CUDA.sub(r"\1", name)) != name and not _CUDA.match(plain):
        # the package itself may be what the programs import: its name without the version of CUDA is the build for the CPU
        yield Hit((word.start, word.end), "build", code="PRT842", values=(("name", name), ("new", plain)))
    elif _CUDA.match(name):
        yield Hit((word.start, word.end), "default", code="PRT842", values=(("name", name),))
