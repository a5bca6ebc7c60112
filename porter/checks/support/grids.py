"""Pictures in a grid, whose range torchvision calls otherwise today."""

from __future__ import annotations

from porter.engine.rule import Hit, cst


def of_grid(original: cst.Call, updated: cst.Call, name: str) -> Hit | None:
    """`save_image(x, path, range=(-1, 1))`: torchvision has called it `value_range` since 0.9."""
    given = [a.keyword.value if a.keyword else "" for a in original.args]
    if "range" not in given or "value_range" in given:
        return None
    index = given.index("range")
    args = [*updated.args]
    args[index] = args[index].with_changes(keyword=cst.Name("value_range"))
    values = (("name", name.rpartition(".")[2]),)
    return Hit(original.args[index], "range", new=updated.with_changes(args=args), safe=True, values=values)
