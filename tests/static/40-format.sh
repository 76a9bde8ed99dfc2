#!/bin/sh
# Formatting by clang-format 14 and shell scripts by shellcheck, where these are installed.
set -u
bad=0
ran=0
format=$(command -v clang-format-14 || command -v clang-format)
if [ -n "$format" ] && "$format" --version | grep -q 'version 14\.'; then
	ran=1
	# shellcheck disable=SC2046 # our names hold no blanks
	"$format" --dry-run --Werror $(git ls-files 'include/*.h' 'shim/*.[ch]' 'scheduler/*.[ch]' \
		'tools/*.[ch]' 'tests/*.[ch]' 'samples/*.c') || bad=1
fi
if command -v shellcheck >/dev/null; then
	ran=1
	# shellcheck disable=SC2046
	shellcheck -S warning -x $(git ls-files '*.sh') || bad=1
fi
[ $ran = 1 ] || {
	echo 'neither clang-format 14 nor shellcheck is installed'
	exit 77
}
exit $bad
