/* std::random_device by the kernel's random numbers, which have a seed in the guest. libstdc++ has the processor's. */
#include <stdlib.h>
#include <sys/random.h>

void _ZNSt13random_device7_M_initERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE(void *self, const void *token)
{
	(void)self;
	(void)token;
}

void _ZNSt13random_device7_M_finiEv(void *self)
{
	(void)self;
}

unsigned _ZNSt13random_device9_M_getvalEv(void *self)
{
	unsigned value;

	(void)self;
	if (getrandom(&value, sizeof value, 0) != sizeof value)
		abort();
	return value;
}
