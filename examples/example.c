// SPDX-License-Identifier: MIT
/*
 * The kernels are HIP source in this file, compiled at the start for the GPU that is there, so that
 * the examples build without a HIP compiler.
 */
#include "example.h"

#include <errno.h>
#include <getopt.h>
#include <hip/hiprtc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define TILE    64
#define THREADS EXAMPLE_THREADS

static const char *const names[EXAMPLE_KERNELS] = {
	"gemm_tile", "conv_tile", "attention_block", "softmax_row", "layernorm_row", "relu_forward",
	"add_rows",  "pool_max",  "spin_500us",      "spin_20ms",   "learn_20ms",
};

/* a is rows x depth, b is depth x columns, c is rows x columns; all are larger than needed. */
static const char source[] =
	"#define TILE 64\n"
	"#define THREADS 256\n"
	"static __device__ void tile(const float *a, const float *b, float *c, int rows,\n"
	"                            int columns, int depth, int gather) {\n"
	"  __shared__ float left[TILE][17], right[16][TILE];\n"
	"  int row0 = blockIdx.y * TILE, column0 = blockIdx.x * TILE;\n"
	"  int tx = threadIdx.x % 16, ty = threadIdx.x / 16;\n"
	"  float sum[4][4] = {{0}};\n"
	"  for (int k0 = 0; k0 < depth; k0 += 16) {\n"
	"    for (int i = threadIdx.x; i < TILE * 16; i += THREADS) {\n"
	"      int r = row0 + i / 16, k = k0 + i % 16;\n"
	"      left[i / 16][i % 16] = r < rows && k < depth ? a[(r + gather * (k % 9)) * depth + "
	"k] : 0;\n"
	"      k = k0 + i / TILE; r = column0 + i % TILE;\n"
	"      right[i / TILE][i % TILE] = k < depth && r < columns ? b[k * columns + r] : 0;\n"
	"    }\n"
	"    __syncthreads();\n"
	"    for (int k = 0; k < 16; k++)\n"
	"      for (int i = 0; i < 4; i++)\n"
	"        for (int j = 0; j < 4; j++)\n"
	"          sum[i][j] += left[ty * 4 + i][k] * right[k][tx * 4 + j];\n"
	"    __syncthreads();\n"
	"  }\n"
	"  for (int i = 0; i < 4; i++)\n"
	"    for (int j = 0; j < 4; j++) {\n"
	"      int r = row0 + ty * 4 + i, k = column0 + tx * 4 + j;\n"
	"      if (r < rows && k < columns) c[r * columns + k] = sum[i][j];\n"
	"    }\n"
	"}\n"
	"#define KERNEL(name) extern \"C\" __global__ void name(const float *a, const float *b, "
	"\\\n"
	"    float *c, int rows, int columns, int depth)\n"
	"KERNEL(gemm_tile) { tile(a, b, c, rows, columns, depth, 0); }\n"
	"KERNEL(conv_tile) { tile(a, b, c, rows, columns, depth, 1); }\n"
	"static __device__ float all(float x, int maximum) {\n"
	"  __shared__ float part[THREADS];\n"
	"  part[threadIdx.x] = x;\n"
	"  for (int step = THREADS / 2; step; step /= 2) {\n"
	"    __syncthreads();\n"
	"    if (threadIdx.x < step) {\n"
	"      float y = part[threadIdx.x + step];\n"
	"      part[threadIdx.x] = maximum ? fmaxf(part[threadIdx.x], y) : part[threadIdx.x] + y;\n"
	"    }\n"
	"  }\n"
	"  __syncthreads();\n"
	"  x = part[0];\n"
	"  __syncthreads();\n"
	"  return x;\n"
	"}\n"
	"KERNEL(softmax_row) {\n"
	"  const float *in = a + blockIdx.x * columns; float *out = c + blockIdx.x * columns;\n"
	"  float top = -1e30f, sum = 0;\n"
	"  for (int i = threadIdx.x; i < columns; i += THREADS) top = fmaxf(top, in[i]);\n"
	"  top = all(top, 1);\n"
	"  for (int i = threadIdx.x; i < columns; i += THREADS) sum += __expf(in[i] - top);\n"
	"  sum = all(sum, 0);\n"
	"  for (int i = threadIdx.x; i < columns; i += THREADS) out[i] = __expf(in[i] - top) / "
	"sum;\n"
	"}\n"
	"KERNEL(layernorm_row) {\n"
	"  const float *in = a + blockIdx.x * columns; float *out = c + blockIdx.x * columns;\n"
	"  float mean = 0, spread = 0;\n"
	"  for (int i = threadIdx.x; i < columns; i += THREADS) mean += in[i];\n"
	"  mean = all(mean, 0) / columns;\n"
	"  for (int i = threadIdx.x; i < columns; i += THREADS)\n"
	"    spread += (in[i] - mean) * (in[i] - mean);\n"
	"  spread = rsqrtf(all(spread, 0) / columns + 1e-5f);\n"
	"  for (int i = threadIdx.x; i < columns; i += THREADS) out[i] = (in[i] - mean) * spread;\n"
	"}\n"
	"/* 16 queries against all keys, 16 threads a query: scores, then the weighted sum. */\n"
	"KERNEL(attention_block) {\n"
	"  int query = blockIdx.x * 16 + threadIdx.x / 16, lane = threadIdx.x % 16;\n"
	"  const float *q = a + query * depth;\n"
	"  float weight = 0, out = 0;\n"
	"  for (int key = lane; key < rows; key += 16) {\n"
	"    float score = 0;\n"
	"    for (int i = 0; i < depth; i++) score += q[i] * b[key * depth + i];\n"
	"    score = __expf(score * 0.125f);\n"
	"    weight += score;\n"
	"    out += score * b[key * depth + lane];\n"
	"  }\n"
	"  c[query * depth + lane] = out / weight;\n"
	"}\n"
	"#define EACH(i) for (int i = blockIdx.x * 1024 + threadIdx.x, end_ = min(i + 1024,   \\\n"
	"    rows * columns); i < end_; i += THREADS)\n"
	"KERNEL(relu_forward) { EACH(i) c[i] = fmaxf(a[i], 0); }\n"
	"KERNEL(add_rows) { EACH(i) c[i] = a[i] + b[i]; }\n"
	"/* The clock of s_memrealtime has 100 MHz on every Instinct part. */\n"
	"static __device__ void spin(unsigned long ticks) {\n"
	"  unsigned long end = __builtin_amdgcn_s_memrealtime() + ticks;\n"
	"  while (__builtin_amdgcn_s_memrealtime() < end) __builtin_amdgcn_s_sleep(8);\n"
	"}\n"
	"KERNEL(spin_500us) { spin(50000); }\n"
	"KERNEL(spin_20ms) { spin(2000000); }\n"
	"/* Each block fits weights (a, then c) to samples that are made from their number: 20\n"
	"   steps of gradient descent, one per millisecond. The order of the sum is fixed, and so\n"
	"   are the bits of the result. A compute unit has LDS for one block. */\n"
	"static __device__ float noise(unsigned int n) {\n"
	"  n = (n ^ 61) ^ n >> 16; n *= 9; n ^= n >> 4; n *= 0x27d4eb2d; n ^= n >> 15;\n"
	"  return (int)n * 0x1p-31f;\n"
	"}\n"
	"KERNEL(learn_20ms) {\n"
	"  __shared__ float part[12288];\n"
	"  int i = threadIdx.x, place = blockIdx.x * THREADS + i;\n"
	"  unsigned long next = __builtin_amdgcn_s_memrealtime();\n"
	"  float weight = a[place], truth = noise(place);\n"
	"  for (int step = 0; step < 20; step++) {\n"
	"    float x = noise(((rows * 20 + step) * 1024 + blockIdx.x) * THREADS + i);\n"
	"    part[i] = (weight - truth) * x;\n"
	"    for (int half = THREADS / 2; half; half /= 2) {\n"
	"      __syncthreads();\n"
	"      if (i < half) part[i] += part[i + half];\n"
	"    }\n"
	"    __syncthreads();\n"
	"    weight -= 0.01f * part[0] * x;\n"
	"    next += 100000;\n"
	"    while (i == 0 && __builtin_amdgcn_s_memrealtime() < next)\n"
	"      __builtin_amdgcn_s_sleep(8);\n"
	"    __syncthreads();\n"
	"  }\n"
	"  c[place] = weight;\n"
	"}\n"
	"KERNEL(pool_max) { EACH(i) c[i] = fmaxf(fmaxf(a[i], a[i + 1]), fmaxf(a[i + columns], \n"
	"    a[i + columns + 1])); }\n";

void example_check(hipError_t error, const char *what)
{
	if (error == hipSuccess)
		return;
	fprintf(stderr, "%s: %s\n", what, hipGetErrorString(error));
	exit(1);
}

/* ---- options ---- */

static void help(const struct example_options *options)
{
	printf("Usage: %s [OPTION...]\n\n%s\n\n", options->name, options->summary);
	printf("  --seconds S     run for S seconds (default %g)\n", options->seconds);
	puts("  --begin T       start measuring at T on the monotonic clock (default: when ready)");
	printf("  --batch N       batch size (default %d)\n", options->batch);
	if (options->rate)
		printf("  --rate N        requests per second (default %d)\n", options->rate);
	if (options->seed)
		puts("  --load NAME     network, or spin for kernels of a fixed duration\n"
		     "  --samples FILE  write one line per request or step to FILE");
	if (options->seed && !options->rate)
		puts("  --load learn    kernels of a fixed duration that compute; --samples then\n"
		     "                  has a checksum of the weights after each step");
	if (options->seed && options->rate)
		printf("  --poisson       random arrivals (seed: --seed N, default %d)\n"
		       "  --cut           exit without waiting for unserved requests\n",
		       options->seed);
	if (options->size)
		printf("  --size N        rows and columns (default %d)\n", options->size);
	puts("  --priority P    stream priority: high, normal or low\n"
	     "  --device N      GPU to use (default 0)\n"
	     "  --help          print this help and exit");
}

static int number(const struct example_options *options, const char *text)
{
	char *end;
	long value = strtol(text, &end, 10);

	if (*end || end == text || value < 0 || value > 1000000) {
		fprintf(stderr, "%s: '%s' is not a number\n", options->name, text);
		exit(2);
	}
	return (int)value;
}

static int priority(const struct example_options *options, const char *text)
{
	if (strcmp(text, "high") == 0)
		return -1;
	if (strcmp(text, "low") == 0)
		return 1;
	if (strcmp(text, "normal") == 0)
		return 0;
	fprintf(stderr, "%s: the priority must be high, normal or low\n", options->name);
	exit(2);
}

static enum example_load load(const struct example_options *options, const char *text)
{
	if (strcmp(text, "spin") == 0)
		return EXAMPLE_LOAD_SPIN;
	if (strcmp(text, "network") == 0)
		return EXAMPLE_LOAD_NETWORK;
	if (strcmp(text, "learn") == 0 && !options->rate)
		return EXAMPLE_LOAD_LEARN;
	fprintf(stderr, "%s: the load must be network%s\n", options->name,
		options->rate ? " or spin" : ", spin or learn");
	exit(2);
}

void example_parse(struct example_options *options, int argc, char **argv)
{
	static const struct option longs[] = {
		{"seconds", required_argument, NULL, 's'},
		{"begin", required_argument, NULL, 'g'},
		{"batch", required_argument, NULL, 'b'},
		{"rate", required_argument, NULL, 'r'},
		{"size", required_argument, NULL, 'n'},
		{"priority", required_argument, NULL, 'p'},
		{"device", required_argument, NULL, 'd'},
		{"load", required_argument, NULL, 'l'},
		{"samples", required_argument, NULL, 'o'},
		{"poisson", no_argument, NULL, 'x'},
		{"seed", required_argument, NULL, 'e'},
		{"cut", no_argument, NULL, 'c'},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};
	int id;

	while ((id = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		switch (id) {
		case 's':
			options->seconds = strtod(optarg, NULL);
			break;
		case 'g':
			options->begin = strtod(optarg, NULL);
			break;
		case 'b':
			options->batch = number(options, optarg);
			break;
		case 'r':
			options->rate = number(options, optarg);
			break;
		case 'n':
			options->size = number(options, optarg);
			break;
		case 'p':
			options->priority = priority(options, optarg);
			break;
		case 'd':
			options->device = number(options, optarg);
			break;
		case 'l':
			options->load = load(options, optarg);
			break;
		case 'o':
			options->samples = optarg;
			break;
		case 'x':
			options->poisson = true;
			break;
		case 'c':
			options->cut = true;
			break;
		case 'e':
			options->seed = number(options, optarg);
			break;
		case 'h':
			help(options);
			exit(0);
		default:
			exit(2);
		}
	}
}

/* ---- device and kernels ---- */

static void compile(struct example *example, const char *architecture)
{
	char arch[320];
	const char *arguments[] = {arch, "-O3"};
	hiprtcProgram program;
	hiprtcResult result;
	size_t size = 0;
	char *text;

	snprintf(arch, sizeof(arch), "--offload-arch=%s", architecture);
	result = hiprtcCreateProgram(&program, source, "example.hip", 0, NULL, NULL);
	if (result == HIPRTC_SUCCESS)
		result = hiprtcCompileProgram(program, 2, arguments);
	if (result != HIPRTC_SUCCESS) {
		hiprtcGetProgramLogSize(program, &size);
		text = calloc(1, size + 1);
		if (text)
			hiprtcGetProgramLog(program, text);
		fprintf(stderr, "%s: cannot compile the kernels: %s\n%s\n", example->options->name,
			hiprtcGetErrorString(result), text ? text : "");
		exit(1);
	}
	hiprtcGetCodeSize(program, &size);
	text = malloc(size);
	if (!text || hiprtcGetCode(program, text) != HIPRTC_SUCCESS) {
		fprintf(stderr, "%s: cannot load the compiled kernels\n", example->options->name);
		exit(1);
	}
	EXAMPLE_CHECK(hipModuleLoadData(&example->module, text));
	free(text);
	hiprtcDestroyProgram(&program);
	for (int i = 0; i < EXAMPLE_KERNELS; i++) {
		int blocks = 0;

		EXAMPLE_CHECK(
			hipModuleGetFunction(&example->kernels[i], example->module, names[i]));
		EXAMPLE_CHECK(hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(
			&blocks, example->kernels[i], THREADS, 0));
		example->resident[i] = blocks * example->compute_units;
	}
}

void example_init(struct example *example, const struct example_options *options, size_t floats)
{
	hipDeviceProp_t properties;

	memset(example, 0, sizeof(*example));
	example->options = options;
	example->floats = floats;
	EXAMPLE_CHECK(hipSetDevice(options->device));
	EXAMPLE_CHECK(hipGetDeviceProperties(&properties, options->device));
	fprintf(stderr, "%s: on %s, %s, %d CUs\n", options->name, properties.name,
		properties.gcnArchName, properties.multiProcessorCount);
	example->compute_units = properties.multiProcessorCount;
	compile(example, properties.gcnArchName);
	EXAMPLE_CHECK(hipMalloc((void **)&example->a, floats * sizeof(float)));
	EXAMPLE_CHECK(hipMalloc((void **)&example->b, floats * sizeof(float)));
	EXAMPLE_CHECK(hipMalloc((void **)&example->c, floats * sizeof(float)));
	EXAMPLE_CHECK(hipMemset(example->a, 0, floats * sizeof(float)));
	EXAMPLE_CHECK(hipMemset(example->b, 0, floats * sizeof(float)));
	EXAMPLE_CHECK(hipDeviceSynchronize());
}

void example_free(struct example *example)
{
	EXAMPLE_CHECK(hipDeviceSynchronize());
	EXAMPLE_CHECK(hipFree(example->a));
	EXAMPLE_CHECK(hipFree(example->b));
	EXAMPLE_CHECK(hipFree(example->c));
	EXAMPLE_CHECK(hipModuleUnload(example->module));
}

hipStream_t example_stream(const struct example *example)
{
	hipStream_t stream;

	EXAMPLE_CHECK(hipStreamCreateWithPriority(&stream, hipStreamNonBlocking,
						  example->options->priority));
	return stream;
}

void example_launch(struct example *example, enum example_kernel kernel, int rows, int columns,
		    int depth, hipStream_t stream)
{
	void *arguments[] = {&example->a, &example->b, &example->c, &rows, &columns, &depth};
	unsigned int x = 1, y = 1;

	switch (kernel) {
	case EXAMPLE_GEMM:
	case EXAMPLE_CONV:
		x = (unsigned int)(columns + TILE - 1) / TILE;
		y = (unsigned int)(rows + TILE - 1) / TILE;
		break;
	case EXAMPLE_ATTENTION:
		x = (unsigned int)(rows + 15) / 16;
		y = (unsigned int)columns; /* heads */
		break;
	case EXAMPLE_SPIN_500US:
	case EXAMPLE_SPIN_20MS:
		/* As many as fit at once: the whole GPU for that time. */
		x = (unsigned int)example->resident[kernel];
		break;
	case EXAMPLE_SOFTMAX:
	case EXAMPLE_LAYERNORM:
		x = (unsigned int)rows;
		break;
	default:
		x = (unsigned int)((size_t)rows * (size_t)columns + 1023) / 1024;
		break;
	}
	EXAMPLE_CHECK(hipModuleLaunchKernel(example->kernels[kernel], x, y, 1, THREADS, 1, 1, 0,
					    stream, arguments, NULL));
}

/* ---- time ---- */

double example_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

void example_sleep_until(double when)
{
	struct timespec at = {.tv_sec = (time_t)when,
			      .tv_nsec = (long)((when - (double)(time_t)when) * 1e9)};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) == EINTR)
		;
}

double example_begin(const struct example *example)
{
	double now = example_now(), begin = example->options->begin;

	if (begin > 0 && now > begin)
		fprintf(stderr, "%s: ready %.3f s after the time of --begin\n",
			example->options->name, now - begin);
	else if (begin > 0)
		example_sleep_until(begin);
	return example_now();
}

void example_latency_add(struct example_latency *latency, double seconds)
{
	if (latency->count == latency->capacity) {
		size_t capacity = latency->capacity ? latency->capacity * 2 : 1024;
		double *items = realloc(latency->items, capacity * sizeof(*items));

		if (!items)
			return;
		latency->items = items;
		latency->capacity = capacity;
	}
	latency->items[latency->count++] = seconds;
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

void example_latency_print(struct example_latency *latency, const char *what)
{
	double sum = 0;
	size_t n = latency->count;

	if (n == 0) {
		printf("%s: none\n", what);
		return;
	}
	qsort(latency->items, n, sizeof(*latency->items), ascending);
	for (size_t i = 0; i < n; i++)
		sum += latency->items[i];
	printf("%s: %zu, mean %.3f ms, p50 %.3f, p90 %.3f, p99 %.3f, max %.3f\n", what, n,
	       sum / (double)n * 1e3, latency->items[n / 2] * 1e3, latency->items[n * 9 / 10] * 1e3,
	       latency->items[n * 99 / 100] * 1e3, latency->items[n - 1] * 1e3);
}

void example_latency_free(struct example_latency *latency)
{
	free(latency->items);
	*latency = (struct example_latency){0};
}
