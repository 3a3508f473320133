// Put before the C library (LD_PRELOAD): fails the n-th allocation, or start of a thread, that comes out of one
// module. Everybody else gets what there is.
#include <dlfcn.h>
#include <pthread.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <new>

extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);
void __libc_free(void*);
}

namespace {

std::atomic<std::uintptr_t> first{0}, last{0};  // the module's code
std::atomic<long> until_failure{-1};            // allocations; none fails below 0
std::atomic<long> until_no_thread{-1};
std::atomic<long> allocations{0}, threads{0};
std::atomic<bool> watching{false};

bool fails(const void* caller, std::atomic<long>& count, std::atomic<long>& left) {
  const auto address = reinterpret_cast<std::uintptr_t>(caller);
  if (!watching || address < first || address >= last) return false;
  ++count;
  return left >= 0 && left-- == 0;
}

}  // namespace

#define FAILS_HERE fails(__builtin_return_address(0), allocations, until_failure)

extern "C" {

void shim_watch(std::uintptr_t begin, std::uintptr_t end) { first = begin, last = end; }
void shim_arm(long allocation, long thread) {
  allocations = threads = 0;
  until_failure = allocation, until_no_thread = thread;
  watching = true;
}
void shim_disarm() { watching = false; }
long shim_allocations() { return allocations; }
long shim_threads() { return threads; }

void* malloc(std::size_t size) { return FAILS_HERE ? nullptr : __libc_malloc(size); }
void* calloc(std::size_t n, std::size_t size) { return FAILS_HERE ? nullptr : __libc_calloc(n, size); }
void* realloc(void* p, std::size_t size) { return FAILS_HERE ? nullptr : __libc_realloc(p, size); }
void* aligned_alloc(std::size_t alignment, std::size_t size) {
  return FAILS_HERE ? nullptr : __libc_memalign(alignment, size);
}
int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*run)(void*), void* argument) {
  // std::thread starts from within the C++ library, so who asked is not told by the address.
  static const auto real =
      reinterpret_cast<decltype(&pthread_create)>(dlsym(RTLD_NEXT, "pthread_create"));
  if (watching) {
    ++threads;
    if (until_no_thread >= 0 && until_no_thread-- == 0) return EAGAIN;
  }
  return real(thread, attributes, run, argument);
}
}

void* operator new(std::size_t size) {
  void* p = FAILS_HERE ? nullptr : __libc_malloc(size);
  if (p == nullptr) throw std::bad_alloc();
  return p;
}
void* operator new[](std::size_t size) {
  void* p = FAILS_HERE ? nullptr : __libc_malloc(size);
  if (p == nullptr) throw std::bad_alloc();
  return p;
}
void operator delete(void* p) noexcept { __libc_free(p); }
void operator delete[](void* p) noexcept { __libc_free(p); }
void operator delete(void* p, std::size_t) noexcept { __libc_free(p); }
void operator delete[](void* p, std::size_t) noexcept { __libc_free(p); }
