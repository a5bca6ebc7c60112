"""`f"(x.is_cuda={x.is_cuda!r})"`: what a text shows is called what it is."""

from __future__ import annotations

from porter.engine.rule import Hit, cst


def labelled(original: cst.FormattedString, updated: cst.BaseExpression) -> Hit | None:
    """The text with the names of the edited values that it shows."""
    if not isinstance(updated, cst.FormattedString):
        return None
    parts, code = list(updated.parts), cst.Module([]).code_for_node
    for index, (old, new) in enumerate(zip(original.parts, updated.parts)):
        label = parts[index - 1] if index else None
        if not isinstance(old, cst.FormattedStringExpression) or not isinstance(new, cst.FormattedStringExpression):
            continue
        before, after = (f"{code(part.expression)}=" for part in (old, new))
        if before != after and isinstance(label, cst.FormattedStringText) and label.value.endswith(before):
            parts[index - 1] = label.with_changes(value=label.value.removesuffix(before) + after)
    if parts == list(updated.parts):
        return None
    return Hit(original, "label", new=updated.with_changes(parts=parts), safe=True)
