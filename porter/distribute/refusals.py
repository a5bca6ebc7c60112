"""Why a script is not distributed."""

from __future__ import annotations

import ast

from porter.distribute.trace import Place


class Refused(Exception):
    """A script that is not distributed: why, at which place, and which words stand there."""

    def __init__(self, why: str, path: str, line: int, text: str = "") -> None:
        super().__init__(why)
        self.why, self.path, self.line, self.text = why, path, line, text


def refused(why: str, place: Place, text: str = "") -> Refused:
    return Refused(why, place.file.path, place.node.lineno, text or ast.unparse(place.node)[:80])
