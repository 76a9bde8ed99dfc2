#!/bin/sh
# Runs the parts of the tests named as arguments (check-unit, check-e2e, check-static), with BUILD
# and SAN in the environment, and ends with one line, summed over all runners:
#   N passed, N failed, N skipped
# Exit status 1 when anything failed or nothing ran. Logs are kept under $BUILD/check/.
#
# Runners: a Check program counts its own tests in its closing line; a script is one test, exit
# status 0 is passed, 77 skipped (its last line says why), anything else failed.
set -u

: "${BUILD:?BUILD names the build folder}"
passed=0
failed=0
skipped=0
logs=$BUILD/check
mkdir -p "$logs"
ONLY=${ONLY:-}
export BUILD

wanted()
{
	[ -z "$ONLY" ] && return 0
	case $1 in *$ONLY*) return 0 ;; esac
	return 1
}

run_unit()
{
	for program in "$BUILD"/tests/unit/test_* "$BUILD"/tests/model/test_*; do
		case $program in *.d) continue ;; esac
		[ -x "$program" ] && [ -f "$program" ] && wanted "$program" || continue
		name=$(basename "$program")
		log=$logs/$name.log
		# Sources come and go; a program whose source is gone is not a test.
		[ -e "tests/unit/$name.c" ] || [ -e "tests/model/$name.c" ] || continue
		fork=yes
		[ "${SAN:-}" = thread ] && fork=no
		CK_FORK=$fork CK_DEFAULT_TIMEOUT=60 timeout "${UNIT_TIMEOUT:-300}" "$program" >"$log" 2>&1
		status=$?
		line=$(sed -n 's/^[0-9]*%: Checks: \([0-9]*\), Failures: \([0-9]*\), Errors: \([0-9]*\)$/\1 \2 \3/p' "$log" | tail -n 1)
		if [ -z "$line" ]; then
			failed=$((failed + 1))
			printf 'FAIL %s (status %s, no closing line)\n' "$name" "$status"
			tail -n 30 "$log"
			continue
		fi
		# shellcheck disable=SC2086 # three numbers
		set -- $line
		bad=$(($2 + $3))
		# A program of no tests proves nothing.
		if [ "$bad" = 0 ] && { [ "$status" != 0 ] || [ "$1" = 0 ]; }; then
			bad=1
		fi
		failed=$((failed + bad))
		passed=$((passed + $1 - $2 - $3))
		if [ "$bad" != 0 ]; then
			printf 'FAIL %s\n' "$name"
			tail -n 40 "$log"
		else
			printf 'ok   %s (%s)\n' "$name" "$1"
		fi
	done
}

run_scripts()
{
	for script in "$@"; do
		[ -e "$script" ] && wanted "$script" || continue
		name=$(basename "$script" .sh)
		log=$logs/$name.log
		timeout -k 10 "${E2E_TIMEOUT:-180}" sh "$script" >"$log" 2>&1
		status=$?
		case $status in
		0)
			passed=$((passed + 1))
			printf 'ok   %s\n' "$name"
			;;
		77)
			skipped=$((skipped + 1))
			printf 'skip %s: %s\n' "$name" "$(tail -n 1 "$log")"
			;;
		*)
			failed=$((failed + 1))
			printf 'FAIL %s (status %s)\n' "$name" "$status"
			tail -n 40 "$log"
			;;
		esac
	done
}

for part in "$@"; do
	case $part in
	check-unit) run_unit ;;
	check-e2e)
		# Instrumented, the scenes of many processes (15, 30 and up) take longer than their
		# waits allow on a busy machine; E2E_ALL=1 runs them too.
		if [ -n "${SAN:-}" ] && [ -z "${E2E_ALL:-}" ]; then
			run_scripts tests/e2e/1[0-46-9]*.sh tests/e2e/2*.sh
		else
			run_scripts tests/e2e/[0-9]*.sh
		fi
		;;
	check-static) run_scripts tests/static/[0-9]*.sh ;;
	*)
		printf 'check.sh: unknown part %s\n' "$part" >&2
		exit 2
		;;
	esac
done

[ $((passed + failed)) -gt 0 ] || failed=1
printf '%s passed, %s failed, %s skipped\n' "$passed" "$failed" "$skipped"
[ "$failed" = 0 ]
