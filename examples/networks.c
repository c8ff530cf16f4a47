// SPDX-License-Identifier: MIT
/* Networks as lists of launches: the shapes are those of ResNet-50 and BERT-base, the weights are
 * not there. */
#include "networks.h"

/* Stages of ResNet-50: blocks, pixels of the feature map, channels inside and outside a block. */
static const struct {
	int blocks, pixels, inner, outer;
} stages[] = {
	{3, 56 * 56, 64, 256},
	{4, 28 * 28, 128, 512},
	{6, 14 * 14, 256, 1024},
	{3, 7 * 7, 512, 2048},
};

#define CNN_INPUT_PIXELS (112 * 112)
#define CNN_CLASSES      1000

/* BERT-base. */
#define LAYERS   12
#define HIDDEN   768
#define HEADS    12
#define HEAD     64
#define SEQUENCE 256

size_t cnn_floats(int batch)
{
	/* The widest map, and the deepest filter; with room for the gathered rows. */
	return (size_t)batch * CNN_INPUT_PIXELS * 160 + 9 * 2048 * 512;
}

size_t transformer_floats(int batch)
{
	return (size_t)batch * SEQUENCE * HIDDEN * 4 + (size_t)HIDDEN * HIDDEN * 8;
}

static int bottleneck(struct example *e, int rows, int inner, int outer, hipStream_t stream)
{
	example_launch(e, EXAMPLE_CONV, rows, inner, outer, stream);
	example_launch(e, EXAMPLE_RELU, rows, inner, 0, stream);
	example_launch(e, EXAMPLE_CONV, rows, inner, inner * 9, stream);
	example_launch(e, EXAMPLE_RELU, rows, inner, 0, stream);
	example_launch(e, EXAMPLE_CONV, rows, outer, inner, stream);
	example_launch(e, EXAMPLE_ADD, rows, outer, 0, stream);
	example_launch(e, EXAMPLE_RELU, rows, outer, 0, stream);
	return 7;
}

int cnn_forward(struct example *e, int batch, hipStream_t stream)
{
	int launches = 5;

	example_launch(e, EXAMPLE_CONV, batch * CNN_INPUT_PIXELS, 64, 147, stream);
	example_launch(e, EXAMPLE_RELU, batch * CNN_INPUT_PIXELS, 64, 0, stream);
	example_launch(e, EXAMPLE_POOL, batch * stages[0].pixels, 64, 0, stream);
	for (size_t i = 0; i < sizeof(stages) / sizeof(stages[0]); i++)
		for (int block = 0; block < stages[i].blocks; block++)
			launches += bottleneck(e, batch * stages[i].pixels, stages[i].inner,
					       stages[i].outer, stream);
	example_launch(e, EXAMPLE_POOL, batch, 2048, 0, stream);
	example_launch(e, EXAMPLE_GEMM, batch, CNN_CLASSES, 2048, stream);
	return launches;
}

int transformer_forward(struct example *e, int batch, hipStream_t stream)
{
	int rows = batch * SEQUENCE;

	for (int layer = 0; layer < LAYERS; layer++) {
		example_launch(e, EXAMPLE_GEMM, rows, 3 * HIDDEN, HIDDEN, stream);
		example_launch(e, EXAMPLE_ATTENTION, SEQUENCE, HEADS * batch, HEAD, stream);
		example_launch(e, EXAMPLE_SOFTMAX, batch * HEADS * 16, SEQUENCE, 0, stream);
		example_launch(e, EXAMPLE_GEMM, rows, HIDDEN, HIDDEN, stream);
		example_launch(e, EXAMPLE_ADD, rows, HIDDEN, 0, stream);
		example_launch(e, EXAMPLE_LAYERNORM, rows, HIDDEN, 0, stream);
		example_launch(e, EXAMPLE_GEMM, rows, 4 * HIDDEN, HIDDEN, stream);
		example_launch(e, EXAMPLE_RELU, rows, 4 * HIDDEN, 0, stream);
		example_launch(e, EXAMPLE_GEMM, rows, HIDDEN, 4 * HIDDEN, stream);
		example_launch(e, EXAMPLE_ADD, rows, HIDDEN, 0, stream);
		example_launch(e, EXAMPLE_LAYERNORM, rows, HIDDEN, 0, stream);
	}
	return LAYERS * 11;
}

int transformer_step(struct example *e, int batch, hipStream_t stream)
{
	int launches = transformer_forward(e, batch, stream);

	/* Gradients of inputs and of weights cost a forward pass each. */
	launches += transformer_forward(e, batch, stream);
	launches += transformer_forward(e, batch, stream);
	for (int layer = 0; layer < LAYERS; layer++)
		example_launch(e, EXAMPLE_ADD, 12 * HIDDEN, HIDDEN, 0, stream);
	return launches + LAYERS;
}
