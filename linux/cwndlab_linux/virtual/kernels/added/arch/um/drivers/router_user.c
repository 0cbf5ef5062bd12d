// SPDX-License-Identifier: GPL-2.0
/*
 * Calls the router's library, which is on the host. It has a stack of its own, as a kernel's is small and tells which
 * task is running: what the library calls runs on the kernel's stack again. Only x86-64.
 */
#include <dlfcn.h>
#include <stddef.h>
#include <sys/mman.h>
#include "router.h"

#define STACK_BYTES (1UL << 20)

/* Calls a function with up to four arguments on another stack. */
long router_call_on(void *stack, void *function, const void *a, unsigned long b, const void *c, unsigned long d);
asm(".text\n"
    "router_call_on:\n"
    "	pushq	%rbp\n"
    "	movq	%rsp, %rbp\n"
    "	movq	%rdi, %rsp\n"
    "	movq	%rsi, %rax\n"
    "	movq	%rdx, %rdi\n"
    "	movq	%rcx, %rsi\n"
    "	movq	%r8, %rdx\n"
    "	movq	%r9, %rcx\n"
    "	callq	*%rax\n"
    "	movq	%rbp, %rsp\n"
    "	popq	%rbp\n"
    "	retq\n");

/* The kernel's functions, and its stack below what is in use. */
static const struct router_calls *kernel;
static void *kernel_stack;

static long wait_on(void *router, unsigned long long until, unsigned int *ready, unsigned long room)
{
	return router_call_on(kernel_stack, kernel->wait, router, until, ready, room);
}

static long read_on(void *router, unsigned int port, void *packet, unsigned long room)
{
	return router_call_on(kernel_stack, kernel->read, router, port, packet, room);
}

static long write_on(void *router, unsigned int port, const void *packet, unsigned long length)
{
	return router_call_on(kernel_stack, kernel->write, router, port, packet, length);
}

static unsigned long long drops_on(void *router, unsigned int port)
{
	return router_call_on(kernel_stack, kernel->drops, router, port, NULL, 0);
}

static void report_on(void *router, const void *text, unsigned long length)
{
	router_call_on(kernel_stack, kernel->report, router, (unsigned long)text, (void *)length, 0);
}

static const char *run_library(const char *config, unsigned long length, const struct router_calls *calls)
{
	void (*run)(const char *config, unsigned long length, const struct router_calls *calls);
	void *library = dlopen("./router.so", RTLD_NOW | RTLD_LOCAL);

	run = library ? dlsym(library, "cwndlab_router_run") : NULL;
	if (!run)
		return dlerror();
	run(config, length, calls);
	return NULL;
}

const char *router_run(const char *config, unsigned long length, const struct router_calls *calls)
{
	struct router_calls on = {
		calls->router, calls->now, wait_on, read_on, write_on, drops_on, report_on,
	};
	const char *problem;
	void *stack;

	stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (stack == MAP_FAILED)
		return "there is no memory for its stack";
	kernel = calls;
	/* Room for this function and router_call_on(). */
	kernel_stack = (void *)(((unsigned long)__builtin_frame_address(0) - 1024) & ~15UL);
	problem = (const char *)router_call_on(stack + STACK_BYTES, run_library, config, length, &on, 0);
	munmap(stack, STACK_BYTES);
	return problem;
}
