/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The entries of kernel launches: to the admitted path, or, with the first launch of a request,
 * through activity_raise (activity.h has it in C) to the path of the first. Within one line up to
 * the exchange, and without a line of the stack: what is touched here is cold.
 */
#include "launch_entry.h"

#ifdef LAUNCH_ENTRY_IN_ASSEMBLY
#include <cet.h>

	.text
	.macro entry name
	.globl	\name
	.type	\name, @function
	.balign 64
\name:
	.cfi_startproc
	_CET_ENDBR
	/* Loads keep their order here: that of the flags pairs with the release in idle_set. */
	mov	shim + LAUNCH_ENTRY_FLAGS(%rip), %eax
	mov	shim + LAUNCH_ENTRY_IDLE_DEVICE(%rip), %r10
	test	$(LAUNCH_ENTRY_PASSTHROUGH | LAUNCH_ENTRY_IDLE), %al
	jz	\name\()_gated
	cmp	$LAUNCH_ENTRY_IDLE, %eax
	jne	1f
	/* Asked for to write at once: the load would fetch the line shared, and the exchange again. */
	prefetchw (%r10)
	mov	(%r10), %rax
	/* Adds 1 to the epoch, above, and raises, below, if nothing is active. */
	movabs	$0x1ffffffff, %r11
	test	%eax, %eax
	jnz	1f
	add	%rax, %r11
	lock cmpxchg %r11, (%r10)
	jnz	1f
	mov	shim_thread@GOTTPOFF(%rip), %r10
	movl	$1, %fs:LAUNCH_ENTRY_IS_RAISED(%r10)
1:	jmp	\name\()_first
	.cfi_endproc
	.size	\name, . - \name
	.endm

	entry cuLaunchKernel
	entry cuLaunchKernel_ptsz
#endif

	.section .note.GNU-stack, "", %progbits
