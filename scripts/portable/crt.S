/* SPDX-License-Identifier: MIT */
/*
 * The start of a program for any glibc on x86-64: __libc_start_main() of GLIBC_2.2.5 gets a function
 * that runs the constructors. Since 2.34 glibc runs them itself if it gets none, but older ones do not.
 */
	.text
	.globl	_start
	.type	_start, @function
_start:
	.cfi_startproc
	.cfi_undefined rip
	endbr64
	xorl	%ebp, %ebp
	movq	%rdx, %r9		/* of the dynamic linker, for atexit() */
	popq	%rsi			/* argc */
	movq	%rsp, %rdx		/* argv */
	andq	$-16, %rsp
	pushq	%rax
	pushq	%rsp
	xorl	%r8d, %r8d		/* destructors are run by the dynamic linker */
	leaq	constructors(%rip), %rcx
	movq	main@GOTPCREL(%rip), %rdi
	call	*__libc_start_main@GOTPCREL(%rip)
	hlt
	.cfi_endproc
	.size	_start, . - _start

/* int argc, char **argv, char **envp */
	.type	constructors, @function
constructors:
	endbr64
	pushq	%r12
	pushq	%r13
	pushq	%r14
	pushq	%rbx
	subq	$8, %rsp
	movq	%rdi, %r12
	movq	%rsi, %r13
	movq	%rdx, %r14
	call	_init
	leaq	__init_array_start(%rip), %rbx
1:	leaq	__init_array_end(%rip), %rax
	cmpq	%rax, %rbx
	jae	2f
	movq	%r12, %rdi
	movq	%r13, %rsi
	movq	%r14, %rdx
	call	*(%rbx)
	addq	$8, %rbx
	jmp	1b
2:	addq	$8, %rsp
	popq	%rbx
	popq	%r14
	popq	%r13
	popq	%r12
	ret
	.size	constructors, . - constructors

	.hidden	_init
	.hidden	__init_array_start
	.hidden	__init_array_end

/* Tells glibc that stdio has its layout of 2.1 and later. */
	.section .rodata
	.globl	_IO_stdin_used
	.type	_IO_stdin_used, @object
	.size	_IO_stdin_used, 4
_IO_stdin_used:
	.long	0x20001
	.data
	.weak	data_start
	.globl	__data_start
data_start:
__data_start:
	.long	0
	.section .note.GNU-stack,"",@progbits
