"""Where the work is, as rectangles: the area is what was found in a file, the tone what porter leaves of it."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

WIDTH, HEIGHT = 960.0, 360.0
HEAD = 16.0  # for the name of a folder
GAP = 2.0
STEPS = 4


Tree: TypeAlias = dict[str, Any]  # folders are such trees, files are (places, places left)


class Box(NamedTuple):
    path: str
    name: str
    x: float
    y: float
    w: float
    h: float
    tone: int  # 0: nothing is left for a person; STEPS: all of it
    folder: bool
    places: int
    left: int


def boxes(files: dict[str, tuple[int, int]]) -> list[Box]:
    """`files`: path -> (places, places left for a person)."""
    boxes: list[Box] = []
    _place(_tree(files), "", 0.0, 0.0, WIDTH, HEIGHT, boxes)
    return boxes


def _tree(files: dict[str, tuple[int, int]]) -> Tree:
    tree: Tree = {}
    for path, numbers in sorted(files.items()):
        *folders, name = path.split("/")
        subtree = tree
        for folder in folders:
            subtree = subtree.setdefault(folder + "/", {})
        subtree[name] = numbers
    return tree


def _sum(node: Any) -> tuple[int, int]:
    if isinstance(node, tuple):
        return node
    parts = [_sum(child) for child in node.values()]
    return sum(p[0] for p in parts), sum(p[1] for p in parts)


def _place(tree: Tree, prefix: str, x: float, y: float, w: float, h: float, boxes: list[Box]) -> None:
    sizes = sorted(((_sum(node), name, node) for name, node in tree.items()), key=lambda item: (-item[0][0], item[1]))
    sizes = [item for item in sizes if item[0][0]]
    for ((places, left), name, node), (bx, by, bw, bh) in zip(sizes, _squares([s[0][0] for s in sizes], x, y, w, h)):
        folder = isinstance(node, dict)
        while folder and len(node) == 1 and isinstance(inner := next(iter(node.values())), dict):
            name, node = name + next(iter(node)), inner  # a/ that holds nothing but b/ is a/b/
        bx, by, bw, bh = bx + GAP / 2, by + GAP / 2, max(bw - GAP, 0.5), max(bh - GAP, 0.5)
        tone = -(-STEPS * left // places)
        corner, size = (round(bx, 1), round(by, 1)), (round(bw, 1), round(bh, 1))
        boxes.append(Box(prefix + name, name, *corner, *size, tone, folder, places, left))
        if folder and bh > 3 * HEAD and bw > 3 * HEAD:
            _place(node, prefix + name, bx, by + HEAD, bw, bh - HEAD, boxes)
        elif folder:
            boxes[-1] = boxes[-1]._replace(folder=False)  # too small to be drawn with what is in it


def _squares(sizes: list[int], x: float, y: float, w: float, h: float) -> list[tuple[float, float, float, float]]:
    """Rectangles as square as they get, in the order of `sizes`, the largest first."""
    out: list[tuple[float, float, float, float]] = []
    scale = w * h / sum(sizes) if sizes else 0
    areas = [size * scale for size in sizes]
    while areas:
        side = min(w, h)
        row = 1
        while row < len(areas) and _worst(areas[: row + 1], side) <= _worst(areas[:row], side):
            row += 1
        depth = sum(areas[:row]) / side if side else 0
        offset = 0.0
        for area in areas[:row]:
            size = area / depth if depth else 0
            out.append((x, y + offset, depth, size) if w >= h else (x + offset, y, size, depth))
            offset += size
        areas = areas[row:]
        x, y, w, h = (x + depth, y, w - depth, h) if w >= h else (x, y + depth, w, h - depth)
    return out


def _worst(row: list[float], side: float) -> float:
    total = sum(row)
    return (
        max(side * side * max(row) / (total * total), total * total / (side * side * min(row)))
        if total and side
        else 1e9
    )
