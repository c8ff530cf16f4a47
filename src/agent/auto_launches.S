/* SPDX-License-Identifier: MIT */
/*
 * Ways in front of CUDA's functions, and of dlsym(), through which programs and CUDA's runtime find
 * them. Neither changes anything that its caller or the function behind it can see: registers and
 * stack are as they were, and the function is jumped to, not called. So dlsym(RTLD_NEXT) still looks
 * behind the library that called it.
 */
	.text

/* Way number i of auto_launches.c: notes the call and goes on. */
	.globl	gp_agent_ways
	.hidden	gp_agent_ways
	.type	gp_agent_ways, @function
	.balign	32
gp_agent_ways:
	.set	i, 0
	.rept	128
	.balign	32
	.cfi_startproc
	endbr64
	pushq	$i
	.cfi_adjust_cfa_offset 8
	jmp	note
	.cfi_endproc
	.set	i, i + 1
	.endr
	.size	gp_agent_ways, . - gp_agent_ways

	.type	note, @function
note:
	.cfi_startproc
	.cfi_def_cfa_offset 16
	pushq	%rdi
	.cfi_adjust_cfa_offset 8
	pushq	%rsi
	.cfi_adjust_cfa_offset 8
	pushq	%rdx
	.cfi_adjust_cfa_offset 8
	pushq	%rcx
	.cfi_adjust_cfa_offset 8
	pushq	%r8
	.cfi_adjust_cfa_offset 8
	pushq	%r9
	.cfi_adjust_cfa_offset 8
	movq	48(%rsp), %rdi
	call	gp_agent_way_taken
	movq	%rax, %r11
	popq	%r9
	.cfi_adjust_cfa_offset -8
	popq	%r8
	.cfi_adjust_cfa_offset -8
	popq	%rcx
	.cfi_adjust_cfa_offset -8
	popq	%rdx
	.cfi_adjust_cfa_offset -8
	popq	%rsi
	.cfi_adjust_cfa_offset -8
	popq	%rdi
	.cfi_adjust_cfa_offset -8
	addq	$8, %rsp
	.cfi_adjust_cfa_offset -8
	jmp	*%r11
	.cfi_endproc
	.size	note, . - note

/* void *dlsym(void *handle, const char *name): names of CUDA in a library are looked at. */
	.globl	dlsym
	.type	dlsym, @function
	.balign	32
dlsym:
	.cfi_startproc
	endbr64
	leaq	1(%rdi), %rax
	cmpq	$1, %rax		/* RTLD_NEXT is -1, RTLD_DEFAULT 0 */
	jbe	1f
	testq	%rsi, %rsi
	je	1f
	cmpb	$0x63, (%rsi)		/* "cu" */
	jne	1f
	cmpb	$0x75, 1(%rsi)
	jne	1f
	jmp	gp_agent_cuda_symbol
1:	movq	gp_agent_next_dlsym(%rip), %rax
	testq	%rax, %rax
	je	2f
	jmp	*%rax
2:	pushq	%rdi
	.cfi_adjust_cfa_offset 8
	pushq	%rsi
	.cfi_adjust_cfa_offset 8
	subq	$8, %rsp
	.cfi_adjust_cfa_offset 8
	call	gp_agent_find_dlsym
	addq	$8, %rsp
	.cfi_adjust_cfa_offset -8
	popq	%rsi
	.cfi_adjust_cfa_offset -8
	popq	%rdi
	.cfi_adjust_cfa_offset -8
	jmp	*%rax
	.cfi_endproc
	.size	dlsym, . - dlsym

	.section .note.GNU-stack, "", @progbits
