# SPDX-License-Identifier: Apache-2.0
"""The recorded cases and their files; tests/goldens/README.md describes these.

A case is recorded as MODULE/OP_WHAT, MODULE being the module of tools/goldens/cases that made it. Its file is that of the source that
declares the op: what is recorded for ops of millstream/ops/math/add.cc is in tests/goldens/math/add.gz, and called math/OP_WHAT there.
"""
import gzip
import pathlib
import re
import shutil
import subprocess

from google.protobuf.internal.decoder import _DecodeVarint32
from google.protobuf.internal.encoder import _EncodeVarint

ROOT = pathlib.Path(__file__).resolve().parents[2]
GOLDENS = ROOT / 'tests' / 'goldens'
COUNTS = ROOT / 'tests' / 'golden_cases.txt'  # golden_test compares it, so that no case is lost unnoticed
OPGEN = ROOT / 'build' / 'dev' / 'opgen'
RECORDED_AS = 'recorded_as'  # a collection of the case


def op_files():
  """Maps each op to the place of its golden file below tests/goldens, without the suffix: {'AddV2': 'math/add'}."""
  if not OPGEN.exists():
    raise SystemExit('%s is missing: it says which source declares an op; run make first' % OPGEN)
  lines = subprocess.run([OPGEN, 'sources'], capture_output=True, text=True, check=True).stdout.splitlines()
  pairs = (line.split() for line in lines)
  return {op: re.fullmatch(r'millstream/ops/(.*)\.cc', source)[1] for op, source in pairs}


def recorded_as(case):
  return case.collection_def[RECORDED_AS].node_list.value[0]


def module_of(case):
  return recorded_as(case).partition('/')[0]


def read_messages(path):
  data, at = gzip.decompress(path.read_bytes()), 0
  while at < len(data):
    size, at = _DecodeVarint32(data, at)
    yield data[at:at + size]
    at += size


def read_cases(path, message):
  return map(message.FromString, read_messages(path))


def write_counts():
  """How many cases each file has."""
  counts = {path.relative_to(GOLDENS).with_suffix('').as_posix(): sum(1 for _ in read_messages(path)) for path in GOLDENS.rglob('*.gz')}
  COUNTS.write_text(''.join('%s %d\n' % pair for pair in sorted(counts.items())))


class Store:
  """All cases of a run."""

  def __init__(self):
    self.cases = []
    self.names = set()
    self.problems = []  # what could not be recorded as asked
    self.module = None

  def add(self, case, name):
    assert name not in self.names, name
    self.names.add(name)
    case.collection_def[RECORDED_AS].node_list.value.append(name)
    self.cases.append(case)

  def write(self, modules, message):
    """Replaces what `modules` had recorded before by the cases of this run."""
    kept = [case for path in sorted(GOLDENS.rglob('*.gz')) for case in read_cases(path, message) if module_of(case) not in modules]
    files, names, sources = {}, set(), op_files()
    for case in sorted(kept + self.cases, key=module_of):  # stable: cases of a module stay in their order
      op, rest = re.fullmatch(r'\w+/(_?[A-Za-z0-9]+)(.*)', recorded_as(case)).groups()
      place = sources[op]
      name = unique('%s/%s%s' % (place.partition('/')[0], op, rest), names)
      names.add(name)
      case.meta_info_def.meta_graph_version = name
      files.setdefault(place, []).append(case)
    for folder in (p for p in GOLDENS.iterdir() if p.is_dir()):
      shutil.rmtree(folder)
    for place, cases in files.items():
      write_cases(GOLDENS / (place + '.gz'), cases)
    write_counts()


def write_cases(path, cases):
  out = bytearray()
  for case in cases:
    data = case.SerializeToString(deterministic=True)
    _EncodeVarint(out.extend, len(data))
    out += data
  path.parent.mkdir(parents=True, exist_ok=True)
  path.write_bytes(gzip.compress(bytes(out), mtime=0))


def unique(name, names):
  """`name`, with a number behind it if it is among `names`."""
  n, free = 1, name
  while free in names:
    n += 1
    free = '%s_%d' % (name, n)
  return free


STORE = Store()
