"""`add_argument("--local_rank")`: the launcher of torch 2 passes `--local-rank`, and torchrun passes neither."""

from __future__ import annotations

import ast
from typing import Any

from porter.engine.nodes import quoted
from porter.engine.rule import Answer, Hit, Rule, cst
from porter.engine.rule_file import Node, RuleFile
from porter.python.blocks import once_for_file
from porter.python.evidence import constant
from porter.python.guards import in_branch
from porter.regex import lazy

OLD, NEW = "--local_rank", "--local-rank"
# the option follows torchrun: `args.local_rank = int(os.environ["LOCAL_RANK"])`. Where the option sets the variable,
# or the variable gives another option its value, torch.distributed.launch is what starts the program
_SETS = lazy(rb"\benviron\[[\"']LOCAL_RANK[\"']\]\s*=(?!=)")
_GIVES = lazy(rb"(?:local_rank|LOCAL_RANK)\b(?:(?!(?:local_rank|LOCAL_RANK)\b)[^=,\]])*[=,]")
_RANK = lazy(rb"\bLOCAL_RANK\b")
# the program starts its own processes, and each overwrites the option with its number
_SPAWNS = lazy(rb"\bspawn\([ \t\n]*\w")
_OVERWRITES = lazy(rb"\.local_rank[ \t]*=[ \t]*(?:local_)?(?:rank|gpu|proc(?:ess)?_?id|i|idx|index)\b")


@once_for_file
def _is_known(file: RuleFile) -> bool:
    """Both spellings are taken already, the rank comes from the environment, or from the program itself."""
    says = file.source.says
    started = file.facts.launch.by_module
    own = says(_SPAWNS) and says(_OVERWRITES) and not _started(file)
    if own or says(NEW.encode()):
        return True
    # what the launcher hands over has to be known, whatever the rank is taken from; options of others may be those of any program
    if started and (not says(b"__main__") or _started(file)):
        return False
    return says(b"LOCAL_RANK") and not says(_SETS) and any(map(_follows, file.source.utf8.split(b"\n")))


def _started(file: RuleFile) -> bool:
    """Whether a script or page of the project starts the file with torch.distributed.launch."""
    return file.path.rpartition("/")[2] in file.facts.launch.by_module


def _follows(line: bytes) -> bool:
    given = _GIVES.search(line)
    return given is not None and _RANK.search(line, given.end()) is not None


def _lists(node: Node) -> bool:
    """`{"--local_rank": {"type": int}}`, of which a program makes its options."""
    keys = node.keys if isinstance(node, ast.Dict) else ()
    return any(
        constant(key) == OLD and isinstance(value, ast.Dict) for key, value in zip(keys, getattr(node, "values", ()))
    )


class LocalRankOption(Rule):
    code = "PRT215"
    nodes = ("Call", "Dict")
    text = r"--local_rank(?<=[\"']--local_rank)[\"']"
    only = staticmethod(
        lambda _, link: getattr(getattr(link[0], "func", None), "attr", "") == "add_argument" or _lists(link[0])
    )

    def visit(self, original: cst.Call | cst.Dict, updated: Any, file: RuleFile) -> Answer:
        if isinstance(original, cst.Dict):
            keys = [
                e.key for e in original.elements if isinstance(e, cst.DictElement) and isinstance(e.value, cst.Dict)
            ]
            key = next((k for k in keys if isinstance(k, cst.SimpleString) and k.raw_value == OLD), None)
            is_asked = key is not None and file.facts.launch.by_module and not _is_known(file)
            return Hit(key, "listed") if is_asked else None
        if not isinstance(original.func, cst.Attribute) or original.func.attr.value != "add_argument":
            return None
        if (
            file.path.endswith(".ipynb")
            or _is_known(file)
            or "LOCAL_RANK" in file.text(original)
            and not _started(file)
        ):
            return None  # what is known already, or no launcher starts
        link = file.scene.link(original)
        if link is not None and in_branch(link):
            return None  # `if torch_major == 1:`, and later ones take the environment
        for index, arg in enumerate(original.args):
            text = arg.value
            if arg.keyword is None and isinstance(text, cst.SimpleString) and text.raw_value == OLD:
                args = [*updated.args]
                comma = cst.Comma(whitespace_after=cst.SimpleWhitespace(" "))
                args[index] = args[index].with_changes(comma=comma)
                args.insert(index + 1, cst.Arg(quoted(text, NEW), comma=original.args[index].comma))
                return Hit(arg, "found", new=updated.with_changes(args=args), safe=True)
        return None
