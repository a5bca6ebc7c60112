"""`add_argument("--local_rank")`: the launcher of torch 2 passes `--local-rank`, and torchrun passes neither."""

from __future__ import annotations

from porter.engine.nodes import quoted
from porter.engine.rule import Answer, Hit, Rule, cst
from porter.engine.rule_file import RuleFile

OLD, NEW = "--local_rank", "--local-rank"


class LocalRankOption(Rule):
    code = "PRT215"
    nodes = ("Call",)
    text = r"[\"']--local_rank[\"']"
    only = staticmethod(lambda _, link: getattr(link[0].func, "attr", "") == "add_argument")

    def visit(self, original: cst.Call, updated: cst.Call, file: RuleFile) -> Answer:
        if not isinstance(original.func, cst.Attribute) or original.func.attr.value != "add_argument":
            return None
        if any(map(file.source.says, (NEW.encode(), b"LOCAL_RANK"))) or file.path.endswith(".ipynb"):
            return None  # what is known already, or no launcher starts
        for index, arg in enumerate(original.args):
            text = arg.value
            if arg.keyword is None and isinstance(text, cst.SimpleString) and text.raw_value == OLD:
                args = [*updated.args]
                comma = cst.Comma(whitespace_after=cst.SimpleWhitespace(" "))
                args[index] = args[index].with_changes(comma=comma)
                args.insert(index + 1, cst.Arg(quoted(text, NEW), comma=original.args[index].comma))
                return Hit(arg, "found", new=updated.with_changes(args=args), safe=True)
        return None
