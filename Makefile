# SPDX-License-Identifier: MIT
# corun: several CUDA kernels share one simulated GPU. `make help` lists what can be made.

BUILD ?= build
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
# Tests that run at a time: they wait for almost half of their time, for programs that come and go and for clocks of what they test.
TEST_JOBS ?= $(shell expr $(JOBS) + 3)
PREFIX ?= /usr/local
DESTDIR ?=
# Seconds that each fuzzer runs.
FUZZ_SECONDS ?= 60
# Tests interrupt what they start: in a shell's background and under nohup everything would ignore that.
# A test that hangs fails after a quarter of an hour, by its name. Workers of campaigns do not stand back behind the other tests.
CTEST = env --default-signal=INT CORUN_NICENESS=0 ctest --test-dir $(BUILD) --parallel $(TEST_JOBS) --output-on-failure --no-tests=error --timeout 900
# What `make hardware` runs: a size of every workload, or WORKLOADS="sgemm lbm".
SIZE ?= large
WORKLOADS ?= $(notdir $(wildcard $(BUILD)/data/kernels/*))

CONFIGURE = cmake -S . -B $(BUILD) -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_C_COMPILER=gcc

.DEFAULT_GOAL := build
.PHONY: help demo check check-further check-full everything build bench bench-threads bench-scaling bench-come-and-go bench-launches bench-split-kinds fidelity hardware host-profiles lint install deb fuzz clean dependencies

help: ## this list
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/  make \1 \t\2/p' $(MAKEFILE_LIST) | expand -t 28

demo: build ## two kernels on a simulated GTX 980, one with a goal
	$(BUILD)/corun run --gpu gtx980 --policy even --cycles 500K sgemm:goal=90% lbm
	@printf '\nThe command is %s/corun; README.md shows what else it can do, once a shell finds it:\n    export PATH="%s:$$PATH"\n' \
		$(BUILD) $(abspath $(BUILD))

build: dependencies $(BUILD)/build.ninja ## the command, at build/corun, with its kernels, and the libraries for Python and CUDA programs
	cmake --build $(BUILD) --parallel $(JOBS) --target corun corun_kernels corun_gpu_files corun_libraries

check: everything ## everything is built with both compilers and passes its tests, in ten minutes after make demo
	$(CTEST) -LE further

check-further: everything ## the tests that check leaves out: the same on other GPUs, in other forms, at further points
	$(CTEST) -L further

everything:
	@scripts/install-dependencies.sh build check
	$(CONFIGURE)
	cmake --build $(BUILD) --parallel $(JOBS) --target all corun_libraries bench_programs
	cmake --preset clang
	cmake --build build-clang --parallel $(JOBS) --target corun

check-full: build ## every workload in every size against its reference, continues where it was interrupted; repeated runs ten times
	cmake --build $(BUILD) --parallel $(JOBS) --target check-full
	cmake --build $(BUILD) --parallel $(JOBS) --target all corun_libraries
	CORUN_TEST_RUNS=10 $(CTEST) -L repeated

bench: build ## how fast it simulates, workload by workload
	cmake --build $(BUILD) --parallel $(JOBS) --target bench_workloads corun_kernels
	$(BUILD)/bench_workloads

bench-threads: build ## what host threads can share of a step, for GPUs of 16 to 144 SMs, and bytes for each SM
	cmake --build $(BUILD) --parallel $(JOBS) --target bench_threads bench_barrier corun_kernels
	$(BUILD)/bench_barrier 2
	$(BUILD)/bench_threads -b $$($(BUILD)/bench_barrier -l 2) -g gtx980 -g isca56 -g quadro-v100 -g gtx980:sms=144 \
		spmv stencil lbm sgemm mri-q cutcp

bench-scaling: build ## how much faster 2 to 16 host threads are, on a machine with as many idle cores
	cmake --build $(BUILD) --parallel $(JOBS) --target bench_scaling corun_kernels
	$(BUILD)/bench_scaling -g gtx980 -g isca56 -g quadro-v100 -g gtx980:sms=144 spmv stencil lbm sgemm mri-q cutcp

bench-come-and-go: build ## what the hundred thousandth launch and the ten thousandth client cost, over the first
	cmake --build $(BUILD) --parallel $(JOBS) --target bench_come_and_go
	$(BUILD)/bench_come_and_go

bench-launches: build ## what a launch of a CUDA program costs, in 100 000 of them over 10 000
	cmake --build $(BUILD) --parallel $(JOBS)
	bench/launches.py $(BUILD)

bench-split-kinds: build ## how well meet divides kinds of tasks that examples/split has not
	cmake --build $(BUILD) --parallel $(JOBS) --target $(addprefix bench_split_,buffers convolution kmeans pricing rotation uneven)
	bench/split/kinds.py $(BUILD)

fidelity: build ## how near the simulated GPUs are to real ones: the tables of docs/fidelity.md
	bench/hardware/fidelity.py $(BUILD)/corun all

hardware: build ## the workloads on the NVIDIA GPU of this machine (docs/hardware.md): SIZE=large WORKLOADS="…"
	bench/hardware/real_gpu.py --probe
	bench/hardware/export_all.sh $(BUILD)/corun $(BUILD)/hardware $(SIZE) $(WORKLOADS)
	bench/hardware/real_gpu.py $(foreach name,$(WORKLOADS),$(BUILD)/hardware/$(name)-$(SIZE))

host-profiles: build ## measures examples/host again, into configs/host/applications (docs/host-applications.md)
	@scripts/install-dependencies.sh build check
	cmake --build $(BUILD) --parallel $(JOBS) --target host_examples
	scripts/profile_hosts.sh $(BUILD)
	scripts/describe_host_applications.py .

lint: ## format, static analysis, layers
	@scripts/install-dependencies.sh build check lint
	$(CONFIGURE)
	scripts/lint.sh $(BUILD) $(JOBS)

install: build ## into $(DESTDIR)$(PREFIX)
	DESTDIR=$(DESTDIR) cmake --install $(BUILD) --prefix $(PREFIX)

deb: ## Debian packages, in build/deb
	@scripts/install-dependencies.sh build deb
	scripts/build_deb.sh $(BUILD) $(JOBS)

fuzz: ## every fuzzer for FUZZ_SECONDS
	@scripts/install-dependencies.sh build fuzz
	cmake --preset fuzz
	cmake --build build-fuzz --parallel $(JOBS)
	scripts/fuzz.sh build-fuzz $(FUZZ_SECONDS)

clean: ## removes what was built
	rm -rf $(BUILD) build-clang build-asan build-tsan build-valgrind build-fuzz

dependencies:
	@scripts/install-dependencies.sh build

# Ninja sees by itself to changes in the CMake files; this is only for the first time.
$(BUILD)/build.ninja: | dependencies
	$(CONFIGURE)
