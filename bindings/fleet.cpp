// Many native models at once: rows that are sorted by model, the models in parallel.
#include <nanobind/nanobind.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "arrays.hpp"
#include "gil.hpp"
#include "parallel.hpp"
#include "streamed.hpp"

namespace {

using Starts = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// Rows [begin, end) of a batch belong to a model.
struct Share {
  Streamed* model;
  std::size_t begin, end;
};

// The rows of a batch, and where the answers to them go: into row 0 of `out`, and where there are two more
// rows, the ends of intervals.
struct Batch {
  const double* X;
  const double* Y;
  double* out;
  std::size_t row_size, target_size, answer_size, answers;
  bool intervals;
  double coverage;

  // Rows [begin, end) of a share.
  void run(Streamed& model, std::size_t begin, std::size_t end) const {
    double* first = out + begin * answer_size;
    model.run_rows(
        X + begin * row_size, Y + begin * target_size, end - begin,
        {first, intervals ? first + answers : nullptr, intervals ? first + 2 * answers : nullptr, coverage});
  }
};

// Runs every share once, in whichever thread is free. What a model throws is thrown again when all others are
// done; a signal that raises an error ends all of them after the rows that they are at.
class Crew {
 public:
  Crew(const Batch& batch, const std::vector<Share>& shares) : batch_(batch), shares_(shares) {}

  void run(int threads) {
    {
      WithoutGil released;
      const auto caller = std::this_thread::get_id();
      elman::share(std::min(threads, int(std::min<std::size_t>(shares_.size(), kMostThreads))) - 1,
                   [&] { work(std::this_thread::get_id() == caller ? &released : nullptr); });
    }
    if (stopped_) throw nb::python_error();
    if (thrown_) std::rethrow_exception(thrown_);
  }

 private:
  static constexpr std::size_t kPiece = 4096;  // rows between two looks at signals
  static constexpr std::size_t kMostThreads = 1024;
  static constexpr auto kPatience = std::chrono::milliseconds(100);  // looking takes the interpreter's lock

  void work(WithoutGil* caller) {
    for (std::size_t i = next_++; i < shares_.size() && !stopped_; i = next_++) try {
        const Share& share = shares_[i];
        for (std::size_t begin = share.begin; begin < share.end && !stopped_; begin += kPiece) {
          batch_.run(*share.model, begin, std::min(begin + kPiece, share.end));
          if (caller != nullptr) look_at_signals(*caller);
        }
      } catch (...) {
        const std::lock_guard<std::mutex> one_at_a_time(guard_);
        thrown_ = std::current_exception();
      }
  }

  void look_at_signals(WithoutGil& released) {
    const auto now = std::chrono::steady_clock::now();
    if (now - looked_ < kPatience) return;
    looked_ = now;
    if (released.signalled()) stopped_ = true;
  }

  const Batch& batch_;
  const std::vector<Share>& shares_;
  std::atomic<std::size_t> next_ = 0;
  std::atomic<bool> stopped_ = false;
  std::chrono::steady_clock::time_point looked_ = std::chrono::steady_clock::now();
  std::exception_ptr thrown_;
  std::mutex guard_;
};

void run_fleet(const nb::list& listed, const Starts& starts, const Matrix& X, const Matrix& Y,
               double coverage, int threads, const MutableMatrix& out) {
  std::vector<Streamed*> models;
  for (const nb::handle model : listed) models.push_back(nb::cast<Streamed*>(model));
  const std::size_t n = models.size(), rows = X.shape(0), n_answers = out.shape(0);
  require(threads > 0 && starts.shape(0) == n + 1 && Y.shape(0) == rows, "run_fleet: wrong shape");
  require(n_answers == 1 || (n_answers == 3 && coverage > 0 && coverage < 1), "run_fleet: wrong answers");
  require(starts.data()[0] == 0 && std::size_t(starts.data()[n]) == rows, "run_fleet: rows of no model");
  const std::size_t answer_size = n == 0 ? 0 : models[0]->answer_size();
  std::vector<Share> shares;
  for (std::size_t i = 0; i < n; ++i) {
    const std::int64_t begin = starts.data()[i], end = starts.data()[i + 1];
    require(begin <= end && end <= std::int64_t(rows), "run_fleet: models out of order");
    require(models[i] != nullptr && models[i]->row_size() == X.shape(1) &&
                models[i]->target_size() == Y.shape(1) && models[i]->answer_size() == answer_size,
            "run_fleet: wrong shape");
    shares.push_back({models[i], std::size_t(begin), std::size_t(end)});
  }
  require(out.shape(1) == rows * answer_size, "run_fleet: wrong shape");
  std::vector<Streamed*> once = models;
  std::sort(once.begin(), once.end());
  require(std::adjacent_find(once.begin(), once.end()) == once.end(), "run_fleet: a model comes twice");
  const Batch batch{X.data(),    Y.data(),     out.data(),     X.shape(1), Y.shape(1),
                    answer_size, out.shape(1), n_answers == 3, coverage};
  Crew(batch, shares).run(threads);
}

}  // namespace

void bind_fleet(nb::module_& m) {
  nb::class_<Streamed>(m, "Streamed");
  m.def("run_fleet", &run_fleet);
}
