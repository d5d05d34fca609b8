#!/usr/bin/env bash
# Builds the fixtures beside this script from the sources in it. Needs network once, GNU binutils and Python.
# The compilers are NVIDIA's packages from PyPI; what they make of our sources is committed, they are not.
# truth.txt is what NVIDIA's own cuobjdump says about each fixture.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
tools=${TOOLS:-$here/../../../target/toolchain}
mkdir -p "$tools/13" "$tools/12" "$tools/11"
fetch() { pip install --quiet --upgrade --no-deps --only-binary :all: --target "$tools/$1" "${@:2}"; }
fetch 13 nvidia-cuda-nvcc==13.5.37 nvidia-nvvm==13.5.37 nvidia-cuda-crt==13.5.37 nvidia-cuda-runtime==13.5.37 nvidia-cuda-cuobjdump==13.5.37
fetch 12 nvidia-cuda-nvcc-cu12==12.9.86
fetch 11 nvidia-cuda-nvcc-cu11==11.8.89
new=$tools/13/nvidia/cu13/bin
chmod -R u+x "$new" "$tools/13/nvidia/cu13/nvvm/bin"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

ptx() { # ISA, target
    printf '.version %s\n.target %s\n.address_size 64\n.visible .entry store_index(.param .u64 out)\n{\n' "$1" "$2"
    printf '    .reg .u64 %%rd<2>;\n    .reg .u32 %%r<2>;\n    ld.param.u64 %%rd1, [out];\n    mov.u32 %%r1, %%tid.x;\n'
    printf '    st.global.u32 [%%rd1], %%r1;\n    ret;\n}\n'
}
cubin() { # ptxas, ISA, target, name
    ptx "$2" "$3" > "$4.ptx"
    "$1" -arch="$3" "$4.ptx" -o "$4.cubin"
}
old=$tools/12/nvidia/cuda_nvcc/bin/ptxas
chmod u+x "$old" "$tools/11/nvidia/cuda_nvcc/bin/ptxas"
cubin "$tools/11/nvidia/cuda_nvcc/bin/ptxas" 7.8 sm_86 cuda11-sm_86
cubin "$old" 7.8 sm_61 cuda12-sm_61
cubin "$old" 8.8 sm_90a cuda12-sm_90a
cubin "$old" 8.8 sm_100a cuda12-sm_100a
cubin "$old" 8.8 sm_101 cuda12-sm_101
for target in sm_75 sm_90a sm_100f sm_110 sm_120; do cubin "$new/ptxas" 9.5 $target cuda13-$target; done
ptx 7.8 sm_70 > compute_70.ptx
ptx 8.8 sm_90 > compute_90.ptx

cat > triple.cu <<'CU'
__device__ int tripled(int x) { return x * 3; }
__global__ void triple(int *values) { values[threadIdx.x] = tripled(values[threadIdx.x]); }
CU
"$new/nvcc" -dc -cubin -arch=sm_90 -o relocatable-sm_90.cubin triple.cu
"$new/nvcc" -fatbin -rdc=true -gencode arch=compute_90,code=lto_90 -gencode arch=compute_90a,code=sm_90a -o lto.fatbin triple.cu

image() { printf -- '--image3=kind=%s,sm=%s,file=%s ' "$1" "$2" "$3"; }
fat() { "$new/fatbinary" --64 --create "$1" "${@:2}"; }
fat plain.fatbin --compress-mode=none $(image elf 75 cuda13-sm_75.cubin) $(image elf 90a cuda13-sm_90a.cubin) $(image elf 100f cuda13-sm_100f.cubin) $(image ptx 90 compute_90.ptx)
fat lz4.fatbin --compress-all --compress-mode=speed $(image elf 75 cuda13-sm_75.cubin) $(image ptx 70 compute_70.ptx)
fat zstd.fatbin --compress-all $(image elf 75 cuda13-sm_75.cubin) $(image elf 90a cuda13-sm_90a.cubin) $(image elf 120 cuda13-sm_120.cubin) $(image ptx 90 compute_90.ptx)
fat concat.fatbin --compress-all --concat $(image elf 100f cuda13-sm_100f.cubin) $(image elf 100f cuda13-sm_100f.cubin) $(image elf 90a cuda13-sm_90a.cubin) $(image elf 75 cuda13-sm_75.cubin) $(image ptx 70 compute_70.ptx) $(image ptx 90 compute_90.ptx)

for target in sm_75 sm_120; do
    printf '.version 9.5\n.target %s\n.address_size 64\n' $target > nothing.ptx
    "$new/ptxas" -arch=$target nothing.ptx -o nothing-$target.cubin
done
fat empty.fatbin --compress-all $(image elf 75 nothing-sm_75.cubin) $(image elf 120 nothing-sm_120.cubin)

# A library with everything: two units found by the runtime, one left over from linking, one kept as data.
cat > host.s <<'ASM'
    .section .nv_fatbin, "a"
    .balign 8
    .incbin "zstd.fatbin"
    .balign 8
    .incbin "lz4.fatbin"
    .section __nv_relfatbin, "a"
    .balign 8
    .incbin "lto.fatbin"
    .section .rodata, "a"
    .balign 8
    .incbin "concat.fatbin"
ASM
as -o host.o host.s
ld -shared -z noseparate-code --build-id=none -o host.so host.o
printf '    .section .nv_fatbin, "a"\n    .balign 8\n    .incbin "lz4.fatbin"\n' > unit.s
as -o a_translation_unit_with_a_long_name.o unit.s
as -o short.o host.s
rm -f static.a
ar rcD static.a a_translation_unit_with_a_long_name.o short.o compute_70.ptx

python3 - <<'PY'
import zipfile
fixed = (2026, 11, 1, 0, 0, 0)
with zipfile.ZipFile("wheel.whl", "w") as wheel:
    def add(name, data, method):
        wheel.writestr(zipfile.ZipInfo(name, fixed), data, method)
    add("pkg/__init__.py", "# nothing to see\n" * 40, zipfile.ZIP_DEFLATED)
    add("pkg/deflated.so", open("host.so", "rb").read(), zipfile.ZIP_DEFLATED)
    add("pkg/stored.ptx", open("compute_70.ptx", "rb").read(), zipfile.ZIP_STORED)
    with wheel.open(zipfile.ZipInfo("pkg/wide.fatbin", fixed), "w", force_zip64=True) as wide:
        wide.write(open("lz4.fatbin", "rb").read())
PY

rm -f "$here"/*.cubin "$here"/*.fatbin "$here"/*.ptx "$here"/*.so "$here"/*.a "$here"/*.whl
cp cuda1*.cubin relocatable-sm_90.cubin ./*.fatbin compute_90.ptx host.so static.a wheel.whl "$here"
cd "$here"
for file in *.cubin *.fatbin *.so *.a; do
    for which in found all; do
        flags=$([ $which = all ] && echo -all || true)
        "$new/cuobjdump" $flags --list-elf --list-ptx "$file" 2>/dev/null |
            sed -n "s/^\(ELF\|PTX\) file *[0-9]*: .*\.\(sm_[0-9]*[af]*\)\.[a-z]*$/$file $which \1 \2/p" || true
    done
done > truth.txt
