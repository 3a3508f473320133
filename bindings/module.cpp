// The Python face of the core, and the only file that includes Python. It is compiled once for each
// instruction set into a module of its own; elman/_core/__init__.py chooses one. Arrays are checked here for
// type and size, because a wrong pointer must never reach the core; the messages for people are written in
// Python.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "committee.hpp"
#include "simd/peak.hpp"

namespace nb = nanobind;

namespace {

using Vector = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Matrix = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using MutableVector = nb::ndarray<double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using MutableMatrix = nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

using NamedNumbers = std::map<std::string, std::vector<double>>;

void require(bool condition, const char* message) {
  if (!condition) throw nb::value_error(message);
}

template <class T>
nb::object new_array(const T* data, std::size_t outer, std::size_t inner, std::size_t stride) {
  T* copy = new T[std::max<std::size_t>(outer * inner, 1)];
  nb::capsule owner(copy, [](void* p) noexcept { delete[] static_cast<T*>(p); });
  for (std::size_t i = 0; i < outer; ++i) std::memcpy(copy + i * inner, data + i * stride, inner * sizeof(T));
  return nb::cast(nb::ndarray<nb::numpy, T>(copy, {outer, inner}, owner));
}

class Save final : public elman::Archive {
 public:
  nb::dict arrays;
  void walk(const std::string& name, const elman::ArrayView& array) override {
    array.visit(
        [&](auto* data) { arrays[name.c_str()] = new_array(data, array.outer, array.inner, array.stride); });
  }
};

class Load final : public elman::Archive {
 public:
  explicit Load(nb::dict arrays) : arrays_(std::move(arrays)) {}
  void walk(const std::string& name, const elman::ArrayView& array) override {
    array.visit([&](auto* data) { fill(name, data, array); });
  }

 private:
  template <class T>
  void fill(const std::string& name, T* data, const elman::ArrayView& array) {
    nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu> source;
    if (!arrays_.contains(name.c_str()) || !nb::try_cast(arrays_[name.c_str()], source, false) ||
        source.shape(0) != array.outer || source.shape(1) != array.inner)
      throw nb::value_error(("array '" + name + "' is missing or has the wrong type or shape").c_str());
    for (std::size_t i = 0; i < array.outer; ++i)
      std::memcpy(data + i * array.stride, source.data() + i * array.inner, array.inner * sizeof(T));
  }
  nb::dict arrays_;
};

// One row as it comes from a user: any float64 array.
using AnyRow = nb::ndarray<const double, nb::device::cpu>;

// A model of the core with the sizes that its arguments are checked against.
class NativeModel {
 public:
  NativeModel(std::size_t n_inputs, std::size_t n_outputs, bool logistic)
      : n_inputs_(n_inputs),
        n_outputs_(n_outputs),
        logistic_(logistic),
        largest_target_(logistic ? 1 : std::numeric_limits<double>::max()) {}
  virtual ~NativeModel() = default;

  // The two calls of a stream's inner loop, for plain float64 rows and one target. They check everything at
  // once and touch nothing if anything is out of the ordinary; the caller then takes the long way, which
  // finds out what it is.
  nb::object try_predict(const AnyRow& x) {
    if (!is_plain(x)) return nb::none();
    double answer;
    {
      nb::gil_scoped_release release;
      model().predict(x.data(), &answer);
    }
    return nb::float_(answer);
  }

  bool try_learn(const AnyRow& x, double y) {
    if (!is_plain(x) || !(std::abs(y) <= largest_target_) || (y < 0 && logistic_)) return false;
    nb::gil_scoped_release release;
    model().learn(x.data(), &y);
    return true;
  }

  void predict(const Vector& x, const MutableVector& answer) {
    require(x.shape(0) == n_inputs_ && answer.shape(0) == n_outputs_, "predict: wrong shape");
    nb::gil_scoped_release release;
    model().predict(x.data(), answer.data());
  }

  void learn(const Vector& x, const Vector& y) {
    require(x.shape(0) == n_inputs_ && y.shape(0) == n_outputs_, "learn: wrong shape");
    nb::gil_scoped_release release;
    model().learn(x.data(), y.data());
  }

  void run(const Matrix& X, const Matrix& Y, const MutableMatrix& answers) {
    const std::size_t rows = X.shape(0);
    require(X.shape(1) == n_inputs_ && is_targets(Y, rows) && is_targets(answers, rows), "run: wrong shape");
    nb::gil_scoped_release release;
    model().run(X.data(), Y.data(), rows, answers.data());
  }

  nb::tuple meters() {
    const auto meters = model().meters();
    return nb::make_tuple(meters.samples, meters.steps, meters.local_regret);
  }

  nb::dict state() {
    Save archive;
    model().exchange(archive);
    return archive.arrays;
  }

  void restore(nb::dict arrays) {
    Load archive(std::move(arrays));
    model().exchange(archive);
    model().restored();
  }

 protected:
  virtual elman::Model& model() = 0;

  template <class M>
  bool is_targets(const M& matrix, std::size_t rows) const {
    return matrix.shape(0) == rows && matrix.shape(1) == n_outputs_;
  }

  std::size_t n_inputs_, n_outputs_;

 private:
  bool is_plain(const AnyRow& x) const {
    if (n_outputs_ != 1 || x.ndim() != 1 || x.shape(0) != n_inputs_ || x.stride(0) != 1) return false;
    bool infinite = false;
    for (std::size_t j = 0; j < n_inputs_; ++j) infinite |= std::isinf(x.data()[j]);
    return !infinite;
  }

  bool logistic_;
  double largest_target_;
};

std::unique_ptr<elman::Learner> new_learner(const elman::LearnerOptions& options, bool double_precision) {
  if (double_precision) return std::make_unique<elman::LearnerOf<double>>(options);
  return std::make_unique<elman::LearnerOf<float>>(options);
}

class NativeLearner final : public NativeModel {
 public:
  NativeLearner(const elman::LearnerOptions& options, bool double_precision)
      : NativeModel(options.n_inputs, options.n_outputs, options.loss == elman::Loss::logistic),
        learner_(new_learner(options, double_precision)) {}

  double learn_measured(const Vector& x, const Vector& y) {
    require(x.shape(0) == n_inputs_ && y.shape(0) == n_outputs_, "learn_measured: wrong shape");
    nb::gil_scoped_release release;
    return learner_->learn_measured(x.data(), y.data());
  }

  nb::dict gradient() {
    Save archive;
    learner_->gradient(archive);
    return archive.arrays;
  }

 private:
  elman::Model& model() override { return *learner_; }
  std::unique_ptr<elman::Learner> learner_;
};

// Of a cell, a training or a readout: its name and its numbers.
using Part = std::pair<std::string, NamedNumbers>;

elman::LearnerOptions learner_options(int n_inputs, int n_outputs, int window, bool logistic, bool scale,
                                      const Part& cell, const Part& training, const Part& readout) {
  require(n_inputs >= 0 && n_outputs > 0 && window > 0, "a size is out of range");
  return {n_inputs,
          n_outputs,
          window,
          logistic ? elman::Loss::logistic : elman::Loss::squared,
          scale,
          cell.first,
          training.first,
          readout.first,
          elman::Options(cell.second),
          elman::Options(training.second),
          elman::Options(readout.second)};
}

class NativeCommittee final : public NativeModel {
 public:
  // A member: window, cell, training, readout and whether it sees the last targets.
  using MemberOptions = std::tuple<int, Part, Part, Part, bool>;

  NativeCommittee(int n_inputs, int n_outputs, int lags, bool double_precision,
                  const std::vector<MemberOptions>& members)
      : NativeModel(n_inputs, n_outputs, false) {
    require(n_inputs >= 0 && n_outputs > 0 && lags >= 0 && !members.empty(), "a size is out of range");
    std::vector<elman::Committee::Member> made;
    for (const auto& [window, cell, training, readout, lagged] : members) {
      const int columns = n_inputs + (lagged ? lags * n_outputs : 0);
      made.push_back(
          {new_learner(learner_options(columns, n_outputs, window, false, false, cell, training, readout),
                       double_precision),
           lagged});
    }
    committee_ = std::make_unique<elman::Committee>(elman::Committee::Sizes{n_inputs, n_outputs, lags},
                                                    std::move(made));
  }

  void interval(const Vector& x, double coverage, const MutableVector& low, const MutableVector& high) {
    require(x.shape(0) == n_inputs_ && low.shape(0) == n_outputs_ && high.shape(0) == n_outputs_ &&
                coverage > 0 && coverage < 1,
            "interval: wrong shape");
    nb::gil_scoped_release release;
    committee_->interval(x.data(), coverage, low.data(), high.data());
  }

  void run_intervals(const Matrix& X, const Matrix& Y, double coverage, int threads,
                     const MutableMatrix& answers, const MutableMatrix& low, const MutableMatrix& high) {
    const std::size_t rows = X.shape(0);
    require(X.shape(1) == n_inputs_ && is_targets(Y, rows) && is_targets(answers, rows) &&
                is_targets(low, rows) && is_targets(high, rows) && coverage > 0 && coverage < 1,
            "run_intervals: wrong shape");
    nb::gil_scoped_release release;
    committee_->run(X.data(), Y.data(), rows, {answers.data(), low.data(), high.data(), coverage}, threads);
  }

  void run_threads(const Matrix& X, const Matrix& Y, int threads, const MutableMatrix& answers) {
    const std::size_t rows = X.shape(0);
    require(X.shape(1) == n_inputs_ && is_targets(Y, rows) && is_targets(answers, rows),
            "run_threads: wrong shape");
    nb::gil_scoped_release release;
    committee_->run(X.data(), Y.data(), rows, {answers.data(), nullptr, nullptr, 0}, threads);
  }

  // Weights [member][output], recent and mean errors of the members and then of the committee, drift alarms
  // and the sample of the last one.
  nb::tuple standing() const {
    elman::Buffer<double> weights(std::size_t(committee_->n_members()) * n_outputs_);
    for (int m = 0; m < committee_->n_members(); ++m)
      for (std::size_t k = 0; k < n_outputs_; ++k)
        weights[m * n_outputs_ + k] = committee_->weight(m, int(k));
    const auto& recent = committee_->recent_errors();
    const auto& mean = committee_->mean_errors();
    return nb::make_tuple(new_array(weights.data(), committee_->n_members(), n_outputs_, n_outputs_),
                          new_array(recent.data(), 1, recent.size(), recent.size()),
                          new_array(mean.data(), 1, mean.size(), mean.size()), committee_->drift().alarms(),
                          committee_->drift().last_alarm());
  }

 private:
  elman::Model& model() override { return *committee_; }
  std::unique_ptr<elman::Committee> committee_;
};

template <class T>
nb::object lanes_tanh(const nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>& x) {
  const std::size_t n = x.shape(0), width = elman::kLanes<T>;
  elman::Buffer<T> out((n + width - 1) / width * width);
  std::copy_n(x.data(), n, out.data());
  for (std::size_t i = 0; i < n; i += width)
    elman::store<T>(out.data() + i, elman::tanh(elman::load<T>(out.data() + i)));
  return new_array(out.data(), 1, n, n);
}

nb::object clip_singular_values(const Matrix& columns, double limit) {
  const std::size_t n = columns.shape(0), rows = columns.shape(1);
  elman::Buffer<double> A(n * rows);
  std::copy_n(columns.data(), n * rows, A.data());
  elman::clip_spectrum(A.data(), int(rows), int(rows), int(n), limit);
  return new_array(A.data(), n, rows, rows);
}

// The instruction sets this machine can run, best first, by the names of the modules.
std::vector<std::string> supported() {
  std::vector<std::string> names;
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl"))
    names.push_back("avx512");
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) names.push_back("avx2");
#endif
  names.push_back("baseline");
  return names;
}

}  // namespace

NB_MODULE(ELMAN_MODULE, m) {
  using namespace nb::literals;
  m.attr("LANE_BYTES") = ELMAN_LANE_BYTES;
  m.def("supported", &supported);
  m.def("tanh", &lanes_tanh<float>, nb::arg().noconvert());
  m.def("tanh", &lanes_tanh<double>, nb::arg().noconvert());
  m.def("clip_singular_values", &clip_singular_values);
  m.def("peak_gflops", [](bool double_precision) {
    nb::gil_scoped_release release;
    return double_precision ? elman::peak_gflops<double>() : elman::peak_gflops<float>();
  });

  nb::class_<NativeModel>(m, "Model")
      .def("try_predict", &NativeModel::try_predict)
      .def("predict", &NativeModel::predict)
      .def("try_learn", &NativeModel::try_learn)
      .def("learn", &NativeModel::learn)
      .def("run", &NativeModel::run)
      .def("meters", &NativeModel::meters)
      .def("state", &NativeModel::state)
      .def("restore", &NativeModel::restore);

  nb::class_<NativeLearner, NativeModel>(m, "Learner")
      .def(
          "__init__",
          [](NativeLearner* self, int n_inputs, int n_outputs, int window, bool logistic, bool scale,
             bool double_precision, const Part& cell, const Part& training, const Part& readout) {
            new (self) NativeLearner(
                learner_options(n_inputs, n_outputs, window, logistic, scale, cell, training, readout),
                double_precision);
          },
          nb::kw_only(), "n_inputs"_a, "n_outputs"_a, "window"_a, "logistic"_a, "scale"_a,
          "double_precision"_a, "cell"_a, "training"_a, "readout"_a)
      .def("learn_measured", &NativeLearner::learn_measured)
      .def("gradient", &NativeLearner::gradient);

  nb::class_<NativeCommittee, NativeModel>(m, "Committee")
      .def(nb::init<int, int, int, bool, const std::vector<NativeCommittee::MemberOptions>&>(), nb::kw_only(),
           "n_inputs"_a, "n_outputs"_a, "lags"_a, "double_precision"_a, "members"_a)
      .def("interval", &NativeCommittee::interval)
      .def("run_intervals", &NativeCommittee::run_intervals)
      .def("run_threads", &NativeCommittee::run_threads)
      .def("standing", &NativeCommittee::standing);
}
