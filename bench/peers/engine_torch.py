# SPDX-License-Identifier: Apache-2.0
"""PyTorch (eager, on the CPU) on the models of bench/peers/engine.py; of its two Adam implementations the faster counts."""
import engine_common as common
import torch
from torch import nn


def network(model):
    if model == "softmax":
        return nn.Linear(784, 10)
    if model == "mlp100":
        return nn.Sequential(nn.Linear(784, 100), nn.ReLU(), nn.Linear(100, 10))
    if model == "mlp500":
        return nn.Sequential(nn.Linear(784, 500), nn.ReLU(), nn.Linear(500, 500), nn.ReLU(), nn.Linear(500, 10))
    return nn.Sequential(nn.Unflatten(1, (1, 28, 28)), nn.Conv2d(1, 32, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2),
                         nn.Conv2d(32, 64, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(3136, 1024),
                         nn.ReLU(), nn.Linear(1024, 10))


def train(model, data, batch, seconds, **adam):
    net = network(model)
    if model.startswith("mlp"):
        optimizer = torch.optim.Adam(net.parameters(), 0.001, **adam)
    else:
        optimizer = torch.optim.SGD(net.parameters(), 0.5 if model == "softmax" else 0.05)
    loss_of = nn.CrossEntropyLoss()
    batches = common.Batches(*data, batch)

    def step():
        x, y = batches()
        optimizer.zero_grad(set_to_none=True)
        loss_of(net(x), y).backward()
        optimizer.step()

    return 1 / common.seconds_per_call(seconds, step)


def main():
    args = common.arguments()
    torch.set_num_threads(args.threads)
    data = [torch.from_numpy(a) for a in common.load(args.data)]
    for model, batch in common.MODELS.items():
        best = train(model, data, batch, args.seconds)
        if model.startswith("mlp"):
            best = max(best, train(model, data, batch, args.seconds, fused=True))
        common.report(f"train/{model}_b{batch}", best)


if __name__ == "__main__":
    main()
