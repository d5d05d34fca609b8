#!/usr/bin/env python3
"""Writes the binary seeds: tiny archives and files as the tools make them. The texts beside them are written by hand."""
import gzip, io, json, pathlib, struct, tarfile, zlib

HERE = pathlib.Path(__file__).parent


def write(name, data):
    path = HERE / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(data)


def tar(files, format=tarfile.GNU_FORMAT, links=()):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=format) as archive:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
        for name, kind, target in links:
            info = tarfile.TarInfo(name)
            info.type, info.linkname = kind, target
            archive.addfile(info)
        end = archive.offset
    # Two blocks of zeros end it; tarfile fills up to 10 240 bytes.
    return out.getvalue()[: end + 1024]


SITE = "v/lib/python3.11/site-packages/"
LOWER = {
    "v/pyvenv.cfg": b"home = /usr/bin\nversion = 3.11.7\n",
    SITE + "torch-2.8.0.dist-info/METADATA": b"Name: torch\nVersion: 2.8.0\n\n",
    SITE + "torch-2.8.0.dist-info/RECORD": b"torch/lib/libtorch_cuda.so,,\n",
    SITE + "torch/lib/libtorch_cuda.so": b"\x7fELF",
    SITE + "torch/version.py": b"cuda = '12.8'\n",
}
UPPER = {SITE + ".wh.torch": b"", "v/lib/.wh..wh..opq": b"", "v/lib/libnew.so": b"\x7fELF"}
LINKS = [("v/lib64", tarfile.SYMTYPE, "lib"), ("v/lib/again.so", tarfile.LNKTYPE, "v/lib/libnew.so")]
CONFIG = json.dumps({"architecture": "amd64", "config": {"Env": ["PATH=/v/bin"], "WorkingDir": "/v"}}).encode()


def docker(layers):
    names = [f"l{at}/layer.tar" for at in range(len(layers))]
    manifest = [{"Config": "c.json", "RepoTags": ["app:1"], "Layers": names}]
    return tar({"manifest.json": json.dumps(manifest).encode(), "c.json": CONFIG, **dict(zip(names, layers))})


def oci(layers):
    blob = lambda name: f"blobs/sha256/{name}"
    of = lambda name: {"mediaType": "m", "digest": f"sha256:{name}", "size": 1}
    names = [f"aa{at}" for at in range(len(layers))]
    manifest = {"schemaVersion": 2, "config": of("cc"), "layers": [of(name) for name in names]}
    inner = {"manifests": [of("bb") | {"platform": {"architecture": "amd64", "os": "linux"}}]}
    index = {"manifests": [of("dd") | {"annotations": {"org.opencontainers.image.ref.name": "app:2"}}]}
    files = {"oci-layout": b'{"imageLayoutVersion":"1.0.0"}', "index.json": json.dumps(index).encode()}
    files |= {blob("dd"): json.dumps(inner).encode(), blob("bb"): json.dumps(manifest).encode(), blob("cc"): CONFIG}
    return tar(files | {blob(name): layer for name, layer in zip(names, layers)})


lower, upper = tar(LOWER), tar(UPPER, links=LINKS)
pack = lambda data: gzip.compress(data, mtime=0)
write("image/docker.tar", docker([lower, upper]))
write("image/oci.tar", oci([pack(lower), pack(upper)]))
write("layer/lower.tar", lower)
write("layer/upper.tar", upper)
write("layer/packed.tar.gz", pack(lower))
deep = {"v/" + "long/" * 30 + "lib.so": b"\x7fELF", "v/lib/x.so": b"\x7fELF"}
write("layer/pax.tar", tar(deep, tarfile.PAX_FORMAT))
write("layer/gnu.tar", tar(deep))


def cache(rows):
    strings, entries = b"", b""
    for name, path in rows:
        at = 48 + 24 * len(rows) + len(strings)
        entries += struct.pack("<iIIIQ", 0x0303, at, at + len(name) + 1, 0, 0)
        strings += name.encode() + b"\0" + path.encode() + b"\0"
    head = b"glibc-ld.so.cache1.1" + struct.pack("<II", len(rows), len(strings))
    return head.ljust(48, b"\0") + entries + strings


def elf(needed, runpath, soname):
    """A shared library with a dynamic section and nothing else."""
    strings = b"\0"
    tags = []
    for tag, text in [(1, name) for name in needed] + [(29, runpath), (14, soname)]:
        tags.append((tag, len(strings)))
        strings += text.encode() + b"\0"
    table = 64 + 2 * 56
    dynamic = b"".join(struct.pack("<qQ", *row) for row in tags + [(5, table), (10, len(strings)), (0, 0)])
    at = (table + len(strings) + 7) & ~7
    end = at + len(dynamic)
    header = b"\x7fELF\x02\x01\x01" + bytes(9)
    header += struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, 0, 64, 0, 0, 64, 56, 2, 0, 0, 0)
    load = struct.pack("<IIQQQQQQ", 1, 4, 0, 0, 0, end, end, 4096)
    dyn = struct.pack("<IIQQQQQQ", 2, 4, at, at, at, len(dynamic), len(dynamic), 8)
    return ((header + load + dyn + strings).ljust(at, b"\0")) + dynamic


def parts(files):
    return b"".join(b"@@ " + name.encode() + b"\n" + data + b"\n" for name, data in files.items())


CUDA = elf(["libcublas.so.12", "libc.so.6"], "$ORIGIN/../../nvidia/cublas/lib", "libtorch_cuda.so")
write("environment/libraries", parts({
    "etc/ld.so.cache": cache([("libcublas.so.12", "/usr/local/cuda/lib64/libcublas.so.12"), ("libc.so.6", "/lib/libc.so.6")]),
    "usr/local/cuda/lib64/libcublas.so.12": elf([], "", "libcublas.so.12"),
    "usr/local/cuda/version.json": b'{"libcublas":{"name":"CUDA cuBLAS","version":"12.4.5.8"},"cuda":{"version":"12.4.1"}}',
    "usr/lib/x86_64-linux-gnu/libcuda.so.580.65.06": elf([], "", "libcuda.so.1"),
    "v/pyvenv.cfg": LOWER["v/pyvenv.cfg"],
    "v/lib/python3.11/site-packages/torch-2.8.0.dist-info/METADATA": b"Name: torch\nVersion: 2.8.0\nRequires-Dist: nvidia-cublas-cu12 (>=12.8)\n",
    "v/lib/python3.11/site-packages/torch-2.8.0.dist-info/RECORD": b"torch/lib/libtorch_cuda.so,sha256=x,4\n",
    "v/lib/python3.11/site-packages/torch/lib/libtorch_cuda.so": CUDA,
    "v/lib/python3.11/site-packages/torch/version.py": b"__version__ = '2.8.0+cu128'\ncuda: Optional[str] = '12.8'\ngit_version = 'abc'\n",
}))


def gguf(version):
    text = lambda value: struct.pack("<Q", len(value)) + value.encode()
    pairs = text("general.architecture") + struct.pack("<I", 8) + text("llama")
    pairs += text("llama.block_count") + struct.pack("<II", 4, 32)
    pairs += text("tokenizer.tokens") + struct.pack("<IIQ", 9, 8, 2) + text("a") + text("b")
    tensor = text("blk.0.attn_q.weight") + struct.pack("<IQQIQ", 2, 4096, 4096, 2, 0)
    return b"GGUF" + struct.pack("<IQQ", version, 1, 3) + pairs + tensor


write("gguf/v3.gguf", gguf(3))
write("gguf/v2.gguf", gguf(2))


def safetensors(header):
    data = json.dumps(header).encode()
    return struct.pack("<Q", len(data)) + data


WEIGHTS = {"a": {"dtype": "BF16", "shape": [16, 16], "data_offsets": [0, 512]}, "__metadata__": {"format": "pt"}}
FP8 = {"a": {"dtype": "F8_E4M3", "shape": [16, 16], "data_offsets": [0, 256]}, "a.scale": {"dtype": "F32", "shape": [], "data_offsets": [256, 260]}}
write("safetensors/bf16.safetensors", safetensors(WEIGHTS))
write("safetensors/fp8.safetensors", safetensors(FP8))
write("model-folder/weights", parts({
    "config.json": b'{"model_type":"llama","architectures":["LlamaForCausalLM"],"torch_dtype":"bfloat16","num_hidden_layers":32}',
    "model-00001-of-00002.safetensors": safetensors(WEIGHTS),
    "model-00002-of-00002.safetensors": safetensors(FP8),
    "model.safetensors.index.json": b'{"metadata":{"total_size":1024},"weight_map":{"a":"model-00001-of-00002.safetensors","b":"model-00002-of-00002.safetensors"}}',
}))
write("model-folder/gguf", parts({"model-00001-of-00002.gguf": gguf(3), "model-00002-of-00002.gguf": gguf(3)}))
write("model-folder/experts", parts({"config.json": json.dumps({
    "model_type": "deepseek_v3", "hidden_size": 64, "num_hidden_layers": 4, "num_attention_heads": 4, "intermediate_size": 128,
    "vocab_size": 100, "kv_lora_rank": 16, "qk_rope_head_dim": 8, "qk_nope_head_dim": 8, "v_head_dim": 8, "n_routed_experts": 4,
    "num_experts_per_tok": 2, "moe_intermediate_size": 32, "n_shared_experts": 1, "first_k_dense_replace": 1,
    "num_nextn_predict_layers": 1, "vision_config": {"depth": 2, "hidden_size": 32, "patch_size": 14},
    "quantization_config": {"quant_method": "compressed-tensors", "ignore": ["lm_head", "re:.*self_attn.*", "model.layers.1*"],
    "config_groups": {"group_0": {"targets": ["Linear"], "weights": {"num_bits": 4, "type": "int", "group_size": 32}}}}}).encode()}))
write("model-folder/hybrid", parts({"config.json": json.dumps({
    "model_type": "nemotron_h", "hidden_size": 64, "num_hidden_layers": 4, "hybrid_override_pattern": "M-*E", "num_attention_heads": 4,
    "num_key_value_heads": 2, "vocab_size": 100, "mamba_num_heads": 4, "mamba_head_dim": 8, "ssm_state_size": 8, "n_routed_experts": 4,
    "num_experts_per_tok": 2, "moe_intermediate_size": 32, "time_step_limit": [0.0, 1e9], "layer_types": ["mamba", "attention"]}).encode()}))
DIGEST = "ab" * 32
write("model-cache/both", parts({"main": b"one\n", "manifest": json.dumps({"layers": [
    {"mediaType": "application/vnd.ollama.image.model", "digest": "sha256:" + DIGEST, "size": 3}]}).encode()}))
raw = zlib.compressobj(9, zlib.DEFLATED, -15)
write("inflate/text", raw.compress(b"device code " * 300) + raw.flush())
write("inflate/stored", b"\x01\x05\x00\xfa\xffhello")
pe = b"MZ".ljust(60, b"\0") + struct.pack("<I", 64) + b"PE\0\0" + struct.pack("<HHIIIHH", 0x8664, 1, 0, 0, 0, 0, 0x22)
pe += struct.pack("<8sIIIIIIHHI", b".nv_fatb", 64, 0, 64, 128, 0, 0, 0, 0, 0)
pe = pe.ljust(128, b"\0") + struct.pack("<IHHQ", 0xBA55ED50, 1, 16, 0)
write("pe/one-section.dll", pe)
