#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A Debian package as its users get it: unpacked into a folder of its own (its dependencies are those of the build). Usage: deb.sh PACKAGE
set -eu
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
dpkg-deb -x "$1" "$scratch/root"
program=$scratch/root/usr/bin/millstream

# Nothing of the build tree: the library is the one that was unpacked, and every other one belongs to a package.
ldd "$program" | grep -q "libmillstream.*$scratch/root" || { echo "the library is not found beside the program"; exit 1; }
if ldd "$program" | grep "not found"; then exit 1; fi
if readelf -d "$program" "$scratch"/root/usr/lib/libmillstream.so.* | grep -E 'R(UN)?PATH' | grep -v 'ORIGIN'; then echo "a path of the build"; exit 1; fi
for file in share/man/man1/millstream.1 share/doc/millstream/copyright share/millstream/mnist/train-images-idx3-ubyte.gz \
            share/bash-completion/completions/millstream include/millstream/millstream.h include/millstream/ops/gen/ops.h \
            lib/cmake/millstream/millstream-config.cmake; do
  [ -s "$scratch/root/usr/$file" ] || { echo "usr/$file is missing"; exit 1; }
done
"$(dirname "$0")/notices.py" "$scratch/root/usr/share/doc/millstream/THIRD_PARTY_NOTICES"
dpkg-deb -f "$1" Depends | grep -q libnghttp2 || { echo "the package names no dependencies"; exit 1; }

cd "$scratch"
env -i PATH=/usr/bin:/bin HOME="$scratch" "$program" --version
env -i PATH=/usr/bin:/bin HOME="$scratch" "$program" train --model softmax --train_steps 300 --logdir logs
env -i PATH=/usr/bin:/bin HOME="$scratch" "$program" inspect logs | grep -q softmax/kernel
echo "$1 works"
