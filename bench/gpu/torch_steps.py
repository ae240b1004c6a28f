#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The models of graphs.py in PyTorch, each step one CUDA graph; prints lines of JSON like graph_steps_bench: torch_steps.py STEPS [MODEL...].

--compile compiles the large ones first, which takes minutes."""

import json
import sys
import time

import torch
import torchvision
from torch import nn

torch.backends.cuda.matmul.allow_tf32 = True
torch.backends.cudnn.allow_tf32 = True
torch.backends.cudnn.benchmark = True


def mlp() -> tuple[nn.Module, torch.optim.Optimizer, torch.Tensor, int]:
    model = nn.Sequential(nn.Linear(784, 500), nn.ReLU(), nn.Linear(500, 500), nn.ReLU(), nn.Linear(500, 10)).cuda()
    return model, torch.optim.Adam(model.parameters(), lr=1e-3, fused=True, capturable=True), torch.randn(32, 784), 10


def lenet() -> tuple[nn.Module, torch.optim.Optimizer, torch.Tensor, int]:
    model = nn.Sequential(
        nn.Conv2d(1, 32, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(32, 64, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
        nn.Linear(7 * 7 * 64, 1024), nn.ReLU(), nn.Linear(1024, 10)).cuda()
    return model, torch.optim.SGD(model.parameters(), lr=0.01, fused=True), torch.randn(64, 1, 28, 28), 10


class LanguageModel(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(10000, 650)
        self.lstm = nn.LSTM(650, 650, 2, batch_first=True)
        self.top = nn.Linear(650, 10000)

    def forward(self, words: torch.Tensor) -> torch.Tensor:
        return self.top(self.lstm(self.table(words))[0]).flatten(0, 1)


def resnet50() -> tuple[nn.Module, torch.optim.Optimizer, torch.Tensor, int]:
    model = torchvision.models.resnet50().cuda().to(memory_format=torch.channels_last)
    images = torch.randn(256, 3, 224, 224).to(memory_format=torch.channels_last)
    return model, torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, fused=True), images, 1000


def lstm() -> tuple[nn.Module, torch.optim.Optimizer, torch.Tensor, int]:
    model = LanguageModel().cuda()
    return model, torch.optim.SGD(model.parameters(), lr=1.0, fused=True), torch.randint(10000, (20, 35)), 10000


def transformer() -> tuple[nn.Module, torch.optim.Optimizer, torch.Tensor, int]:
    block = nn.TransformerEncoderLayer(512, 8, 2048, dropout=0.0, batch_first=True)
    model = nn.TransformerEncoder(block, 6, enable_nested_tensor=False).cuda()
    return model, torch.optim.Adam(model.parameters(), lr=1e-4, fused=True, capturable=True), torch.randn(64, 128, 512), 0


MODELS = {"mlp": mlp, "lenet": lenet, "resnet50": resnet50, "lstm": lstm, "transformer": transformer}
SLOWNESS = {"resnet50": 200, "lstm": 20, "transformer": 50}
HALF = {"resnet50", "transformer"}


def measure(name: str, steps: int, compiled: bool) -> None:
    model, optimizer, images, classes = MODELS[name]()
    steps = max(2, steps // SLOWNESS.get(name, 1))
    if compiled and name in SLOWNESS:
        model = torch.compile(model)
    labels = torch.randint(classes, (images.numel() if name == "lstm" else len(images),)) if classes else torch.randn(images.shape)
    pinned_x, pinned_y = images.pin_memory(), labels.pin_memory()
    x, y = images.cuda(), labels.cuda()
    criterion = nn.CrossEntropyLoss() if classes else nn.MSELoss()

    def step() -> torch.Tensor:
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cuda", torch.bfloat16, enabled=name in HALF):
            outputs = model(x)
        loss = criterion(outputs.float(), y)
        loss.backward()
        optimizer.step()
        return loss

    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(5):
            step()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        loss = step()
    results = {}
    for what in ("warm_up", "steps_per_s", "fetched_steps_per_s"):
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(steps):
            if name not in SLOWNESS:  # the batch of the others stays on the device
                x.copy_(pinned_x, non_blocking=True)
                y.copy_(pinned_y, non_blocking=True)
            graph.replay()
            if what == "fetched_steps_per_s":
                loss.item()
        torch.cuda.synchronize()
        results[what] = steps / (time.perf_counter() - start)
    del results["warm_up"]
    print(json.dumps({"torch": name, **results, "last_loss": loss.item()}), flush=True)


names = [a for a in sys.argv[2:] if a != "--compile"]
for model_name in names or MODELS:
    measure(model_name, int(sys.argv[1]), "--compile" in sys.argv)
