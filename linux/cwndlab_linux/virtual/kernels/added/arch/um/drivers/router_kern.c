// SPDX-License-Identifier: GPL-2.0
/*
 * /dev/cwndlab-router: runs cwndlab's router inside the kernel. A router in a process makes some five system calls per
 * packet, each of which costs the host two process switches. Here it is a library of the host that the kernel calls.
 *
 * A process gives its TUN files and a configuration with ROUTER_RUN, and in this call becomes the router: it waits and
 * takes its turns as if it made system calls. Then it reads the report.
 */
#include <linux/fs.h>
#include <linux/if_tun.h>
#include <linux/file.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/net.h>
#include <linux/netdevice.h>
#include <linux/poll.h>
#include <linux/ptr_ring.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/uio.h>
#include <net/sock.h>
#include <stub-data.h>
#include "router.h"

/* As in crates/cwndlab-live/src/sys.rs. */
struct router_port {
	__s32 fd; /* of the TUN device */
	__u32 device; /* its index */
};

struct router_job {
	__u64 config; /* JSON */
	__u64 config_bytes;
	__u64 ports; /* of struct router_port */
	__u64 port_count;
};

#define ROUTER_RUN _IOW('c', 1, struct router_job)

struct port {
	struct router *router;
	struct file *file;
	struct socket *socket;
	struct ptr_ring *ring;
	struct net_device *device;
	wait_queue_entry_t wait;
	/* In router->ready, if it may have packets. */
	struct list_head ready;
};

/* The report; of the open file. */
struct text {
	size_t bytes, read;
	char *content;
};

struct router {
	struct task_struct *task;
	/* Ports in the order in which packets came to them, as in an epoll's list. */
	struct list_head ready;
	spinlock_t lock;
	struct text *report;
	unsigned int port_count;
	struct port ports[];
};

static int packet_came(wait_queue_entry_t *entry, unsigned int mode, int flags, void *key)
{
	struct port *port = container_of(entry, struct port, wait);
	struct router *router = port->router;
	unsigned long saved;

	if (key && !(key_to_poll(key) & EPOLLIN))
		return 0;
	spin_lock_irqsave(&router->lock, saved);
	if (list_empty(&port->ready))
		list_add_tail(&port->ready, &router->ready);
	spin_unlock_irqrestore(&router->lock, saved);
	return wake_up_process(router->task);
}

/* The ports with packets. They stay in the list: the router may leave some of the packets. */
static long ports_ready(struct router *router, unsigned int *ready, unsigned long room)
{
	struct port *port, *next;
	unsigned long saved;
	LIST_HEAD(some);
	long found = 0;

	spin_lock_irqsave(&router->lock, saved);
	list_splice_init(&router->ready, &some);
	list_for_each_entry_safe(port, next, &some, ready) {
		if (found == room) {
			list_splice(&some, &router->ready);
			break;
		}
		list_del_init(&port->ready);
		if (ptr_ring_empty(port->ring))
			continue;
		list_add_tail(&port->ready, &router->ready);
		ready[found++] = port - router->ports;
	}
	spin_unlock_irqrestore(&router->lock, saved);
	return found;
}

static unsigned long long router_now(void *context)
{
	struct vdso_clock clock = { };

	time_travel_show(&clock, 0);
	return clock.ns;
}

/* These signals are blocked, and a signalfd waits for them. */
static bool is_to_end(void)
{
	sigset_t *own = &current->pending.signal, *shared = &current->signal->shared_pending.signal;

	return signal_pending(current) || sigismember(own, SIGTERM) || sigismember(shared, SIGTERM) ||
	       sigismember(own, SIGINT) || sigismember(shared, SIGINT);
}

static long router_wait(void *context, unsigned long long until, unsigned int *ready, unsigned long room)
{
	struct router *router = context;
	ktime_t end = until;
	long found;

	for (;;) {
		set_current_state(TASK_INTERRUPTIBLE);
		found = ports_ready(router, ready, room - 1);
		if (is_to_end())
			ready[found++] = ROUTER_END;
		if (found || until <= router_now(router))
			break;
		schedule_hrtimeout(until == ~0ULL ? NULL : &end, HRTIMER_MODE_ABS);
	}
	__set_current_state(TASK_RUNNING);
	return found;
}

static long router_read(void *context, unsigned int port, void *packet, unsigned long room)
{
	struct socket *socket = ((struct router *)context)->ports[port].socket;
	struct kvec vec = { packet, room };
	struct msghdr message = { };

	iov_iter_kvec(&message.msg_iter, ITER_DEST, &vec, 1, room);
	return socket->ops->recvmsg(socket, &message, room, MSG_DONTWAIT);
}

static long router_write(void *context, unsigned int port, const void *packet, unsigned long length)
{
	struct socket *socket = ((struct router *)context)->ports[port].socket;
	struct kvec vec = { (void *)packet, length };
	struct msghdr message = { .msg_flags = MSG_DONTWAIT };

	iov_iter_kvec(&message.msg_iter, ITER_SOURCE, &vec, 1, length);
	return socket->ops->sendmsg(socket, &message, length);
}

static unsigned long long router_drops(void *context, unsigned int port)
{
	struct rtnl_link_stats64 counted;

	dev_get_stats(((struct router *)context)->ports[port].device, &counted);
	return counted.rx_dropped + counted.rx_missed_errors + counted.tx_dropped; /* as in /proc/net/dev */
}

static void router_report(void *context, const void *text, unsigned long length)
{
	struct text *report = ((struct router *)context)->report;

	kvfree(report->content);
	report->content = kvmalloc(length, GFP_KERNEL);
	report->bytes = report->content ? length : 0;
	report->read = 0;
	memcpy(report->content, text, report->bytes);
}

static void release_ports(struct router *router)
{
	struct port *port;

	for (port = router->ports; port < router->ports + router->port_count; port++) {
		if (port->device) {
			remove_wait_queue(&port->socket->wq.wait, &port->wait);
			dev_put(port->device);
		}
		if (port->file)
			fput(port->file);
	}
}

static int take_port(struct port *port, struct router *router, const struct router_port *from)
{
	port->router = router;
	INIT_LIST_HEAD(&port->ready);
	port->file = fget(from->fd);
	if (!port->file)
		return -EBADF;
	port->socket = tun_get_socket(port->file);
	if (IS_ERR(port->socket))
		return PTR_ERR(port->socket);
	port->ring = tun_get_tx_ring(port->file);
	port->device = dev_get_by_index(sock_net(port->socket->sk), from->device);
	if (!port->device)
		return -ENODEV;
	list_add_tail(&port->ready, &router->ready); /* it may have packets already */
	init_waitqueue_func_entry(&port->wait, packet_came);
	add_wait_queue(&port->socket->wq.wait, &port->wait);
	return 0;
}

static long run(struct text *report, const struct router_job *job)
{
	struct router_calls calls = {
		.now = router_now,
		.wait = router_wait,
		.read = router_read,
		.write = router_write,
		.drops = router_drops,
		.report = router_report,
	};
	DEFINE_WAIT_FUNC(signal, default_wake_function);
	struct router_port *from;
	struct router *router;
	const char *problem;
	char *config;
	long error = 0;

	router = kvzalloc(struct_size(router, ports, job->port_count), GFP_KERNEL);
	from = vmemdup_user((void __user *)job->ports, job->port_count * sizeof(*from));
	config = vmemdup_user((void __user *)job->config, job->config_bytes);
	if (!router || IS_ERR(from) || IS_ERR(config)) {
		error = -ENOMEM;
		goto out;
	}
	router->task = current;
	router->report = report;
	INIT_LIST_HEAD(&router->ready);
	spin_lock_init(&router->lock);
	for (; !error && router->port_count < job->port_count; router->port_count++)
		error = take_port(&router->ports[router->port_count], router, &from[router->port_count]);
	if (!error) {
		calls.router = router;
		add_wait_queue(&current->sighand->signalfd_wqh, &signal);
		problem = router_run(config, job->config_bytes, &calls);
		remove_wait_queue(&current->sighand->signalfd_wqh, &signal);
		if (problem)
			router_report(router, problem, strlen(problem));
	}
	release_ports(router);
out:
	if (!IS_ERR(config))
		kvfree(config);
	if (!IS_ERR(from))
		kvfree(from);
	kvfree(router);
	return error;
}

static long router_ioctl(struct file *file, unsigned int command, unsigned long argument)
{
	static DEFINE_MUTEX(running);
	struct router_job job;
	long error;

	if (command != ROUTER_RUN)
		return -ENOTTY;
	if (copy_from_user(&job, (void __user *)argument, sizeof(job)))
		return -EFAULT;
	if (job.port_count > 4096 || job.config_bytes > (64 << 20))
		return -EINVAL;
	if (!mutex_trylock(&running))
		return -EBUSY;
	error = run(file->private_data, &job);
	mutex_unlock(&running);
	return error;
}

static ssize_t router_read_report(struct file *file, char __user *to, size_t room, loff_t *unused)
{
	struct text *report = file->private_data;
	size_t bytes = min(room, report->bytes - report->read);

	if (copy_to_user(to, report->content + report->read, bytes))
		return -EFAULT;
	report->read += bytes;
	return bytes;
}

static int router_open(struct inode *inode, struct file *file)
{
	file->private_data = kzalloc(sizeof(struct text), GFP_KERNEL);
	return file->private_data ? 0 : -ENOMEM;
}

static int router_release(struct inode *inode, struct file *file)
{
	struct text *report = file->private_data;

	kvfree(report->content);
	kfree(report);
	return 0;
}

static const struct file_operations router_operations = {
	.owner = THIS_MODULE,
	.open = router_open,
	.release = router_release,
	.unlocked_ioctl = router_ioctl,
	.read = router_read_report,
};

static struct miscdevice router_device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "cwndlab-router",
	.fops = &router_operations,
};
builtin_misc_device(router_device);
