"""Which files have a counterpart for NPUs beside them."""

from porter.project.counterpart_files import npu_folders, twins_among


def test_all_images_for_cuda_have_theirs_where_a_folder_beside_holds_one_for_npus() -> None:
    files = [
        "docker/docker-cuda/Dockerfile",
        "docker/docker-cuda/Dockerfile.base",
        "docker/docker-cuda/install.sh",
        "docker/docker-npu/Dockerfile",
        "docker/docker-rocm/Dockerfile",
        "images/gpu/Dockerfile",
        "images/cpu/Dockerfile",
    ]
    assert sorted(twins_among(files)) == ["docker/docker-cuda/Dockerfile", "docker/docker-cuda/Dockerfile.base"]


def test_a_script_and_a_module() -> None:
    files = ["run.sh", "run_npu.sh", "cuda_worker.py", "npu_worker.py", "cuda_plan.py"]
    assert sorted(twins_among(files)) == ["cuda_worker.py", "run.sh"]


def test_a_project_that_asks_for_npus_runs_on_both() -> None:
    files = ["pyproject.toml", "tool/env.py", "tool/train.py"]
    assert npu_folders({"tool/env.py": True}, files) == ("",)
    assert npu_folders({"tool/train.py": False}, files) == ()
    assert npu_folders({"src/trl/import_utils.py": True}, files) == ("",)
    assert npu_folders({"trl/import_utils.py": True}, files) == ("",)


def test_a_copy_of_a_library_speaks_for_itself_alone() -> None:
    files = ["pyproject.toml"]
    asks = {"llava/trl/import_utils.py": True, "llava/trl/core.py": False, "llava/train.py": False}
    assert npu_folders(asks, files) == ("llava/trl/",)
    assert npu_folders({"transformers/src/transformers/utils.py": True}, files) == ("transformers/src/transformers/",)
