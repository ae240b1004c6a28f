# SPDX-License-Identifier: Apache-2.0
"""One rank of PyTorch's DistributedDataParallel (gloo) on a model of bench/peers/engine_torch.py, for bench/peers/ddp.py.

    ddp_torch.py --model mlp500 --rank 0 --ranks 2 --store FILE --data FOLDER --seconds 5
"""
import argparse
import json
import time
from pathlib import Path

import engine_common as common
import engine_torch
import torch
from torch import distributed, nn


def seconds_per_step(step, seconds):
    """All ranks make the same number of steps: rank 0 decides how many."""
    for _ in range(20):
        step()
    start = time.perf_counter()
    for _ in range(20):
        step()
    count = torch.tensor([max(20, int(seconds / ((time.perf_counter() - start) / 20)))])
    distributed.broadcast(count, 0)
    distributed.barrier()
    start = time.perf_counter()
    for _ in range(int(count)):
        step()
    return (time.perf_counter() - start) / int(count)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", required=True)
    parser.add_argument("--rank", type=int, required=True)
    parser.add_argument("--ranks", type=int, required=True)
    parser.add_argument("--store", required=True)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--seconds", type=float, default=5)
    args = parser.parse_args()
    torch.set_num_threads(1)
    distributed.init_process_group("gloo", init_method=f"file://{args.store}", rank=args.rank, world_size=args.ranks)
    net = nn.parallel.DistributedDataParallel(engine_torch.network(args.model))
    if args.model == "softmax":
        optimizer = torch.optim.SGD(net.parameters(), 0.5)
    else:
        optimizer = torch.optim.Adam(net.parameters(), 0.001, fused=True)
    loss_of = nn.CrossEntropyLoss()
    data = [torch.from_numpy(a[args.rank::args.ranks].copy()) for a in common.load(args.data)]
    batches = common.Batches(*data, common.MODELS[args.model])

    def step():
        x, y = batches()
        optimizer.zero_grad(set_to_none=True)
        loss_of(net(x), y).backward()
        optimizer.step()

    took = seconds_per_step(step, args.seconds)
    if args.rank == 0:
        print(json.dumps({"steps_per_second": 1 / took}), flush=True)
    distributed.destroy_process_group()


if __name__ == "__main__":
    main()
