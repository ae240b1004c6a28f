# SPDX-License-Identifier: Apache-2.0
"""Wheels in a virtual environment of their own, for tests of what users get."""
import os
import subprocess
import sys
import tempfile
import unittest


class InstalledPackage(unittest.TestCase):
    """Installs `wheels` once for all tests of a class, away from the sources and without the settings of this shell but pip's own (PIP_*, proxies)."""

    wheels = ()

    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.scratch.cleanup)
        cls.venv = os.path.join(cls.scratch.name, "venv")
        subprocess.run([sys.executable, "-m", "venv", cls.venv], check=True)
        cls.environment = {"PATH": cls.venv + "/bin:/usr/bin:/bin", "HOME": cls.scratch.name, "LANG": "C.UTF-8"}
        pip = {name: value for name, value in os.environ.items() if name.startswith("PIP_") or name.lower().endswith("_proxy")}
        subprocess.run(["pip", "install", "--quiet", "--disable-pip-version-check", *cls.wheels], check=True, env={**cls.environment, **pip},
                       executable=cls.venv + "/bin/pip")

    def run_in_venv(self, *command, timeout=180, **environment):
        """Runs a program of the environment, which must succeed; returns what it printed (stdout, stderr)."""
        done = subprocess.run(command, cwd=self.scratch.name, env={**self.environment, **environment}, capture_output=True, text=True, timeout=timeout,
                              check=False, executable=f"{self.venv}/bin/{command[0]}")
        self.assertEqual(done.returncode, 0, done.stderr + done.stdout)
        return done.stdout, done.stderr
