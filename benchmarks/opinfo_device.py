"""`opinfo_device.py FILE FIRST STEP SAMPLES SKIP`: the part of opinfo.py that runs on the virtual NPU."""

from __future__ import annotations

import functools
import json
import signal
import sys

import torch
import torch_npu  # noqa: F401
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils import _pytree as pytree
from virtual_npu import native

SECONDS = 60  # for one operator
DOUBLE = "torch_npu makes double single"
# What the text of an error says about why it is raised here and not on the CPU
EXPECTED = {
    "Only contiguous_format or preserve_format is supported": "channels_last is refused by torch_npu",
    "NPU contiguous operator only supported contiguous": "channels_last is refused by torch_npu",
    "only dense tensors are simulated": "sparse tensors are not simulated",
    "arguments from the 'SparseCsrnpu' backend": "sparse tensors are not simulated",
    "Expected a 'npu' device type for generator": "a generator of the CPU is refused",
    "expected tensor_indices_or_sections to be on cpu": "the sections must stay on the CPU",
}


class Late(Exception):
    pass


class Unusable(Exception):
    """The CPU raises too."""


def moved(x):
    if isinstance(x, torch.Tensor):
        if x.layout != torch.strided or x.is_conj() or x.is_neg():
            return x.detach().to("npu").requires_grad_(x.requires_grad)
        # with all of its storage, of which it may be a view
        size = x.untyped_storage().nbytes() // x.element_size()
        whole = x.detach().as_strided((size,), (1,), 0).to("npu")
        return whole.as_strided(x.shape, x.stride(), x.storage_offset()).requires_grad_(x.requires_grad)
    if isinstance(x, torch.device):
        return torch.device("npu")
    return "npu" if isinstance(x, str) and x == "cpu" else x


def copied(x):
    return x.detach().clone().requires_grad_(x.requires_grad) if isinstance(x, torch.Tensor) else x


def tensors(tree):
    return [x for x in pytree.tree_leaves(tree) if isinstance(x, torch.Tensor)]


def same(a, b):
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    a, b = (t.detach().cpu().resolve_conj().resolve_neg() for t in (a, b))
    if a.is_complex():
        a, b = torch.view_as_real(a), torch.view_as_real(b)
    return bool(((a == b) | ((a != a) & (b != b))).all())


def weights(x):
    w = torch.linspace(-1, 1, x.numel()).reshape(x.shape).to(x.dtype if x.is_floating_point() else torch.float32)
    return w.to(x.dtype).to(x.device)


def gradients(result, given):
    outputs = [t for t in tensors(result) if t.requires_grad and (t.is_floating_point() or t.is_complex())]
    leaves = [t for t in tensors(given) if t.requires_grad]
    if not outputs or not leaves:
        return None
    cotangents = [weights(t) for t in outputs]
    return functools.partial(torch.autograd.grad, outputs, leaves, cotangents, allow_unused=True)


class Traced:
    def __init__(self, into):
        self.into = into

    def __enter__(self):
        native.trace(True, "", False)

    def __exit__(self, *exception):
        native.pause(False)
        for name, _, kind, *_ in native.seen():
            # one overload on the CPU is what counts
            if self.into.get(name) != "cpu_fallback":
                self.into[name] = kind


class Row:
    def __init__(self, op):
        self.op = op
        self.samples = self.with_gradients = 0
        self.reasons = []
        self.apis = {}

    def add(self, why, known):
        if (why, known) not in self.reasons:
            self.reasons.append((why, known))

    def api(self, name):
        return self.apis.setdefault(name, {"forward": {}, "backward": {}})

    def sample(self, s):
        given = (s.input, s.args, s.kwargs)
        on_npu = pytree.tree_map(moved, given)
        torch.manual_seed(0)
        try:
            wanted = self.op.op(s.input, *s.args, **s.kwargs)
        except Exception as error:
            raise Unusable from error
        forward: dict[str, str] = {}
        torch.manual_seed(0)
        with Traced(forward):
            found = self.op.op(on_npu[0], *on_npu[1], **on_npu[2])
        self.samples += 1
        entry = self.api(api_name(self.op))
        entry["forward"].update(forward)
        self.compare("", found, wanted, given)
        backward, plain = gradients(found, on_npu), gradients(wanted, given)
        if backward is None or plain is None:
            return
        try:
            expected = plain(retain_graph=True)
        except Exception as error:
            raise Unusable from error
        with Traced(entry["backward"]):
            grads = backward()
        self.with_gradients += 1
        self.compare("the gradient ", grads, expected, given, lambda: plain(retain_graph=True))

    def compare(self, what, found, wanted, given, again=None):
        found, wanted = tensors(found), tensors(wanted)
        if len(found) != len(wanted):
            self.add(f"{what}has {len(found)} tensors, not {len(wanted)}", False)
        for a, b in zip(found, wanted):
            if same(a, b):
                continue
            if "empty" in self.op.name and (a.dtype, a.shape) == (b.dtype, b.shape):
                self.add("it is memory that nobody wrote", True)
            elif DOUBLE in dict(self.reasons) or (a.dtype != b.dtype and b.dtype in (torch.float64, torch.complex128)):
                self.add(DOUBLE, True)
            elif not self.repeats(given, again):
                self.add(f"{what}differs from one run on the CPU to the next", True)
            else:
                self.add(f"{what}differs ({a.dtype} {tuple(a.shape)}, {b.dtype} {tuple(b.shape)})", False)

    def repeats(self, given, again):
        """Whether the CPU says the same from other memory."""
        runs = []
        for _ in range(4):
            input, args, kwargs = pytree.tree_map(copied, given)
            torch.manual_seed(0)
            result = self.op.op(input, *args, **kwargs)
            runs.append(tensors(gradients(result, (input, args, kwargs))() if again else result))
        return all(same(a, b) for run in runs[1:] for a, b in zip(run, runs[0]))

    def variants(self, s):
        """The methods and aliases of the operator: traced, not compared."""
        for name, function, in_place in other_names(self.op):
            given = pytree.tree_map(moved, (s.input, s.args, s.kwargs))
            input, args, kwargs = given
            if in_place and isinstance(input, torch.Tensor) and input.requires_grad:
                input = input.clone()
            entry = {"forward": {}, "backward": {}}
            try:
                with Traced(entry["forward"]):
                    result = function(input, *args, **kwargs)
                backward = gradients(result, given)
                if backward is not None:
                    with Traced(entry["backward"]):
                        backward()
            except Exception:  # noqa: BLE001  a form that the sample does not fit says nothing
                continue
            for part, seen in entry.items():
                self.api(name)[part].update(seen)

    def line(self):
        own = set(native.own_derivatives())
        for entry in self.apis.values():
            entry["own"] = sorted(own & entry["forward"].keys())
        self.apis.pop("", None)
        unknown = [why for why, known in self.reasons if not known]
        verdict = (
            "unexplained"
            if unknown
            else "explained"
            if self.reasons
            else "identical"
            if self.samples
            else "not compared"
        )
        why = "; ".join(unknown or [why for why, _ in self.reasons]) or (
            "" if self.samples else "the CPU has no sample, or raises too"
        )
        return {
            "name": self.op.full_name if hasattr(self.op, "full_name") else self.op.formatted_name, "verdict": verdict,
            "why": why, "samples": self.samples, "gradients": self.with_gradients, "apis": self.apis,
        }  # fmt: skip


def resolve(path):
    found = torch
    for part in path.split("."):
        found = getattr(found, part, None)
    return found


def api_name(op):
    """How a program calls it: a method where there is no function, and "" where it cannot be called by its name."""
    name = op.name.removeprefix("torch.")
    if callable(resolve(name)):
        return f"torch.{name}"
    return f"torch.Tensor.{name}" if hasattr(torch.Tensor, name) else ""


def other_names(op):
    for holder in (op, *op.aliases):
        name = holder.name.removeprefix("torch.")
        if holder is not op and callable(resolve(name)):
            yield f"torch.{name}", holder.op, False
        for function, in_place in ((holder.method_variant, False), (holder.inplace_variant, True)):
            name = getattr(function, "__name__", "")
            if hasattr(torch.Tensor, name) and f"torch.Tensor.{name}" != api_name(op):
                yield f"torch.Tensor.{name}", function, in_place


def ask(op, count):
    row = Row(op)
    dtypes = op.supported_dtypes("cpu")
    dtype = next((d for d in (torch.float32, torch.int64, torch.bool, torch.complex64) if d in dtypes), None)
    if dtype is None:
        return row
    differentiable = op.supports_autograd and dtype == torch.float32
    torch.manual_seed(1)
    for number, s in enumerate(op.sample_inputs("cpu", dtype, requires_grad=differentiable)):
        if number >= count:
            break
        try:
            row.sample(s)
        except Late:
            raise
        except Unusable:
            continue
        except Exception as error:  # noqa: BLE001  whatever an operator raises is the finding
            text = str(error)
            known = next((why for said, why in EXPECTED.items() if said in text), "")
            first = (text.splitlines() or [""])[0]
            row.add(known or f"{type(error).__name__}: {first[:160]}", bool(known))
        row.variants(s)
    return row


def late(*_):
    raise Late


def main(path, first, step, count, skip):
    signal.signal(signal.SIGALRM, late)
    with open(path, "w", encoding="utf-8", buffering=1) as stream:
        for op in op_db[int(first) :: int(step)][int(skip) :]:
            start = stream.tell()
            # what is left where the process ends within the operator
            unfinished = {"name": op.formatted_name, "verdict": "", "why": "", "samples": 0, "gradients": 0, "apis": {}}
            stream.write(json.dumps(unfinished) + "\n")
            stream.flush()
            signal.alarm(SECONDS)
            try:
                row = ask(op, int(count)).line()
            except Late:
                row = {**unfinished, "verdict": "not compared", "why": f"not done in {SECONDS} s"}
            finally:
                signal.alarm(0)
                native.pause(False)
                torch.set_grad_enabled(True)
            stream.seek(start)
            stream.truncate()
            stream.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
