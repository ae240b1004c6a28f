#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The wheel of the CUDA device as its users get it: installed beside millstream into a new virtual environment, with NVIDIA's packages (1 GB).

    tests/packages/wheel_cuda.py dist/millstream-*.whl dist/millstream_cuda-*.whl       # `make wheel-cuda` does it at its end

Nothing of the machine's own CUDA is used. Without a GPU it is seen that the device can be loaded, says what is missing, and leaves work to the CPU. pip's own settings
(PIP_*) are kept.
"""
import os
import pathlib
import re
import subprocess
import sys
import unittest
import zipfile

from installed_package import InstalledPackage

if len(sys.argv) < 3:
    sys.exit(__doc__)
CUDA_WHEEL, WHEEL = os.path.abspath(sys.argv.pop()), os.path.abspath(sys.argv.pop())
PROGRAM = """
import millstream as tf
with tf.Session() as session:
    print([d.device_type for d in session.list_devices()], session.run(tf.reduce_sum(tf.matmul([[1.0, 2.0]], [[3.0], [4.0]]))))
with open("/proc/self/maps") as maps:
    print(*sorted({line.split()[-1] for line in maps if ".so" in line}), sep="\\n")
"""
HAS_DRIVER = os.path.exists("/proc/driver/nvidia/version")


class CudaWheel(InstalledPackage):
    wheels = (WHEEL, CUDA_WHEEL)

    def run_program(self, **environment):
        out, errors = self.run_in_venv("python", "-c", PROGRAM, **environment)
        first, *libraries = out.splitlines()
        return first, libraries, errors

    def test_metadata(self):
        with zipfile.ZipFile(CUDA_WHEEL) as wheel:
            [name] = [name for name in wheel.namelist() if name.endswith("METADATA")]
            text = wheel.read(name).decode()
            notices = wheel.read(name.replace("METADATA", "licenses/THIRD_PARTY_NOTICES.txt")).decode()
        version = os.path.basename(WHEEL).split("-")[1]
        self.assertIn(f"Requires-Dist: millstream=={version}\n", text)
        for package in ("nvidia-cublas", "nvidia-cuda-nvrtc", "nvidia-cudnn-cu13"):
            self.assertRegex(text, rf"Requires-Dist: {package}>=[\d.]+,<\d+\n")
        self.assertIn("NVIDIA", notices)

    def test_it_is_loaded_by_itself(self):
        first, libraries, errors = self.run_program()
        plugins = [path for path in libraries if path.endswith("millstream_cuda/libmillstream_cuda.so")]
        self.assertEqual(len(plugins), 1, errors)
        self.assertNotIn("cannot load", errors)
        for name in ("libcublas.so", "libcublasLt.so", "libcudnn.so"):  # NVIDIA's packages, not the machine's CUDA
            self.assertTrue(any(name in path and path.startswith(self.venv) for path in libraries), (name, libraries))
        self.assertEqual(sum("/libmillstream.so" in path for path in libraries), 1)
        if HAS_DRIVER:
            return
        self.assertEqual(first, "['CPU'] 11.0")
        self.assertRegex(errors, "no NVIDIA driver is loaded|no CUDA-capable device")

    def test_an_empty_setting_leaves_it_out(self):
        first, libraries, _ = self.run_program(MILLSTREAM_DEVICE_PLUGINS="")
        self.assertEqual(first, "['CPU'] 11.0")
        self.assertFalse(any("millstream_cuda" in path for path in libraries))

    def test_nvrtc_is_found(self):
        """The plug-in opens NVRTC when it compiles its first kernel: by its own search path, which is that of its folder's neighbours."""
        [plugin] = pathlib.Path(self.venv).glob("lib/python*/site-packages/millstream_cuda/libmillstream_cuda.so")
        text = subprocess.run(["readelf", "-d", plugin], capture_output=True, text=True, check=True).stdout
        folders = re.search(r"R(?:UN)?PATH.*\[(.*)\]", text)[1].replace("$ORIGIN", str(plugin.parent)).split(":")
        self.assertTrue(any(os.path.exists(os.path.join(folder, "libnvrtc.so.13")) for folder in folders), folders)

    def test_zz_nothing_is_left_after_uninstall(self):
        self.run_in_venv("pip", "uninstall", "--quiet", "--yes", "millstream-cuda")
        self.assertEqual(list(pathlib.Path(self.venv).glob("lib/python*/site-packages/millstream_cuda")), [])
        first, _, errors = self.run_program()
        self.assertEqual((first, errors), ("['CPU'] 11.0", ""))


if __name__ == "__main__":
    unittest.main(verbosity=1)
