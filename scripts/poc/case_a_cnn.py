#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Case A: classifies images with a small convolutional network; the online task. Needs PyTorch for ROCm."""
import poc_torch


def main():
    given = poc_torch.options("case_a_cnn.py", __doc__, 30, 8)
    torch, device = poc_torch.device("case_a_cnn.py")
    from torch import nn
    layers, channels = [], 3
    for width in (64, 128, 256, 512):
        layers += [nn.Conv2d(channels, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU(), nn.MaxPool2d(2)]
        channels = width
    model = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, 1000))
    model = model.to(device).eval()
    images = torch.randn(given.batch, 3, 224, 224, device=device)
    with torch.no_grad():
        poc_torch.repeat(torch, given, lambda: model(images), "images")


if __name__ == "__main__":
    main()
