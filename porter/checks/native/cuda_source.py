"""C++ and CUDA sources: what is in a file, what it uses, and which Python stops with it. Nothing is edited."""

from __future__ import annotations

from collections.abc import Iterator

from porter.checks.native.needless_sources import needless
from porter.engine.rule import Hit, TextRule, named
from porter.regex import lazy
from porter.text.document import Document
from porter.text.formats.native import HEADERS, Native

_SHOWN = 4
_CALLS = lazy(
    rb"\b(?:cuda|cublas|cudnn|cufft|curand|cusolver|cusparse|nccl)[A-Z_]\w*\s*\(|\bat::cuda::|CUDAStream|CUDAGuard"
)


class CudaSource(TextRule):
    code = "PRT850"
    reads = "source"

    def look(self, document: Document, native: Native) -> Iterator[Hit]:
        places = (
            [kernel.start for kernel in native.kernels]
            + [offset for offset, _ in native.libraries]
            + list(native.launches)
        )
        if not places or native.declares:
            return
        facts = document.session.facts
        names, libraries = [kernel.name for kernel in native.kernels], [name for _, name in native.libraries]
        tables = document.session.rules.tables
        rows = list(dict.fromkeys(filter(None, map(tables.kernel, names))))
        # what Python calls says more than the steps that it is made of
        whole = {tables.kernel(function.name) for function in facts.native.functions if function.path == document.path}
        cure = whole.pop() if names and len(whole) == 1 else None
        rows = [cure] if cure is not None else rows
        if names:
            why = rows[0].why if len(rows) == 1 else "kernels" if names[1:] else "kernel"
        else:
            why = "launches" if native.launches else "device" if native.device else "host"
            if native.included:  # the files that include a header may be those that use what it includes
                why = "handed_on" if document.path.endswith(HEADERS) else "included"
            elif native.vectors:
                why = "vectors"
        ends = [function.path for function in facts.native.functions]
        header = why == "host" and document.path.endswith(HEADERS) and not _CALLS.search(document.data)
        if why == "device" and _beside_kernels(document.path, ends) or header and _declares(document.path, ends):
            return  # they go where the kernels go, of which is told
        texts = {"names": _shown(names), "count": str(len(names)), "libraries": _shown(libraries)}
        texts["types"] = _shown(list(native.vectors))
        texts["launches"] = str(len(native.launches)) if native.launches else ""
        runs = names or native.launches or native.device  # of which it goes without saying that they need CUDA
        texts["uses"] = _shown([name for name in (*native.used, *native.features) if name != "CUDA"] if runs else [])
        texts["counterparts"] = _shown(
            [name for row in rows[:_SHOWN] for name in row.replacement[:1]] if rows[1:] else []
        )
        unknown = [name for name in names if tables.kernel(name) is None] if len(rows) == 1 and cure is None else []
        texts["unknown"] = _shown(unknown)
        texts["exports"] = _shown(list(native.exports))
        spared = document.path in facts.native.spared
        called = "spared_callers" if spared else "callers"
        texts[called] = next((callers for path, callers in facts.native.callers if path == document.path), "")
        start = _character(document, min(kernel.start for kernel in native.kernels) if names else min(places))
        if nothing := needless(document, native, rows):
            yield Hit((start, start + 1), nothing, values=named(names=texts["names"]))
            return
        severity = "slow" if spared else ""
        severity = "note" if facts.accelerators.also_npu(document.path) else severity  # NPUs have sources of their own
        values = named(**{key: text for key, text in texts.items() if text})
        yield Hit((start, start + 1), why, values=values, severity=severity)


def _declares(path: str, kernels: list[str]) -> bool:
    """Whether a header is that of a file with kernels: `forward.h` of `forward.cu`."""
    return path.rpartition(".")[0] in {kernel.rpartition(".")[0] for kernel in kernels}


def _beside_kernels(path: str, kernels: list[str]) -> bool:
    """Whether a kernel that Python ends in lies in the same folder, above, below or beside it."""
    folder = path.rpartition("/")[0]
    near = f"{folder.rpartition('/')[0]}/" if "/" in folder else ""
    return any(kernel.startswith(near) or path.startswith(kernel.rpartition("/")[0] + "/") for kernel in kernels)


def _character(document: Document, offset: int) -> int:
    """Of a byte. A comment in another encoding is no reason not to read a source that nobody edits."""
    data = document.data[document.bom :]
    document.__dict__.setdefault("text", data.decode("utf-8", "replace"))
    return len(data[: max(0, offset - document.bom)].decode("utf-8", "replace"))


def _shown(names: list[str]) -> str:
    more = len(names) - _SHOWN
    return ", ".join(names[:_SHOWN]) + (f" (+{more})" if more > 0 else "")
