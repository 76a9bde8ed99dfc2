#!/bin/sh
# `make lint`: everything that only looks at the text, with whatever is installed.
set -u
sh tests/static/10-headers-alone.sh || exit 1
sh tests/static/20-layering.sh || exit 1
sh tests/static/40-format.sh
status=$?
[ $status = 77 ] || [ $status = 0 ] || exit $status
if command -v codespell >/dev/null; then
	# shellcheck disable=SC2046 # our names hold no blanks
	codespell -q 3 -L 'ptd,nd,inout,hist,ue' $(git ls-files ':!LICENSE') || exit 1
fi
if command -v cppcheck >/dev/null; then
	cppcheck --quiet --error-exitcode=1 --std=c11 --enable=warning,portability --inline-suppr \
		-Iinclude --suppress=missingInclude scheduler tools/sluice tools/demo || exit 1
fi
echo 'lint: nothing to say'
