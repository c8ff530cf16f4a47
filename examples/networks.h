/* SPDX-License-Identifier: MIT */
/* The two networks the examples run, as launches: a residual CNN and a transformer encoder. */
#ifndef GP_EXAMPLE_NETWORKS_H
#define GP_EXAMPLE_NETWORKS_H

#include "example.h"

/* Floats that the buffers must hold for a batch. */
size_t cnn_floats(int batch);
size_t transformer_floats(int batch);

/* One forward pass of about 50 convolutions, in the shapes of ResNet-50; returns its launches. */
int cnn_forward(struct example *example, int batch, hipStream_t stream);
/* One forward pass of 12 layers of 768, sequences of 256, in the shapes of BERT-base. */
int transformer_forward(struct example *example, int batch, hipStream_t stream);
/* A step of training: forward, about twice that backward, and the update of the weights. */
int transformer_step(struct example *example, int batch, hipStream_t stream);

#endif
