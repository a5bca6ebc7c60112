"""Every operator of torch and what runs it on the target, from the two tables the wheels carry: torch's
native_functions.yaml says how an operator is built, torch_npu's list says which have a kernel of their own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, TypeAlias

from porter.catalog.make.sources import Wheel
from porter.regex import lazy

Entry: TypeAlias = dict[str, Any]  # of such a table
TORCH_TABLE = "torchgen/packaged/ATen/native/native_functions.yaml"
GENERATOR = "torchgen/native_function_generation.py"
NPU_TABLE = "torch_npu/csrc/aten/npu_native_functions_by_codegen.yaml"

# "Warning: kernel [polar.out] is not supported by NPU currently. Now this kernel is running on CPU."
_SAYS_CPU = lazy(r"(?:Warning: kernel \[)?([\w.]+)\]? is not supported by NPU")
_SCHEMA = lazy(r"([A-Za-z_][\w:.]*)(\(.*\) -> .+)")  # as the library registers it


class Tables:
    """What both wheels say of operators, read once."""

    def __init__(self, torch_npu: Wheel, torch: Wheel) -> None:
        self.torch: list[Entry] = _yaml(torch, TORCH_TABLE)
        comments = torch.read(TORCH_TABLE).decode("utf-8")
        self.aliases: dict[str, str] = dict(re.findall(r"^# (\w+), alias (?:for|of) (\w+)", comments, re.MULTILINE))
        self.npu: dict[str, list[Any]] = _yaml(torch_npu, NPU_TABLE)
        # of composites the generator makes the core ones alone, before torch 2.2 none
        self._core = GENERATOR in torch.files() and b"is_core" in torch.read(GENERATOR)
        self.library = torch_npu.read("torch_npu/lib/libtorch_npu.so")

    def aten(self) -> dict[str, dict[str, str]]:
        """{operator: {overload: flags}}, the flags as porter.catalog.read.tables reads them."""
        native = {_name(e) for e in self.npu["supported"] if not _sparse_only(e)}
        says_cpu = {_canonical(m[1]) for m in map(_SAYS_CPU.match, literals(self.library, b"running on CPU")) if m}
        operators: dict[str, dict[str, str]] = {}
        for entry in self.torch:
            name = _name(entry)
            letter = "n" if name in native else _composite(entry)
            flags = letter + _marks(entry)
            if letter == "n" and name in says_cpu:
                flags += "w"
            if letter == "e" and "structured_delegate" in entry:
                flags += ">" + entry["structured_delegate"]
            _put(operators, name, flags)
            for generated in str(entry.get("autogen", "")).split(","):
                if (generated := generated.strip()) and (
                    _composite(entry) != "i" or self._core and "core" in entry.get("tags", ())
                ):
                    letter = "n" if generated in native else "e"
                    _put(operators, generated, letter + ("o" if generated.endswith("out") else ""))
        return operators

    def schemas(self) -> dict[str, str]:
        return {f"aten::{_name(e)}": e["func"][e["func"].index("(") :] for e in self.torch}

    def custom(self, public: set[str]) -> dict[str, dict[str, list[Any]]]:
        """{operator: {overload: [schema, public, implementations]}} of the namespace npu."""
        registered = {m[1]: m[2] for m in map(_SCHEMA.match, literals(self.library, b") -> ")) if m}
        operators: dict[str, dict[str, list[Any]]] = {}
        for entry in self.npu["custom"]:
            name = _name(entry)
            base, _, overload = name.partition(".")
            written = entry["func"][entry["func"].index("(") :]
            implementations = " ".join(sorted(re.findall(r"\w+", entry.get("impl_ns", ""))))
            known = int(bool(entry.get("exposed")) or base in public)
            operators.setdefault(base, {})[overload] = [registered.get(name, written), known, implementations]
        return operators


def _yaml(wheel: Wheel, file: str) -> Any:
    import yaml

    return yaml.load(wheel.read(file), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))


def _name(entry: Entry | str) -> str:
    schema: str = entry["func"] if isinstance(entry, dict) else entry
    return schema.partition("(")[0].strip()


def _sparse_only(entry: Entry | str) -> bool:
    return isinstance(entry, dict) and "sparse" in entry and "impl_ns" not in entry


def _composite(entry: Entry) -> str:
    keys = {key.strip() for keys in entry.get("dispatch") or () for key in keys.split(",")}
    built = {"dispatch", "structured", "structured_delegate"}  # an empty dispatch table is one too
    if "CompositeImplicitAutograd" in keys or not built & entry.keys():
        return "i"
    if keys & {"CompositeExplicitAutograd", "CompositeExplicitAutogradNonFunctional"}:
        return "e"
    return "e" if "structured_delegate" in entry else "c"


def _marks(entry: Entry) -> str:
    variants = str(entry.get("variants", "function"))
    marks = "".join(letter for letter, variant in (("f", "function"), ("m", "method")) if variant in variants)
    arguments = entry["func"].partition(" -> ")[0]
    if "!)" in arguments.partition("*, ")[2]:
        marks += "o"
    return marks + ("d" if "Dimname" in arguments else "")


def _put(operators: dict[str, dict[str, str]], name: str, flags: str) -> None:
    base, _, overload = name.partition(".")
    operators.setdefault(base, {})[overload] = flags


def _canonical(name: str) -> str:
    """Messages write complex_out for complex.out."""
    return re.sub(r"_out$", ".out", name)


def literals(library: bytes, holding: bytes) -> Iterator[str]:
    """The printable, zero-terminated strings of a library that hold some bytes."""
    end = 0
    while (offset := library.find(holding, end)) >= 0:
        start, end = library.rfind(b"\0", 0, offset) + 1, library.find(b"\0", offset)
        text = library[start:end]
        if text.isascii() and text.decode("ascii").isprintable():
            yield text.decode("ascii")


def deprecated(library: bytes, texts: Iterator[str]) -> dict[str, list[str]]:
    """{API: ["wheel", replacement, ...]} from the warnings that are given when it is called."""
    deprecations: dict[str, list[str]] = {}
    for text in (*literals(library, b" is deprecated"), *texts):
        warning = re.match(r"`?(torch_npu(?:\.\w+)+)(?:\([^)]*\))?`? (?:is|will be|has been) deprecated", text)
        if warning and warning[1] not in deprecations:
            instead = re.search(r"\b[uU]se (.+?)(?: instead| as a replacement|\.?$)", text[warning.end() :])
            names = re.findall(r"[A-Za-z]\w*(?:\.\w+)+|npu_\w+", instead[1]) if instead else []
            deprecations[warning[1]] = ["wheel", *(f"torch_npu.{n}" if "." not in n else n for n in names)]
    return dict(sorted(deprecations.items()))
