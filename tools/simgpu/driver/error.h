/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIMGPU_ERROR_H
#define SIMGPU_ERROR_H

/* The one place where the errno values of the parts below become driver results. */

#include "driver/sim.h"

/* 0 or a negative (or positive) errno value. */
CUresult error_from_errno(int err);

#endif
