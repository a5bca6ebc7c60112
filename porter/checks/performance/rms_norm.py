"""RMSNorm written with a square, a mean and a root: five kernels and as many passes over memory."""

from __future__ import annotations

from porter.checks.performance.opportunity import FUSING, Opportunity


class RmsNorm(Opportunity):
    code = "PRT611"
    socs = FUSING
    offers = "torch_npu.npu_rms_norm"
    patterns = {"rms-norm"}
