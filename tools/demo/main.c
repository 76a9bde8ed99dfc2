/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "result.h"

/* sluice-demo: reads the four phases that run.sh left in a folder, prints the table and the plot,
 * writes report.json and latency.svg there. Exit status 1 where a result is wrong, 3 where the
 * measurement is void. */

enum { SERVE, TRAIN, BOTH, MANAGED, PHASES };

static const char *const phase_folder[PHASES] = {"1-serve", "2-train", "3-shared", "4-sluice"};

static int load_phases(const char *folder, struct phase *phase)
{
	char path[4096], why[4200];

	for (int i = 0; i < PHASES; i++) {
		bool serve = i != TRAIN, train = i != SERVE;

		snprintf(path, sizeof(path), "%s/%s", folder, phase_folder[i]);
		if (phase_load(path, &phase[i], sizeof(why), why) < 0) {
			fprintf(stderr, "sluice-demo: %s\n", why);
			return -EINVAL;
		}
		if ((serve && !phase[i].has_serve) || (train && !phase[i].has_train)) {
			fprintf(stderr, "sluice-demo: %s: the phase lacks %s\n", path,
				serve && !phase[i].has_serve ? "serve.json" : "train.json");
			return -EINVAL;
		}
	}
	return 0;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{"device", required_argument, NULL, 'd'},
		{"simulated", no_argument, NULL, 's'},
		{0},
	};
	struct phase phase[PHASES] = {{0}};
	struct result result;
	const char *device = "unknown GPU";
	bool simulated = false;
	char path[4096];
	int option, r;

	while ((option = getopt_long(argc, argv, "d:s", options, NULL)) != -1) {
		if (option == 'd')
			device = optarg;
		else if (option == 's')
			simulated = true;
		else
			return 2;
	}
	if (optind + 1 != argc) {
		fprintf(stderr, "usage: sluice-demo [--simulated] [--device NAME] FOLDER\n");
		return 2;
	}
	if (load_phases(argv[optind], phase) < 0)
		return 2;
	result_make(device, simulated, &phase[SERVE], &phase[TRAIN], &phase[BOTH], &phase[MANAGED],
		    &result);
	result_print(&result, stdout);
	snprintf(path, sizeof(path), "%s/report.json", argv[optind]);
	r = result_write_json(&result, path);
	if (r == 0) {
		snprintf(path, sizeof(path), "%s/latency.svg", argv[optind]);
		r = result_write_svg(&result, path);
	}
	for (int i = 0; i < PHASES; i++)
		phase_finish(&phase[i]);
	if (r < 0) {
		fprintf(stderr, "sluice-demo: cannot write %s: %s\n", path, strerror(-r));
		return 2;
	}
	if (result.wrong_results)
		return 1;
	return result.void_why[0] ? 3 : 0;
}
