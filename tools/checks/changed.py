#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Which files a change has touched. Usage: changed.py prints the base, then one file per line, the latest change first.

The base is the commit that the change started from:
1. the environment variable BASE, if it is set;
2. the merge base with origin/main or main, if HEAD is not on that branch itself;
3. else, as in CI's clone, where main is the commit under test: COMMITS commits back along the first parents, or the oldest commit of a shallow clone;
4. the empty tree, so that every file has changed, if there is no earlier commit.
Files that are not committed yet count as changed.
"""

import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
COMMITS = 20
EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"  # git's, in every repository


def git(*arguments, root=ROOT):
    """The lines that git prints; none if it fails."""
    done = subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, check=False)
    return done.stdout.splitlines() if done.returncode == 0 else []


def base(root=ROOT):
    if os.environ.get("BASE"):
        commit = git("rev-parse", "--verify", "--quiet", os.environ["BASE"] + "^{commit}", root=root)
        if not commit:
            raise ValueError(f"BASE={os.environ['BASE']} is no commit of this repository")
        return commit[0]
    head = git("rev-parse", "HEAD", root=root)
    for branch in ("origin/main", "main"):
        common = git("merge-base", "HEAD", branch, root=root)
        if common and common != head:
            return common[0]
    oldest = git("rev-list", "--first-parent", f"--max-count={COMMITS + 1}", "HEAD", root=root)[-1:]
    return oldest[0] if oldest and oldest != head else EMPTY_TREE


def files(root=ROOT):
    """Paths that exist, relative to the root: first what is not committed, then by commit, the latest first."""
    start = base(root)
    commits = git("ls-files", root=root) if start == EMPTY_TREE else git("log", "--format=", "--name-only", "--diff-filter=d", f"{start}..HEAD", root=root)
    names = git("diff", "--name-only", "HEAD", root=root) + git("ls-files", "--others", "--exclude-standard", root=root) + commits
    return [name for name in dict.fromkeys(names) if name and (root / name).is_file()]


if __name__ == "__main__":
    try:
        print("\n".join([f"# since {base()}", *files()]))
    except ValueError as error:
        sys.exit(str(error))
