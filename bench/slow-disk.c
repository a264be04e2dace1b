/* A disk whose fsync takes 5 ms more than this one's: preloaded before the C library, for every program alike. */
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
