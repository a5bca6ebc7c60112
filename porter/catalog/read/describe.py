"""What the catalogues say of one API, and of the difference between two versions: plain data, for text and JSON alike."""

from __future__ import annotations

from typing import Any

from porter.catalog.read.load import Catalogue
from porter.catalog.read.operators import Operator


def exists(api: str, catalogue: Catalogue) -> bool | None:
    """None where the catalogue cannot tell."""
    if "::" in api:
        return bool(catalogue.operators.overloads(api))
    if api.startswith(("torch.ops.aten.", "torch.ops.npu.")):
        return catalogue.operators.of(api) is not None
    if api.partition(".")[0] == "torch_npu" or api.startswith(("torch.npu", "torch.cuda")):
        return catalogue.has(api)
    return catalogue.surface.has(api) if api.partition(".")[0] == "torch" else None


def about(api: str, catalogue: Catalogue) -> dict[str, Any]:
    """One API in one version."""
    kernels = catalogue.operators.of(api)
    operators = kernels.operators if kernels else catalogue.operators.overloads(api) if "::" in api else ()
    kinds = {op.kernel for op in operators}
    transfer, old = catalogue.operators.transfer(api), catalogue.deprecated(api)
    return {
        "exists": exists(api, catalogue),
        "signature": catalogue.signature(api),
        "kernel": kernels.kernel if kernels else kinds.pop() if len(kinds) == 1 else "mixed" if kinds else None,
        "operators": [_operator(op, catalogue) for op in operators],
        "counterpart": catalogue.counterpart(api),
        "transfer": {"effect": transfer.effect, "to": transfer.to} if transfer else None,
        "deprecated": {"use": list(old.replacements), "source": old.source} if old else None,
    }


def documented(api: str, catalogue: Catalogue, soc: str) -> dict[str, Any] | None:
    """What the vendor's tables say of it on one chip; None where they are silent."""
    from porter.catalog.read.documents import load

    documents = load(catalogue.torch)
    fact = documents.fact(api, soc)
    if fact is None:
        return None
    return {
        "torch": documents.torch,
        "status": fact.status,
        "dtypes": list(fact.dtypes),
        "may_run_on_cpu": fact.may_run_on_cpu,
        "inference_only": fact.inference_only,
    }


def between(before: Catalogue, after: Catalogue) -> dict[str, dict[str, list[Any]]]:
    """{names | signatures | operators | kernels: {added, removed, changed}}; what changed with its old and new form."""
    views = {"names": _names, "signatures": _signatures, "operators": _operators, "kernels": _kernels}
    differences: dict[str, dict[str, list[Any]]] = {}
    for key, view in views.items():
        old, new = view(before), view(after)
        differences[key] = {
            "added": sorted(new.keys() - old.keys()),
            "removed": sorted(old.keys() - new.keys()),
            "changed": [[n, old[n], new[n]] for n in sorted(old.keys() & new.keys()) if old[n] != new[n]],
        }
    for key in ("signatures", "kernels"):  # of what both have: the rest is under names and operators
        differences[key] = {"added": [], "removed": [], "changed": differences[key]["changed"]}
    return differences


def _names(catalogue: Catalogue) -> dict[str, str]:
    names = {*catalogue.npu_names(members=True), *catalogue.own_names(), *catalogue.cuda_names(members=True)}
    surface = catalogue.surface
    names |= {f"{m}.{n}" for m in surface.modules() for n in surface.below(m) if n != "*" and "torch.cuda" not in m}
    return dict.fromkeys(names, "")


def _signatures(catalogue: Catalogue) -> dict[str, str]:
    names = (*catalogue.npu_names(members=True), *catalogue.own_names(), *catalogue.cuda_names(members=True))
    signatures = {name: catalogue.signature(name) for name in names}
    return {n: s for n, s in (signatures | catalogue.signatures()).items() if s and "::" not in n}


def _operators(catalogue: Catalogue) -> dict[str, str]:
    return {
        n: catalogue.signature(n) or catalogue.operators.overloads(n)[0].schema for n in catalogue.operators.names()
    }


def _kernels(catalogue: Catalogue) -> dict[str, str]:
    return {n: catalogue.operators.overloads(n)[0].kernel for n in catalogue.operators.names()}


def _operator(op: Operator, catalogue: Catalogue) -> dict[str, Any]:
    return {
        "name": op.name,
        "kernel": op.kernel,
        "schema": op.schema or catalogue.signature(op.name),
        "implementations": list(op.implementations),
        "says_cpu": op.says_cpu,
    }
