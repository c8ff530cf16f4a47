#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Computes a few matrix products with a known result and checks them. Needs PyTorch for ROCm."""
import sys

import poc_torch


def main():
    given = poc_torch.options("test_gemm_mini.py", __doc__, 5, 1)
    torch, device = poc_torch.device("test_gemm_mini.py")
    size = 1024
    left = torch.eye(size, device=device) * 2
    right = torch.ones(size, size, device=device)
    wrong = []

    def product():
        # Twice the identity times ones is two everywhere, exactly.
        if not bool((left @ right == 2).all()):
            wrong.append(1)

    poc_torch.repeat(torch, given, product, "products")
    if wrong:
        sys.exit(f"test_gemm_mini.py: wrong products: {len(wrong)}")


if __name__ == "__main__":
    main()
