/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/frontier_labels.h"

#include <math.h>

#define RINGS 8
#define RING 9.0
#define ANGLES 12

struct box {
	double left, top, right, bottom;
};

static double width_of(uint32_t index)
{
	return LABEL_DIGIT * (index < 9 ? 1 : index < 99 ? 2 : 3);
}

static struct box box_of(const struct label *label, uint32_t index)
{
	return (struct box){.left = label->text_x,
			    .top = label->text_y - LABEL_HEIGHT,
			    .right = label->text_x + width_of(index),
			    .bottom = label->text_y};
}

static bool meet(const struct box *a, const struct box *b)
{
	return a->left < b->right && b->left < a->right && a->top < b->bottom && b->top < a->bottom;
}

static bool is_free(const struct label *label, uint32_t labels, uint32_t index)
{
	struct box own = box_of(&label[index], index);

	for (uint32_t i = 0; i < labels; i++) {
		struct box point = {.left = label[i].x - LABEL_POINT,
				    .top = label[i].y - LABEL_POINT,
				    .right = label[i].x + LABEL_POINT,
				    .bottom = label[i].y + LABEL_POINT};
		struct box placed = box_of(&label[i], i);

		if (meet(&own, &point) || (i < index && meet(&own, &placed)))
			return false;
	}
	return true;
}

/* The text's middle lies in this direction, 0 up to the right, then clockwise. */
static void put(struct label *label, uint32_t index, unsigned int ring, unsigned int direction)
{
	double angle = M_PI * (-0.25 + 2.0 * direction / ANGLES);
	double far = LABEL_POINT + 6 + RING * ring;

	label->text_x = label->x + far * cos(angle) - width_of(index) / 2;
	label->text_y = label->y + far * sin(angle) + LABEL_HEIGHT / 2;
	label->apart = ring > 1;
}

static void place(struct label *label, uint32_t labels, uint32_t index)
{
	for (unsigned int ring = 0; ring < RINGS; ring++) {
		for (unsigned int direction = 0; direction < ANGLES; direction++) {
			put(&label[index], index, ring, direction);
			if (is_free(label, labels, index))
				return;
		}
	}
	put(&label[index], index, 0, 0); /* so crowded that it makes no difference */
}

void labels_place(struct label *label, uint32_t labels)
{
	for (uint32_t i = 0; i < labels; i++)
		place(label, labels, i);
}
