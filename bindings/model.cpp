// A model of the core, with checks of the sizes of what it is given.
#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "archives.hpp"
#include "arrays.hpp"
#include "committee.hpp"
#include "rows.hpp"

namespace {

// Of a cell, a training or a readout: its name and its numbers.
using NamedPart = std::pair<std::string, std::map<std::string, std::vector<double>>>;
// Number, window, cell, training, readout, and whether it sees the last targets and the features.
using NamedMember = std::tuple<int, int, NamedPart, NamedPart, NamedPart, bool, bool>;

elman::Part part(const NamedPart& named) { return {named.first, elman::Options(named.second)}; }

class NativeModel {
 public:
  explicit NativeModel(const elman::CommitteeOptions& options)
      : committee_(options),
        n_features_(std::size_t(committee_.n_features())),
        n_outputs_(std::size_t(committee_.n_outputs())),
        probability_(options.loss == elman::Loss::logistic),
        row_(n_features_) {}
  NativeModel(const NativeModel&) = delete;

  void initialise(const std::vector<std::uint64_t>& seed) {
    committee_.initialise(seed);
    committee_.restored();
  }

  void grow_from(NativeModel& former) {
    committee_.grow_from(former.committee_);
    committee_.restored();
  }

  // From now on `try_predict` and `try_learn` know what an ordinary row is, if targets are plain numbers.
  void expect(nb::object names, bool scalar) {
    reader_.reset();
    if (scalar && n_outputs_ == 1) reader_.emplace(n_features_, std::move(names));
  }

  // The two calls of a stream's inner loop. They check everything at once and touch nothing if anything is
  // out of the ordinary.
  nb::object try_predict(nb::handle x) {
    if (!reader_ || !reader_->row(x, row_.data())) return nb::none();
    double answer;
    {
      nb::gil_scoped_release release;
      committee_.predict(row_.data(), {&answer, nullptr, nullptr, 0});
    }
    return nb::float_(answer);
  }

  bool try_learn(nb::handle x, nb::handle y) {
    double target, answer;
    if (!reader_ || !reader_->row(x, row_.data()) || !reader_->target(y, target)) return false;
    if (probability_ && (target < 0 || target > 1)) return false;
    nb::gil_scoped_release release;
    committee_.run(row_.data(), &target, 1, {&answer, nullptr, nullptr, 0}, 1);
    return true;
  }

  void predict(const Vector& x, double coverage, const MutableMatrix& out) {
    require(x.shape(0) == n_features_, "predict: wrong shape");
    const auto answers = places(out, n_outputs_, coverage);
    nb::gil_scoped_release release;
    committee_.predict(x.data(), answers);
  }

  void run(const Matrix& X, const Matrix& Y, double coverage, int threads, const MutableMatrix& out) {
    const std::size_t rows = X.shape(0);
    require(X.shape(1) == n_features_ && Y.shape(0) == rows && Y.shape(1) == n_outputs_, "run: wrong shape");
    const auto answers = places(out, rows * n_outputs_, coverage);
    nb::gil_scoped_release release;
    committee_.run(X.data(), Y.data(), rows, answers, threads);
  }

  // Learns one row and returns the smoothness along the step.
  double learn_measured(const Vector& x, const Vector& y) {
    require(x.shape(0) == n_features_ && y.shape(0) == n_outputs_, "learn_measured: wrong shape");
    std::vector<double> answers(n_outputs_);
    elman::Learner& learner = committee_.learner(0, 0);
    nb::gil_scoped_release release;
    learner.measure(true);
    committee_.run(x.data(), y.data(), 1, {answers.data(), nullptr, nullptr, 0}, 1);
    learner.measure(false);
    return learner.smoothness();
  }

  // Samples, samples with a target, local regret of the first learner.
  nb::tuple meters() {
    return nb::make_tuple(committee_.samples(), committee_.steps(), committee_.learner(0, 0).local_regret());
  }

  nb::dict weights() {
    Collect archive;
    committee_.learner(0, 0).exchange_weights(archive);
    return archive.matrices;
  }

  nb::dict gradient() {
    Collect archive;
    committee_.learner(0, 0).gradient(archive);
    return archive.matrices;
  }

  // Weights [member][output], recent and mean errors of the members and then of the committee, drift alarms
  // and the sample of the last one.
  nb::tuple standing() const {
    const std::size_t n = std::size_t(committee_.n_members());
    std::vector<double> weights;
    for (std::size_t m = 0; m < n; ++m)
      for (std::size_t k = 0; k < n_outputs_; ++k) weights.push_back(committee_.weight(int(m), int(k)));
    const elman::DriftMeter& drift = committee_.drift();
    return nb::make_tuple(
        new_array(weights.data(), n, n_outputs_), new_array(committee_.recent_errors().data(), 1, n + 1),
        new_array(committee_.mean_errors().data(), 1, n + 1), drift.alarms(), drift.last_alarm());
  }

  nb::tuple state() {
    Save archive;
    committee_.exchange(archive);
    return nb::make_tuple(archive.table, nb::bytes(archive.bytes.data(), archive.bytes.size()));
  }

  void restore(nb::list table, const nb::bytes& bytes) {
    Load archive(std::move(table), bytes);
    committee_.exchange(archive);
    archive.finish();
    committee_.restored();
  }

 private:
  // Where answers go: into row 0 of `out`, and where there are two more rows, the ends of intervals.
  elman::Committee::Answers places(const MutableMatrix& out, std::size_t n, double coverage) const {
    require((out.shape(0) == 1 || out.shape(0) == 3) && out.shape(1) == n, "answers: wrong shape");
    if (out.shape(0) == 1) return {out.data(), nullptr, nullptr, 0};
    require(coverage > 0 && coverage < 1, "coverage is out of range");
    return {out.data(), out.data() + n, out.data() + 2 * n, coverage};
  }

  elman::Committee committee_;
  std::size_t n_features_, n_outputs_;
  bool probability_;
  std::optional<RowReader> reader_;
  std::vector<double> row_;
};

void construct(NativeModel* self, int n_features, int n_outputs, int lags, bool scale, bool logistic,
               bool double_precision, bool joint, const std::vector<NamedMember>& members) {
  require(n_features >= 0 && n_outputs > 0 && lags >= 0 && !members.empty(), "a size is out of range");
  elman::CommitteeOptions options{{n_outputs, lags, n_features},
                                  scale,
                                  logistic ? elman::Loss::logistic : elman::Loss::squared,
                                  double_precision,
                                  joint,
                                  {}};
  for (const auto& [number, window, cell, training, readout, lagged, features] : members) {
    require(number >= 0 && window > 0, "a window is out of range");
    options.members.push_back({number, window, part(cell), part(training), part(readout), lagged, features});
  }
  new (self) NativeModel(options);
}

template <class Make>
nb::list names(const elman::Named<Make>& all) {
  nb::list listed;
  for (const auto& [name, make] : all) listed.append(name);
  return listed;
}

}  // namespace

void bind_model(nb::module_& m) {
  using namespace nb::literals;
  m.attr("CELLS") = names(elman::cells<float>());
  m.attr("TRAININGS") = names(elman::trainings<float>());
  m.attr("READOUTS") = names(elman::readouts());
  nb::class_<NativeModel>(m, "Model")
      .def("__init__", &construct, nb::kw_only(), "n_features"_a, "n_outputs"_a, "lags"_a, "scale"_a,
           "logistic"_a, "double_precision"_a, "joint"_a, "members"_a)
      .def("initialise", &NativeModel::initialise)
      .def("grow_from", &NativeModel::grow_from)
      .def("expect", &NativeModel::expect, "names"_a.none(), "scalar"_a)
      .def("try_predict", &NativeModel::try_predict)
      .def("try_learn", &NativeModel::try_learn, "x"_a, "y"_a.none())
      .def("predict", &NativeModel::predict)
      .def("run", &NativeModel::run)
      .def("learn_measured", &NativeModel::learn_measured)
      .def("meters", &NativeModel::meters)
      .def("weights", &NativeModel::weights)
      .def("gradient", &NativeModel::gradient)
      .def("standing", &NativeModel::standing)
      .def("state", &NativeModel::state)
      .def("restore", &NativeModel::restore);
}
