# Sluice: the only makefile. `make help` lists the targets.
#
# Variants build side by side under build/: SAN=address-undefined, SAN=thread, SAN=coverage.
# CFLAGS, LDFLAGS, CPPFLAGS, CC, DESTDIR and PREFIX are yours; ours are added to them.

MAKEFLAGS += -rR
.DELETE_ON_ERROR:
.SECONDARY:
.SUFFIXES:

CC ?= gcc
ifeq ($(origin CC),default)
CC := gcc
endif
AR ?= ar
ifeq ($(origin AR),default)
AR := ar
endif
AWK ?= awk
CLANG_FORMAT ?= $(firstword $(shell command -v clang-format-14 clang-format 2>/dev/null) clang-format)
PREFIX ?= /usr/local
BINDIR ?= $(PREFIX)/bin
SBINDIR ?= $(PREFIX)/sbin
LIBDIR ?= $(PREFIX)/lib/sluice
DATADIR ?= $(PREFIX)/share/sluice
MANDIR ?= $(PREFIX)/share/man
UNITDIR ?= $(PREFIX)/lib/systemd/system
SAN ?=
V ?= 0

VARIANT := $(or $(SAN),release)
# BUILD_DIR= builds somewhere else, so that two builds of one variant do not meet.
B := $(or $(BUILD_DIR),build/$(VARIANT))
Q := $(if $(filter 1,$(V)),,@)
say = $(if $(filter 1,$(V)),,@printf '  %-7s %s\n' '$(1)' '$(patsubst $(B)/%,%,$@)';)

# ---- goals that build nothing, and the set-up ---------------------------------------------------

QUIET_GOALS := help clean format distclean
GOALS := $(or $(MAKECMDGOALS),all)
ifneq ($(filter-out $(QUIET_GOALS),$(GOALS)),)
# The dependency step runs before anything is compiled, so that a machine that lacks something
# hears so in one line. It writes where the CUDA toolkit is; make reads that, and stops with 2.
DEPS := $(shell sh tools/setup/deps.sh >&2 && echo ok)
ifneq ($(DEPS),ok)
$(error stopped: the line above says what to do)
endif
include build/deps.mk
endif

# ---- flags --------------------------------------------------------------------------------------

SAN_FLAGS_address-undefined := -fsanitize=address,undefined -fno-omit-frame-pointer -fno-sanitize-recover=undefined
# A fence orders pages shared with other processes, where TSan does not look: its warning says nothing.
SAN_FLAGS_thread := -fsanitize=thread -fno-omit-frame-pointer -Wno-tsan
SAN_FLAGS_coverage := --coverage
SAN_FLAGS := $(SAN_FLAGS_$(VARIANT))
OPT_release := -O2
OPT_address-undefined := -O1
OPT_thread := -O1
OPT_coverage := -O0

CFLAGS ?= -g
WARN := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wpointer-arith \
	-Wno-unused-parameter -Wno-format-truncation $(if $(CI),-Werror)
override CFLAGS += -std=gnu11 -pthread $(OPT_$(VARIANT)) $(WARN)
override CPPFLAGS += -D_GNU_SOURCE -Iinclude -include sluice/banned.h -MMD -MP
DEFSYMS := $(if $(SAN_FLAGS),,-Wl,-z,defs)
HARDEN := -Wl,-z,relro,-z,now,-z,noexecstack
CUDA_CPPFLAGS = -isystem $(CUDA_INCLUDE)
STRICT := -Wconversion -Wno-sign-conversion

# ---- sources ------------------------------------------------------------------------------------

SHIM_C := $(wildcard shim/*.c)
SHIM_S := $(wildcard shim/*.S)
CORE_C := $(wildcard scheduler/core/*.c)
DAEMON_C := $(wildcard scheduler/daemon/*.c)
CLI_C := $(wildcard tools/sluice/*.c)
DEVICE_C := $(wildcard tools/simgpu/device/*.c)
PTX_C := $(wildcard tools/simgpu/ptx/*.c)
DRIVER_C := $(wildcard tools/simgpu/driver/*.c)
RUNTIME_C := $(wildcard tools/simgpu/runtime/*.c)
SAMPLES_C := $(wildcard samples/*.c)
SAMPLES_CU := $(wildcard samples/*.cu)
DEMO_C := $(wildcard tools/demo/*.c)
PLAN_C := $(wildcard tools/plan/*.c)
SUITE_C := $(wildcard tools/plan/suites/*.c)
LIVE_C := $(wildcard tools/plan/live/*.c)
FACTS_C := $(wildcard tools/plan/facts/*.c)
UNIT_C := $(wildcard tests/unit/test_*.c tests/model/test_*.c)
NULLDRIVER_C := $(wildcard tests/bench/nulldriver/*.c)
BENCH_C := $(wildcard tests/bench/*.c)
SHIM_SUPPORT_C := tests/support/fake_arbiter.c tests/support/script_driver.c
E2E_C := $(wildcard tests/e2e/*.c)
E2E_CU := $(wildcard tests/e2e/*.cu)
PTX_TEST_CU := $(wildcard tests/unit/ptx/*.cu)

objs = $(patsubst %,$(B)/obj/%.o,$(basename $(1)))

SHIM_O := $(call objs,$(SHIM_C) $(SHIM_S))
CORE_O := $(call objs,$(CORE_C))
DAEMON_O := $(call objs,$(DAEMON_C))
CLI_O := $(call objs,$(CLI_C))
DEVICE_O := $(call objs,$(DEVICE_C))
PTX_O := $(call objs,$(PTX_C))
DRIVER_O := $(call objs,$(DRIVER_C)) $(B)/obj/gen/driver_stubs.o $(B)/obj/gen/driver_table.o
# The planner plays the daemon's core and the shim's decision, the very objects.
PLAN_O := $(call objs,$(PLAN_C))
PLAN_NEEDS := $(CORE_O) $(DEVICE_O) $(call objs,shim/gate_decide.c)
RUNTIME_O := $(call objs,$(RUNTIME_C)) $(B)/obj/gen/runtime_stubs.o

LIBSLUICE := $(B)/lib/libsluice.so
SLUICED := $(B)/bin/sluiced
SLUICE := $(B)/bin/sluice
LIBCUDA := $(B)/simgpu/libcuda.so.1
LIBCUDART := $(B)/simgpu/libcudart.so.13
NULLDRIVER := $(B)/nulldriver/libcuda.so.1
SAMPLES := $(patsubst samples/%.c,$(B)/samples/%,$(SAMPLES_C)) \
	$(patsubst samples/%.cu,$(B)/samples/%,$(SAMPLES_CU))
UNITS := $(patsubst %.c,$(B)/%,$(UNIT_C))
E2E_PROGRAMS := $(patsubst %.c,$(B)/%,$(E2E_C)) $(patsubst %.cu,$(B)/%,$(E2E_CU))
BENCHES := $(patsubst %.c,$(B)/%,$(BENCH_C))
DEMO := $(if $(DEMO_C),$(B)/bin/sluice-demo)
SUITE := $(if $(SUITE_C),$(B)/bin/sluice-suite)
LIVE := $(if $(LIVE_C),$(B)/bin/sluice-live)
FACTS := $(if $(FACTS_C),$(B)/bin/sluice-facts)
PTX_TESTS := $(patsubst tests/unit/ptx/%.cu,$(B)/tests/unit/ptx/%.ptx,$(PTX_TEST_CU))

PRODUCTS := $(if $(SHIM_C),$(LIBSLUICE)) $(if $(DAEMON_C),$(SLUICED)) $(if $(CLI_C),$(SLUICE)) \
	$(if $(DRIVER_C),$(LIBCUDA)) $(if $(RUNTIME_C),$(LIBCUDART)) $(SAMPLES) $(DEMO) $(SUITE) $(LIVE) $(FACTS)

.PHONY: all check check-unit check-e2e check-static check-gpu bench demo plan plan-live facts install uninstall \
	format lint clean distclean help deps programs

all: $(PRODUCTS) ## build everything
programs: all $(UNITS) $(E2E_PROGRAMS) $(if $(NULLDRIVER_C),$(NULLDRIVER)) $(BENCHES) ## everything, with the programs of tests and benches
deps: ; @:

# ---- objects ------------------------------------------------------------------------------------

$(B)/obj/shim/%.o: private override CFLAGS += -fPIC -fvisibility=hidden -ftls-model=initial-exec \
	-fno-semantic-interposition $(STRICT)
$(B)/obj/shim/%.o: private override CPPFLAGS += $(CUDA_CPPFLAGS)
$(B)/obj/scheduler/core/%.o: private override CFLAGS += $(STRICT)
$(B)/obj/scheduler/daemon/%.o: private override CPPFLAGS += -Ischeduler $(LIBCONFIG_CFLAGS) $(SYSTEMD_CFLAGS)
$(B)/obj/tools/sluice/%.o: private override CPPFLAGS += -Itools -Itools/simgpu $(JANSSON_CFLAGS) $(LIBCONFIG_CFLAGS)
$(B)/obj/tools/plan/%.o: private override CPPFLAGS += -Itools -Itools/simgpu -Ischeduler -Ishim $(JANSSON_CFLAGS) $(LIBCONFIG_CFLAGS)
$(B)/obj/tools/demo/%.o: private override CPPFLAGS += $(JANSSON_CFLAGS)
$(B)/obj/tools/simgpu/%.o: private override CFLAGS += -fPIC -fvisibility=hidden
$(B)/obj/tools/simgpu/%.o: private override CPPFLAGS += -Itools/simgpu $(CUDA_CPPFLAGS) $(LIBCONFIG_CFLAGS)
# The interpreter's arithmetic is IEEE's, step by step; registers and memory are raw bytes.
$(B)/obj/tools/simgpu/ptx/%.o: private override CFLAGS += $(if $(SAN_FLAGS),,-O3) -ffp-contract=off \
	-fno-math-errno -fno-trapping-math -fno-strict-aliasing
$(B)/obj/gen/%.o: private override CFLAGS += -fPIC -fvisibility=hidden
$(B)/obj/gen/%.o: private override CPPFLAGS += -Itools/simgpu -Itests/support $(CUDA_CPPFLAGS)
$(B)/obj/tests/%.o: private override CPPFLAGS += -Itests -Itests/support -Ishim -Ischeduler -Itools -Itools/simgpu \
	$(CUDA_CPPFLAGS) $(CHECK_CFLAGS) $(LIBCONFIG_CFLAGS) $(JANSSON_CFLAGS)
$(B)/obj/tests/bench/nulldriver/%.o: private override CFLAGS += -fPIC
$(B)/obj/samples/%.o: private override CPPFLAGS += $(CUDA_CPPFLAGS)

# The doors take part in symbol look-up before a sanitizer's runtime is up, and an instrumented
# dlsym crashes at start: they are compiled without instrumentation in every variant.
DOORS_O := $(filter $(B)/obj/shim/door%,$(SHIM_O))
$(DOORS_O): private SAN_FLAGS :=
# What stands for somebody else's program or driver is as they would have compiled it.
$(call objs,$(SAMPLES_C) $(E2E_C) $(NULLDRIVER_C)): private SAN_FLAGS :=

# Flags are part of what an object depends on.
FLAGS_NOW := $(CC) $(CFLAGS) $(CPPFLAGS) $(SAN_FLAGS) $(CUDA_INCLUDE)
$(B)/flags: FORCE
	@mkdir -p $(@D); printf '%s\n' '$(FLAGS_NOW)' | cmp -s - $@ || printf '%s\n' '$(FLAGS_NOW)' > $@
FORCE:

$(B)/obj/%.o: %.c $(B)/flags
	@mkdir -p $(@D)
	$(call say,CC)$(CC) $(CPPFLAGS) $(CFLAGS) $(SAN_FLAGS) -c -o $@ $<
$(B)/obj/%.o: %.S $(B)/flags
	@mkdir -p $(@D)
	$(call say,AS)$(CC) $(SAN_FLAGS) -MMD -MP -fcf-protection -fPIC -c -o $@ $<
$(B)/obj/gen/%.o: $(B)/gen/%.c $(B)/flags
	@mkdir -p $(@D)
	$(call say,CC)$(CC) $(CPPFLAGS) $(CFLAGS) $(SAN_FLAGS) -c -o $@ $<

# ---- archives for tests: a test links what its prefix names ----------------------------------------

define archive
$(B)/lib/lib$(1).a: $(2)
	@mkdir -p $$(@D); rm -f $$@
	$$(call say,AR)$(AR) rcs $$@ $$(filter %.o,$$^)
endef
without_main = $(filter-out %/main.o,$(1))
$(eval $(call archive,core,$(CORE_O)))
$(eval $(call archive,daemon,$(call without_main,$(DAEMON_O))))
$(eval $(call archive,cli,$(call without_main,$(CLI_O))))
$(eval $(call archive,device,$(DEVICE_O)))
$(eval $(call archive,plan,$(PLAN_O) $(PLAN_NEEDS)))
$(eval $(call archive,ptx,$(PTX_O)))
$(eval $(call archive,driver,$(DRIVER_O)))
$(eval $(call archive,shim,$(SHIM_O)))
$(eval $(call archive,shim_support,$(call objs,$(SHIM_SUPPORT_C)) $(B)/obj/gen/driver_arguments.o))

A = $(B)/lib/lib$(1).a
LIBS_core = $(call A,core)
LIBS_daemon = $(call A,daemon) $(call A,core) $(LIBCONFIG_LIBS) $(SYSTEMD_LIBS)
LIBS_cli = $(call A,cli) $(call A,plan) $(JANSSON_LIBS) $(LIBCONFIG_LIBS)
LIBS_plan = $(call A,plan) $(JANSSON_LIBS) $(LIBCONFIG_LIBS) -lm
LIBS_suite = $(filter-out %/main.o,$(call objs,$(SUITE_C))) $(LIBS_plan)
LIBS_facts = $(filter-out %/main.o,$(call objs,$(FACTS_C))) $(LIBS_suite)
LIBS_device = $(call A,device) $(LIBCONFIG_LIBS)
LIBS_ptx = $(call A,ptx) -lm
# Whole, since a weak refusal must not keep the file that implements the name out.
LIBS_driver = -Wl,--whole-archive $(call A,driver) -Wl,--no-whole-archive $(call A,ptx) $(call A,device) $(LIBCONFIG_LIBS) $(ZSTD_LIBS) $(LZ4_LIBS) -lm
LIBS_shim = $(call A,shim_support) $(call A,shim) -ldl
LIBS_wire =
LIBS_demo = $(filter-out %/main.o,$(call objs,$(DEMO_C))) $(JANSSON_LIBS) -lm
test_kind = $(word 2,$(subst _, ,$(notdir $(1))))
test_needs = $(filter %.a %.o,$(LIBS_$(call test_kind,$(1))))

# ---- products -----------------------------------------------------------------------------------

$(LIBSLUICE): $(SHIM_O) shim/libsluice.map
	@mkdir -p $(@D)
	$(call say,LD)$(CC) -shared $(LDFLAGS) $(SAN_FLAGS) $(DEFSYMS) $(HARDEN) -Wl,-soname,libsluice.so -Wl,-Bsymbolic-functions \
		-Wl,--version-script=shim/libsluice.map -o $@ $(SHIM_O)

$(SLUICED): $(DAEMON_O) $(CORE_O)
	@mkdir -p $(@D)
	$(call say,LD)$(CC) $(LDFLAGS) $(SAN_FLAGS) $(HARDEN) -pthread -o $@ $^ $(LIBCONFIG_LIBS) $(SYSTEMD_LIBS)

$(SLUICE): $(CLI_O) $(PLAN_O) $(PLAN_NEEDS)
	@mkdir -p $(@D)
	$(call say,LD)$(CC) $(LDFLAGS) $(SAN_FLAGS) $(HARDEN) -o $@ $^ $(JANSSON_LIBS) $(LIBCONFIG_LIBS) -ldl -lm

$(LIBCUDA): $(DRIVER_O) $(PTX_O) $(DEVICE_O) tools/simgpu/driver/libcuda.map
	@mkdir -p $(@D)
	$(call say,LD)$(CC) -shared $(LDFLAGS) $(SAN_FLAGS) $(DEFSYMS) $(HARDEN) -pthread -Wl,-soname,libcuda.so.1 -Wl,-z,nodelete \
		-Wl,-Bsymbolic -Wl,--version-script=tools/simgpu/driver/libcuda.map -o $@ \
		$(DRIVER_O) $(PTX_O) $(DEVICE_O) $(LIBCONFIG_LIBS) $(ZSTD_LIBS) $(LZ4_LIBS) -ldl -lm

$(LIBCUDART): $(RUNTIME_O) tools/simgpu/runtime/libcudart.map
	@mkdir -p $(@D)
	$(call say,LD)$(CC) -shared $(LDFLAGS) $(SAN_FLAGS) $(DEFSYMS) $(HARDEN) -pthread -Wl,-soname,libcudart.so.13 \
		-Wl,-Bsymbolic -Wl,--version-script=tools/simgpu/runtime/libcudart.map -o $@ $(RUNTIME_O) -ldl

# Generated from the toolkit's own headers and libraries; each script's head says how.
$(B)/gen/driver_%.c: tools/gen/driver_%.sh $(B)/flags
	@mkdir -p $(@D)
	$(call say,GEN)CC='$(CC)' AWK='$(AWK)' sh $< '$(CUDA_INCLUDE)' '$(CUDA_LIB)' > $@
$(B)/gen/runtime_%.c: tools/gen/runtime_%.sh $(B)/flags
	@mkdir -p $(@D)
	$(call say,GEN)CC='$(CC)' AWK='$(AWK)' sh $< '$(CUDA_INCLUDE)' '$(CUDA_LIB)' > $@

$(B)/bin/sluice-demo: $(call objs,$(DEMO_C))
	@mkdir -p $(@D)
	$(call say,LD)$(CC) $(LDFLAGS) $(SAN_FLAGS) -o $@ $^ $(JANSSON_LIBS) -lm

$(B)/bin/sluice-suite: $(call objs,$(SUITE_C)) $(call A,plan)
	@mkdir -p $(@D)
	$(call say,LD)$(CC) $(LDFLAGS) $(SAN_FLAGS) -o $@ $^ $(JANSSON_LIBS) $(LIBCONFIG_LIBS) -lm

$(B)/bin/sluice-live: $(call objs,$(LIVE_C) tools/demo/phase.c tools/sluice/table.c)
	@mkdir -p $(@D)
	$(call say,LD)$(CC) $(LDFLAGS) $(SAN_FLAGS) -o $@ $^ $(JANSSON_LIBS) -lm

$(B)/bin/sluice-facts: $(call objs,$(FACTS_C)) $(call without_main,$(call objs,$(SUITE_C))) $(call A,plan)
	@mkdir -p $(@D)
	$(call say,LD)$(CC) $(LDFLAGS) $(SAN_FLAGS) -o $@ $^ $(JANSSON_LIBS) $(LIBCONFIG_LIBS) -lm

# ---- samples: ordinary CUDA programs; they know nothing of Sluice -------------------------------------

NVCCFLAGS ?= -O2
# The toolkit's stub of the driver; its packages from PyPI carry none, and our own has its names.
DRIVER_STUB := $(if $(CUDA_STUBS),,$(LIBCUDA))
DRIVER_LIBS := $(if $(CUDA_STUBS),-L$(CUDA_STUBS) -lcuda,-Wl,--allow-shlib-undefined -L$(B)/simgpu -l:libcuda.so.1)
$(B)/samples/%: samples/%.cu $(B)/flags
	@mkdir -p $(@D)
	$(call say,NVCC)$(NVCC) $(NVCCFLAGS) -std=c++17 -cudart shared -arch=compute_75 -ccbin $(CC) -MD -MF $@.d -o $@ $< $(CUDA_LDFLAGS)
$(B)/samples/%: $(B)/obj/samples/%.o $(DRIVER_STUB)
	@mkdir -p $(@D)
	$(call say,LD)$(CC) $(LDFLAGS) -pthread -o $@ $< $(DRIVER_LIBS) -lm
$(B)/tests/e2e/%: tests/e2e/%.cu $(B)/flags
	@mkdir -p $(@D)
	$(call say,NVCC)$(NVCC) $(NVCCFLAGS) -std=c++17 -cudart shared -arch=compute_75 -ccbin $(CC) -MD -MF $@.d -o $@ $< $(CUDA_LDFLAGS)
$(B)/tests/e2e/%: $(B)/obj/tests/e2e/%.o $(DRIVER_STUB)
	@mkdir -p $(@D)
	$(call say,LD)$(CC) $(LDFLAGS) -pthread -o $@ $< $(DRIVER_LIBS) -ldl -lm
$(B)/tests/unit/ptx/%.ptx: tests/unit/ptx/%.cu $(B)/flags
	@mkdir -p $(@D)
	$(call say,NVCC)$(NVCC) -O2 -std=c++17 -ptx -arch=compute_75 -ccbin $(CC) -MD -MF $@.d -o $@ $<

# ---- tests --------------------------------------------------------------------------------------

.SECONDEXPANSION:
$(B)/tests/%: $(B)/obj/tests/%.o $$(call test_needs,$$@)
	@mkdir -p $(@D)
	$(call say,LD)$(CC) $(LDFLAGS) $(SAN_FLAGS) -pthread -o $@ $< $(LIBS_$(call test_kind,$@)) $(CHECK_LIBS) -lm

# Bench programs are ordinary CUDA programs, on a driver that does nothing.
$(B)/tests/bench/%: $(B)/obj/tests/bench/%.o $(call A,shim_support) $(NULLDRIVER)
	@mkdir -p $(@D)
	$(call say,LD)$(CC) $(LDFLAGS) $(SAN_FLAGS) -pthread -o $@ $< $(call A,shim_support) $(NULLDRIVER) -lm

# Sanitizer runs leave out what measures or only looks at text.
CHECKS := check-unit check-e2e $(if $(SAN_FLAGS),,check-static)

check: programs $(PTX_TESTS) ## run all the tests; the last line counts them
	$(Q)BUILD=$(B) SAN=$(SAN) sh tests/support/check.sh $(CHECKS)
check-unit check-e2e check-static: programs $(PTX_TESTS) ## one part of the tests
	$(Q)BUILD=$(B) SAN=$(SAN) sh tests/support/check.sh $@
check-gpu: programs ## the tests that need a real GPU; skips with a message where there is none
	$(Q)BUILD=$(B) sh tests/gpu/run.sh
bench: programs ## measure the hot paths on a driver that does nothing: build/bench/report.json
	$(Q)BUILD=$(B) sh tests/bench/run.sh
demo: all ## an inference server beside a training loop, without and with Sluice
	$(Q)BUILD=$(B) sh tools/demo/run.sh
plan: $(SUITE) ## all policies over the suite of pairs, on the model of the GPU: build/plan/report.json
	@mkdir -p build/plan
	$(Q)$(SUITE) --out build/plan/report.json
facts: $(FACTS) ## the model of the GPU against published facts: build/plan/facts.json
	@mkdir -p build/plan
	$(Q)$(FACTS) --out build/plan/facts.json
plan-live: all ## the same policy on real processes on the simulated GPU: build/plan/live.json
	$(Q)BUILD=$(B) sh tools/plan/live/run.sh

# ---- the rest -----------------------------------------------------------------------------------

$(NULLDRIVER): $(call objs,$(NULLDRIVER_C))
	@mkdir -p $(@D)
	$(call say,LD)$(CC) -shared $(LDFLAGS) -Wl,-soname,libcuda.so.1 -o $@ $^

MAN1 := $(wildcard man/*.1)
MAN5 := $(wildcard man/*.5)
MAN8 := $(wildcard man/*.8)
install: all ## install under DESTDIR and PREFIX
	install -d '$(DESTDIR)$(BINDIR)' '$(DESTDIR)$(SBINDIR)' '$(DESTDIR)$(LIBDIR)/simgpu' '$(DESTDIR)$(DATADIR)/presets' \
		'$(DESTDIR)$(DATADIR)/samples/plan' '$(DESTDIR)$(DATADIR)/workloads' '$(DESTDIR)$(MANDIR)/man1' '$(DESTDIR)$(MANDIR)/man5' '$(DESTDIR)$(MANDIR)/man8' '$(DESTDIR)$(UNITDIR)'
	install -m 755 $(SLUICE) '$(DESTDIR)$(BINDIR)/sluice'
	install -m 755 $(SLUICED) '$(DESTDIR)$(SBINDIR)/sluiced'
	install -m 755 $(LIBSLUICE) '$(DESTDIR)$(LIBDIR)/libsluice.so'
	install -m 755 $(LIBCUDA) $(LIBCUDART) '$(DESTDIR)$(LIBDIR)/simgpu/'
	install -m 644 $(wildcard tools/simgpu/presets/*.conf) '$(DESTDIR)$(DATADIR)/presets/'
	install -m 644 $(wildcard samples/*.conf) '$(DESTDIR)$(DATADIR)/samples/'
	install -m 644 $(wildcard samples/plan/*.cfg) '$(DESTDIR)$(DATADIR)/samples/plan/'
	install -m 644 $(wildcard tools/plan/suites/pairs/*-*.conf tools/plan/suites/pairs/decode.conf) '$(DESTDIR)$(DATADIR)/workloads/'
	$(if $(MAN1),install -m 644 $(MAN1) '$(DESTDIR)$(MANDIR)/man1/')
	$(if $(MAN5),install -m 644 $(MAN5) '$(DESTDIR)$(MANDIR)/man5/')
	$(if $(MAN8),install -m 644 $(MAN8) '$(DESTDIR)$(MANDIR)/man8/')
	sed 's|@SBINDIR@|$(SBINDIR)|' scheduler/daemon/sluiced.service.in > '$(DESTDIR)$(UNITDIR)/sluiced.service'
uninstall: ## remove what install put there
	rm -f '$(DESTDIR)$(BINDIR)/sluice' '$(DESTDIR)$(SBINDIR)/sluiced' '$(DESTDIR)$(UNITDIR)/sluiced.service'
	rm -f $(foreach m,$(notdir $(MAN1)),'$(DESTDIR)$(MANDIR)/man1/$(m)') $(foreach m,$(notdir $(MAN5)),'$(DESTDIR)$(MANDIR)/man5/$(m)') \
		$(foreach m,$(notdir $(MAN8)),'$(DESTDIR)$(MANDIR)/man8/$(m)')
	rm -rf '$(DESTDIR)$(LIBDIR)' '$(DESTDIR)$(DATADIR)'
# Of a prefix of its own, what install made on the way, where nobody else has put anything.
	for folder in $(if $(filter-out / /usr /usr/local,$(PREFIX)),'$(BINDIR)' '$(SBINDIR)' '$(MANDIR)/man1' '$(MANDIR)/man5' '$(MANDIR)/man8' '$(UNITDIR)' \
		'$(dir $(UNITDIR))' '$(dir $(LIBDIR))' '$(MANDIR)' '$(dir $(DATADIR))' '$(PREFIX)'); do \
		rmdir '$(DESTDIR)'"$$folder" 2>/dev/null; done; :

OURS := $(wildcard include/sluice/*.h shim/*.[ch] scheduler/*/*.[ch] tools/*/*.[ch] tools/plan/*/*.[ch] tools/simgpu/*/*.[ch] \
	tests/*/*.[ch] tests/bench/nulldriver/*.[ch] samples/*.c)
format: ## clang-format our C files
	$(Q)$(CLANG_FORMAT) -i $(OURS)
lint: ## formatting, shell scripts, spelling (what is installed)
	$(Q)CLANG_FORMAT=$(CLANG_FORMAT) sh tests/static/lint.sh $(OURS)
clean: ## remove what this variant built (SAN= picks it)
	rm -rf $(B)
distclean: ## remove build/ as a whole
	rm -rf build
help: ## this list
	@sed -n 's/^\([a-z-]*\)[a-z -]*:.*## /  \1\t/p' Makefile | expand -t 20

-include $(shell find $(B) -name '*.d' 2>/dev/null)
