#!/bin/sh
# Sees to it that the Debian packages and the CUDA toolkit are there, and writes build/deps.mk.
# Quick and silent when all is there. Installs Debian packages when it may (root on Debian);
# otherwise prints the exact line to run and stops with status 2.
#
# The toolkit: CUDA_HOME, else nvcc on PATH, else /usr/local/cuda, else NVIDIA's own packages from
# PyPI in a virtual environment under build/.
set -u

packages='gcc make pkg-config libconfig-dev check libsystemd-dev libjansson-dev libzstd-dev liblz4-dev uthash-dev'
cuda_version=13.0

fail()
{
	printf 'sluice: %s\n' "$*" >&2
	exit 2
}

missing_packages()
{
	command -v gcc >/dev/null 2>&1 || printf 'gcc libc6-dev '
	command -v g++ >/dev/null 2>&1 || printf 'g++ '
	command -v make >/dev/null 2>&1 || printf 'make '
	command -v pkg-config >/dev/null 2>&1 || {
		printf '%s' "$packages"
		return
	}
	pkg-config --exists libconfig || printf 'libconfig-dev '
	pkg-config --exists check || printf 'check '
	pkg-config --exists libsystemd || printf 'libsystemd-dev '
	pkg-config --exists jansson || printf 'libjansson-dev '
	pkg-config --exists libzstd || printf 'libzstd-dev '
	pkg-config --exists liblz4 || printf 'liblz4-dev '
	[ -e /usr/include/uthash.h ] || printf 'uthash-dev '
}

install_packages()
{
	command -v apt-get >/dev/null 2>&1 ||
		fail "missing, by Debian's names: $*; install them with this system's package manager"
	[ "$(id -u)" = 0 ] ||
		fail "missing packages; run: sudo apt-get update && sudo apt-get install -y $*"
	printf 'sluice: installing %s\n' "$*" >&2
	export DEBIAN_FRONTEND=noninteractive
	# Indexes may be old or empty: try, refresh, try again.
	apt-get install -y --no-install-recommends "$@" >build/apt.log 2>&1 && return
	apt-get update >>build/apt.log 2>&1
	apt-get install -y --no-install-recommends "$@" >>build/apt.log 2>&1 ||
		fail "apt-get install -y $* failed: see build/apt.log"
}

# Prints the toolkit's folder, if one is there.
find_cuda()
{
	if [ -n "${CUDA_HOME:-}" ]; then
		[ -x "$CUDA_HOME/bin/nvcc" ] && [ -e "$CUDA_HOME/include/cuda.h" ] && {
			printf '%s' "$CUDA_HOME"
			return
		}
		fail "CUDA_HOME is $CUDA_HOME, but it holds no bin/nvcc and include/cuda.h: set it to a CUDA $cuda_version toolkit or unset it"
	fi
	if [ -z "${SLUICE_NO_SYSTEM_CUDA:-}" ]; then
		nvcc=$(command -v nvcc 2>/dev/null) && nvcc=$(readlink -f "$nvcc") &&
			[ -e "${nvcc%/bin/nvcc}/include/cuda.h" ] && {
			printf '%s' "${nvcc%/bin/nvcc}"
			return
		}
		[ -x /usr/local/cuda/bin/nvcc ] && [ -e /usr/local/cuda/include/cuda.h ] && {
			printf '%s' /usr/local/cuda
			return
		}
	fi
	for dir in build/cuda/lib/python3*/site-packages/nvidia/cu13; do
		[ -x "$dir/bin/nvcc" ] && [ -e "$dir/include/cuda.h" ] && printf '%s' "$PWD/$dir"
	done
	return 0
}

fetch_cuda()
{
	printf 'sluice: no CUDA toolkit found; fetching NVIDIA'"'"'s packages (CUDA %s, 105 MB) from PyPI into build/cuda\n' "$cuda_version" >&2
	python3 -m venv build/cuda >build/pip.log 2>&1 &&
		build/cuda/bin/pip install --disable-pip-version-check "nvidia-cuda-nvcc==$cuda_version.*" \
			"nvidia-nvvm==$cuda_version.*" "nvidia-cuda-crt==$cuda_version.*" \
			"nvidia-cuda-runtime==$cuda_version.*" "nvidia-cuda-cccl==$cuda_version.*" \
			"nvidia-cuda-profiler-api==$cuda_version.*" \
			>>build/pip.log 2>&1 ||
		fail "could not fetch the CUDA toolkit (see build/pip.log); install CUDA $cuda_version and set CUDA_HOME"
}

mkdir -p build || exit 2
cuda=$(find_cuda) || exit 2
missing=$(missing_packages)
# To fetch the toolkit: said with the rest, so that one line is all there is to run.
[ -n "$cuda" ] || python3 -c 'import venv, ensurepip' 2>/dev/null || missing="$missing python3 python3-venv"
# shellcheck disable=SC2086 # a list of names
[ -z "$missing" ] || install_packages $missing
if [ -z "$cuda" ]; then
	fetch_cuda
	cuda=$(find_cuda) || exit 2
	[ -n "$cuda" ] || fail "the fetched CUDA packages hold no nvcc (see build/pip.log); install CUDA $cuda_version and set CUDA_HOME"
	# The packages are made for running: they lack the name that -lcudart looks for.
	[ -e "$cuda/lib/libcudart.so" ] || ln -s libcudart.so.13 "$cuda/lib/libcudart.so"
fi

lib=$cuda/lib64
[ -d "$lib" ] || lib=$cuda/lib
stubs=$lib/stubs
{
	printf 'CUDA_HOME := %s\nCUDA_INCLUDE := %s/include\nCUDA_LIB := %s\nNVCC := %s/bin/nvcc\n' "$cuda" "$cuda" "$lib" "$cuda"
	printf 'CUDA_STUBS := %s\n' "$([ -e "$stubs/libcuda.so" ] && printf '%s' "$stubs")"
	printf 'CUDA_LDFLAGS = -L%s\n' "$lib"
	for p in libconfig:LIBCONFIG libsystemd:SYSTEMD jansson:JANSSON check:CHECK libzstd:ZSTD liblz4:LZ4; do
		printf '%s_CFLAGS := %s\n' "${p#*:}" "$(pkg-config --cflags "${p%:*}")"
		printf '%s_LIBS := %s\n' "${p#*:}" "$(pkg-config --libs "${p%:*}")"
	done
} >"build/deps.mk.$$"
cmp -s "build/deps.mk.$$" build/deps.mk 2>/dev/null && rm "build/deps.mk.$$" || mv "build/deps.mk.$$" build/deps.mk
