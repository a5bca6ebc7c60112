"""`Image.ANTIALIAS`, `transforms.Scale`, `models.resnet.model_urls`: names that Pillow and torchvision have taken away."""

from __future__ import annotations

import re
from typing import Any

from porter.checks.device.import_parts import Alias, renamed
from porter.checks.support.fresh_environment import is_chosen, matters
from porter.checks.support.jitter import JITTER, is_called
from porter.engine.nodes import chain, dotted, imported
from porter.engine.rule import TOGETHER, Answer, Hit, Rule, cst
from porter.engine.rule_file import RuleFile
from porter.regex import rare
from porter.versions import release

_FILTERS = {"ANTIALIAS": "LANCZOS", "LINEAR": "BILINEAR", "CUBIC": "BICUBIC"}  # gone with Pillow 10
_TRANSFORMS = {"Scale": "Resize", "RandomSizedCrop": "RandomResizedCrop"}  # gone with torchvision 0.12
_MODULES = {  # gone with torchvision 0.11, and with 0.17, which belongs to torch 2.2
    "torchvision.models.utils": ("torch.hub", {"load_state_dict_from_url"}, "0.11"),
    "torchvision.transforms.functional_tensor": ("torchvision.transforms.functional", {"rgb_to_grayscale"}, "0.17"),
}
_OLD = ("Scale", "RandomSizedCrop", "ANTIALIAS", "model_urls")
_URLS = frozenset(
    f"torchvision.models.{name}.model_urls"
    for name in "alexnet densenet googlenet inception mnasnet mobilenet resnet shufflenetv2 squeezenet vgg".split()
)
_NEW = {f"PIL.Image.{old}": new for old, new in _FILTERS.items()} | {
    f"torchvision.transforms.{module}{old}": new for module in ("", "transforms.") for old, new in _TRANSFORMS.items()
}
_THOUGHT = rare(
    rb"Resampling(?<=\bResampling)\b|hasattr\([\w.]+,[ \t]*[\"'](?:ANTIALIAS|Scale|RandomSizedCrop|model_urls)[\"']"
)


class ImageNames(Rule):
    code = "PRT715"
    references = frozenset({*_NEW, *_URLS})
    calls = frozenset({JITTER})
    nodes = ("Import", "ImportFrom")
    text = tuple(rf"\b{name}\b" for name in (*_OLD, *map(re.escape, _MODULES)))

    def visit(
        self, original: cst.Attribute | cst.Name | cst.Call | cst.Import | cst.ImportFrom, updated: Any, file: RuleFile
    ) -> Answer:
        if not matters(file) or file.source.says(_THOUGHT):
            return None
        is_import = isinstance(original, (cst.Import, cst.ImportFrom))
        place = original.func if isinstance(original, cst.Call) else original
        if is_chosen(file.scene.link_to(file.statement) if is_import else file.link(place)):
            return None
        if isinstance(original, cst.Call):
            return Hit(original.func, "jitter") if is_called(file, original) else None
        if isinstance(original, cst.Import):
            gone = next((name for name in imported(original) if name in _MODULES), None)
            return _module(original, None, gone, file) if gone and not file.imported.import_guard() else None
        if isinstance(original, cst.ImportFrom):
            return _statement(original, updated, file)
        if (
            not isinstance(original, cst.Attribute)
            or not file.around.is_read(original)
            or file.imported.optional(original)
        ):
            return None
        name = file.name(original) or ""
        if name in _URLS:
            return Hit(original, "urls", values=(("old", file.text(original)), (TOGETHER, "urls")))
        new = updated.with_changes(attr=updated.attr.with_changes(value=_NEW[name]))
        return _renamed(original, new, name, file)


def _renamed(original: Any, new: Any, name: str, file: RuleFile) -> Hit:
    is_filter = name.startswith("PIL.")
    library = "Pillow 10" if is_filter else "torchvision 0.12"
    values = (("new", _NEW[name]), ("old", name.rpartition(".")[2]), ("version", library))
    # where the project holds on to an older Pillow, nothing stops
    is_held = is_filter and file.facts.lists.below("pillow>=10", file.path)
    return Hit(original, "gone", new=new, safe=True, values=values, severity="note" if is_held else None)


def _statement(original: cst.ImportFrom, updated: cst.ImportFrom, file: RuleFile) -> Hit | None:
    if original.relative or original.module is None:
        return None
    module, is_star = ".".join(chain(original.module)), isinstance(original.names, cst.ImportStar)
    names = [] if is_star else imported(original)
    gone = next((name for name in (module, *names) if name in _MODULES), None)
    if gone is None and not any(name in _NEW or name in _URLS for name in names) or file.imported.import_guard():
        return None
    if gone is not None:
        new, moved, _ = _MODULES[gone]
        is_all = gone == module and not is_star and moved.issuperset(name.rpartition(".")[2] for name in names)
        return _module(original, updated.with_changes(module=dotted(new)) if is_all else None, gone, file)
    if urls := next((name for name in names if name in _URLS), None):
        return Hit(original, "urls", values=(("old", urls), (TOGETHER, "urls")))
    aliases: list[Alias] = [*updated.names]  # type: ignore[misc]
    for index, name in enumerate(names):
        aliases[index] = renamed(aliases[index], _NEW.get(name, aliases[index].name.value))
    return _renamed(original, updated.with_changes(names=aliases), next(n for n in names if n in _NEW), file)


def _module(original: Any, new: Any, gone: str, file: RuleFile) -> Hit | None:
    successor, _, version = _MODULES[gone]
    if version == "0.17" and release(file.session.catalogue.torch) < (2, 2):
        return None
    values = (("old", gone), ("new", successor), ("version", version))
    return Hit(original, "module", new=new, safe=True, values=values)
