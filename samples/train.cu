/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A training loop: each step copies a batch to the device and queues forward pass, loss, backward
 * pass and update, 68 kernels, with one synchronization at its end. The host computes the same step
 * meanwhile and compares the loss, and the weights at the end.
 */
#include <csignal>
#include <getopt.h>

#include "check.cuh"
#include "train_kernels.cuh"

struct options {
	uint64_t steps; /* 0: no limit */
	double seconds; /* 0: no limit */
	uint64_t seed;
	const char *json;
};

struct trainer {
	float *host_raw, *host_loss; /* pinned */
	float *raw, *x, *target, *grad, *masked, *x_grad, *w_grad, *loss;
	struct adam_state *layer; /* BLOCKS of them, on the device */
	struct block_state *block;
	cudaStream_t stream;
};

struct outcome {
	std::vector<uint64_t> step_end_ns;
	std::vector<float> losses;
	uint64_t start_ns;
	unsigned int wrong;
	uint64_t hash;
};

static volatile sig_atomic_t stopped;

static void on_signal(int)
{
	stopped = 1;
}

static void catch_signals(void)
{
	struct sigaction action;

	memset(&action, 0, sizeof(action));
	action.sa_handler = on_signal;
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGINT, &action, NULL);
}

static float *device_floats(size_t count)
{
	void *p;

	CHECK(cudaMalloc(&p, count * sizeof(float)));
	return (float *)p;
}

static void trainer_start(struct trainer *t, const struct adam_state *layer)
{
	CHECK(cudaMallocHost((void **)&t->host_raw, INPUT * sizeof(float)));
	CHECK(cudaMallocHost((void **)&t->host_loss, sizeof(float)));
	t->raw = device_floats(INPUT);
	t->x = device_floats(CELLS);
	t->target = device_floats(CELLS);
	t->grad = device_floats(CELLS);
	t->masked = device_floats(CELLS);
	t->x_grad = device_floats(CELLS);
	t->w_grad = device_floats(WEIGHTS);
	t->loss = device_floats(1);
	CHECK(cudaMalloc((void **)&t->layer, BLOCKS * sizeof(*t->layer)));
	CHECK(cudaMalloc((void **)&t->block, BLOCKS * sizeof(*t->block)));
	CHECK(cudaMemcpy(t->layer, layer, BLOCKS * sizeof(*layer), cudaMemcpyHostToDevice));
	CHECK(cudaStreamCreateWithFlags(&t->stream, cudaStreamNonBlocking));
}

static void trainer_stop(struct trainer *t)
{
	void *const memory[] = {t->raw,	   t->x,      t->target, t->grad,  t->masked,
				t->x_grad, t->w_grad, t->loss,	 t->layer, t->block};

	for (void *p : memory)
		CHECK(cudaFree(p));
	CHECK(cudaFreeHost(t->host_raw));
	CHECK(cudaFreeHost(t->host_loss));
	CHECK(cudaStreamDestroy(t->stream));
}

/* Addresses of members of device structures are computed on the host; nothing there is read. */
static const float *block_input(const struct trainer *t, int l)
{
	return l ? t->block[l - 1].active : t->x;
}

static void launch_forward(const struct trainer *t)
{
	augment_input<<<CELLS / THREADS, THREADS, 0, t->stream>>>(t->raw, t->x);
	make_target<<<CELLS / THREADS, THREADS, 0, t->stream>>>(t->x, t->target);
	for (int l = 0; l < BLOCKS; l++) {
		struct block_state *b = &t->block[l];

		gemm_fwd<<<CELLS / THREADS, THREADS, 0, t->stream>>>(
			t->layer[l].w, block_input(t, l), b->linear);
		batchnorm_fwd<<<CELLS / THREADS, THREADS, 0, t->stream>>>(b->linear, b->normal,
									  b->inverse);
		relu_fwd<<<CELLS / THREADS, THREADS, 0, t->stream>>>(b->normal, b->active);
	}
}

static void launch_backward(const struct trainer *t)
{
	const float *y = t->block[BLOCKS - 1].active;

	mse_loss<<<1, THREADS, 0, t->stream>>>(y, t->target, t->loss);
	mse_loss_bwd<<<CELLS / THREADS, THREADS, 0, t->stream>>>(y, t->target, t->x_grad);
	for (int l = BLOCKS - 1; l >= 0; l--) {
		struct block_state *b = &t->block[l];

		relu_bwd<<<CELLS / THREADS, THREADS, 0, t->stream>>>(b->normal, t->x_grad,
								     t->masked);
		batchnorm_bwd<<<CELLS / THREADS, THREADS, 0, t->stream>>>(b->normal, b->inverse,
									  t->masked, t->grad);
		gemm_bwd_weight<<<WEIGHTS / THREADS, THREADS, 0, t->stream>>>(block_input(t, l),
									      t->grad, t->w_grad);
		gemm_bwd_data<<<CELLS / THREADS, THREADS, 0, t->stream>>>(t->layer[l].w, t->grad,
									  t->x_grad);
		adam_update<<<WEIGHTS / THREADS, THREADS, 0, t->stream>>>(&t->layer[l], t->w_grad);
	}
}

static void train_step(struct trainer *t, const struct options *o, struct adam_state *mirror,
		       struct outcome *out)
{
	float expected;

	make_input(t->host_raw, o->seed, out->losses.size());
	CHECK(cudaMemcpyAsync(t->raw, t->host_raw, INPUT * sizeof(float), cudaMemcpyHostToDevice,
			      t->stream));
	launch_forward(t);
	launch_backward(t);
	CHECK(cudaGetLastError());
	CHECK(cudaMemcpyAsync(t->host_loss, t->loss, sizeof(float), cudaMemcpyDeviceToHost,
			      t->stream));
	expected = step_on_host(mirror, t->host_raw);
	CHECK(cudaStreamSynchronize(t->stream));
	out->step_end_ns.push_back(now_ns());
	if (memcmp(t->host_loss, &expected, sizeof(expected)) && out->wrong++ == 0)
		fprintf(stderr, "train: step %zu: loss %.9g, not %.9g\n", out->losses.size(),
			*t->host_loss, expected);
	out->losses.push_back(*t->host_loss);
}

static bool is_finished(const struct options *o, const struct outcome *out)
{
	double seconds = (double)(now_ns() - out->start_ns) / NS_PER_S;

	return stopped || (o->steps && out->losses.size() >= o->steps) ||
	       (o->seconds > 0 && seconds >= o->seconds);
}

static void check_weights(const struct trainer *t, const struct adam_state *mirror,
			  struct outcome *out)
{
	std::vector<struct adam_state> layer(BLOCKS);

	CHECK(cudaMemcpy(layer.data(), t->layer, BLOCKS * sizeof(layer[0]),
			 cudaMemcpyDeviceToHost));
	if (memcmp(layer.data(), mirror, BLOCKS * sizeof(layer[0]))) {
		fprintf(stderr, "train: the weights are wrong\n");
		out->wrong++;
	}
	out->hash = hash_bytes(HASH_START, out->losses.data(), out->losses.size() * sizeof(float));
	out->hash = hash_bytes(out->hash, layer.data(), BLOCKS * sizeof(layer[0]));
}

static double steps_per_s(const struct outcome *out)
{
	size_t steps = out->step_end_ns.size();

	return steps ? (double)steps * NS_PER_S / (double)(out->step_end_ns.back() - out->start_ns)
		     : 0;
}

static void write_json(const struct options *o, const struct outcome *out)
{
	FILE *file = fopen(o->json, "w");
	bool failed;

	if (!file) {
		fprintf(stderr, "train: %s: %s\n", o->json, strerror(errno));
		exit(1);
	}
	fprintf(file,
		"{\"sample\": \"train\", \"steps\": %zu, \"seed\": %" PRIu64
		", \"steps_per_s\": %.6f, \"start_ns\": %" PRIu64 ", \"end_ns\": %" PRIu64
		", \"wrong_results\": %u, \"result\": \"%016" PRIx64 "\", \"step_end_ns\": [",
		out->losses.size(), o->seed, steps_per_s(out), out->start_ns,
		out->step_end_ns.empty() ? out->start_ns : out->step_end_ns.back(), out->wrong,
		out->hash);
	for (size_t i = 0; i < out->step_end_ns.size(); i++)
		fprintf(file, "%s%" PRIu64, i ? ", " : "", out->step_end_ns[i]);
	fputs("]}\n", file);
	failed = ferror(file);
	if (fclose(file) || failed) {
		fprintf(stderr, "train: %s: cannot be written\n", o->json);
		exit(1);
	}
}

static void usage(FILE *out)
{
	fputs("usage: train [--steps N] [--seconds S] [--seed N] [--json FILE]\n"
	      "Trains a small network and says how many steps a second it made.\n"
	      "Ends after N steps or S seconds (100 steps where neither is given), or with the\n"
	      "running step on SIGTERM or SIGINT.\n",
	      out);
}

static struct options parse(int argc, char **argv)
{
	static const struct option options[] = {{"steps", required_argument, NULL, 'n'},
						{"seconds", required_argument, NULL, 't'},
						{"seed", required_argument, NULL, 's'},
						{"json", required_argument, NULL, 'j'},
						{"help", no_argument, NULL, 'h'},
						{NULL, 0, NULL, 0}};
	struct options o = {0, 0, 1, NULL};
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (option) {
		case 'n': o.steps = (uint64_t)option_number("steps", optarg, 1, 1e9); break;
		case 't': o.seconds = option_number("seconds", optarg, 1e-3, 1e7); break;
		case 's': o.seed = (uint64_t)option_number("seed", optarg, 0, 1e15); break;
		case 'j': o.json = optarg; break;
		case 'h': usage(stdout); exit(0);
		default: usage(stderr); exit(2);
		}
	}
	if (!o.steps && o.seconds == 0)
		o.steps = 100;
	return o;
}

int main(int argc, char **argv)
{
	struct options o = parse(argc, argv);
	std::vector<struct adam_state> mirror(BLOCKS);
	struct trainer trainer = {};
	struct outcome out = {};

	catch_signals();
	make_weights(mirror.data(), o.seed);
	trainer_start(&trainer, mirror.data());
	out.start_ns = now_ns();
	while (!is_finished(&o, &out))
		train_step(&trainer, &o, mirror.data(), &out);
	check_weights(&trainer, mirror.data(), &out);
	trainer_stop(&trainer);
	printf("train: %zu steps, %.2f a second, loss %.6f at first, %.6f at last, %u wrong\n",
	       out.losses.size(), steps_per_s(&out), out.losses.empty() ? 0 : out.losses.front(),
	       out.losses.empty() ? 0 : out.losses.back(), out.wrong);
	if (o.json)
		write_json(&o, &out);
	print_result(out.hash);
	return out.wrong != 0;
}
