/* SPDX-License-Identifier: Apache-2.0 */
/* `make facts`: the model of the GPU against what was published. */

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "plan/facts/facts.h"

struct paths {
	const char *facts, *out;
};

static const char usage[] =
	"usage: sluice-facts [--quick] [--device FILE] [--facts FILE] [--out FILE]\n"
	"Compares the model of the GPU with published facts. Fails where a "
	"fact that the file does\n"
	"not mark as missed is not reproduced, or one that it marks is.\n"
	"  --quick        few pairs and requests: shows that it works, fails for no fact\n"
	"  --facts FILE   facts and bounds (tools/plan/suites/facts.cfg)\n"
	"  --out FILE     also as JSON\n";

static int parse(int argc, char **argv, struct facts_options *options, struct paths *paths)
{
	static const struct option known[] = {
		{"quick", no_argument, NULL, 'q'},	 {"device", required_argument, NULL, 'd'},
		{"facts", required_argument, NULL, 'f'}, {"out", required_argument, NULL, 'o'},
		{"help", no_argument, NULL, 'h'},	 {0},
	};
	int c;

	while ((c = getopt_long(argc, argv, "", known, NULL)) != -1) {
		switch (c) {
		case 'q':
			options->requests = 200;
			options->servers = 2;
			break;
		case 'd': options->device = optarg; break;
		case 'f': paths->facts = optarg; break;
		case 'o': paths->out = optarg; break;
		case 'h': (void)fputs(usage, stdout); exit(0);
		default: return -EINVAL;
		}
	}
	return optind == argc ? 0 : -EINVAL;
}

static int load(const char *path, struct facts_table *ret_table)
{
	struct facts_error error;
	int r = facts_table_load(path, ret_table, &error);

	if (r)
		(void)fprintf(stderr, "%s:%d: %s\n", path, error.line, error.text);
	return r;
}

int main(int argc, char **argv)
{
	static struct facts_table table;
	static struct facts_outcome outcome;
	struct facts_options options = {.device = "tools/simgpu/presets/v100.conf",
					.folder = "tools/plan/suites/pairs",
					.requests = 2000,
					.seeds = 1,
					.processes = (uint32_t)sysconf(_SC_NPROCESSORS_ONLN)};
	struct paths paths = {.facts = "tools/plan/suites/facts.cfg"};
	uint32_t surprises;

	if (parse(argc, argv, &options, &paths)) {
		(void)fputs(usage, stderr);
		return 2;
	}
	if (load(paths.facts, &table) || facts_run(&options, &table, &outcome))
		return 1;
	surprises = facts_print(&table, &outcome, stdout);
	if (paths.out && facts_write(&table, &outcome, paths.out))
		return 1;
	if (surprises && !options.servers)
		(void)fprintf(stderr, "%u verdicts are not what %s says\n", surprises, paths.facts);
	return surprises && !options.servers ? 1 : 0;
}
