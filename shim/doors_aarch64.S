/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dlsym, dlvsym and dlopen for aarch64: doors_x86_64.S says what they do. Landing pads and the
 * property note are written out, since not every assembler has them by flag.
 */
#ifdef __aarch64__

#define RTLD_DEEPBIND 8
#define BTI_C hint #34

	.macro trampoline name, picker
	.balign 16
	.type door_\name, %function
door_\name:
	.cfi_startproc
	BTI_C
	stp	x29, x30, [sp, #-48]!
	.cfi_def_cfa_offset 48
	.cfi_offset 29, -48
	.cfi_offset 30, -40
	mov	x29, sp
	stp	x0, x1, [sp, #16]
	str	x2, [sp, #32]
	.ifc \name, dlsym
	mov	x2, x30
	.endif
	.ifc \name, dlvsym
	mov	x3, x30
	.endif
	bl	\picker
	.ifc \name, dlopen
	mov	x1, x0
	.endif
	mov	x16, x1
	mov	x17, x0
	ldp	x0, x1, [sp, #16]
	ldr	x2, [sp, #32]
	ldp	x29, x30, [sp], #48
	.cfi_def_cfa_offset 0
	.cfi_restore 29
	.cfi_restore 30
	.ifc \name, dlopen
	and	w1, w1, #~RTLD_DEEPBIND
	.endif
	cbz	x16, 1f
	br	x16
1:	mov	x0, x17
	ret
	.cfi_endproc
	.size door_\name, . - door_\name
	.globl	\name\()_2_17, \name\()_2_34
	.set	\name\()_2_17, door_\name
	.set	\name\()_2_34, door_\name
	.symver	\name\()_2_17, \name@GLIBC_2.17
	.symver	\name\()_2_34, \name@@GLIBC_2.34
	.endm

	.text
	trampoline dlsym, door_pick_dlsym
	trampoline dlvsym, door_pick_dlvsym
	trampoline dlopen, door_pick_dlopen

	.section .note.gnu.property, "a", %note
	.balign	8
	.word	4, 16, 5
	.asciz	"GNU"
	.word	0xc0000000, 4, 1, 0
#endif

	.section .note.GNU-stack, "", %progbits
