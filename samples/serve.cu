/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An inference server with a load generator inside. Requests arrive by a seeded Poisson process
 * that does not wait for replies; one worker serves them first come first served: input to the
 * device, 93 kernels, answer back. Two latencies: A from the scheduled arrival to the answer, S
 * from the first launch of the request to the answer. Every answer is checked on the host.
 */
#include <cmath>
#include <getopt.h>
#include <vector>

#include "check.cuh"
#include "serve_kernels.cuh"

struct options {
	unsigned int requests, warmup;
	uint64_t seed;
	double rate; /* requests a second; 0: from load */
	double load; /* of what the server can do, measured by the warm-up */
	const char *json, *latencies;
};

struct server {
	struct weights *weights; /* host's copy */
	int32_t *host_input, *host_answer; /* pinned */
	struct weights *device_weights;
	int32_t *input, *x, *normal, *qkv[3], *score, *p, *mixed, *y, *inner, *pooled, *answer;
	cudaStream_t stream;
};

struct outcome {
	std::vector<double> arrival_ms, service_ms; /* in order of arrival */
	std::vector<int32_t> answers;
	uint64_t start_ns, end_ns;
	double rate, load;
	unsigned int wrong;
	uint64_t hash;
};

/* ---- the server ---- */

static int32_t *device_words(size_t count)
{
	void *p;

	CHECK(cudaMalloc(&p, count * sizeof(int32_t)));
	return (int32_t *)p;
}

static void server_start(struct server *s, uint64_t seed)
{
	s->weights = (struct weights *)malloc(sizeof(*s->weights));
	if (!s->weights) {
		fprintf(stderr, "serve: no memory\n");
		exit(1);
	}
	make_weights(s->weights, seed);
	CHECK(cudaMallocHost((void **)&s->host_input, INPUT * sizeof(int32_t)));
	CHECK(cudaMallocHost((void **)&s->host_answer, CLASSES * sizeof(int32_t)));
	CHECK(cudaMalloc((void **)&s->device_weights, sizeof(*s->weights)));
	CHECK(cudaMemcpy(s->device_weights, s->weights, sizeof(*s->weights),
			 cudaMemcpyHostToDevice));
	s->input = device_words(INPUT);
	s->x = device_words(ACTIVATIONS);
	s->normal = device_words(ACTIVATIONS);
	for (int32_t *&p : s->qkv)
		p = device_words(ACTIVATIONS);
	s->score = device_words(SCORES);
	s->p = device_words(SCORES);
	s->mixed = device_words(ACTIVATIONS);
	s->y = device_words(ACTIVATIONS);
	s->inner = device_words(TOKENS * INNER);
	s->pooled = device_words(HIDDEN);
	s->answer = device_words(CLASSES);
	CHECK(cudaStreamCreateWithFlags(&s->stream, cudaStreamNonBlocking));
}

static void server_stop(struct server *s)
{
	int32_t *const words[] = {s->input, s->x,     s->normal, s->qkv[0], s->qkv[1], s->qkv[2],
				  s->score, s->p,     s->mixed,	 s->y,	    s->inner,  s->pooled,
				  s->answer};

	for (int32_t *p : words)
		CHECK(cudaFree(p));
	CHECK(cudaFree(s->device_weights));
	CHECK(cudaFreeHost(s->host_input));
	CHECK(cudaFreeHost(s->host_answer));
	CHECK(cudaStreamDestroy(s->stream));
	free(s->weights);
}

static void launch_attention(const struct server *s, const struct layer_weights *w)
{
	cudaStream_t stream = s->stream;

	layer_norm<<<1, BLOCK, 0, stream>>>(s->x, s->normal);
	for (int i = 0; i < 3; i++) {
		qkv_gemm<<<1, BLOCK, 0, stream>>>(w->qkv[i], s->normal, s->qkv[i]);
		bias_add<<<1, BLOCK, 0, stream>>>(w->qkv_bias[i], s->qkv[i]);
	}
	attention_scores<<<1, BLOCK, 0, stream>>>(s->qkv[0], s->qkv[1], s->score);
	mask_scale<<<1, BLOCK, 0, stream>>>(s->score);
	softmax<<<1, BLOCK, 0, stream>>>(s->score, s->p);
	attention_context<<<1, BLOCK, 0, stream>>>(s->p, s->qkv[2], s->mixed);
	proj_gemm<<<1, BLOCK, 0, stream>>>(w->proj, s->mixed, s->y);
	residual_add<<<1, BLOCK, 0, stream>>>(s->x, s->y);
}

static void launch_mlp(const struct server *s, const struct layer_weights *w)
{
	cudaStream_t stream = s->stream;

	layer_norm<<<1, BLOCK, 0, stream>>>(s->x, s->normal);
	mlp_up<<<2, BLOCK, 0, stream>>>(w->up, s->normal, s->inner);
	gelu<<<2, BLOCK, 0, stream>>>(s->inner);
	mlp_down<<<1, BLOCK, 0, stream>>>(w->down, s->inner, s->y);
	residual_add<<<1, BLOCK, 0, stream>>>(s->x, s->y);
}

/* One request, from its input in host_input to its answer in host_answer. Addresses of members of
 * *device_weights are computed on the host; nothing there is read. */
static void serve_request(const struct server *s)
{
	CHECK(cudaMemcpyAsync(s->input, s->host_input, INPUT * sizeof(int32_t),
			      cudaMemcpyHostToDevice, s->stream));
	embed<<<1, BLOCK, 0, s->stream>>>(s->input, s->x);
	for (int l = 0; l < LAYERS; l++) {
		launch_attention(s, &s->device_weights->layer[l]);
		launch_mlp(s, &s->device_weights->layer[l]);
	}
	pooler<<<1, BLOCK, 0, s->stream>>>(s->device_weights->pool, s->x, s->pooled);
	head_gemm<<<1, BLOCK, 0, s->stream>>>(s->device_weights->head, s->pooled, s->answer);
	CHECK(cudaGetLastError());
	CHECK(cudaMemcpyAsync(s->host_answer, s->answer, CLASSES * sizeof(int32_t),
			      cudaMemcpyDeviceToHost, s->stream));
	CHECK(cudaStreamSynchronize(s->stream));
}

/* Median of the warm-up's service, in seconds. Its requests are numbered down from the top, so
 * that the measured ones are the same whatever the warm-up. */
static double warm_up(const struct server *s, const struct options *o)
{
	std::vector<double> took;

	for (unsigned int i = 0; i < o->warmup; i++) {
		uint64_t start;

		make_input(s->host_input, o->seed, UINT64_MAX - i);
		start = now_ns();
		serve_request(s);
		took.push_back((double)(now_ns() - start) / NS_PER_S);
	}
	qsort(took.data(), took.size(), sizeof(double), compare_doubles);
	return quantile(took.data(), took.size(), 0.5);
}

static void serve_all(const struct server *s, const struct options *o, struct outcome *out)
{
	uint64_t state = o->seed ^ 0x5851f42d4c957f2dull;
	double due_s = 0, served_ms = 0;
	uint64_t origin = now_ns() + NS_PER_S / 100;

	for (unsigned int i = 0; i < o->requests; i++) {
		uint64_t due, start, end;

		due_s += -log(random_unit(&state)) / out->rate;
		due = origin + (uint64_t)(due_s * NS_PER_S);
		if (now_ns() < due)
			sleep_until(due);
		make_input(s->host_input, o->seed, i);
		start = now_ns();
		serve_request(s);
		end = now_ns();
		out->arrival_ms.push_back((double)(end - due) / 1e6);
		out->service_ms.push_back((double)(end - start) / 1e6);
		served_ms += (double)(end - start) / 1e6;
		out->answers.insert(out->answers.end(), s->host_answer, s->host_answer + CLASSES);
		if (i == 0)
			out->start_ns = due;
		out->end_ns = end;
	}
	out->load = out->rate * served_ms / o->requests / 1e3;
}

static void check_answers(const struct server *s, const struct options *o, struct outcome *out)
{
	std::vector<int32_t> input(INPUT);
	int32_t expected[CLASSES];

	for (unsigned int i = 0; i < o->requests; i++) {
		make_input(input.data(), o->seed, i);
		answer_on_host(s->weights, input.data(), expected);
		if (!memcmp(expected, &out->answers[(size_t)i * CLASSES], sizeof(expected)))
			continue;
		if (out->wrong++ == 0)
			fprintf(stderr, "serve: request %u got a wrong answer\n", i);
	}
	out->hash = hash_bytes(HASH_START, out->answers.data(),
			       out->answers.size() * sizeof(int32_t));
}

/* ---- what comes out ---- */

struct figures {
	double p50, p99, p999;
};

static struct figures figures_of(std::vector<double> values)
{
	struct figures f;

	qsort(values.data(), values.size(), sizeof(double), compare_doubles);
	f.p50 = quantile(values.data(), values.size(), 0.5);
	f.p99 = quantile(values.data(), values.size(), 0.99);
	f.p999 = quantile(values.data(), values.size(), 0.999);
	return f;
}

static FILE *open_output(const char *path)
{
	FILE *file = fopen(path, "w");

	if (!file) {
		fprintf(stderr, "serve: %s: %s\n", path, strerror(errno));
		exit(1);
	}
	return file;
}

static void close_output(FILE *file, const char *path)
{
	bool failed = ferror(file);

	if (fclose(file) || failed) {
		fprintf(stderr, "serve: %s: cannot be written\n", path);
		exit(1);
	}
}

static void write_array(FILE *file, const char *key, const std::vector<double> &values)
{
	fprintf(file, ", \"%s\": [", key);
	for (size_t i = 0; i < values.size(); i++)
		fprintf(file, "%s%.6f", i ? ", " : "", values[i]);
	fputs("]", file);
}

static void write_json(const struct options *o, const struct outcome *out)
{
	struct figures a = figures_of(out->arrival_ms), s = figures_of(out->service_ms);
	FILE *file = open_output(o->json);

	fprintf(file,
		"{\"sample\": \"serve\", \"requests\": %u, \"warmup\": %u, \"seed\": %" PRIu64
		", \"rate\": %.6f, \"load\": %.6f, \"start_ns\": %" PRIu64 ", \"end_ns\": %" PRIu64
		", \"wrong_results\": %u, \"result\": \"%016" PRIx64 "\"",
		o->requests, o->warmup, o->seed, out->rate, out->load, out->start_ns, out->end_ns,
		out->wrong, out->hash);
	fprintf(file, ", \"A_p50_ms\": %.6f, \"A_p99_ms\": %.6f, \"A_p999_ms\": %.6f", a.p50, a.p99,
		a.p999);
	fprintf(file, ", \"S_p50_ms\": %.6f, \"S_p99_ms\": %.6f, \"S_p999_ms\": %.6f", s.p50, s.p99,
		s.p999);
	write_array(file, "A_ms", out->arrival_ms);
	write_array(file, "S_ms", out->service_ms);
	fputs("}\n", file);
	close_output(file, o->json);
}

static void write_latencies(const struct options *o, const struct outcome *out)
{
	FILE *file = open_output(o->latencies);

	fputs("A_ms,S_ms\n", file);
	for (size_t i = 0; i < out->arrival_ms.size(); i++)
		fprintf(file, "%.6f,%.6f\n", out->arrival_ms[i], out->service_ms[i]);
	close_output(file, o->latencies);
}

static void print_outcome(const struct options *o, const struct outcome *out)
{
	struct figures a = figures_of(out->arrival_ms), s = figures_of(out->service_ms);

	printf("serve: %u requests at %.1f/s, load %.2f, %u wrong\n"
	       "A (from arrival): p50 %.2f ms, p99 %.2f ms, p99.9 %.2f ms\n"
	       "S (of service):   p50 %.2f ms, p99 %.2f ms, p99.9 %.2f ms\n",
	       o->requests, out->rate, out->load, out->wrong, a.p50, a.p99, a.p999, s.p50, s.p99,
	       s.p999);
}

static void usage(FILE *out)
{
	fputs("usage: serve [OPTION...]\n"
	      "Serves requests that arrive at random, and says how long they took.\n"
	      "  --requests N      measured requests; 1000\n"
	      "  --warmup N        requests before them; 20\n"
	      "  --seed N          of arrivals, inputs and weights; 1\n"
	      "  --rate R          arrivals a second; 50\n"
	      "  --load L          or the rate as a share of what the warm-up shows it can do\n"
	      "  --json FILE       all figures and latencies\n"
	      "  --latencies FILE  latencies alone, as CSV\n",
	      out);
}

static struct options parse(int argc, char **argv)
{
	static const struct option options[] = {{"requests", required_argument, NULL, 'n'},
						{"warmup", required_argument, NULL, 'w'},
						{"seed", required_argument, NULL, 's'},
						{"rate", required_argument, NULL, 'r'},
						{"load", required_argument, NULL, 'l'},
						{"json", required_argument, NULL, 'j'},
						{"latencies", required_argument, NULL, 'c'},
						{"help", no_argument, NULL, 'h'},
						{NULL, 0, NULL, 0}};
	struct options o = {1000, 20, 1, 50, 0, NULL, NULL};
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (option) {
		case 'n': o.requests = (unsigned)option_number("requests", optarg, 1, 1e7); break;
		case 'w': o.warmup = (unsigned)option_number("warmup", optarg, 0, 1e6); break;
		case 's': o.seed = (uint64_t)option_number("seed", optarg, 0, 1e15); break;
		case 'r': o.rate = option_number("rate", optarg, 1e-3, 1e6); break;
		case 'l': o.load = option_number("load", optarg, 1e-3, 100); break;
		case 'j': o.json = optarg; break;
		case 'c': o.latencies = optarg; break;
		case 'h': usage(stdout); exit(0);
		default: usage(stderr); exit(2);
		}
	}
	if (o.load > 0 && o.warmup == 0) {
		fprintf(stderr, "--load needs a --warmup to measure by\n");
		exit(2);
	}
	return o;
}

int main(int argc, char **argv)
{
	struct options o = parse(argc, argv);
	struct outcome out = {};
	struct server server = {};
	double service_s;

	server_start(&server, o.seed);
	service_s = warm_up(&server, &o);
	out.rate = o.load > 0 ? o.load / service_s : o.rate;
	serve_all(&server, &o, &out);
	check_answers(&server, &o, &out);
	server_stop(&server);
	print_outcome(&o, &out);
	if (o.json)
		write_json(&o, &out);
	if (o.latencies)
		write_latencies(&o, &out);
	print_result(out.hash);
	return out.wrong != 0;
}
