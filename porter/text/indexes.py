"""The indexes that packages are installed from: those of CUDA builds, and which of them have builds for the CPU beside them."""

from __future__ import annotations

from collections.abc import Iterator

from porter.engine.rule import Hit, named
from porter.regex import lazy
from porter.spans import Span
from porter.text.document import Document

_ADDRESS = lazy(r"https?://[^\s\"']*")
_INDEX = lazy(r"https?://(?:download\.pytorch\.org/whl|data\.pyg\.org/whl)/")
_TOOLKIT = lazy(r"(?<=[/+])cu\d{2,3}(?=(?:/|\.html|/torch_stable\.html)?(?:[\s\"',;\]]|$))")
_FOREIGN = lazy(r"pypi\.nvidia\.com|pypi\.ngc\.nvidia\.com|/cu\d{2,3}\b")
_NIGHTLY = "/nightly/"


def indexes(document: Document, start: int, end: int) -> Iterator[Hit]:
    """Addresses of CUDA builds between two places."""
    text, foreign = document.text, []
    for address in _ADDRESS.finditer(text, start, end):
        offset, address_end, index_start = address.start(), address.end(), None
        while (index := _INDEX.search(text, offset, address_end)) and (
            toolkit := _TOOLKIT.search(text, index.end(), min(address_end + 1, end))
        ):
            index_start, offset = index_start if index_start is not None else index.start(), toolkit.end()
            yield of_builds(document, (index.start(), offset), toolkit.span(), address[0])
        if index_start != address.start() and _FOREIGN.search(address[0]):
            foreign.append(address)
    for address in foreign:
        values = named(old=address[0][:100])
        yield Hit((address.start(), address.end()), "foreign", code="PRT841", values=values)


def of_builds(document: Document, place: Span, toolkit: Span, address: str) -> Hit:
    """An index of CUDA builds, which goes by its toolkit, `cu118`. A nightly build is of no torch that has a torch_npu."""
    torch = ".".join(map(str, document.session.target.torch))
    values = named(old=document.text[slice(*toolkit)], new="cpu", torch=torch)
    if _NIGHTLY in address:
        return Hit(place, "nightly", code="PRT841", values=values)
    return Hit(place, "index", code="PRT841", values=values, edits=((*toolkit, "cpu"),))
