// Python's lock, given back while the core works.
#pragma once

#include <nanobind/nanobind.h>

#include <atomic>
#include <chrono>
#include <thread>

// Like nanobind's gil_scoped_release, but safe at the end of the interpreter: Python up to 3.13 ends a daemon
// thread that asks for its lock too late by unwinding it, which C++ answers by ending the process with
// SIGABRT. Here such a thread goes to sleep until the process is gone.
class WithoutGil {
 public:
  WithoutGil() : state_(PyEval_SaveThread()) {}
  WithoutGil(const WithoutGil&) = delete;
  ~WithoutGil() { take_back(); }

  // Takes the lock for a moment to look at signals. True if one has raised an error, which is to be thrown as
  // nanobind's python_error when the lock is back for good.
  bool signalled() {
    take_back();
    const bool raised = PyErr_CheckSignals() != 0;
    state_ = PyEval_SaveThread();
    return raised;
  }

  // To be called in the thread that ends the interpreter, before it begins to. Threads that are about to take
  // the lock get it once more; those that come later do not, and what they hold is no leak to warn of.
  static void close(bool others) {
    if (others) nanobind::set_leak_warnings(false);
    closer_ = std::this_thread::get_id();
    closing_ = true;
    PyThreadState* state = PyEval_SaveThread();
    while (returning_ > 0) std::this_thread::yield();
    PyEval_RestoreThread(state);
  }

  // In the child of a fork: its other threads are gone.
  static void forked() { returning_ = 0; }

 private:
  void take_back() {
    ++returning_;
    while (closing_ && std::this_thread::get_id() != closer_) sleep();
    PyEval_RestoreThread(state_);
    --returning_;
  }

  static void sleep() {
    --returning_;
    for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
  }

  static inline std::atomic<int> returning_ = 0;  // threads between the core and the lock
  static inline std::atomic<bool> closing_ = false;
  static inline std::thread::id closer_;  // written before closing_, read after it

  PyThreadState* state_;
};
