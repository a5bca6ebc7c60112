"""C++ and CUDA sources: what is told of each, and which Python ends in which kernel."""

from __future__ import annotations

import ast
import re
import time

import pytest

from porter.analysis.analyse import analyse
from porter.analysis.session import open_session
from porter.catalog.read.load import load as catalogue
from porter.catalog.read.load import versions
from porter.engine.session import Session
from porter.native import cpp, extensions
from porter.rulebook import table
from porter.rulebook.texts import Texts
from porter.run.gather import gather


def found(name: str, text: str | bytes, session: Session | None = None):
    return analyse(name, text.encode() if isinstance(text, str) else text, session or open_session())


def told(finding) -> tuple[str, ...]:
    values = dict(finding.values)
    return finding.why, *(values.get(key, "") for key in ("names", "launches", "libraries"))


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.cpp", "int main() { return 0; } // cudaMalloc", None),
        ("a.cpp", 'auto s = "cudaMalloc<<<1, 1>>>";', None),
        ("a.cpp", "auto s = R\"x(cudaMalloc(); \" <<<1, 1>>>)x\";", None),
        ("a.cpp", "#ifdef USE_CUDA\n#include <cuda_runtime.h>\n#endif\n", None),
        (
            "a.cpp",
            "#if defined(USE_CUDA)\n#if X\ncudaMalloc(&p, 1);\n#endif\n#else\nncclSend();\n#endif",
            ("host", "", "", "NCCL"),
        ),
        ("a.h", "std::cout << x <<y; cuda_done();", None),
        ("a.cc", '#include "cublas_v2.h"\n', ("included", "", "", "cuBLAS")),
        ("a.cuh", "template <int N> __device__ float f(float x) { return __ldg(&x); }  // cuda", None),
        ("a.cu", "__device__ float f() { cudaSync(); }", ("device", "", "", "CUDA")),
        ("a.cu", "__global__ void\nf(int* a);\n__global__ void f(int* a) {}\nvoid g() { f<<<1, 2>>>(0); }", ("kernel", "f", "1", "")),
        ("a.cu", "template <typename T, int N = (1 > 0)> __launch_bounds__(N * (2)) __global__ static void k(T a) {}", ("kernel", "k", "", "")),
        ("a.cu", 'extern "C" __global__ __attribute__((used)) void k(int a) {}\nMACRO(x)\n__global__ ODD(1) void l(int) {}', ("kernels", "k, l", "", "")),
        ("a.cu", "#define MAKE(name) __global__ void name(int x)\nMAKE(made) {}\nMAKE(more) {}", ("kernels", "made, more", "", "")),
        ("a.cu", "namespace a { struct B { static void run() { a::k<1><<<1, 2>>>(0); } }; }", ("launches", "", "1", "")),
        ("a.hip", "void g() { hipLaunchKernelGGL(f, 1, 1, 0, 0); /* <<< */ }", ("launches", "", "1", "")),
        ("a.cu", "__global__ void broken(", ("kernel", "broken", "", "")),
        ("a.cu", "/* __global__ void f() {} cuda", None),
        ("a.cpp", 'extern "C" __global__ __aicore__ void add(GM_ADDR x) { }\nvoid go() { add<<<1, nullptr, s>>>(x); }', None),
        ("a.cpp", "__global__ __aicore__ void add(\n#include <cuda.h>\ncudaMalloc(1);", ("host", "", "", "CUDA")),
        ("a.cu", "__global__ void nms_kernel(int a) {} __global__ void nms_rotated_kernel(int) {}", ("kernels", "nms_kernel, nms_rotated_kernel", "", "")),
        ("a.cu", "__global__ void furthest_point_kernel(int a) {}", ("furthest_point_sampling", "furthest_point_kernel", "", "")),
        ("a.cu", "__global__ void filtered_lrelu_kernel(int a) {}", ("filtered_lrelu", "filtered_lrelu_kernel", "", "")),
        ("a.cu", "__global__ void bias_act_kernel(int a) {}", ("bias_act", "bias_act_kernel", "", "")),
    ],
)  # fmt: skip
def test_what_is_told_of_native_sources(name, text, said):
    result = found(name, text)
    assert not result.auto and not result.review
    assert [told(f) for f in result.findings] == ([said] if said else [])


def test_no_message_has_a_hole_in_it():
    """Whatever is known of a file, nothing is said of what is not."""
    texts = Texts()
    sources = (
        "__global__ void f(int a) {}",
        "void g() { f<<<1, 1>>>(0); }",
        "__device__ int f() { cudaSync(); }",
        '__global__ void nms(int a) { __shfl_sync(1, 2, 3); }\nPYBIND11_MODULE(a, m) { m.def("b", &b); }',
    )
    for source in sources:
        (finding,) = found("a.cu", source).findings
        for lang in ("en", "zh"):
            said = texts.message(finding, lang)
            assert not re.search(r"[:：;；,，]\s*(?:-|;|；|$)|\(\)|（）|\b1 kernels", said), said


@pytest.mark.parametrize(
    "data",
    [
        b"\xef\xbb\xbf__global__ void f(int a) {}",
        "// 中文\r\n__global__ void f(int a) {}\r\n".encode("gbk"),
        "/* 中文 */ __global__ void f(int a) {}".encode(),
        b"\t\t__global__\tvoid\tf(int a) {",
    ],
)
def test_a_kernel_is_found_at_its_name_whatever_the_bytes_around_it(data):
    (finding,) = found("a.cu", data).findings
    line = data.splitlines()[finding.line - 1].decode("utf-8-sig", "replace")
    assert line[finding.column - 1] == "f"


@pytest.mark.slow
@pytest.mark.parametrize(
    "data",
    [
        b"__global__ void f(" + b"((((((((" * 20_000,
        b"__global__ " * 60_000,
        b"template <" * 50_000 + b"__global__ void f(int) {}",
        b"cuda \x01\xff{{{}}}<<<" * 20_000,
        b"#define X(a) \\\n" * 30_000 + b"__global__ cuda",
        b'"' + b"\\" * 500_000 + b"cuda",
        b"int f((\n" + b"#if A\n#else\n" * 60_000 + b"__global__ cuda",
        b"int a[] = {" + b"0, " * 600_000 + b"}; __global__ void f(int) {}",
    ],
    ids=range(8),
)
def test_what_is_no_source_ends_in_time(data):
    began = time.process_time()
    result = found("a.cu", data)
    assert not [f for f in result.findings if f.code == "PRT003"]
    assert time.process_time() - began < 5


def test_a_binary_file_with_the_name_of_a_source():
    (finding,) = found("a.cu", b"\x7fELF\0\0cuda__global__").findings
    assert (finding.code, finding.why) == ("PRT002", "text")


# ---- the replacements


@pytest.mark.parametrize("version", versions())
def test_every_replacement_of_torch_npu_exists(version):
    about = catalogue(version)
    for kernel in table.load().kernels:
        for name in kernel.replacement:
            assert not name.startswith("torch_npu.") or about.has(name), (kernel.why, name)


@pytest.mark.parametrize(
    ("names", "why"),
    [
        (["nms_cuda"], "nms"),
        (["softnms"], None),
        (["iou3d_nms3d_forward"], "nms_3d"),
        (["ROIAlignRotated_forward"], "roi_align_rotated"),
        (["RoIAlignForward"], "roi_align"),
        (["modulated_deformable_im2col_gpu_kernel"], "deform_conv"),
        (["query_ball_point_kernel"], "ball_query"),
        (["cuApplyLayerNorm"], "layer_norm"),
        (["rms_norm_kernel"], "rms_norm"),
        (["flash_fwd_splitkv_kernel"], "flash_attention"),
        (["fused_rope_forward"], "rotary"),
        (["selective_scan_fwd_kernel"], "selective_scan"),
        (["fused_bias_act"], "bias_act"),
        (["upfirdn2d_kernel_large"], "upfirdn2d"),
        (["multi_tensor_apply_kernel"], "multi_tensor"),
        (["im2col_kernel"], "carafe"),
        (["quantize_int8_kernel"], "quantised_matmul"),
        (["hash_encode_forward"], "hash_grid"),
        (["_freqencoder_freq_encode_forward", "kernel_freq"], "frequency_encoding"),
        (["_shencoder_sh_encode_forward", "kernel_sh"], "spherical_harmonics"),
        (["morton3D_invert_kernel"], "morton_code"),
        (["kernel_packbits"], "pack_bits"),
        (["kernel_near_far_from_aabb"], "ray_intersection"),
        (["ray_sphere_intersect_kernel"], "ray_spheres"),
        (["ray_aabb_intersect_kernel"], "ray_intersection"),
        (["rotated_roi_align_forward"], "roi_align_rotated"),
        (["rroi_align_forward"], "roi_align_rotated"),
        (["rroi_pooling"], None),
        (["columns"], None),
        (["quantile_kernel", "point4d"], None),
        (["permanent"], None),
        (["reading_order", "turn_signal"], None),
        (["propeller"], None),
    ],
)
def test_which_kernel_goes_by_which_name(names, why):
    kernel = table.load().kernel(*names)
    assert (kernel.why if kernel else None) == why


@pytest.mark.parametrize(
    ("module", "name", "kernels", "why"),
    [
        ("_raymarching", "packbits", "kernel_packbits", "pack_bits"),
        ("_raymarching", "composite_rays", "kernel_composite_rays", "ray_compositing"),
        ("_raymarching", "march_rays", "kernel_march_rays", "ray_marching"),
        ("_raymarching", "sph_from_ray", "kernel_sph_from_ray", None),
        ("_gridencoder", "grad_total_variation", "kernel_grad_tv", "hash_grid"),
        ("_gridencoder", "grad_weight_decay", "kernel_grad_wd", None),
        ("fused_adam_ext", "clip", "clip_kernel", None),
        ("fused_adam_ext", "clip", "rms_norm_kernel", "rms_norm"),
        ("focal_loss_ext", "forward", "sum_kernel", "focal_loss"),
        ("rotary_ext", "forward_cached", "turn_kernel", "rotary"),
        ("swiglu_ext", "run", "act_kernel", "swiglu"),
        ("_C", "distCUDA2", "boxMeanDist, boxMinMax, coord2Morton", "nearest_mean"),
        ("_C", "bounds", "boxMinMax, coord2Morton", None),
        ("_C", "order", "coord2Morton", "morton_code"),
        ("_C", "resample", "upfirdn2d_large, upfirdn2d_small (+2)", "upfirdn2d"),
    ],
)
def test_the_cure_of_a_call_is_that_of_its_function(module, name, kernels, why):
    kernel = table.load().kernel_of_call(module, name, kernels)
    assert (kernel.why if kernel else None) == why


# ---- from Python to the kernel

KERNEL = "__global__ void {0}_kernel(int a) {{}}\nvoid {0}(int a) {{ {0}_kernel<<<1, 1>>>(a); }}\n"
BINDING = 'void {0}(int a);\nPYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {{ m.def("run", &{0}); }}\n'


SETUP = 'CUDAExtension("pkg._C", ["csrc/k.cu"])'


def project(folder, **files: str):
    """`__` for a folder, the last `_` for the dot of a name."""
    for name, text in files.items():
        stem, _, suffix = name.replace("__", "/").rpartition("_")
        path = folder / f"{stem}.{suffix}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("import os\n" + text if suffix == "py" else text)
    return gather(folder, sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*.*")))


def reached(facts) -> list[tuple[str, ...]]:
    return [tuple(native) for native in facts.native.functions]


def test_equal_names_in_two_extensions_are_kept_apart(tmp_path):
    setup = """
def make(name, module, sources):
    return CUDAExtension(name="%s.%s" % (module, name), sources=[os.path.join(*module.split("."), s) for s in sources])

setup(ext_modules=[
    make(name="one_cuda", module="ops.one", sources=["src/bind.cpp", "src/run.cu"]),
    make(name="two_cuda", module="ops.two", sources=["src/bind.cpp", "src/run.cu"]),
])
"""
    files = {f"ops__{n}__src__bind_cpp": BINDING.format("go") for n in ("one", "two")}
    files |= {f"ops__{n}__src__run_cu": KERNEL.format("go").replace("go_kernel", f"{n}_kernel") for n in ("one", "two")}
    use = "from . import {0}_cuda\n\ndef f(x):\n    return {0}_cuda.run(x)\n"
    facts = project(
        tmp_path, setup_py=setup, ops__one__use_py=use.format("one"), ops__two__use_py=use.format("two"), **files
    )
    assert reached(facts) == [
        ("one_cuda", "run", "one_kernel", "ops/one/src/run.cu"),
        ("two_cuda", "run", "two_kernel", "ops/two/src/run.cu"),
    ]
    assert facts.native.callers == (
        ("ops/one/src/run.cu", "ops/one/use.py: f"),
        ("ops/two/src/run.cu", "ops/two/use.py: f"),
    )


def test_packages_that_call_their_extensions_alike_are_kept_apart(tmp_path):
    """Python belongs to the extension of the nearest folder above it, also where the kernels have equal names."""
    use = "from . import _C\n\ndef f(x):\n    return _C.run(x)\n"
    files = {"many__use_py": "from .one import one\n\ndef g(x):\n    return one.f(x)\n"}
    for name in ("one", "two"):
        files |= {
            f"many__{name}__setup_py": f'setup(ext_modules=[CUDAExtension("{name}._C", ["csrc/bind.cpp", "csrc/run.cu"])])',
            f"many__{name}__csrc__bind_cpp": BINDING.format("go"),
            f"many__{name}__csrc__run_cu": KERNEL.format("go"),
            f"many__{name}__{name}__use_py": use,
        }
    files["many__two__two__more_py"] = "from ._C import walk\n\ndef f(x):\n    return walk(x)\n"
    facts = project(tmp_path, **files)
    assert facts.native.callers == (
        ("many/one/csrc/run.cu", "many/one/one/use.py: f"),
        ("many/two/csrc/run.cu", "many/two/two/use.py: f"),
    )
    ends = {name: facts.native.exports_near(f"many/{name}/{name}/use.py")["_C"]["run"].path for name in ("one", "two")}
    assert ends == {"one": "many/one/csrc/run.cu", "two": "many/two/csrc/run.cu"}
    assert reached(facts) == [("_C", "run", "go_kernel", f"many/{name}/csrc/run.cu") for name in ("one", "two")]


def test_a_package_of_plain_cpp_beside_one_with_kernels(tmp_path):
    """What imports it can be imported."""
    facts = project(
        tmp_path,
        one__setup_py='CUDAExtension("one._C", ["run.cu"])',
        one__run_cu=KERNEL.format("go") + BINDING.format("go"),
        two__setup_py='CppExtension("two._C", ["run.cpp"])',
        two__run_cpp="void go(int a) {}\n" + BINDING.format("go").partition("\n")[2],
        two__two__use_py="from . import _C\n_C.run(1)",
        one__one__use_py="from . import _C\n_C.run(1)",
    )
    assert facts.native.modules == ("_C",)
    near = {path: facts.native.modules_near(path) for path in ("one/one/use.py", "two/two/use.py", "train.py")}
    assert near == {"one/one/use.py": ("_C",), "two/two/use.py": (), "train.py": ("_C",)}


def test_a_package_beside_another_with_fewer_functions(tmp_path):
    """What only the other's extension exports is no use of it."""
    facts = project(
        tmp_path,
        one__setup_py='CUDAExtension("one._C", ["run.cu"])',
        one__run_cu=KERNEL.format("go") + BINDING.format("go"),
        two__setup_py='CUDAExtension("two._C", ["run.cu"])',
        two__run_cu=KERNEL.format("walk") + BINDING.format("walk").replace('"run"', '"walk"'),
        two__two__use_py="from . import _C\n_C.run(1)",
    )
    assert facts.native.callers == ()


@pytest.mark.parametrize(
    "setup",
    [
        'setup(ext_modules=[CUDAExtension("pkg._C", ["csrc/bind.cpp", "csrc/cuda/run.cu"])])',
        'ext = CppExtension\next = CUDAExtension\nextension = ext\nsetup(ext_modules=[extension("pkg._C", glob.glob("csrc/*"))])',
        'NAME = "pkg._C"\nsources = glob.glob("csrc/*.cpp")\nsources += glob.glob("csrc/cuda/*.cu")\nCUDAExtension(name=NAME, sources=sources)',
        'sources = []\nsources.append("csrc/bind.cpp")\nsources.extend(["csrc/cuda/run.cu"])\nload("pkg._C", sources)',
        'here = dirname(__file__)\nload(name="_C", sources=[os.path.join(here, "bind.cpp"), os.path.join(here, "run.cu")])',
    ],
)
def test_the_sources_of_an_extension(tmp_path, setup):
    facts = project(
        tmp_path, setup_py=setup, csrc__bind_cpp=BINDING.format("go"), csrc__cuda__run_cu=KERNEL.format("go")
    )
    assert reached(facts) == [("_C", "run", "go_kernel", "csrc/cuda/run.cu")]


@pytest.mark.parametrize(
    ("code", "uses"),
    [
        ("from pkg import _C\n_C.run(1)", "use.py"),
        ("import pkg._C as ext\next.run(1)", "use.py"),
        ("import pkg._C\npkg._C.run(1)", "use.py"),
        ("from pkg._C import run as r\nr(1)", "use.py"),
        ('ext = load_ext("_C", ["run"])\nclass A:\n    def f(self): return ext.run(1)', "use.py: A.f"),
        ('def f():\n    from . import _C\n    return getattr(_C, "run")(1)', "use.py: f"),
        ('def lazy_func(name):\n    from pkg import _C\n    return getattr(_C, name)\nr = lazy_func("run")', "use.py"),
        ("import torch\ntorch._C.run(1)", None),
        ("from torch import _C\n_C.run(1)", None),
        ("from pkg import _C\n_C.walk(1)", None),
        ("from pkg import other\nother.run(1)", None),
        ("_C.run(1)", None),
    ],
)
def test_uses_in_python(tmp_path, code, uses):
    setup = 'CUDAExtension("pkg._C", ["bind.cpp", "run.cu"])'
    facts = project(tmp_path, setup_py=setup, bind_cpp=BINDING.format("go"), run_cu=KERNEL.format("go"), use_py=code)
    assert facts.native.callers == ((("run.cu", uses),) if uses else ())


def test_what_leads_to_an_npu_as_well_is_not_lost(tmp_path):
    files = {"setup_py": 'CUDAExtension("pkg._C", ["bind.cpp", "run.cu", "npu.cpp"])', "run_cu": KERNEL.format("go")}
    files["bind_cpp"] = "void dispatch(int a) { pick(a); }\nREGISTER_DEVICE(dispatch, CUDA, go);\n" + BINDING.format(
        "dispatch"
    )
    assert reached(project(tmp_path, **files)) == [("_C", "run", "go_kernel", "run.cu")]
    files["npu_cpp"] = "void go_npu(int a) { aclnnGo(a); }\nREGISTER_DEVICE(dispatch, NPU, go_npu);\n"
    assert reached(project(tmp_path, **files)) == []


def test_a_library_is_an_end_too(tmp_path):
    bind = "void go(int a) { cublasSetStream(h, s); cublasGemmEx(h, a); }\n" + BINDING.format("go")
    facts = project(
        tmp_path, setup_py='CUDAExtension("pkg._C", ["bind.cpp"])', bind_cpp=bind, other_cu="__global__ void k(int) {}"
    )
    assert reached(facts) == [("_C", "run", "cublasGemmEx", "bind.cpp")]


OWN = "class Own(Function):\n    @staticmethod\n    def forward(ctx, x):\n        return _C.run(x)\n\n\n"


@pytest.mark.parametrize(("library", "spared"), [("torchvision.ops", ("csrc/k.cu",)), ("other.ops", ())])
@pytest.mark.parametrize(("own", "name"), [("", "_C.run"), (OWN, "Own.apply")])
def test_what_stands_in_for_a_library_that_npus_have_is_spared(tmp_path, library, spared, own, name):
    python = f"from pkg import _C\n{own}try:\n    from {library} import run\nexcept ImportError:\n    run = {name}\n"
    binding = BINDING.format("go").partition("\n")[2]
    files = {"setup_py": SETUP, "csrc__k_cu": KERNEL.format("go") + binding}
    facts = project(tmp_path, **files, pkg__run_py=python)
    assert [path for path, _ in facts.native.callers] == ["csrc/k.cu"]
    assert facts.native.spared == facts.native.built.standing_in == spared
    facts = project(tmp_path, **files, pkg__run_py=python, pkg__other_py="from pkg import _C\n_C.run(1)\n")
    assert facts.native.spared == facts.native.built.standing_in == ()


EITHER = "kind = CppExtension\nif torch.cuda.is_available():\n    kind = CUDAExtension\nkind('pkg._C', ['csrc/k.cu'])\n"


@pytest.mark.parametrize(("setup", "spared"), [(EITHER, ("csrc/k.cu",)), (SETUP, ())])
def test_what_a_question_chooses_is_spared_where_the_extension_is_there_without_cuda(tmp_path, setup, spared):
    python = f"from pkg import _C\n{OWN}fast = Own.apply\n\n\ndef run(x):\n    f = fast if x.is_cuda else slow\n    return f(x)\n"
    binding = BINDING.format("go").partition("\n")[2]
    facts = project(tmp_path, setup_py=setup, csrc__k_cu=KERNEL.format("go") + binding, pkg__run_py=python)
    assert (facts.native.spared, facts.native.built.standing_in) == (spared, ())


BUILT = "import torch\n{}    op = load('op', sources=['csrc/k.cu'])\n\n\ndef run(x):\n    return op.run(x) if x.is_cuda else slow(x)\n"


@pytest.mark.parametrize(
    ("asked", "spared"),
    [("if torch.cuda.is_available():\n", ("csrc/k.cu",)), ("if fast:\n", ()), ("try:\n    pass\nfinally:\n", ())],
)
def test_what_is_built_where_a_question_says_so_is_spared(tmp_path, asked, spared):
    binding = BINDING.format("go").partition("\n")[2]
    facts = project(tmp_path, csrc__k_cu=KERNEL.format("go") + binding, ops_py=BUILT.format(asked))
    assert facts.native.callers == (("csrc/k.cu", "ops.py: run"),)
    assert facts.native.spared == spared


def test_no_kernels_no_facts(tmp_path):
    facts = project(tmp_path, setup_py='CppExtension("pkg._C", ["bind.cpp"])', bind_cpp=BINDING.format("go"))
    assert (facts.native.functions, facts.native.callers) == ((), ())


@pytest.mark.parametrize(
    ("more", "ends"),
    [
        ("", set()),
        ('CUDAExtension("pkg.host", ["host.cpp", "gpu.cu"])', {"host"}),  # the same module, built in another way
    ],
)
def test_an_extension_for_the_host_has_functions_of_its_own(tmp_path, more, ends):
    """The CUDA file beside it has some of the same names."""
    setup = f'CppExtension("pkg.host", ["host.cpp"])\nCUDAExtension("pkg.gpu", ["gpu.cu"])\n{more}'
    host = "void go(int a) { a += 1; }\n" + BINDING.format("go").partition("\n")[2]
    facts = project(tmp_path, setup_py=setup, host_cpp=host, gpu_cu=KERNEL.format("go") + BINDING.format("go"))
    assert {module for module, *_ in reached(facts)} == {"gpu", *ends}


def test_a_header_of_kernels_that_are_told_of_is_no_news(tmp_path):
    facts = project(
        tmp_path, pkg__csrc__k_cu=KERNEL.format("go") + BINDING.format("go").partition("\n")[2], setup_py=SETUP
    )
    session, header = open_session(facts=facts), "__device__ float f() { cudaSync(); }"
    assert not found("pkg/csrc/k.cuh", header, session).findings
    assert not found("pkg/util.cuh", header, session).findings
    assert [f.why for f in found("other/far/util.cuh", header, session).findings] == ["device"]


def test_the_modules_that_are_built_of_cuda(tmp_path):
    facts = project(
        tmp_path,
        setup_py='CUDAExtension("pkg._C", ["k.cu"])\nCUDAExtension("pkg.ops", ["k.cu"])\nCppExtension("host", ["h.cpp"])',
        k_cu=KERNEL.format("go") + BINDING.format("go").partition("\n")[2],
        pkg__ops_py="a = 1",
    )
    assert facts.native.modules == ("_C",)


def test_a_tree_is_read_as_words_where_it_is_too_long():
    source = cpp.read(b"/* " + b"x" * cpp.LARGEST + b" */ __global__ void f(int a) {}")
    assert [kernel.name for kernel in source.kernels] == ["f"]


@pytest.mark.parametrize(
    ("code", "reaches"),
    [
        ("struct Run<GPU> {{ void operator()(int a) {{ go(a); }} }};\nvoid f(int a) {{ x::Run<GPU> r; r(a); }}", True),
        ("template <class T> void Run<T>::operator()(int a) {{ go(a); }}\nvoid f(int a) {{ Run<T>()(a); }}", True),
        ("class Run : public ag::Function<Run> {{ static int backward(int a) {{ go(a); }} }};\nint f() {{ Run::apply(1); }}", True),
        ("class Run {{ int forward(int a) {{ go(a); }} }};\nint f() {{ Run(1); }}", False),
        ("struct Other {{ void operator()(int a) {{ go(a); }} }};\nvoid f(int a) {{ Run<T>()(a); }}", False),
        ("int f() {{ PICK(stub); }}\nREGISTER(stub, CUDA, go)\nint g() {{}}", True),
        ("int f() {{ PICK(stub); }}\nREGISTER(stub, CUDA, go) {{}}", False),
        ("#define PICK(x) \\\n  if (x) {{ GO(x); }}\n#define GO(x) go(x)\nint f() {{ PICK(1); }}", True),
        ("int f() {{\n#define CASE(x) go(x);\n  CASE(1)\n#undef CASE\n}}\nint g() {{\n#define CASE(x) other(x);\n  CASE(1)\n}}", True),
        ("int f() {{\n#define CASE(x) other(x);\n  CASE(1)\n#undef CASE\n}}\nint g() {{\n#define CASE(x) go(x);\n  CASE(1)\n}}", False),
        ("#define CASE(x) other(x)\n#undef CASE\n#define CASE(x) go(x)\nint f() {{ CASE(1); }}", True),
        ("#define CASE(x) go(x)\n#undef CASE\nint f() {{ CASE(1); }}", False),
        ('#include "pick.h"\nint f() {{ PICK(1); }}', True),
        ('#include "pick.h"\n#define PICK(x) GO\nint f() {{ MADE(1); }}', False),
        ("int f() {{ go(1); EXEC_NPU_CMD(aclnnGo, 1); }}", False),
        ("__global__ __aicore__ void k(int a) {{}}\nint f() {{ go(1); k<<<1, nullptr, s>>>(1); }}", False),
        ("int f() {{ lib::kernel<T><<<1, 1>>>(1); }}", None),
        ("int f() {{\n for (;;) {{\n  r[i] = b(x, t == C\n#ifdef A\n ? s()\n#else\n ? (S) nullptr\n#endif\n : (S) nullptr);\n }}\n go(1);\n}}", True),
    ],
)  # fmt: skip
def test_the_ways_to_a_kernel(tmp_path, code, reaches):
    setup = 'CUDAExtension("pkg._C", ["bind.cpp", "run.cu"])'
    bind = (
        code.format() + '\nstatic auto r = torch::RegisterOperators("pkg::run(int a) -> int", &f).op("pkg::no", &no);\n'
    )
    facts = project(
        tmp_path,
        setup_py=setup,
        bind_cpp=bind,
        run_cu=KERNEL.format("go") + "#define MADE(x) go(x)\n",
        pick_h="#define PICK(x) go(x)\n",
    )
    end = ("f", "bind.cpp") if reaches is None else ("go_kernel", "run.cu")  # a kernel that nobody sees
    assert reached(facts) == ([("torch.ops.pkg", "run", *end)] if reaches is not False else [])


BUILDER = """
class {name}Builder(Base):
    def sources(self):
        prefix = os.path.dirname(__file__)
        return [os.path.join(prefix, s) for s in ["csrc/bind.cpp", "csrc/run.cu"]]
"""


@pytest.mark.parametrize(
    ("code", "uses"),
    [
        ("def f(x):\n    return RunBuilder().load().run(x)", "use.py: f"),
        ("m = None\ndef f(x):\n    global m\n    if m is None: m = pkg.RunBuilder().load(verbose=False)\n    m.run(x)", "use.py: f"),
        ("class A:\n    def __init__(self):\n        self.m = RunBuilder().load()\n    def f(self): self.m.run(1)", "use.py: A.f"),
        ("class Sub(RunBuilder):\n    pass\ndef f(x):\n    return Sub().load().run(x)", "use.py: f"),
        ("class Pick(Loader):\n    ALL = [RunBuilder]\ndef f(x):\n    return Pick().load().run(x)", "use.py: f"),
        ("class Pick(Loader):\n    ALL = [NPURun, RunBuilder]\ndef f(x):\n    return Pick().load().run(x)", None),
        ("def f(x):\n    return RunBuilder().load().walk(x)", None),
        ("def f(x):\n    return RunBuilder().run(x)", None),
        ("def f(x):\n    return load(RunBuilder).run(x)", None),
    ],
)  # fmt: skip
def test_classes_that_build_an_extension(tmp_path, code, uses):
    files = {
        "build__run_py": BUILDER.format(name="Run"),
        "csrc__bind_cpp": BINDING.format("go"),
        "csrc__run_cu": KERNEL.format("go"),
    }
    facts = project(tmp_path, use_py=code, **files)
    assert facts.native.callers == ((("csrc/run.cu", uses),) if uses else ())
    twin = project(tmp_path, build__npu__run_py="class RunBuilder(Base):\n    def load(self): return Other\n", **files)
    assert twin.native.callers == ()


def test_classes_that_are_handed_to_python(tmp_path):
    bind = """
struct Scale { Scale() { prepare(); } int run(int a); int info() { return 1; } };
struct Plain { int run(int a) { return a; } };
int Scale::run(int a) { go(a); }
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  py::class_<ns::Scale, std::shared_ptr<Scale>>(m, "Scaler").def(py::init<int>()).def("info", &Scale::info).def("run", &ns::Scale::run);
  py::class_<Plain>(m, "Plain").def("run", &Plain::run);
  py::class_<Other>(m, "Other").def("run", [](Other& self) { go(1); });
}
"""
    setup = 'CUDAExtension("pkg._C", ["bind.cpp", "run.cu"])'
    use = "from pkg import _C\n\n\ndef f(x):\n    return _C.Scaler(1).run(x), _C.Plain().run(x)\n"
    facts = project(tmp_path, setup_py=setup, bind_cpp=bind, run_cu=KERNEL.format("go"), use_py=use)
    assert [native[:2] for native in reached(facts)] == [("_C", "Other"), ("_C", "Scaler")]
    assert facts.native.callers == (("run.cu", "use.py: f"),)


def test_other_names_of_classes_that_are_handed_to_python(tmp_path):
    table = """
template <typename K> class Table { public: Table(int n) { go(n); } void insert(int a); int size() { return 1; } };
using table = ns::Table<int64_t>;
typedef ns::Table<int> table32;
template <typename K> void Table<K>::insert(int a) { go(a); }
"""
    bind = """
#include "table.cuh"
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  py::class_<table>(m, "Table").def("insert", &table::insert);
  py::class_<table32>(m, "Table32").def(py::init<int>());
  py::class_<Other>(m, "Other").def("insert", &other::insert);
}
"""
    setup = 'kind = CUDAExtension if WITH_CUDA else CppExtension\nkind("pkg.backend", sources)'
    files = {"csrc__bind_cpp": bind, "csrc__table_cuh": table, "csrc__run_cu": KERNEL.format("go")}
    use = "import pkg.backend\n\n\ndef f(x):\n    return pkg.backend.Table(1).insert(x)\n"
    facts = project(tmp_path, setup_py=setup, use_py=use, **files)
    assert [native[:2] for native in reached(facts)] == [("backend", "Table"), ("backend", "Table32")]
    assert facts.native.plain == ("backend",)


def test_names_that_stand_for_each_other_end_in_time(tmp_path):
    """Each of them for all of the others, and every call is looked at."""
    names = [f"n{i}" for i in range(40)]
    lines = [f"{name} = [{', '.join(names)}, 'bind.cpp']" for name in names]
    setup = "\n".join(
        [*lines, *(f"call('x{i}', {name})" for i, name in enumerate(names)), "load('_C', n7 + ['run.cu'])"]
    )
    began = time.process_time()
    facts = project(tmp_path, setup_py=setup, bind_cpp=BINDING.format("go"), run_cu=KERNEL.format("go"))
    assert ("_C", "run", "go_kernel", "run.cu") in reached(facts)
    assert time.process_time() - began < 2


def test_a_name_that_holds_the_sources_of_one_extension_after_the_other():
    text = "def build():\n    sources = [here / 'a.cpp', here / 'a.cu']\n    a = helper('a_cuda', sources)\n"
    text += "    sources = [here / 'b.cpp']\n    b = helper('b_cuda', sources)\n"
    built = extensions.in_file("setup.py", ast.parse(text))
    assert {e.name: e.sources for e in built} == {"a_cuda": ("a.cpp", "a.cu"), "b_cuda": ("b.cpp",)}
    apart = text.replace("    b = ", "    sources.append('c.cu')\n    b = ")
    assert {"b.cpp", "c.cu"} < {*list(extensions.in_file("setup.py", ast.parse(apart)))[1].sources}
