#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the wheel millstream-cuda: the CUDA device for a finished wheel of millstream.

    tools/packaging/cuda_wheel.py dist/millstream-*.whl build/wheel/libmillstream_cuda.so dist

The plug-in was built with that wheel. It uses the libraries that the wheel of millstream has brought (under the names that auditwheel gave them), and those of
NVIDIA's packages, which are found by their places beside each other in site-packages: no environment variable is needed. Needs patchelf and strip.
"""

import argparse
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile

import wheel_file

LIBRARY_HASH = re.compile(r"-[0-9a-f]{8}(?=\.so)")  # auditwheel's
# Library: (NVIDIA's package, where it puts the library below site-packages). CUDA 13 has one folder for most of them.
NVIDIA = {
    "libcublas.so.13": ("nvidia-cublas", "nvidia/cu13/lib"),
    "libcublasLt.so.13": ("nvidia-cublas", "nvidia/cu13/lib"),
    "libnvrtc.so.13": ("nvidia-cuda-nvrtc", "nvidia/cu13/lib"),
    "libcudnn.so.9": ("nvidia-cudnn-cu13", "nvidia/cudnn/lib"),
}
OF_THE_SYSTEM = re.compile(r"lib(c|m|dl|rt|pthread|gcc_s|stdc\+\+)\.so\.\d+|ld-linux-x86-64\.so\.2")
LICENCE = re.compile(r"/licenses/(LICENSE|THIRD_PARTY_NOTICES.txt)$")
NOTICE = """

================================================================================
NVIDIA CUDA
Compiled in: the CUDA runtime (libcudart_static), under NVIDIA's End User License Agreement for CUDA, which allows to distribute it with
applications; headers of CUB, Thrust and libcu++ (BSD 3-Clause, Apache License 2.0, Apache License 2.0 with LLVM exceptions; Copyright NVIDIA
Corporation and contributors). cuBLAS, cuDNN and NVRTC are not in this package: they are installed from NVIDIA's own packages, under NVIDIA's
licences.
"""


def needed(library):
    text = subprocess.run(["patchelf", "--print-needed", library], capture_output=True, text=True, check=True).stdout
    return text.split()


def renames(library, wheel):
    """{name: auditwheel's name for it} for what the plug-in shares with the wheel of millstream. ValueError for what nobody brings."""
    with zipfile.ZipFile(wheel) as archive:
        brought = [pathlib.Path(name).name for name in archive.namelist() if ".so" in name]
    known = {LIBRARY_HASH.sub("", name): name for name in brought}
    by_soname = {re.sub(r"(\.so\.\d+).*", r"\1", plain): name for plain, name in known.items()}
    result, strange = {}, []
    for name in needed(library):
        if name in NVIDIA or OF_THE_SYSTEM.fullmatch(name) and name not in known:
            continue
        new = known.get(name) or by_soname.get(name)
        if new is None:
            strange.append(name)
        elif new != name:
            result[name] = new
    if strange:
        raise ValueError(f"{library} needs {', '.join(strange)}, which neither {wheel.name} nor NVIDIA's packages have")
    return result


def version_of(header, names):
    text = header.read_text(encoding="utf-8", errors="replace")
    return ".".join(re.search(rf"#define\s+{name}\s+(\d+)", text)[1] for name in names)


def requirements(version, cuda):
    """Not older than what it was compiled with: NVIDIA keeps later ones of the same major version compatible."""
    cublas = version_of(cuda / "include/cublas_api.h", ("CUBLAS_VER_MAJOR", "CUBLAS_VER_MINOR"))
    cudnn = version_of(cuda / "include/cudnn_version.h", ("CUDNN_MAJOR", "CUDNN_MINOR"))
    return [f"millstream=={version}", f"nvidia-cublas>={cublas},<14", "nvidia-cuda-nvrtc>=13.0,<14", f"nvidia-cudnn-cu13>={cudnn},<10"]


def finish(library, wheel, scratch):
    """A copy of the plug-in that finds its libraries beside itself."""
    copy = pathlib.Path(scratch) / library.name
    shutil.copy(library, copy)
    folders = ["../millstream", "../millstream.libs", *("../" + folder for folder in dict.fromkeys(folder for _, folder in NVIDIA.values()))]
    changes = [argument for old, new in renames(library, wheel).items() for argument in ("--replace-needed", old, new)]
    subprocess.run(["strip", "--strip-unneeded", copy], check=True)
    subprocess.run(["patchelf", *changes, "--set-rpath", ":".join(f"$ORIGIN/{folder}" for folder in folders), copy], check=True)
    return copy


def entries(wheel, plugin, cuda):
    """{name: contents} of the new wheel, and the folder of its metadata."""
    _, version, *_, platform = wheel.stem.split("-")
    info = f"millstream_cuda-{version}.dist-info"
    with zipfile.ZipFile(wheel) as archive:
        licences = {pathlib.Path(name).name: archive.read(name) for name in archive.namelist() if LICENCE.search(name)}
    licences["THIRD_PARTY_NOTICES.txt"] = licences.get("THIRD_PARTY_NOTICES.txt", b"") + NOTICE.encode()
    head = ["Metadata-Version: 2.4", "Name: millstream-cuda", f"Version: {version}", "Summary: NVIDIA GPUs for millstream (CUDA 13)",
            "License-Expression: Apache-2.0",
            *(f"License-File: {name}" for name in licences), "Requires-Python: >=3.9", *(f"Requires-Dist: {r}" for r in requirements(version, cuda))]
    body = "Millstream finds this package by itself: nothing needs to be imported or set."
    files = {"millstream_cuda/__init__.py": b"# SPDX-License-Identifier: Apache-2.0\n\"\"\"The CUDA device of millstream, which loads it by itself.\"\"\"\n",
             "millstream_cuda/libmillstream_cuda.so": plugin.read_bytes(),
             **{f"{info}/licenses/{name}": text for name, text in licences.items()},
             f"{info}/METADATA": "\n".join([*head, "", body, ""]).encode(),
             f"{info}/WHEEL": f"Wheel-Version: 1.0\nGenerator: millstream\nRoot-Is-Purelib: false\nTag: py3-none-{platform}\n".encode()}
    return files, f"millstream_cuda-{version}-py3-none-{platform}.whl"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wheel", type=pathlib.Path)
    parser.add_argument("plugin", type=pathlib.Path)
    parser.add_argument("output", type=pathlib.Path, help="a folder")
    parser.add_argument("--cuda", type=pathlib.Path, default=pathlib.Path("/usr/local/cuda"), help="the toolkit that it was built with")
    flags = parser.parse_args()
    try:
        with tempfile.TemporaryDirectory() as scratch:
            files, name = entries(flags.wheel, finish(flags.plugin, flags.wheel, scratch), flags.cuda)
            wheel_file.write(flags.output / name, files)
    except (OSError, ValueError, subprocess.CalledProcessError) as error:
        return f"cuda_wheel: {error}"
    print(flags.output / name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
