/* Delays every fsync by 5 ms. Preloaded before the C library, for each program. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <unistd.h>

#define MICROSECONDS 5000

int fsync(int file) {
  usleep(MICROSECONDS);
  return ((int (*)(int))dlsym(RTLD_NEXT, "fsync"))(file);
}

int fdatasync(int file) {
  usleep(MICROSECONDS);
  return ((int (*)(int))dlsym(RTLD_NEXT, "fdatasync"))(file);
}
