/* SPDX-License-Identifier: MIT */
/*
 * GPU descriptions (data/gpus/NAME.json) as the numbers of the model. Used by the virtual GPU,
 * which adds what it presents of a chip (vgpu/gpufile.h), and by the simulator, which needs nothing
 * else. Every figure is {"value": N, "source": "...", "kind": ...}, every cost also has a range:
 * see gpufile/figure.h.
 */
#ifndef GP_GPUFILE_CHIP_H
#define GP_GPUFILE_CHIP_H

#include "gpufile/figure.h"
#include "model/model.h"

#define GP_CHIP_NAME  32
#define GP_CHIP_TITLE 64

struct gp_gpufile_chip {
	char name[GP_CHIP_NAME];    /* "mi308x" */
	char title[GP_CHIP_TITLE];  /* "AMD Instinct MI308X" */
	struct gp_model_chip model; /* best guesses */
	/* The same with the costs of a preemption at the cheap and the dear end of their ranges. */
	struct gp_model_chip cheap, dear;
};

/* The figures of struct gp_model_chip, sections "chip" and "cost", except sdma_engines. */
extern const struct gp_gpufile_figure_spec gp_gpufile_figures[];
extern const size_t gp_gpufile_figure_count;

/* The file of a GPU, by name (upper or lower case) or path. -ENOENT for an unknown name. */
int gp_gpufile_path(const char *name, char *path, size_t size);
/* Reports an unknown name and lists the known ones; returns `error`. */
int gp_gpufile_unknown(struct gp_diag *diag, const char *name, int error);
/* "name" or "title" of the file. */
int gp_gpufile_text(const json_t *root, const char *key, const char *path, struct gp_diag *diag,
		    char *out, size_t size);
/* Reads the file; -errno, with file and key on diag. */
int gp_gpufile_load(const char *name, struct gp_diag *diag, struct gp_gpufile_chip *out);

#endif
