/*
 * Preloaded into user-mode Linux. Linux takes a thread's vector registers back only whole (PTRACE_SETREGSET with
 * NT_X86_XSTATE), and Debian 12's user-mode Linux keeps the first 2,696 bytes of them. On a processor with AMX there are
 * 11,008, and no process of the guest would start. The bytes that it does not keep are left as they are.
 */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>

/* More than any processor has. */
#define MOST_BYTES (64 * 1024)

typedef long ptrace_function(enum __ptrace_request, pid_t, void *, void *);

long ptrace(enum __ptrace_request request, ...)
{
	static ptrace_function *real;
	static unsigned char registers[MOST_BYTES];
	va_list arguments;

	va_start(arguments, request);
	pid_t pid = va_arg(arguments, pid_t);
	void *address = va_arg(arguments, void *);
	void *data = va_arg(arguments, void *);
	va_end(arguments);

	if (real == NULL)
		real = (ptrace_function *)dlsym(RTLD_NEXT, "ptrace");
	if (request == PTRACE_SETREGSET && address == (void *)NT_X86_XSTATE) {
		const struct iovec *kept = data;
		struct iovec whole = {registers, sizeof registers};

		if (real(PTRACE_GETREGSET, pid, address, &whole) != 0)
			return -1;
		if (whole.iov_len > kept->iov_len) {
			memcpy(registers, kept->iov_base, kept->iov_len);
			return real(request, pid, address, &whole);
		}
	}
	return real(request, pid, address, data);
}
