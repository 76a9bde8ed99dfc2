/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLAN_FRONTIER_LABELS_H
#define PLAN_FRONTIER_LABELS_H

/*
 * Where the numbers of a picture's points go, so that none lies on another or on a point: beside
 * its point where there is room, else farther off. Pure. Units: pixels, y downwards.
 */

#include <stdbool.h>
#include <stdint.h>

struct label {
	double x, y;	       /* of the point */
	double text_x, text_y; /* ret: where its text begins, on the base line */
	bool apart;	       /* ret: far enough to need a line to its point */
};

#define LABEL_HEIGHT 8.0 /* of a digit */
#define LABEL_DIGIT 6.5	 /* its width */
#define LABEL_POINT 5.5	 /* radius of a point */

/* Texts are the numbers from 1 on. */
void labels_place(struct label *label, uint32_t labels);

#endif
