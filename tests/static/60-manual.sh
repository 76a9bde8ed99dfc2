#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The manual names every option of the programs, and no other.
set -u
: "${BUILD:?BUILD names the build folder}"
bad=0

# Options among the words of standard input, one a line: -x and --name.
options()
{
	grep -oE '(^|[^[:alnum:]-])(--[a-z][a-z-]*|-[[:alpha:]?]([^[:alnum:]-]|$))' |
		grep -oE -e '--?[a-zA-Z?][a-z-]*' | sort -u
}

# compare PAGE COMMAND...: the page, against what the commands say of themselves.
compare()
{
	page=$1
	shift
	sed 's/\\-/-/g; s/\\f[BIRP]//g; s/^\.\(BR\|B\|BI\) //; s/nvcc -cudart//' "$page" | options >"$out/page"
	for command; do
		# shellcheck disable=SC2086 # words
		$BUILD/bin/$command --help
	done | sed 's/^Usage:.*//' | options >"$out/programs"
	[ "$(wc -l <"$out/programs")" -ge 5 ] || {
		echo "$page: the programs name hardly an option"
		bad=1
	}
	diff "$out/programs" "$out/page" >"$out/diff" && return
	sed -n "s|^<|$page lacks|p; s|^>|$page has what no program takes:|p" "$out/diff"
	bad=1
}

out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
compare man/sluiced.8 sluiced
compare man/sluice.1 sluice 'sluice run' 'sluice status' 'sluice set' 'sluice pause' 'sluice resume' \
	'sluice reload' 'sluice check-config' 'sluice plan' 'sluice doctor' 'sluice why'
exit $bad
