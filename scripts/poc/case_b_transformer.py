#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Case B: trains a transformer of the size of BERT-base; the offline task. Needs PyTorch for ROCm."""
import poc_torch


def main():
    given = poc_torch.options("case_b_transformer.py", __doc__, 30, 16)
    torch, device = poc_torch.device("case_b_transformer.py")
    from torch import nn
    layer = nn.TransformerEncoderLayer(768, 12, 3072, batch_first=True)
    model = nn.TransformerEncoder(layer, 12).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    tokens = torch.randn(given.batch, 128, 768, device=device)

    def step():
        optimizer.zero_grad()
        model(tokens).square().mean().backward()
        optimizer.step()

    poc_torch.repeat(torch, given, step, "sequences")


if __name__ == "__main__":
    main()
