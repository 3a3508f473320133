// The forecaster of the core, with checks of the sizes of what it is given.
#include "forecast/forecaster.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "archives.hpp"
#include "arrays.hpp"
#include "gil.hpp"
#include "members.hpp"
#include "plain.hpp"

namespace {

class NativeForecaster {
 public:
  explicit NativeForecaster(const elman::ForecasterOptions& options)
      : forecaster_(options),
        H_(std::size_t(options.horizon)),
        nx_(options.covariates.size()),
        xs_(H_ * nx_),
        stamps_(H_) {}
  NativeForecaster(const NativeForecaster&) = delete;

  void initialise(nb::handle seed) { forecaster_.initialise(plain<std::vector<std::uint64_t>>(seed)); }
  void grow_from(NativeForecaster& former) {
    forecaster_.grow_from(former.forecaster_);
    forecaster_.restored();
  }

  void set_known_ahead(nb::handle columns) {
    const auto known = plain<std::vector<bool>>(columns);
    require(known.size() == nx_, "known: wrong shape");
    forecaster_.covariates().set_known_ahead(known);
  }
  std::vector<bool> known_ahead() {
    std::vector<bool> known;
    for (std::size_t j = 0; j < nx_; ++j) known.push_back(forecaster_.covariates().known_ahead(j));
    return known;
  }

  void learn(double y, const Vector& x, double time) {
    require(x.shape(0) == nx_, "learn: wrong shape");
    WithoutGil released;
    forecaster_.learn(y, x.data(), time);
  }

  // Learns rows [first, last) of the whole arrays and writes a forecast after every row whose number, counted
  // from the beginning of the stream, is a multiple of `every`; the stamps of rows ahead, and their
  // covariates if `ahead`, are looked up in the arrays. Returns how many forecasts there are.
  std::size_t run(const Vector& y, const Matrix& X, const Vector& times, std::size_t first, std::size_t last,
                  std::size_t every, bool ahead, const Vector& levels, const MutableMatrix& means,
                  const MutableMatrix& quantiles) {
    const std::size_t n = y.shape(0);
    require(X.shape(0) == n && X.shape(1) == nx_ && times.shape(0) == n && first <= last && last <= n &&
                every > 0,
            "run: wrong shape");
    require(means.shape(1) == H_ && quantiles.shape(0) == means.shape(0) &&
                quantiles.shape(1) == H_ * levels.shape(0),
            "run: wrong shape of answers");
    WithoutGil released;
    std::size_t made = 0;
    for (std::size_t i = first; i < last; ++i) {
      forecaster_.learn(y.data()[i], X.data() + i * nx_, times.data()[i]);
      if (std::size_t(forecaster_.samples()) % every != 0) continue;
      require(made < means.shape(0), "run: too few places for answers");
      for (std::size_t h = 0; h < H_; ++h) {
        const bool there = i + 1 + h < n;
        stamps_[h] = there ? times.data()[i + 1 + h] : NAN;
        for (std::size_t j = 0; j < nx_; ++j)
          xs_[h * nx_ + j] = there ? X.data()[(i + 1 + h) * nx_ + j] : NAN;
      }
      forecaster_.forecast(forecaster_.rows_ahead(stamps_.data()), ahead ? xs_.data() : nullptr,
                           {means.data() + made * H_, levels.data(), levels.shape(0),
                            quantiles.data() + made * H_ * levels.shape(0)});
      ++made;
    }
    return made;
  }

  // Means (1, H) and quantiles (H, levels) of the rows ahead.
  void forecast(const std::optional<Matrix>& xs, const std::optional<Vector>& times, const Vector& levels,
                const MutableVector& means, const MutableMatrix& quantiles) {
    require(!xs || (xs->shape(0) == H_ && xs->shape(1) == nx_), "xs: wrong shape");
    require(!times || times->shape(0) == H_, "times: wrong shape");
    require(means.shape(0) == H_ && quantiles.shape(0) == H_ && quantiles.shape(1) == levels.shape(0),
            "forecast: wrong shape");
    WithoutGil released;
    forecaster_.forecast(forecaster_.rows_ahead(times ? times->data() : nullptr), xs ? xs->data() : nullptr,
                         {means.data(), levels.data(), levels.shape(0), quantiles.data()});
  }

  nb::object past_errors(bool ahead) const {
    const std::vector<double> errors = forecaster_.past_errors(ahead);
    return new_array(errors.data(), errors.size() / H_, H_);
  }

  // NaN as long as nothing is known of it.
  double width_of_sum(bool ahead, double coverage) const {
    require(coverage > 0 && coverage < 1, "coverage is out of range");
    return forecaster_.width_of_sum(ahead, coverage);
  }

  nb::tuple meters() const { return nb::make_tuple(forecaster_.samples(), forecaster_.steps()); }

  // Step of the clock and stamp of the newest row, NaN without stamps; the seasons as (cycle, period).
  nb::tuple calendar() const {
    nb::list seasons;
    for (const elman::Season& season : forecaster_.series().seasons())
      if (season.exists()) seasons.append(nb::make_tuple(std::int64_t(season.cycle), season.period));
    return nb::make_tuple(forecaster_.series().clock().step(), forecaster_.series().clock().now(), seasons);
  }

  // Names of the members; weights [step][member]; recent squared errors [step][member, and the mixture], in
  // units of the target's variance; rows learned for each step.
  nb::tuple standing(bool ahead) {
    elman::Panel& panel = forecaster_.panel(ahead);
    const std::size_t n = std::size_t(panel.n_members());
    std::vector<double> weights, errors, learned;
    for (std::size_t h = 0; h < H_; ++h) {
      for (std::size_t m = 0; m < n; ++m) weights.push_back(panel.weight(int(h), int(m)));
      for (std::size_t m = 0; m <= n; ++m) errors.push_back(panel.error(int(h), int(m)));
      learned.push_back(double(panel.learned(int(h))));
    }
    return nb::make_tuple(panel.names(), new_array(weights.data(), H_, n),
                          new_array(errors.data(), H_, n + 1), new_array(learned.data(), 1, H_));
  }

  nb::tuple state() {
    Save archive;
    forecaster_.exchange(archive);
    return nb::make_tuple(archive.table, nb::bytes(archive.bytes.data(), archive.bytes.size()));
  }

  void restore(nb::list table, const nb::bytes& bytes) {
    Load archive(std::move(table), bytes);
    forecaster_.exchange(archive);
    archive.finish();
    forecaster_.restored();
  }

 private:
  elman::Forecaster forecaster_;
  std::size_t H_, nx_;
  std::vector<double> xs_, stamps_;  // of the rows ahead, in a run
};

void construct(NativeForecaster* self, int horizon, nb::handle features, bool small, bool find_seasons,
               nb::handle listed_periods, double lowest, double highest, nb::handle members) {
  const auto periods = plain<std::vector<int>>(listed_periods);
  require(horizon > 0 && periods.size() <= 2, "a size is out of range");
  for (const int period : periods)
    require(period >= 2 && period <= elman::Season::kLongest, "a season is out of range");
  require(lowest <= highest, "lowest is above highest");
  new (self) NativeForecaster({horizon, feature_kinds(features), small, periods, find_seasons, lowest,
                               highest, member_options(members)});
}

}  // namespace

void bind_forecaster(nb::module_& m) {
  using namespace nb::literals;
  nb::class_<NativeForecaster>(m, "Forecaster")
      .def("__init__", &construct, nb::kw_only(), "horizon"_a, "features"_a, "small"_a, "find_seasons"_a,
           "periods"_a, "lowest"_a, "highest"_a, "members"_a)
      .def("initialise", &NativeForecaster::initialise)
      .def("grow_from", &NativeForecaster::grow_from)
      .def("set_known_ahead", &NativeForecaster::set_known_ahead)
      .def("known_ahead", &NativeForecaster::known_ahead)
      .def("learn", &NativeForecaster::learn)
      .def("run", &NativeForecaster::run)
      .def("forecast", &NativeForecaster::forecast, "xs"_a.none(), "times"_a.none(), "levels"_a, "means"_a,
           "quantiles"_a)
      .def("past_errors", &NativeForecaster::past_errors)
      .def("width_of_sum", &NativeForecaster::width_of_sum)
      .def("meters", &NativeForecaster::meters)
      .def("calendar", &NativeForecaster::calendar)
      .def("standing", &NativeForecaster::standing)
      .def("state", &NativeForecaster::state)
      .def("restore", &NativeForecaster::restore);
}
