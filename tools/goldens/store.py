# SPDX-License-Identifier: Apache-2.0
"""The recorded cases and their files; tests/goldens/README.md describes these."""
import gzip
import re
import shutil


class Store:
  """All cases of a run, by family and file."""

  def __init__(self):
    self.files = {}
    self.names = set()
    self.problems = []  # what could not be recorded as asked
    self.family = None

  def add(self, case):
    name = case.meta_info_def.meta_graph_version
    assert name not in self.names, name
    self.names.add(name)
    family, stem = re.match(r'(\w+)/(_?[A-Za-z0-9]+)', name).groups()
    self.files.setdefault((family, stem), []).append(case)

  def write(self, folder, families):
    for family in families:
      shutil.rmtree(folder / family, ignore_errors=True)
    for (family, stem), cases in sorted(self.files.items()):
      out = bytearray()
      for case in cases:
        data = case.SerializeToString(deterministic=True)
        out += _varint(len(data)) + data
      path = folder / family / (stem + '.gz')
      path.parent.mkdir(parents=True, exist_ok=True)
      path.write_bytes(gzip.compress(bytes(out), mtime=0))


def _varint(n):
  out = bytearray()
  while n >= 0x80:
    out.append(n & 0x7f | 0x80)
    n >>= 7
  out.append(n)
  return bytes(out)


STORE = Store()
