#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# run.sh [STEPS]: in a folder that bundle.sh made, on a machine with a GPU: recordings of TensorFlow, trainings, then steps per
# second beside PyTorch where that is installed. Logs are left in the folder.
cd "$(dirname "$0")" || exit 1
steps=${1:-5000}
here=$PWD
# cuDNN and cuBLAS: where the loader finds them, or in Python's packages.
packages=$(python3 -c 'import glob, sys; print(":".join(sorted({d for p in sys.path for d in glob.glob(p + "/nvidia/*/lib")})))' 2>/dev/null)
export LD_LIBRARY_PATH=$here/lib:/usr/local/cuda/lib64:$packages${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export MILLSTREAM_DEVICE_PLUGINS=$here/lib/libmillstream_cuda.so MILLSTREAM_SOURCE_DIR=$here
shards=$(($(nproc) < 14 ? $(nproc) : 14))
for i in $(seq 0 $((shards - 1))); do
  NVIDIA_TF32_OVERRIDE=0 GTEST_TOTAL_SHARDS=$shards GTEST_SHARD_INDEX=$i timeout 600 bin/golden_test \
    --gtest_filter='*GoldenValues*:*GoldenGradients*' > "golden_$i.log" 2>&1 &
done
wait
cat golden_*.log > golden.log
python3 checks.py data/mnist > checks.log 2> checks.err
for graph in mlp lenet lstm transformer resnet50; do timeout 120 bin/graph_steps_bench graphs/$graph "$steps"; done > steps.log 2> steps.err
# Kernels that are written at run time, which are off by default.
export MILLSTREAM_KERNEL_CACHE=$here/kernels
MILLSTREAM_CUDA_FUSION=1 MILLSTREAM_FUSE_ELEMENTS=1 NVIDIA_TF32_OVERRIDE=0 timeout 600 bin/golden_test \
  --gtest_filter='*GoldenValues*:*GoldenGradients*' > golden_fused.log 2>&1
for graph in mlp lenet lstm transformer resnet50; do
  MILLSTREAM_CUDA_FUSION=1 timeout 120 bin/graph_steps_bench graphs/$graph "$steps"
done > steps_fused.log 2> steps_fused.err
python3 torch_steps.py "$steps" > torch.log 2> torch.err
printf '\n%-28s %s\n' what result
printf '%-28s %s\n' GPU "$(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader)"
printf '%-28s %s\n' 'golden tests passed' "$(grep -c '^\[       OK' golden.log)"
sed -n 's/^\[  FAILED.*Match\/\([^,]*\),.*ms)$/\1/p' golden.log | sort > failed.txt
grep -v '^#' differences.txt | sort | comm -23 failed.txt - > unexpected.txt
printf '%-28s %s\n' 'other results by design' "$(($(wc -l < failed.txt) - $(wc -l < unexpected.txt)))"
printf '%-28s %s\n' 'golden tests failed' "$(wc -l < unexpected.txt) $(tr '\n' ' ' < unexpected.txt)"
printf '%-28s %s\n' 'shards that did not end' "$((shards - $(grep -c 'test suites ran' golden.log)))"
printf '%-28s %s\n' 'golden tests passed, fused' "$(grep -c '^\[       OK' golden_fused.log)"
printf '%-28s %s\n' 'golden tests failed, fused' "$(grep -c '^\[  FAILED.*ms)$' golden_fused.log)"
cat checks.log steps.log
sed 's/^/fused: /' steps_fused.log
cat torch.log
