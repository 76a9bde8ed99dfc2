/* SPDX-License-Identifier: Apache-2.0 */
#include "ptx/build.h"

#include <string.h>

static const struct {
	const char *name;
	uint8_t size;
	bool is_float, is_signed;
} types[] = {
	[TYPE_NONE] = {"", 0, false, false},   [TYPE_PRED] = {"pred", 0, false, false},
	[TYPE_B8] = {"b8", 1, false, false},   [TYPE_U8] = {"u8", 1, false, false},
	[TYPE_S8] = {"s8", 1, false, true},    [TYPE_B16] = {"b16", 2, false, false},
	[TYPE_U16] = {"u16", 2, false, false}, [TYPE_S16] = {"s16", 2, false, true},
	[TYPE_F16] = {"f16", 2, true, false},  [TYPE_B32] = {"b32", 4, false, false},
	[TYPE_U32] = {"u32", 4, false, false}, [TYPE_S32] = {"s32", 4, false, true},
	[TYPE_F32] = {"f32", 4, true, false},  [TYPE_F16X2] = {"f16x2", 4, false, false},
	[TYPE_B64] = {"b64", 8, false, false}, [TYPE_U64] = {"u64", 8, false, false},
	[TYPE_S64] = {"s64", 8, false, true},  [TYPE_F64] = {"f64", 8, true, false},
	[TYPE_OTHER] = {"", 0, false, false},
};

/* Types that PTX has and no instruction of ours takes. */
static const char *const other_types[] = {
	"b128",	 "bf16",  "bf16x2", "tf32",	  "e4m3",    "e5m2", "e4m3x2", "e5m2x2",
	"u16x2", "s16x2", "texref", "samplerref", "surfref", "u8x4", "s8x4",
};

enum ptx_type type_find(const char *text, uint32_t length)
{
	for (unsigned i = TYPE_PRED; i < TYPE_OTHER; i++) {
		if (strlen(types[i].name) == length && !memcmp(types[i].name, text, length))
			return (enum ptx_type)i;
	}
	for (size_t i = 0; i < sizeof(other_types) / sizeof(other_types[0]); i++) {
		if (strlen(other_types[i]) == length && !memcmp(other_types[i], text, length))
			return TYPE_OTHER;
	}
	return TYPE_NONE;
}

uint32_t type_size(enum ptx_type type)
{
	return types[type].size;
}

bool type_is_float(enum ptx_type type)
{
	return types[type].is_float;
}

bool type_is_signed(enum ptx_type type)
{
	return types[type].is_signed;
}

static const struct {
	const char *name;
	enum special special;
} specials[] = {
	{"%tid.x", SPECIAL_TID_X},
	{"%tid.y", SPECIAL_TID_Y},
	{"%tid.z", SPECIAL_TID_Z},
	{"%ntid.x", SPECIAL_NTID_X},
	{"%ntid.y", SPECIAL_NTID_Y},
	{"%ntid.z", SPECIAL_NTID_Z},
	{"%ctaid.x", SPECIAL_CTAID_X},
	{"%ctaid.y", SPECIAL_CTAID_Y},
	{"%ctaid.z", SPECIAL_CTAID_Z},
	{"%nctaid.x", SPECIAL_NCTAID_X},
	{"%nctaid.y", SPECIAL_NCTAID_Y},
	{"%nctaid.z", SPECIAL_NCTAID_Z},
	{"%laneid", SPECIAL_LANEID},
	{"%warpid", SPECIAL_WARPID},
	{"%nwarpid", SPECIAL_NWARPID},
	{"%smid", SPECIAL_SMID},
	{"%nsmid", SPECIAL_NSMID},
	{"%gridid", SPECIAL_GRIDID},
	{"%lanemask_eq", SPECIAL_LANEMASK_EQ},
	{"%lanemask_le", SPECIAL_LANEMASK_LE},
	{"%lanemask_lt", SPECIAL_LANEMASK_LT},
	{"%lanemask_ge", SPECIAL_LANEMASK_GE},
	{"%lanemask_gt", SPECIAL_LANEMASK_GT},
	{"%dynamic_smem_size", SPECIAL_DYNAMIC_SMEM_SIZE},
	{"%total_smem_size", SPECIAL_TOTAL_SMEM_SIZE},
	{"%envreg1", SPECIAL_ENVREG_WORKSPACE_HIGH},
	{"%envreg2", SPECIAL_ENVREG_WORKSPACE_LOW},
	{"%clock", SPECIAL_CLOCK},
	{"%clock_hi", SPECIAL_CLOCK_HI},
	{"%clock64", SPECIAL_CLOCK64},
	{"%globaltimer", SPECIAL_GLOBALTIMER},
	{"%globaltimer_lo", SPECIAL_GLOBALTIMER_LO},
	{"%globaltimer_hi", SPECIAL_GLOBALTIMER_HI},
};

/* Registers that PTX has and we do not: of clusters, profilers and graphs on the device. */
static bool is_unknown_register(const char *text, uint32_t length)
{
	static const char *const starts[] = {"%cluster",      "%ncluster",  "%is_explicit_cluster",
					     "%pm",	      "%aggr_smem", "%reserved_smem",
					     "%current_graph"};

	for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++) {
		size_t start = strlen(starts[i]);

		if (length >= start && !memcmp(text, starts[i], start))
			return true;
	}
	return false;
}

static bool is_other_envreg(const char *text, uint32_t length)
{
	unsigned number = 0;

	if (length < 8 || length > 9 || memcmp(text, "%envreg", 7))
		return false;
	for (uint32_t i = 7; i < length; i++) {
		if (text[i] < '0' || text[i] > '9')
			return false;
		number = number * 10 + (unsigned)(text[i] - '0');
	}
	return number < 32;
}

enum special special_find(const char *text, uint32_t length)
{
	for (size_t i = 0; i < sizeof(specials) / sizeof(specials[0]); i++) {
		if (strlen(specials[i].name) == length && !memcmp(specials[i].name, text, length))
			return specials[i].special;
	}
	if (is_other_envreg(text, length))
		return SPECIAL_ENVREG_ZERO;
	return is_unknown_register(text, length) ? SPECIAL_UNKNOWN : SPECIAL_NONE;
}

bool special_is_wide(enum special special)
{
	return special == SPECIAL_GRIDID || special == SPECIAL_CLOCK64 ||
	       special == SPECIAL_GLOBALTIMER;
}
