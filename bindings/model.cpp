// A model of the core, with checks of the sizes of what it is given.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "archives.hpp"
#include "arrays.hpp"
#include "committee.hpp"
#include "gil.hpp"
#include "members.hpp"
#include "plain.hpp"
#include "rows.hpp"
#include "streamed.hpp"

namespace {

class NativeModel final : public Streamed {
 public:
  explicit NativeModel(std::shared_ptr<const elman::CommitteeOptions> options)
      : options_(std::move(options)),
        committee_(*options_),
        n_features_(std::size_t(committee_.n_features())),
        n_outputs_(std::size_t(committee_.n_outputs())),
        lowest_(options_->lowest),
        highest_(options_->highest),
        row_(n_features_) {}
  NativeModel(const NativeModel&) = delete;

  // Another model of the same configuration, which has learned nothing; they share what never changes.
  std::unique_ptr<NativeModel> twin(nb::handle seed) const {
    auto other = std::make_unique<NativeModel>(options_);
    other->initialise(seed);
    other->reader_ = reader_;
    return other;
  }

  std::size_t row_size() const override { return n_features_; }
  std::size_t target_size() const override { return n_outputs_; }
  std::size_t answer_size() const override { return n_outputs_; }
  void run_rows(const double* X, const double* Y, std::size_t rows, const Answers& out) override {
    const elman::Answers answers{out.answers, out.low, out.high, out.coverage};
    if (rows == 1) return committee_.learn(X, Y, answers);
    auto room = committee_.room_for(rows);
    committee_.run(X, Y, rows, answers, {0, 0}, 1, room);
  }

  void initialise(nb::handle seed) {
    committee_.initialise(plain<std::vector<std::uint64_t>>(seed));
    committee_.restored();
  }

  void grow_from(NativeModel& former) {
    committee_.grow_from(former.committee_);
    committee_.restored();
  }

  // From now on `try_predict` and `try_learn` know what an ordinary row is, if targets are plain numbers.
  void expect(nb::object names, bool scalar) {
    reader_.reset();
    if (scalar && n_outputs_ == 1) reader_.emplace(options_->kinds, std::move(names));
  }

  // The two calls of a stream's inner loop. They check everything at once and touch nothing if anything is
  // out of the ordinary.
  nb::object try_predict(nb::handle x) {
    if (!reader_ || !reader_->row(x, row_.data())) return nb::none();
    double answer;
    {
      WithoutGil released;
      committee_.predict(row_.data(), {&answer, nullptr, nullptr, 0});
    }
    return nb::float_(answer);
  }

  bool try_learn(nb::handle x, nb::handle y) {
    double target, answer;
    if (!reader_ || !reader_->row(x, row_.data()) || !reader_->target(y, target)) return false;
    if (target < lowest_ || target > highest_) return false;
    WithoutGil released;
    committee_.learn(row_.data(), &target, {&answer, nullptr, nullptr, 0});
    return true;
  }

  // The number of the question, the answer and the ends of its interval.
  nb::object try_ask(nb::handle x, double coverage, std::size_t most_open) {
    if (!reader_ || !reader_->row(x, row_.data())) return nb::none();
    double answer[3];
    std::int64_t question;
    {
      WithoutGil released;
      question = committee_.ask(row_.data(), most_open, {&answer[0], &answer[1], &answer[2], coverage});
    }
    return nb::make_tuple(question, answer[0], answer[1], answer[2]);
  }

  bool try_tell(std::int64_t question, nb::handle y) {
    double target;
    if (!reader_ || !is_open(question) || !reader_->target(y, target)) return false;
    if (target < lowest_ || target > highest_) return false;
    WithoutGil released;
    committee_.tell(question, &target);
    return true;
  }

  std::int64_t ask(const Vector& x, double coverage, std::size_t most_open, const MutableMatrix& out) {
    require(x.shape(0) == n_features_, "ask: wrong shape");
    const auto answers = places(out, n_outputs_, coverage);
    WithoutGil released;
    return committee_.ask(x.data(), most_open, answers);
  }

  void tell(std::int64_t question, const Vector& y) {
    require(y.shape(0) == n_outputs_ && is_open(question), "tell: wrong shape, or no open question");
    WithoutGil released;
    committee_.tell(question, y.data());
  }

  void forget(std::int64_t question) {
    require(is_open(question), "forget: no open question");
    committee_.forget(question);
  }

  // Of a question: "open", "unknown", "dropped" or "settled".
  const char* status(std::int64_t question) const {
    constexpr const char* names[] = {"open", "unknown", "dropped", "settled"};
    return names[int(committee_.status(question))];
  }

  // Questions that are open, and that were given up because there were too many.
  nb::tuple questions() const { return nb::make_tuple(committee_.n_open(), committee_.dropped()); }

  void predict(const Vector& x, double coverage, const MutableMatrix& out) {
    require(x.shape(0) == n_features_, "predict: wrong shape");
    const auto answers = places(out, n_outputs_, coverage);
    WithoutGil released;
    committee_.predict(x.data(), answers);
  }

  // Every truth is told `delay` rows after its row. Signals are looked at now and then. If one raises, the
  // rows so far have been learned and no more.
  void run(const Matrix& X, const Matrix& Y, double coverage, std::int64_t delay, std::size_t most_open,
           int threads, const MutableMatrix& out) {
    const std::size_t rows = X.shape(0);
    require(delay >= 0, "run: negative delay");
    require(X.shape(1) == n_features_ && Y.shape(0) == rows && Y.shape(1) == n_outputs_, "run: wrong shape");
    const auto answers = places(out, rows * n_outputs_, coverage);
    auto room = committee_.room_for(rows);
    for (std::size_t begin = 0; begin < rows; begin += kRowsBetweenSignals) {
      if (begin > 0 && PyErr_CheckSignals() != 0) throw nb::python_error();
      WithoutGil released;
      committee_.run(X.data() + begin * n_features_, Y.data() + begin * n_outputs_,
                     std::min(rows - begin, kRowsBetweenSignals), answers.from(begin * n_outputs_),
                     {delay, most_open}, threads, room);
    }
  }

  // Learns one row and returns the smoothness along the step.
  double learn_measured(const Vector& x, const Vector& y) {
    require(x.shape(0) == n_features_ && y.shape(0) == n_outputs_, "learn_measured: wrong shape");
    std::vector<double> answers(n_outputs_);
    elman::Learner& learner = committee_.most_trusted();
    WithoutGil released;
    learner.measure(true);
    committee_.learn(x.data(), y.data(), {answers.data(), nullptr, nullptr, 0});
    learner.measure(false);
    return learner.smoothness();
  }

  // Samples, samples with a target, local regret of the learner that is trusted most.
  nb::tuple meters() {
    return nb::make_tuple(committee_.samples(), committee_.steps(), committee_.most_trusted().local_regret());
  }

  nb::dict weights() {
    Collect archive;
    committee_.most_trusted().exchange_weights(archive);
    return archive.matrices;
  }

  nb::dict gradient() {
    Collect archive;
    committee_.most_trusted().gradient(archive);
    return archive.matrices;
  }

  // Weights [member][output], recent and mean errors of the members and then of the committee, drift alarms
  // and the sample of the last one.
  nb::tuple standing() const {
    const std::size_t n = std::size_t(committee_.n_members());
    std::vector<double> weights;
    for (std::size_t m = 0; m < n; ++m)
      for (std::size_t k = 0; k < n_outputs_; ++k) weights.push_back(committee_.weight(int(m), int(k)));
    std::vector<double> variances;
    for (std::size_t k = 0; k < n_outputs_; ++k) variances.push_back(committee_.variance(int(k)));
    const elman::DriftMeter& drift = committee_.drift();
    return nb::make_tuple(new_array(weights.data(), n, n_outputs_),
                          new_array(committee_.recent_errors().data(), n_outputs_, n + 1),
                          new_array(committee_.mean_errors().data(), n_outputs_, n + 1),
                          new_array(variances.data(), 1, n_outputs_), drift.alarms(), drift.last_alarm());
  }

  // How much each column of prepared rows matters, [output][column].
  nb::object importance() const {
    const auto& mean = committee_.importance().mean();
    return new_array(mean.data(), n_outputs_, mean.size() / n_outputs_);
  }

  // Sample and size of the changes that were noticed.
  nb::list changes() const {
    nb::list listed;
    for (const auto& change : committee_.drift().changes())
      listed.append(nb::make_tuple(change.sample, change.size));
    return listed;
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
  static constexpr std::size_t kRowsBetweenSignals = 4096;

  bool is_open(std::int64_t question) const {
    return committee_.status(question) == elman::Questions::Status::open;
  }

  // Where answers go: into row 0 of `out`, and where there are two more rows, the ends of intervals.
  elman::Answers places(const MutableMatrix& out, std::size_t n, double coverage) const {
    require((out.shape(0) == 1 || out.shape(0) == 3) && out.shape(1) == n, "answers: wrong shape");
    if (out.shape(0) == 1) return {out.data(), nullptr, nullptr, 0};
    require(coverage > 0 && coverage < 1, "coverage is out of range");
    return {out.data(), out.data() + n, out.data() + 2 * n, coverage};
  }

  std::shared_ptr<const elman::CommitteeOptions> options_;
  elman::Committee committee_;
  std::size_t n_features_, n_outputs_;
  double lowest_, highest_;
  std::optional<RowReader> reader_;
  std::vector<double> row_;
};

void construct(NativeModel* self, nb::handle features, int n_outputs, int lags, bool scale, bool logistic,
               bool double_precision, bool joint, double lowest, double highest, nb::handle listed_members) {
  const std::vector<elman::MemberOptions> members = member_options(listed_members);
  require(n_outputs > 0 && lags >= 0 && !members.empty(), "a size is out of range");
  const std::vector<elman::FeatureKind> kinds = feature_kinds(features);
  const std::vector<elman::Label> labels = elman::Coding(kinds, n_outputs).labels();
  elman::CommitteeOptions options{{n_outputs, lags, int(labels.size()), labels},
                                  kinds,
                                  scale,
                                  logistic ? elman::Loss::logistic : elman::Loss::squared,
                                  double_precision,
                                  joint,
                                  lowest,
                                  highest,
                                  members};
  new (self) NativeModel(std::make_shared<const elman::CommitteeOptions>(std::move(options)));
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
  nb::class_<NativeModel, Streamed>(m, "Model")
      .def("__init__", &construct, nb::kw_only(), "features"_a, "n_outputs"_a, "lags"_a, "scale"_a,
           "logistic"_a, "double_precision"_a, "joint"_a, "lowest"_a, "highest"_a, "members"_a)
      .def("initialise", &NativeModel::initialise)
      .def("twin", &NativeModel::twin)
      .def("grow_from", &NativeModel::grow_from)
      .def("expect", &NativeModel::expect, "names"_a.none(), "scalar"_a)
      .def("try_predict", &NativeModel::try_predict)
      .def("try_learn", &NativeModel::try_learn, "x"_a, "y"_a.none())
      .def("try_ask", &NativeModel::try_ask)
      .def("try_tell", &NativeModel::try_tell, "question"_a, "y"_a.none())
      .def("ask", &NativeModel::ask)
      .def("tell", &NativeModel::tell)
      .def("forget", &NativeModel::forget)
      .def("status", &NativeModel::status)
      .def("questions", &NativeModel::questions)
      .def("predict", &NativeModel::predict)
      .def("run", &NativeModel::run)
      .def("learn_measured", &NativeModel::learn_measured)
      .def("meters", &NativeModel::meters)
      .def("weights", &NativeModel::weights)
      .def("gradient", &NativeModel::gradient)
      .def("standing", &NativeModel::standing)
      .def("importance", &NativeModel::importance)
      .def("changes", &NativeModel::changes)
      .def("state", &NativeModel::state)
      .def("restore", &NativeModel::restore);
}
