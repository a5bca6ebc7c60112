"""Scripts of TensorFlow and JAX in a project with others for torch."""

from porter.project.other_frameworks import of_others

FILES = {
    "vision/eval.py": b"import tensorflow as tf\n",
    "vision/scripts/eight/eval.sh": b"python3 eval.py\n",
    "rl/dqn.py": b"import torch\n",
    "rl/dqn_jax.py": b"import jax\nimport flax.linen as nn\n",
    "rl/run.sh": b"python dqn_jax.py\n",
    "rl/both.sh": b"python dqn_jax.py\npython dqn.py\n",
    "flow/tests/infer.py": b"import numpy\nimport oneflow as torch\n\nprint(torch.zeros(2))\n",
    "flow/tests/both.py": b"import oneflow\nimport torch\n",
    "flow/scripts/infer.sh": b'CMD="python $MAIN_DIR/tests/infer.py --greedy"\neval "$CMD"\n',
    "flow/scripts/both.sh": b"python $MAIN_DIR/tests/both.py\n",
    "rl/unknown.sh": b"python eval.py\n",
    "data/gen/advection/make.py": b"import jax\n",
    "data/gen/fluid/make.sh": b"CUDA_VISIBLE_DEVICES='3' python3 make.py +args=beta1.yaml\n",  # copied from beside make.py
}


def test_all_programs_of_a_script_are_of_another_framework() -> None:
    framework = of_others(FILES, FILES.get)
    scripts = [path for path in FILES if path.endswith(".sh")]
    assert {path: found for path in scripts if (found := framework(path, FILES[path]))} == {
        "vision/scripts/eight/eval.sh": "tensorflow",
        "rl/run.sh": "jax",
        "data/gen/fluid/make.sh": "jax",
        "flow/scripts/infer.sh": "oneflow",
    }
