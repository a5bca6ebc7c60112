"""Which files have a counterpart for NPUs beside them."""

from porter.project.counterpart_files import twins_among


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
