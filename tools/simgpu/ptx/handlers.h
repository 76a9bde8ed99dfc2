/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIMGPU_PTX_HANDLERS_H
#define SIMGPU_PTX_HANDLERS_H

/* Handlers that are no rows of the table (ops.h): the decoder emits them by name. Several kinds of
 * an instruction share one; insn.n says which, or aux.bits. */

#include "ptx/insn.h"

/* aux.bits of plain loads and stores in shared memory. */
enum shared_bits { SHARED_WIDE = 1, SHARED_POLL = 2 };

/* What insn.n says in instructions that are one handler. */
enum shfl_kind { SHFL_UP, SHFL_DOWN, SHFL_BFLY, SHFL_IDX };
enum vote_kind { VOTE_ALL, VOTE_ANY, VOTE_UNI, VOTE_BALLOT };
enum match_kind { MATCH_ANY, MATCH_ALL };
enum redux_kind {
	REDUX_ADD,
	REDUX_MIN_U,
	REDUX_MAX_U,
	REDUX_MIN_S,
	REDUX_MAX_S,
	REDUX_AND,
	REDUX_OR,
	REDUX_XOR,
};
enum spacep_kind { SPACEP_GLOBAL, SPACEP_SHARED, SPACEP_LOCAL, SPACEP_PARAM };
enum bar_kind { BAR_SYNC, BAR_ARRIVE, BAR_POPC, BAR_AND, BAR_OR };

#define HANDLER(name) const struct insn *name(struct warp *w, const struct insn *in)
HANDLER(flow_bra);
HANDLER(flow_brx);
HANDLER(flow_call);
HANDLER(flow_call_register);
HANDLER(flow_call_vprintf);
HANDLER(flow_call_assertfail);
HANDLER(flow_ret);
HANDLER(flow_exit);
HANDLER(flow_trap);
HANDLER(sync_bar);
HANDLER(sync_fence);
HANDLER(sync_warp);
HANDLER(sync_shfl);
HANDLER(sync_vote);
HANDLER(sync_match);
HANDLER(sync_redux);
HANDLER(sync_activemask);
HANDLER(sync_nanosleep);
HANDLER(mem_atom);
HANDLER(mem_atom_shared);
HANDLER(mem_load_strong);
HANDLER(mem_store_strong);
HANDLER(special_read);
HANDLER(special_isspacep);
HANDLER(special_local_address);
HANDLER(special_param_address);
HANDLER(special_shared_to_generic);
HANDLER(special_generic_to_shared);
HANDLER(special_load_param);

#endif
