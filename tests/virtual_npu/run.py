"""`run.py FILE ANSWERS`: runs the facts of FILE on the device and writes what each one said."""

import importlib
import json
import os
import sys
import traceback


def main(name, answers):
    module = importlib.import_module(name)
    rank = os.environ.get("RANK", "0")
    path = answers.removesuffix(".jsonl") + f".{rank}.jsonl"
    with open(path, "w", encoding="utf-8", buffering=1) as stream:
        for key, function in list(vars(module).items()):
            if not key.startswith("fact_"):
                continue
            fact = key.removeprefix("fact_")
            for case in getattr(function, "cases", [None]):
                text = _ask(function, case)
                stream.write(json.dumps([fact if case is None else f"{fact}[{case}]", text]) + "\n")
    if hasattr(module, "end"):
        module.end()


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
