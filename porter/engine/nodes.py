"""Reads and builds small pieces of LibCST for the rules."""

from __future__ import annotations

from collections.abc import Container
from typing import TYPE_CHECKING, Any, TypeAlias

from porter.engine.rule import cst

if TYPE_CHECKING:
    Given: TypeAlias = tuple[int, cst.Arg] | tuple[None, None] | None  # what `positional` says of an argument


def dotted(name: str) -> cst.Attribute | cst.Name:
    """`a.b.c` as an expression."""
    first, *words = name.split(".")
    node: cst.Attribute | cst.Name = cst.Name(first)
    for part in words:
        node = cst.Attribute(node, cst.Name(part))
    return node


def chain(node: cst.CSTNode) -> list[str]:
    """["a", "b", "c"] of `a.b.c`; [] where the expression is not just names and dots."""
    words = []
    while isinstance(node, cst.Attribute):
        words.append(node.attr.value)
        node = node.value
    return [*reversed([*words, node.value])] if isinstance(node, cst.Name) else []


def last_word(node: cst.CSTNode) -> str:
    """`save` of `torch.save` and of `save`; "" for what is no name."""
    word: str = node.attr.value if isinstance(node, cst.Attribute) else node.value if isinstance(node, cst.Name) else ""
    return word


def positional(call: cst.Call, position: int | None, keywords: tuple[str, ...] = ()) -> Given:
    """(index, Arg) of the argument that is given at `position`, or by one of `keywords`.

    (None, None) where the call does not give it; None where `*args` or `**kwargs` may give it.
    """
    for index, arg in enumerate(call.args):
        if arg.keyword is not None and arg.keyword.value in keywords:
            return index, arg
    for index, arg in enumerate(call.args):
        if arg.star:
            return None
        if arg.keyword is None and index == position:
            return index, arg
    return None, None


def quoted(node: cst.SimpleString, new: str) -> cst.SimpleString:
    """The string with another text, in the author's prefix and quotes. `new` is not escaped: it must hold neither that
    quote nor a backslash that is meant literally."""
    mark = node.quote
    return node.with_changes(value=f"{node.prefix}{mark}{new}{mark}")


def imported(node: cst.Import | cst.ImportFrom) -> list[str]:
    """The modules and names that a statement imports: ["a.b", "a.c"] for `from a import b, c`, ["a"] for `from a import *`.
    [] for a relative import."""
    if isinstance(node, cst.Import):
        return [".".join(chain(alias.name)) for alias in node.names]
    if node.relative or node.module is None:
        return []
    module = ".".join(chain(node.module))
    return [module] if isinstance(node.names, cst.ImportStar) else [f"{module}.{a.name.value}" for a in node.names]


def bound(node: cst.Import | cst.ImportFrom) -> list[str]:
    """The names that an import statement binds: ["a"] for `import a.b`, ["c"] for `from a import b as c`, [] for a star."""
    names = () if isinstance(node.names, cst.ImportStar) else node.names
    return [
        alias.evaluated_alias or (chain(alias.name)[0] if isinstance(node, cst.Import) else alias.evaluated_name)
        for alias in names
    ]


def with_keyword(call: cst.Call, keyword: str, value: cst.BaseExpression) -> cst.Call:
    """The call with one more argument at its end. It gets a line of its own where the other arguments have one."""
    none = cst.SimpleWhitespace("")
    new = cst.Arg(value, cst.Name(keyword), equal=cst.AssignEqual(whitespace_before=none, whitespace_after=none))
    if not call.args:
        return call.with_changes(args=[new])
    *earlier, last = call.args
    before = call.whitespace_before_args
    between: cst.BaseParenthesizableWhitespace
    # one argument a line, with a comma behind the last
    if (
        isinstance(last.comma, cst.Comma)
        and isinstance(last.comma.whitespace_after, cst.ParenthesizedWhitespace)
        and isinstance(before, cst.ParenthesizedWhitespace)
    ):
        end = last.comma.whitespace_after
        between = end.with_changes(indent=before.indent, last_line=before.last_line)
        last = last.with_changes(comma=cst.Comma(last.comma.whitespace_before, between))
        bare = cst.TrailingWhitespace(newline=end.first_line.newline)
        new = new.with_changes(comma=cst.Comma(whitespace_after=end.with_changes(first_line=bare, empty_lines=[])))
    # no comma behind the last argument, and the closing bracket in a line of its own
    elif isinstance(last.whitespace_after_arg, cst.ParenthesizedWhitespace):
        between = before if isinstance(before, cst.ParenthesizedWhitespace) else cst.SimpleWhitespace(" ")
        new = new.with_changes(whitespace_after_arg=last.whitespace_after_arg)
        last = last.with_changes(whitespace_after_arg=none, comma=cst.Comma(whitespace_after=between))
    return call.with_changes(args=[*earlier, last, new])


def moved_to(call: Any) -> Any:
    """`x.cuda(device, True)` as `x.to(device, non_blocking=True)`: the second argument has another position in `to`, so that
    arguments behind the device get their names."""
    plain = cst.AssignEqual(cst.SimpleWhitespace(""), cst.SimpleWhitespace(""))
    names = ("", "non_blocking", "memory_format")
    args = [
        a.with_changes(keyword=cst.Name(names[index]), equal=plain) if index and a.keyword is None else a
        for index, a in enumerate(call.args)
    ]
    return call.with_changes(func=call.func.with_changes(attr=call.func.attr.with_changes(value="to")), args=args)


def without_arguments(original: cst.Call, updated: cst.Call, gone: Container[int]) -> cst.Call | None:
    """The call without the arguments at these indices. None if a comment is about one of them: a person has to keep it."""
    code = cst.Module([]).code_for_node
    before: Any = original.whitespace_before_args
    for index, arg in enumerate(original.args):
        above = [line for line in getattr(before, "empty_lines", ()) if line.comment]
        if index in gone and (above or "#" in code(arg)):
            return None
        before = getattr(arg.comma, "whitespace_after", None)
    args = [arg for index, arg in enumerate(updated.args) if index not in gone]
    if args and len(original.args) - 1 in gone:
        end = updated.args[-1]
        comma = as_last(args[-1].comma, end.comma)
        args[-1] = args[-1].with_changes(comma=comma, whitespace_after_arg=end.whitespace_after_arg)
    return updated.with_changes(args=args)


def as_last(comma: Any, end: Any) -> Any:
    """The comma of what is the last item now, with the comments behind it. `end`: that of the last item before, whose comments
    go with that."""
    space: Any = getattr(comma, "whitespace_after", None)
    tail: Any = getattr(end, "whitespace_after", None)
    if isinstance(tail, cst.ParenthesizedWhitespace):
        if isinstance(space, cst.ParenthesizedWhitespace):
            tail = space.with_changes(indent=tail.indent, last_line=tail.last_line)
        else:
            tail = tail.with_changes(first_line=tail.first_line.with_changes(comment=None), empty_lines=[])
        return end.with_changes(whitespace_after=tail)
    return (
        comma if isinstance(space, cst.ParenthesizedWhitespace) and "#" in cst.Module([]).code_for_node(space) else end
    )
