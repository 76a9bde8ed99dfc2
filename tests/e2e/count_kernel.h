/* SPDX-License-Identifier: Apache-2.0 */
#ifndef COUNT_KERNEL_H
#define COUNT_KERNEL_H

/* A kernel that adds one to a word of device memory: launches that were made can be counted there. */

static const char count_ptx[] = ".version 7.0\n"
				".target sm_75\n"
				".address_size 64\n"
				".visible .entry count(.param .u64 word)\n"
				"{\n"
				"	.reg .b64 %rd<2>;\n"
				"	ld.param.u64 %rd1, [word];\n"
				"	cvta.to.global.u64 %rd1, %rd1;\n"
				"	red.global.add.u64 [%rd1], 1;\n"
				"	ret;\n"
				"}\n";

#endif
