"""`types_beside.py PROGRAMS`: of each form, for each type that weights and activations have and each autocast around them, the
type that the written-out program gives, the one that the fused program gives, and by how many roundings they differ."""

import json
import sys

import torch
import torch_npu  # noqa: F401
from says import weights

SHORT = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}


def main(path):
    with open(path, encoding="utf-8") as stream:
        programs = json.load(stream)
    print(json.dumps({name: _table(*texts) for name, texts in programs.items()}))


def _table(written, fused):
    table = {}
    for weight in SHORT:
        for activation in SHORT:
            for autocast in ("", "bfloat16", "float16"):
                runs = [_run(text, weight, activation, autocast) for text in (written, fused)]
                table[f"{weight} {activation} {autocast}"] = _beside(*runs)
    return table


def _beside(written, fused):
    names = [run if isinstance(run, str) else str(run[0].dtype).removeprefix("torch.") for run in (written, fused)]
    apart = None
    if names[0] == names[1] in SHORT:
        unit = max(torch.finfo(t.dtype).eps for t in written)
        apart = max(_apart(w, f, unit) for w, f in zip(written, fused))
    return [*names, apart]


def _apart(written, fused, unit):
    """The largest difference, in roundings of the shortest type that comes out."""
    written, fused = written.double(), fused.double()
    return round(float(((written - fused).abs() / (unit * (1 + written.abs()))).max()), 2)


def _run(text, weight, activation, autocast):
    """The result and the gradient of what is handed over first; or what is raised."""
    torch.manual_seed(0)
    space = {}
    exec(text, space)
    model = space["Model"]().npu().to(SHORT[weight])
    kinds = space.get("KINDS", "a" * 9)  # of each input: of an activation, or kept with the weights
    given = [t.npu().to(SHORT[activation if kind == "a" else weight]) for t, kind in zip(space["inputs"](), kinds)]
    first = given[0].requires_grad_()
    try:
        with torch.autocast("npu", enabled=bool(autocast), dtype=SHORT.get(autocast)):
            result = model(*given)
        (result.float() * weights(result)).sum().backward()
    except RuntimeError as error:
        return f"raises {str(error).splitlines()[0][:60]}"
    return result.detach().cpu(), first.grad.cpu()


if __name__ == "__main__":
    main(*sys.argv[1:])
