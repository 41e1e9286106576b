/* Loaded before the C library: the wall clock of a process, set forward or back by whole seconds.

   REPLAN_TEST_CLOCK names a file of two 64-bit numbers; processes with an even id take the first,
   the others the second. Only what asks the C library is deceived: the kernel's timers, the times
   of files and the clocks that are not the wall clock go on as they are. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const volatile int64_t *steps;

__attribute__((constructor)) static void begin(void) {
  const char *name = getenv("REPLAN_TEST_CLOCK");
  int file = name ? open(name, O_RDONLY | O_CLOEXEC) : -1;
  if (file < 0) return;
  void *found = mmap(NULL, 2 * sizeof(int64_t), PROT_READ, MAP_SHARED, file, 0);
  if (found != MAP_FAILED) steps = found;
  close(file);
}

static int64_t step(void) { return steps ? steps[getpid() % 2] : 0; }

int clock_gettime(clockid_t clock, struct timespec *now) {
  long failed = syscall(SYS_clock_gettime, clock, now);
  if (!failed && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) now->tv_sec += step();
  return (int)failed;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
  (void)zone;
  struct timespec fine;
  int failed = clock_gettime(CLOCK_REALTIME, &fine);
  now->tv_sec = fine.tv_sec;
  now->tv_usec = fine.tv_nsec / 1000;
  return failed;
}

time_t time(time_t *into) {
  struct timespec fine;
  clock_gettime(CLOCK_REALTIME, &fine);
  if (into) *into = fine.tv_sec;
  return fine.tv_sec;
}
