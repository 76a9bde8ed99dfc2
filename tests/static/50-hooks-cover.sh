#!/bin/sh
# The hook list against the toolkit's headers: every entry that takes a stream, launches, changes an
# executable graph, allocates, frees, copies or waits is hooked or passed with a reason; a hooked base
# has all its versions; each row's version is the one whose type in cudaTypedefs.h is the symbol's own.
set -u
: "${BUILD:?}"
CC=${CC:-gcc}
include=$(sed -n 's/^CUDA_INCLUDE := //p' build/deps.mk)
[ -e "$include/cuda.h" ] || { echo "no cuda.h under '$include'"; exit 1; }
work=$BUILD/check/hooks-cover
mkdir -p "$work"
bad=0

printf '#define __CUDA_API_VERSION_INTERNAL\n#include <cuda.h>\n' |
	$CC -E -P -isystem "$include" - | tr '\n' ' ' |
	grep -oE 'CUresult +cu[A-Za-z0-9_]+ *\([^;]*\);' >"$work/declarations"
sed 's/CUresult *//; s/ *(.*//' "$work/declarations" | sort -u >"$work/declared"
# By value: what makes streams, or looks through them, has a pointer.
grep -E 'CUstream +[A-Za-z]*[,) ]' "$work/declarations" | sed 's/CUresult *//; s/ *(.*//' |
	sort -u >"$work/streams"
[ "$(wc -l <"$work/streams")" -gt 150 ] || { echo "only $(wc -l <"$work/streams") entries take a stream"; exit 1; }
sed -n 's/^HOOK(\([A-Za-z0-9_]*\),.*/\1/p' shim/hooks.def | sort >"$work/hooked"
sed -n 's/^PASSED(\([A-Za-z0-9_]*\), ".*/\1/p' shim/passed.def | sort >"$work/passed"
[ "$(wc -l <"$work/declared")" -gt 400 ] || { echo "only $(wc -l <"$work/declared") entries declared"; exit 1; }

# complain LIST WHAT: every line of LIST is a fault.
complain()
{
	[ -s "$1" ] || return
	sed "s|\$|: $2|" "$1"
	bad=1
}

sort "$work/hooked" "$work/passed" | uniq -d >"$work/both"
complain "$work/both" 'listed twice'
sort -u "$work/hooked" "$work/passed" | comm -23 - "$work/declared" >"$work/unknown"
complain "$work/unknown" 'listed, but cuda.h does not declare it'

grep -E "$(tr -d ' \n' <<-'PATTERN'
	^cuLaunch|
	^cuGraph(Launch|Upload|AddMem)|^cuGraphExec|^cuGraphNodeSetEnabled|
	^cuMemcpy|^cuMemset|
	^cuMem(Prefetch|Discard|BatchDecompress)|
	^cuMem(Alloc|Free|Create|Release|Map|Unmap|Import|Host(Alloc|Register|Unregister)|Address(Reserve|Free))|
	^cuMemPool(Create|Destroy|TrimTo|Import)|
	^cu(Array|Array3D|MipmappedArray)(Create|Destroy)|
	^cuIpc(Open|Close)Mem|ExternalMemory|
	^cuMulticast(Create|Bind|Unbind)|
	^cuGreenCtx(Create|Destroy)$|^cuCtx(Create|Destroy|Detach)|^cuDevicePrimaryCtxRe(lease|set)|
	^cu(Stream|Event|Ctx)(Synchronize|Query)
	PATTERN
)" "$work/declared" | sort -u - "$work/streams" >"$work/wanted"
sort -u "$work/hooked" "$work/passed" | comm -13 - "$work/wanted" >"$work/missing"
complain "$work/missing" 'neither in shim/hooks.def nor in shim/passed.def'

# All versions and stream suffixes of a hooked base.
sed -n 's/^HOOK([A-Za-z0-9_]*, \([A-Za-z0-9_]*\),.*/\1/p' shim/hooks.def | sort -u >"$work/bases"
sed 's/_pt[sd][sz]$//; s/_v[0-9]*$//' "$work/declared" | paste -d' ' - "$work/declared" |
	sort | join - "$work/bases" | cut -d' ' -f2 | sort -u |
	comm -23 - "$work/hooked" >"$work/versions"
complain "$work/versions" 'another version of its base is hooked, this one is not'

# The typedef of that base, version and suffix has the symbol's type.
{
	printf '#define __CUDA_API_VERSION_INTERNAL\n#include <cuda.h>\n#include <cudaTypedefs.h>\n'
	sed -n 's/^HOOK(\([A-Za-z0-9_]*\), \([A-Za-z0-9_]*\), \([0-9]*\),.*/\1 \2 \3/p' shim/hooks.def |
		while read -r symbol base version; do
			suffix=$(expr "$symbol" : '.*\(_pt[sd][sz]\)$')
			printf '_Static_assert(__builtin_types_compatible_p(__typeof__(&%s), PFN_%s_v%s%s), "%s %s");\n' \
				"$symbol" "$base" "$version" "$suffix" "$symbol" "$version"
		done
} >"$work/types.c"
$CC -std=gnu11 -fsyntax-only -isystem "$include" "$work/types.c" 2>"$work/types.log" || {
	grep -E 'error' "$work/types.log" | head -n 20
	bad=1
}

printf '%s hooked, %s passed, %s of %s declared looked at\n' "$(wc -l <"$work/hooked")" \
	"$(wc -l <"$work/passed")" "$(wc -l <"$work/wanted")" "$(wc -l <"$work/declared")"
exit $bad
