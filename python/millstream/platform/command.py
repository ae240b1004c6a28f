# SPDX-License-Identifier: Apache-2.0
"""The command `millstream` of an installed package: the program that lies in the package itself."""
import os
import sys


def program():
    """The path of the command line tool that came with this package; FileNotFoundError if none did."""
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    path = os.path.join(package, "bin", "millstream")
    if not os.path.exists(path):
        raise FileNotFoundError(f"{path}: this package came without the command line tool; `make install` brings it")
    return path


def main():
    try:
        path = program()
    except FileNotFoundError as error:
        print(f"millstream: {error}", file=sys.stderr)
        return 1
    return os.execv(path, ["millstream", *sys.argv[1:]])
