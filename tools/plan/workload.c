/* SPDX-License-Identifier: Apache-2.0 */
#include "workload.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "workload_impl.h"

void workload_free(struct workload *workload)
{
	if (!workload)
		return;
	free(workload->ops);
	free(workload);
}

void workload_sum(struct workload *workload)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < workload->n_ops; i++) {
		struct workload_op *op = &workload->ops[i];

		if (op->kind == WORKLOAD_GRAPH) {
			op->ns = 0;
			for (uint32_t k = 1; k <= op->nodes; k++)
				op->ns += op[k].ns;
		} else {
			sum += op->ns;
		}
	}
	workload->step_ns = sum;
}

int workload_create(const char *name, const char *source, uint32_t device_sms,
		    const struct workload_op *ops, uint32_t n_ops, struct workload **ret)
{
	struct workload *workload;

	if (!n_ops || n_ops > WORKLOAD_MAX_OPS || !device_sms)
		return -EINVAL;
	workload = calloc(1, sizeof(*workload));
	if (!workload)
		return -ENOMEM;
	workload->ops = calloc(n_ops, sizeof(*ops));
	if (!workload->ops) {
		workload_free(workload);
		return -ENOMEM;
	}
	memcpy(workload->ops, ops, n_ops * sizeof(*ops));
	(void)snprintf(workload->name, sizeof(workload->name), "%s", name);
	(void)snprintf(workload->source, sizeof(workload->source), "%s", source);
	workload->device_sms = device_sms;
	workload->n_ops = n_ops;
	workload->steps = 1;
	workload_sum(workload);
	*ret = workload;
	return 0;
}

static uint64_t waves(uint32_t sms, uint32_t device_sms)
{
	return sms ? sms / device_sms + (sms % device_sms != 0) : 1;
}

static void take_gaps_out(struct workload *workload, uint64_t gap_ns)
{
	for (uint32_t i = 0; i < workload->n_ops; i++) {
		struct workload_op *op = &workload->ops[i];

		op->ns = op->ns > gap_ns ? op->ns - gap_ns : op->ns != 0;
	}
	workload->has_gaps = false;
}

void workload_restate(struct workload *workload, uint32_t device_sms, uint64_t gap_ns)
{
	if (workload->has_gaps)
		take_gaps_out(workload, gap_ns);
	for (uint32_t i = 0; i < workload->n_ops; i++) {
		struct workload_op *op = &workload->ops[i];

		if (op->kind == WORKLOAD_KERNEL)
			op->ns = op->ns * waves(op->sms, device_sms) /
				 waves(op->sms, workload->device_sms);
	}
	workload->device_sms = device_sms;
	workload_sum(workload);
}

uint64_t workload_iteration_ns(const struct workload *workload)
{
	return workload->steps * workload->step_ns + (workload->steps - 1) * workload->step_gap_ns;
}

/* ---- writing ---- */

static void write_text(FILE *out, const char *key, const char *text)
{
	(void)fprintf(out, "%s = \"", key);
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			(void)fputc('\\', out);
		(void)fputc(*text < ' ' && *text >= 0 ? ' ' : *text, out);
	}
	(void)fputs("\";\n", out);
}

static void write_op(FILE *out, const struct workload_op *op)
{
	static const char *const classes[] = {"unknown", "memory", "compute"};
	static const char *const kinds[] = {"kernel", "h2d", "d2h", "d2d", "graph"};
	const char *kind = kinds[op->kind];
	unsigned long long ns = op->ns, bytes = op->bytes;

	if (op->kind == WORKLOAD_GRAPH)
		(void)fprintf(out, "\t(\"%s\", %u, %u)", kind, op->nodes, op->key);
	else if (op->kind == WORKLOAD_KERNEL)
		(void)fprintf(out, "\t(\"%s\", %lluL, %u, \"%s\", %u, %u)", kind, ns, op->sms,
			      classes[op->bw_class], op->key, op->spread_permille);
	else
		(void)fprintf(out, "\t(\"%s\", %lluL, %lluL, %u)", kind, ns, bytes, op->key);
}

int workload_write(const struct workload *workload, FILE *out)
{
	write_text(out, "name", workload->name);
	write_text(out, "source", workload->source);
	(void)fprintf(out, "device_sms = %u;\nsteps = %u;\nstep_gap_ns = %lluL;\n",
		      workload->device_sms, workload->steps,
		      (unsigned long long)workload->step_gap_ns);
	if (workload->has_gaps)
		(void)fputs("has_gaps = 1;\n", out);
	(void)fputs("operations = (\n", out);
	for (uint32_t i = 0; i < workload->n_ops; i++) {
		write_op(out, &workload->ops[i]);
		(void)fputs(i + 1 < workload->n_ops ? ",\n" : "\n", out);
	}
	(void)fputs(");\n", out);
	return ferror(out) ? -EIO : 0;
}
