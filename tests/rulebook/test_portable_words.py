from command_line import Porter, write

TEXT = """import torch
def run(x, device="cuda"):
    if x.device.type == "cuda":
        return x.to("cuda")
    return x.to(device)
"""


def test_what_an_edit_for_all_accelerators_says(tmp_path, monkeypatch):
    porter = Porter(monkeypatch, write(tmp_path, {"a.py": TEXT}))
    said = {style: porter("analyze", ".", "-q", "--style", style).text for style in ("rename", "portable")}
    assert "use the NPU here" in said["rename"] and "compare with the NPU's" in said["rename"]
    assert "the NPU here" not in said["portable"] and "the NPU's" not in said["portable"]
    assert "use the accelerator here" in said["portable"] and "compare with the accelerator's" in said["portable"]
    zh = porter("analyze", ".", "-q", "--style", "portable", "--lang", "zh").text
    assert "此处请使用加速器" in zh and "此处请使用 NPU" not in zh
