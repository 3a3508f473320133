// Work that several threads share.
#pragma once

#include <exception>
#include <thread>
#include <vector>

namespace elman {

// Calls work() in the calling thread and, where they can be started, in `helpers` others; returns when all
// are done. The work must divide itself among those who come: a thread that the system refuses is one less,
// and no failure.
template <class Work>
void share(int helpers, const Work& work) {
  std::vector<std::thread> started;
  try {
    for (int i = 0; i < helpers; ++i) started.emplace_back([&]() noexcept { work(); });
  } catch (const std::exception&) {
    // No more threads, or no memory for one: those that there are do it.
  }
  work();
  for (std::thread& helper : started) helper.join();
}

}  // namespace elman
