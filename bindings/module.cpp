// The Python face of the core, and the only file that includes Python. It is compiled once for each
// instruction set into a module of its own; elman/_core/__init__.py chooses one. Arrays are checked here for
// type and size, because a wrong pointer must never reach the core; the messages for people are written in
// Python.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <string>

#include "learner.hpp"
#include "peak.hpp"

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
  void array(const char* name, float* d, std::size_t o, std::size_t i, std::size_t s) override {
    put(name, d, o, i, s);
  }
  void array(const char* name, double* d, std::size_t o, std::size_t i, std::size_t s) override {
    put(name, d, o, i, s);
  }
  void array(const char* name, std::int64_t* d, std::size_t o, std::size_t i, std::size_t s) override {
    put(name, d, o, i, s);
  }

 private:
  template <class T>
  void put(const char* name, const T* data, std::size_t outer, std::size_t inner, std::size_t stride) {
    arrays[name] = new_array(data, outer, inner, stride);
  }
};

class Load final : public elman::Archive {
 public:
  explicit Load(nb::dict arrays) : arrays_(std::move(arrays)) {}
  void array(const char* name, float* d, std::size_t o, std::size_t i, std::size_t s) override {
    get(name, d, o, i, s);
  }
  void array(const char* name, double* d, std::size_t o, std::size_t i, std::size_t s) override {
    get(name, d, o, i, s);
  }
  void array(const char* name, std::int64_t* d, std::size_t o, std::size_t i, std::size_t s) override {
    get(name, d, o, i, s);
  }

 private:
  template <class T>
  void get(const char* name, T* data, std::size_t outer, std::size_t inner, std::size_t stride) {
    nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu> source;
    if (!arrays_.contains(name) || !nb::try_cast(arrays_[name], source, false) || source.shape(0) != outer ||
        source.shape(1) != inner)
      throw nb::value_error(
          (std::string("array '") + name + "' is missing or has the wrong type or shape").c_str());
    for (std::size_t i = 0; i < outer; ++i)
      std::memcpy(data + i * stride, source.data() + i * inner, inner * sizeof(T));
  }
  nb::dict arrays_;
};

// One row as it comes from a user: any float64 array.
using AnyRow = nb::ndarray<const double, nb::device::cpu>;

// A learner of the core with the sizes that its arguments are checked against.
class Native {
 public:
  Native(const elman::LearnerOptions& options, bool double_precision)
      : n_inputs_(options.n_inputs),
        n_outputs_(options.n_outputs),
        logistic_(options.loss == elman::Loss::logistic),
        largest_target_(logistic_ ? 1 : std::numeric_limits<double>::max()) {
    if (double_precision)
      learner_ = std::make_unique<elman::LearnerOf<double>>(options);
    else
      learner_ = std::make_unique<elman::LearnerOf<float>>(options);
  }

  // The two calls of a stream's inner loop, for plain float64 rows and one target. They check everything at
  // once and touch nothing if anything is out of the ordinary; the caller then takes the long way, which
  // finds out what it is.
  nb::object try_predict(const AnyRow& x) {
    if (!is_plain(x)) return nb::none();
    double answer;
    {
      nb::gil_scoped_release release;
      learner_->predict(x.data(), &answer);
    }
    return nb::float_(answer);
  }

  bool try_learn(const AnyRow& x, double y) {
    if (!is_plain(x) || !(std::abs(y) <= largest_target_) || (y < 0 && logistic_)) return false;
    nb::gil_scoped_release release;
    learner_->learn(x.data(), &y);
    return true;
  }

  void predict(const Vector& x, const MutableVector& answer) {
    require(x.shape(0) == n_inputs_ && answer.shape(0) == n_outputs_, "predict: wrong shape");
    nb::gil_scoped_release release;
    learner_->predict(x.data(), answer.data());
  }

  void learn(const Vector& x, const Vector& y) {
    require(x.shape(0) == n_inputs_ && y.shape(0) == n_outputs_, "learn: wrong shape");
    nb::gil_scoped_release release;
    learner_->learn(x.data(), y.data());
  }

  double learn_measured(const Vector& x, const Vector& y) {
    require(x.shape(0) == n_inputs_ && y.shape(0) == n_outputs_, "learn_measured: wrong shape");
    nb::gil_scoped_release release;
    return learner_->learn_measured(x.data(), y.data());
  }

  void run(const Matrix& X, const Matrix& Y, const MutableMatrix& answers) {
    const std::size_t rows = X.shape(0);
    require(X.shape(1) == n_inputs_ && Y.shape(1) == n_outputs_ && answers.shape(1) == n_outputs_ &&
                Y.shape(0) == rows && answers.shape(0) == rows,
            "run: wrong shape");
    nb::gil_scoped_release release;
    learner_->run(X.data(), Y.data(), rows, answers.data());
  }

  nb::tuple meters() const {
    const auto meters = learner_->meters();
    return nb::make_tuple(meters.samples, meters.steps, meters.local_regret);
  }

  nb::dict gradient() {
    Save archive;
    learner_->gradient(archive);
    return archive.arrays;
  }

  nb::dict state() {
    Save archive;
    learner_->exchange(archive);
    return archive.arrays;
  }

  void restore(nb::dict arrays) {
    Load archive(std::move(arrays));
    learner_->exchange(archive);
    learner_->restored();
  }

 private:
  bool is_plain(const AnyRow& x) const {
    if (n_outputs_ != 1 || x.ndim() != 1 || x.shape(0) != n_inputs_ || x.stride(0) != 1) return false;
    bool infinite = false;
    for (std::size_t j = 0; j < n_inputs_; ++j) infinite |= std::isinf(x.data()[j]);
    return !infinite;
  }

  std::unique_ptr<elman::Learner> learner_;
  std::size_t n_inputs_, n_outputs_;
  bool logistic_;
  double largest_target_;
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

  nb::class_<Native>(m, "Learner")
      .def(
          "__init__",
          [](Native* self, int n_inputs, int n_outputs, int window, bool logistic, bool scale,
             bool double_precision, std::string cell, NamedNumbers cell_options, std::string training,
             NamedNumbers training_options, std::string readout, NamedNumbers readout_options) {
            require(n_inputs >= 0 && n_outputs > 0 && window > 0, "a size is out of range");
            const auto loss = logistic ? elman::Loss::logistic : elman::Loss::squared;
            new (self) Native({n_inputs, n_outputs, window, loss, scale, cell, training, readout,
                               elman::Options(cell_options), elman::Options(training_options),
                               elman::Options(readout_options)},
                              double_precision);
          },
          nb::kw_only(), "n_inputs"_a, "n_outputs"_a, "window"_a, "logistic"_a, "scale"_a,
          "double_precision"_a, "cell"_a, "cell_options"_a, "training"_a, "training_options"_a, "readout"_a,
          "readout_options"_a)
      .def("try_predict", &Native::try_predict)
      .def("predict", &Native::predict)
      .def("try_learn", &Native::try_learn)
      .def("learn", &Native::learn)
      .def("learn_measured", &Native::learn_measured)
      .def("run", &Native::run)
      .def("meters", &Native::meters)
      .def("gradient", &Native::gradient)
      .def("state", &Native::state)
      .def("restore", &Native::restore);
}
