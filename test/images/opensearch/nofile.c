/*
 * Tells a program that it may open 65536 files where it may open fewer. OpenSearch does not start with less when other
 * machines can reach it, and a container cannot raise its own limit. For tests, which open some hundred.
 */
#define _GNU_SOURCE
#include <stddef.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { WANTED = 65536 };

static int told(int resource, struct rlimit *limit)
{
	int failed = (int)syscall(SYS_prlimit64, 0, resource, NULL, limit);

	if (!failed && resource == RLIMIT_NOFILE && limit->rlim_cur < WANTED)
		limit->rlim_cur = limit->rlim_max = WANTED;
	return failed;
}

int getrlimit(__rlimit_resource_t resource, struct rlimit *limit)
{
	return told(resource, limit);
}

int getrlimit64(__rlimit_resource_t resource, struct rlimit64 *limit)
{
	return told(resource, (struct rlimit *)limit);
}
