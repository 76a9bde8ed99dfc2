/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dlsym, dlvsym and dlopen for x86-64. Each asks its picker (door_pick.h) and then returns the
 * answer or jumps on, with the stack as the caller left it: libc sees the caller's own return
 * address. Both symbol versions are exported, or an interposer in front of us that looks for one
 * of them by dlvsym would skip us.
 */
#ifdef __x86_64__
#include <cet.h>

#define RTLD_DEEPBIND 8

	.text
	.balign 16
	.type door_dlsym, @function
door_dlsym:
	.cfi_startproc
	_CET_ENDBR
	push	%rdi
	.cfi_adjust_cfa_offset 8
	push	%rsi
	.cfi_adjust_cfa_offset 8
	sub	$8, %rsp
	.cfi_adjust_cfa_offset 8
	mov	24(%rsp), %rdx
	call	door_pick_dlsym
	add	$8, %rsp
	.cfi_adjust_cfa_offset -8
	pop	%rsi
	.cfi_adjust_cfa_offset -8
	pop	%rdi
	.cfi_adjust_cfa_offset -8
	test	%rdx, %rdx
	jnz	1f
	ret
1:	jmp	*%rdx
	.cfi_endproc
	.size door_dlsym, . - door_dlsym

	.balign 16
	.type door_dlvsym, @function
door_dlvsym:
	.cfi_startproc
	_CET_ENDBR
	push	%rdi
	.cfi_adjust_cfa_offset 8
	push	%rsi
	.cfi_adjust_cfa_offset 8
	push	%rdx
	.cfi_adjust_cfa_offset 8
	mov	24(%rsp), %rcx
	call	door_pick_dlvsym
	mov	%rdx, %r11
	pop	%rdx
	.cfi_adjust_cfa_offset -8
	pop	%rsi
	.cfi_adjust_cfa_offset -8
	pop	%rdi
	.cfi_adjust_cfa_offset -8
	test	%r11, %r11
	jnz	1f
	ret
1:	jmp	*%r11
	.cfi_endproc
	.size door_dlvsym, . - door_dlvsym

	.balign 16
	.type door_dlopen, @function
door_dlopen:
	.cfi_startproc
	_CET_ENDBR
	push	%rdi
	.cfi_adjust_cfa_offset 8
	push	%rsi
	.cfi_adjust_cfa_offset 8
	sub	$8, %rsp
	.cfi_adjust_cfa_offset 8
	call	door_pick_dlopen
	add	$8, %rsp
	.cfi_adjust_cfa_offset -8
	pop	%rsi
	.cfi_adjust_cfa_offset -8
	pop	%rdi
	.cfi_adjust_cfa_offset -8
	and	$~RTLD_DEEPBIND, %esi
	jmp	*%rax
	.cfi_endproc
	.size door_dlopen, . - door_dlopen

	.macro export name
	.globl	\name\()_2_2_5, \name\()_2_34
	.set	\name\()_2_2_5, door_\name
	.set	\name\()_2_34, door_\name
	.symver	\name\()_2_2_5, \name@GLIBC_2.2.5
	.symver	\name\()_2_34, \name@@GLIBC_2.34
	.endm

	export dlsym
	export dlvsym
	export dlopen
#endif

	.section .note.GNU-stack, "", %progbits
