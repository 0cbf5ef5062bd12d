/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __UM_ROUTER_H
#define __UM_ROUTER_H

/* Among the ports of wait(): the router is to end. */
#define ROUTER_END (~0U)

/* What the router's library asks of the kernel; as `Calls` in crates/cwndlab-live/src/inside.rs. */
struct router_calls {
	/* The context of each call. */
	void *router;
	/* CLOCK_MONOTONIC in ns. */
	unsigned long long (*now)(void *router);
	/* Waits until a port has a packet or the time is reached; the number of such ports, and ROUTER_END as one of them. */
	long (*wait)(void *router, unsigned long long until, unsigned int *ready, unsigned long room);
	/* Takes a packet from a port; its length, or less than 0 if there is none. */
	long (*read)(void *router, unsigned int port, void *packet, unsigned long room);
	/* Sends a packet to a port; less than 0 if it cannot be sent. */
	long (*write)(void *router, unsigned int port, const void *packet, unsigned long length);
	/* Packets that a port's device has dropped. */
	unsigned long long (*drops)(void *router, unsigned int port);
	/* What the router reports at its end. */
	void (*report)(void *router, const void *text, unsigned long length);
};

/* Runs the library of the job's folder; NULL, or why it cannot be loaded. */
const char *router_run(const char *config, unsigned long length, const struct router_calls *calls);

#endif
