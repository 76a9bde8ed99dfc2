#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# How to run a program against what we built, sanitized builds included. To be sourced, with BUILD
# (and SAN) in the environment:
#
#   preload_list [LIBRARY...]   prints a value for LD_PRELOAD
#   on_simgpu COMMAND...        runs a command on the simulated GPU, of an instance of this script's
#
# A plain program that loads a library built by gcc with the address sanitizer must have gcc's
# runtime first in LD_PRELOAD, or it refuses to start. The thread sanitizer's has to be there before
# libc, or it does not see threads begin.

: "${BUILD:?BUILD names the build folder}"
case $BUILD in /*) preload_build=$BUILD ;; *) preload_build=$PWD/$BUILD ;; esac
SIMGPU_INSTANCE=${SIMGPU_INSTANCE:-e2e-$$}
export SIMGPU_INSTANCE

# shellcheck disable=SC2120 # some scripts add a library, others none
preload_list()
{
	preload_out=
	case ${SAN:-} in
	*address*) preload_out=$(${CC:-gcc} -print-file-name=libasan.so) ;;
	*thread*) preload_out=$(${CC:-gcc} -print-file-name=libtsan.so) ;;
	esac
	for preload_lib in "$@"; do
		preload_out=${preload_out:+$preload_out:}$preload_lib
	done
	printf '%s\n' "$preload_out"
}

# Leaks are looked for in unit tests: here the program and the toolkit have their own.
# shellcheck disable=SC2119
on_simgpu()
{
	env LD_LIBRARY_PATH="$preload_build/simgpu${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" \
		LD_PRELOAD="$(preload_list)${LD_PRELOAD:+:$LD_PRELOAD}" \
		ASAN_OPTIONS="detect_leaks=0:handle_segv=1${ASAN_OPTIONS:+:$ASAN_OPTIONS}" \
		"$@"
}
