"""`run.py ANSWERS FILE...`: runs the facts of each FILE on the device and writes what each one said."""

import importlib
import json
import os
import sys
import traceback


def main(answers, *names):
    rank = os.environ.get("RANK", "0")
    path = answers.removesuffix(".jsonl") + f".{rank}.jsonl"
    with open(path, "w", encoding="utf-8", buffering=1) as stream:
        for module in map(importlib.import_module, names):
            for key, text in _facts(module):
                stream.write(json.dumps([f"{module.__name__}.{key}", text]) + "\n")
            if hasattr(module, "end"):
                module.end()


def _facts(module):
    for key, function in list(vars(module).items()):
        if key.startswith("fact_"):
            fact = key.removeprefix("fact_")
            for case in getattr(function, "cases", [None]):
                yield (fact if case is None else f"{fact}[{case}]"), _ask(function, case)


def _ask(function, case):
    try:
        function() if case is None else function(case)
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        inside = next(
            (f for f in reversed(traceback.extract_tb(error.__traceback__)) if "virtual_npu" in f.filename), where
        )
        return f"{type(error).__name__}: {str(error)[:600]} ({os.path.basename(inside.filename)}:{inside.lineno})"
    return ""


if __name__ == "__main__":
    main(*sys.argv[1:])
