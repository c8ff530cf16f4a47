// SPDX-License-Identifier: MIT
/*
 * Shows the decoder from the outside, for the scripts that compare it with LLVM and that write the
 * table of instructions.
 *
 *	isa_tool table
 *		every operation: format, opcode, name, gfx90a or gfx942, executed or refused
 *	isa_tool words gfx90a|gfx942
 *		lines of words in hexadecimal from stdin: format, opcode, name, how many words
 *	isa_tool compare gfx90a|gfx942
 *		the output of llvm-objdump -d from stdin: instructions whose name or length differs,
 *		instructions that would be refused, and how many there were
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vgpu/isa/inst.h"

#define WORDS_MAX   3
#define NAMES_MAX   4096
#define SHOWN_MAX   40
#define OPCODES_MAX 1024

static const char *const formats[GP_ISA_FORMATS] = {
	[GP_ISA_SOP2] = "SOP2",   [GP_ISA_SOPK] = "SOPK",     [GP_ISA_SOP1] = "SOP1",
	[GP_ISA_SOPC] = "SOPC",   [GP_ISA_SOPP] = "SOPP",     [GP_ISA_SMEM] = "SMEM",
	[GP_ISA_VOP1] = "VOP1",   [GP_ISA_VOP2] = "VOP2",     [GP_ISA_VOPC] = "VOPC",
	[GP_ISA_VOP3] = "VOP3",   [GP_ISA_VOP3P] = "VOP3P",   [GP_ISA_DS] = "DS",
	[GP_ISA_FLAT] = "FLAT",   [GP_ISA_GLOBAL] = "GLOBAL", [GP_ISA_SCRATCH] = "SCRATCH",
	[GP_ISA_MUBUF] = "MUBUF", [GP_ISA_MTBUF] = "MTBUF",   [GP_ISA_MIMG] = "MIMG",
};

static const struct {
	const char *name;
	enum gp_isa_gfx gfx;
} gpus[] = {{"gfx90a", GP_ISA_GFX90A}, {"gfx942", GP_ISA_GFX942}};

static int table_print(void)
{
	for (u32 format = 0; format < GP_ISA_FORMATS; format++)
		for (u32 opcode = 0; opcode < OPCODES_MAX; opcode++)
			for (size_t i = 0; i < GP_ARRAY_SIZE(gpus); i++) {
				const struct gp_isa_op *op = gp_isa_op(gpus[i].gfx, format, opcode);

				if (op)
					printf("%s\t%#x\t%s\t%s\t%s\n", formats[format], opcode,
					       op->name, gpus[i].name,
					       op->execute ? "executed" : "refused");
			}
	return 0;
}

/* Words in hexadecimal from here to the end of the line. */
static u32 words_parse(const char *text, u32 words[WORDS_MAX])
{
	u32 count = 0;

	memset(words, 0, WORDS_MAX * sizeof(*words));
	while (count < WORDS_MAX) {
		char *end;
		unsigned long word = strtoul(text, &end, 16);

		if (end == text)
			break;
		words[count++] = (u32)word;
		text = end;
	}
	return count;
}

static int words_decode(enum gp_isa_gfx gfx)
{
	char line[256];

	while (fgets(line, sizeof(line), stdin)) {
		struct gp_isa_inst inst;
		u32 words[WORDS_MAX], count = words_parse(line, words);

		if (!count)
			continue;
		if (gp_isa_decode(gfx, words, count, &inst))
			printf("-\t-\t-\t0\n");
		else
			printf("%s\t%#x\t%s\t%u\n", formats[inst.format], inst.opcode,
			       inst.op->name, inst.words);
	}
	return 0;
}

/* ---- compare ---- */

struct tally {
	unsigned long long instructions, differences, refused, unknown;
	struct {
		const char *name;
		unsigned long long count;
	} names[NAMES_MAX];
	u32 refused_names;
};

/* LLVM says how an operation is encoded behind its name. */
static void name_cut(char *name)
{
	static const char *const endings[] = {"_e32", "_e64", "_sdwa", "_dpp", "_e64_dpp"};
	size_t length = strlen(name);

	for (size_t i = 0; i < GP_ARRAY_SIZE(endings); i++) {
		size_t ending = strlen(endings[i]);

		if (length > ending && !strcmp(name + length - ending, endings[i])) {
			name[length - ending] = 0;
			return;
		}
	}
}

static void refused_count(struct tally *tally, const char *name)
{
	u32 i;

	tally->refused++;
	for (i = 0; i < tally->refused_names && tally->names[i].name != name; i++)
		;
	if (i == NAMES_MAX)
		return;
	tally->names[i].name = name;
	tally->names[i].count++;
	if (i == tally->refused_names)
		tally->refused_names++;
}

/* "\ts_add_u32 s0, s1, s2   // 000000000000: 80000201": false if the line is something else. */
static bool line_parse(char *line, char name[64], u32 words[WORDS_MAX], u32 *count)
{
	char *comment = strstr(line, "// "), *colon;

	if (line[0] != '\t' || !comment)
		return false;
	colon = strchr(comment, ':');
	if (!colon || sscanf(line, " %63s", name) != 1)
		return false;
	*count = words_parse(colon + 1, words);
	name_cut(name);
	return *count;
}

static void line_compare(enum gp_isa_gfx gfx, struct tally *tally, char *line)
{
	char name[64];
	u32 words[WORDS_MAX], count;
	struct gp_isa_inst inst;
	int error;

	if (!line_parse(line, name, words, &count))
		return;
	error = gp_isa_decode(gfx, words, count, &inst);
	if (name[0] == '.' || !strncmp(name, "<unknown>", 9)) {
		tally->unknown++; /* data between functions, for LLVM as well */
		return;
	}
	tally->instructions++;
	if (!error && inst.words == count && !strcmp(inst.op->name, name)) {
		if (!inst.op->execute)
			refused_count(tally, inst.op->name);
		return;
	}
	if (tally->differences++ < SHOWN_MAX)
		printf("difference: %s of %u words; decoded: %s of %u words: %s", name, count,
		       error ? "nothing" : inst.op->name, error ? 0 : inst.words, line);
}

static int compare(enum gp_isa_gfx gfx)
{
	static struct tally tally;
	static char line[4096];

	while (fgets(line, sizeof(line), stdin))
		line_compare(gfx, &tally, line);
	for (u32 i = 0; i < tally.refused_names; i++)
		printf("refused: %s %llu\n", tally.names[i].name, tally.names[i].count);
	printf("instructions %llu differences %llu refused %llu data %llu\n", tally.instructions,
	       tally.differences, tally.refused, tally.unknown);
	return tally.differences ? 1 : 0;
}

static int usage(void)
{
	fputs("usage: isa_tool table | words gfx90a|gfx942 | compare gfx90a|gfx942\n", stderr);
	return 2;
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "table"))
		return table_print();
	if (argc != 3)
		return usage();
	for (size_t i = 0; i < GP_ARRAY_SIZE(gpus); i++) {
		if (strcmp(argv[2], gpus[i].name))
			continue;
		if (!strcmp(argv[1], "words"))
			return words_decode(gpus[i].gfx);
		if (!strcmp(argv[1], "compare"))
			return compare(gpus[i].gfx);
	}
	return usage();
}
