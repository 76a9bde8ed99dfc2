/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SLUICE_PATHS_H
#define SLUICE_PATHS_H

#include <stddef.h>

/*
 * Where the installed pieces and the arbiter's socket are. Pieces are looked for beside this
 * executable: in a build tree (bin/../lib, bin/../simgpu) and installed (PREFIX/bin with
 * PREFIX/lib/sluice and PREFIX/share/sluice). All return 0 or -ENOENT.
 */

int paths_shim(size_t size, char *ret_path);	 /* libsluice.so */
int paths_simgpu(size_t size, char *ret_folder); /* folder of the simulated libcuda.so.1 */
int paths_sluiced(size_t size, char *ret_path);
int paths_preset(const char *preset, size_t size, char *ret_path);
/* "a100, h100 and l4", those that are there. */
int paths_preset_names(size_t size, char *ret_names);
int paths_workload(const char *workload, size_t size, char *ret_path);

/* In the order of sluice/wire_io.h: the environment, the system's, the user's own; the
 * first that exists, or the first that could, so that messages name it. */
void paths_socket(size_t size, char *ret_path);

/* What to do where one of them is not there. */
#define PATHS_MISSING \
	" is not beside this program: run `make install`, or start it from the folder that make " \
	"built"

#endif
