"""What a file does with its profiler: whether it records a device, and whether the recording stays in sight.

The rules for torch.profiler ask: the file is ported where it records a device (`needed`), and a person looks where
there is `doubt`.
"""

from __future__ import annotations

import ast

from porter.engine.rule_file import RuleFile
from porter.python.blocks import once_for_file
from porter.python.evidence import constant
from porter.python.index import Link, Node, walk
from porter.regex import lazy

OLD = "torch.profiler"
MOVED = (
    "profile",
    "ProfilerActivity",
    "ProfilerAction",
    "schedule",
    "tensorboard_trace_handler",
    "supported_activities",
)
_MOVED = frozenset(f"{OLD}.{name}" for name in MOVED)
_PROFILE = frozenset({f"{OLD}.profile"})
_OTHERS = lazy(r"\bprofiler\.ProfilerActivity\.(?!CPU|CUDA)")
_RESULTS = lazy(rb"\.key_averages\b|\.events\s*\(\)|\.toggle_collection_dynamic|\bexecution_trace_observer\s*=")
_FLOPS = lazy(rb"\.flops\b")
_TIMES = lazy(rb"on_trace_ready|\.events\s*\(|\.table\(|export_\w*trace|export_stacks")


def package(file: RuleFile) -> str:
    return f"{file.target.module}.profiler"


def _profiles(file: RuleFile) -> list[Link]:
    return [link[1] for link in file.meaning.mentions.of(_PROFILE) if getattr(link[1][0], "func", None) is link[0]]


def _activities(call: ast.Call) -> ast.AST | None:
    return next((k.value for k in call.keywords if k.arg in ("activities", None)), None)


def _imports(file: RuleFile) -> list[tuple[str, str]]:
    return [(name, target) for name, bound in sorted(file.names.imports.items()) for target, _ in bound]


def _names_cuda(file: RuleFile) -> bool:
    return any(name.endswith("ProfilerActivity.CUDA") for name in file.apis)


@once_for_file
def needed(file: RuleFile) -> bool:
    """Whether the file may record a device. Not where each list of activities is in sight and CUDA's is never named.

    A file that asks whether something is a profiler counts as well: another file makes that one.
    """
    if _counts_alone(file):
        return False
    return (
        _names_cuda(file)
        or any(
            getattr(getattr(link[1][0], "func", None), "id", "") == "isinstance"
            for link in file.meaning.mentions.of(_PROFILE)
        )
        or any(_activities(link[0]).__class__ not in (ast.List, ast.Tuple) for link in _profiles(file))
    )


def _counts_alone(file: RuleFile) -> bool:
    """Whether the file records only to count operations: `sum(e.flops for e in recorded.key_averages())`. torch counts them on
    the host, by shapes, whatever the device is."""
    profiles = _profiles(file) if file.source.says(_FLOPS) and not file.source.says(_TIMES) else []
    if not profiles or _names_cuda(file):
        return False
    if not all(any(k.arg == "with_flops" and constant(k.value) is True for k in link[0].keywords) for link in profiles):
        return False
    read = [link for link in file.buckets[ast.Attribute] if link[0].attr == "key_averages"]
    return bool(read) and all(map(_reads_flops, read))


def _reads_flops(link: Link) -> bool:
    """`for e in recorded.key_averages()`, where nothing but `e.flops` and its name is read."""
    call = link[1]
    if call[0].__class__ is not ast.Call or call[0].func is not link[0]:
        return False
    above = call[1]
    loop: Node = above[0]
    if loop.__class__ not in (ast.comprehension, ast.For) or loop.iter is not call[0]:
        return False
    around = loop if loop.__class__ is ast.For else above[1][0]
    name = getattr(loop.target, "id", "")
    uses = [n for n in walk(around) if n.__class__ is ast.Name and n.id == name and n is not loop.target]
    reads = [n for n in walk(around) if n.__class__ is ast.Attribute and getattr(n.value, "id", "") == name]
    return len(uses) == len(reads) and {n.attr for n in reads} in ({"flops"}, {"flops", "key"})


@once_for_file
def doubt(file: RuleFile) -> str | None:
    """Why a person has to look: "results" that the NPU's profiler does not have, or a recording that goes elsewhere."""
    if file.source.says(_RESULTS):
        return "results"
    profiles = _profiles(file)
    if any(_OTHERS.search(name) for name in file.apis):
        return "elsewhere"  # written for several kinds of device
    if any(target in _MOVED and name in file.names.others for name, target in _imports(file)):
        return "elsewhere"  # bound twice: not every use can be followed
    if any(_leaves(link, file) for link in profiles):
        return "elsewhere"
    defaults = any(_activities(link[0]) is None for link in profiles)
    return None if defaults or _names_cuda(file) else "elsewhere"


def _leaves(link: Link, file: RuleFile) -> bool:
    """`self.prof = profile(...)`, `read(prof)`: used where this file does not see it."""
    handler: Node = next((k.value for k in link[0].keywords if k.arg == "on_trace_ready"), None)
    if handler.__class__ is ast.Name and handler.id in file.names.imports:
        return True
    above = link[1][0]
    if above.__class__ is ast.withitem:
        target = above.optional_vars
    elif above.__class__ is ast.Assign and len(above.targets) == 1:
        target = above.targets[0]
    else:
        return True
    if target is None:
        return False
    if target.__class__ is not ast.Name:
        return True
    return any(
        use[0].ctx.__class__ is ast.Load and use[1][0].__class__ not in (ast.Attribute, ast.withitem)
        for use in file.names.spelled(target.id)
    )


@once_for_file
def import_follows(file: RuleFile) -> bool:
    """Whether torch_npu will be a name of the file: it is, or the import that is inserted makes it one."""
    module = file.target.module
    bound = [target for _, target in _imports(file)]
    if module in file.names.imports:
        return all(target == module for target, _ in file.names.imports[module]) and module not in file.names.others
    return not file.names.bound(module) and not any(t.partition(".")[0] == module for t in bound)
