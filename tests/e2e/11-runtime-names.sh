#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The simulated runtime exports what the toolkit's does, on the same version node.
set -u
: "${BUILD:?}"

out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
ours=$BUILD/simgpu/libcudart.so.13
lib=$(sed -n 's/^CUDA_LIB := //p' build/deps.mk)
theirs=
for file in "$lib"/libcudart.so.13 "$lib"/libcudart.so.13.*; do
	[ -r "$file" ] && theirs=$file && break
done

# name@@node, sorted
exported()
{
	nm -D --defined-only "$1" | sed 's/.* //' | grep cuda | sort -u
}
exported "$ours" >"$out/ours"
if [ -n "$theirs" ]; then
	exported "$theirs" >"$out/theirs"
else
	sed 's/$/@@libcudart.so.13/' tools/gen/runtime_names.txt >"$out/theirs"
	echo libcudart.so.13 >>"$out/theirs"
	sort -u -o "$out/theirs" "$out/theirs"
fi
count=$(wc -l <"$out/theirs")
if [ "$count" -lt 400 ]; then
	echo "only $count names in ${theirs:-tools/gen/runtime_names.txt}: not the toolkit's list"
	exit 1
fi
if ! diff "$out/theirs" "$out/ours"; then
	echo "the names above differ (<: the toolkit's, >: ours)"
	exit 1
fi
echo "$count names"
