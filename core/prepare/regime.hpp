// A column that may jump to another level or scale, for good or for a while, and what becomes of its moments.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "archive.hpp"
#include "prepare/scaling.hpp"

namespace elman {

// The moments of a column that may jump to another level or scale for good. Values far out of reach are
// surprises; as many of them in a row as `kConvinced` are no outliers but a new regime, which is adopted at
// once. Values beyond all reason are faults that teach nothing, until there are too many for that. Of
// targets, by which everybody is judged, less is believed: only a new level around which they vary as they
// did, and no surprises among faults.
//
// What was usual is remembered for a while: where values are then as they used to be, the new level and
// spread would fade for thousands of rows. It is adopted again as soon as that cannot be a coincidence.
struct Regime {
  enum class Role { feature, past_target, target };

  static constexpr int kConvinced = 5;
  static constexpr double kSurprising = 50;     // in standard deviations
  static constexpr double kUnbelievable = 1e6;  // in standard deviations
  static constexpr double kDoubtful = 1e4;      // in standard deviations, of a target
  static constexpr double kMostFaults = 200;    // a fifth of the values before, if these are fewer
  static constexpr double kValuesPerFault = 5;
  static constexpr double kUsual = 8;       // in standard deviations of what is usual
  static constexpr double kFarLarger = 5;   // a spread is than the usual one, if it matters
  static constexpr int kEstablished = 500;  // values without a surprise: then there is something usual
  static constexpr int kShortest = 30;      // stretch to return from; shorter ones are bursts
  static constexpr int kLongest = 200;      // stretch; then it is no stretch but a new regime
  static constexpr int kTogether = 10;      // values apart stretches of one cause begin, at most
  static constexpr double kSure = 7;        // log of how much likelier the last values are if they are usual

  // Every column of every model has one: what is small takes little room.
  Moments moments;
  Moments usual;              // as they were before the present stretch of surprises, if there is one
  double surprise = 0;        // mean of the present surprises
  double fine_spread = 0;     // their variance, in fine units
  double usual_variance = 0;  // before them, in fine units
  float faults = 0;           // values beyond all reason; they fade with the memory of the moments
  float evidence = 0;         // that the last values of the stretch are usual ones, up to `kSure`
  std::uint16_t surprises = 0, stretch = 0;  // how many there are in a row, and in the stretch
  std::uint16_t calm = 0;  // values since the last surprise or stretch, up to `kEstablished`
  std::uint16_t wary = 0;  // values to come of which surprises are faults

  // Whether a value is a fault that teaches nothing.
  bool is_fault(double value, Role role) const {
    if (faults + 1 > std::min(moments.count / kValuesPerFault, kMostFaults)) return false;
    if (stretch > 0 && is_usual(value)) return false;
    if (is_beyond(kUnbelievable, value)) return true;
    return role == Role::target && is_beyond(wary > 0 ? kSurprising : kDoubtful, value) &&
           !shows_level(value);
  }

  // Whether a new regime was adopted not long ago: as few values say what it is, its level and spread still
  // move fast.
  bool is_young() const { return moments.count == calm + kConvinced && calm < kEstablished; }

  // True if a new regime is adopted, or the former one again: not if other columns say that it is not back.
  bool observe(double value, Role role, bool others_left = false) {
    if (std::isnan(value)) return false;
    const bool surprising = is_beyond(kSurprising, value);
    follow_stretch(surprising);
    if (surprising && is_fault(value, role)) {
      faults += 1;
      evidence = 0;
      if (role == Role::target) doubt(value);
      return false;
    }
    wary = 0;
    if (faults > 0) faults -= faults / float(Moments::kMemory);
    calm = surprising ? 0 : std::min<int>(calm + 1, kEstablished);
    const double now = stretch > 0 && !others_left ? evidence_with(value) : 0;
    const bool renewed = adopt_surprises(value, surprising, role);
    return (stretch > 0 && is_back_to_usual(value, now)) || renewed;
  }

  // Whether its newest value was one of a stretch with a larger spread.
  bool has_left() const { return stretch > 0 && is_larger() && evidence == 0; }
  // Whether there is a stretch, with another level or a larger spread, of which one could return.
  bool may_return() const {
    return stretch >= kShortest &&
           (is_larger() || std::abs(moments.mean - usual.mean) > kSurprising * usual.deviation());
  }
  void return_to_usual() {
    moments = usual;
    calm = 0;
    forget_surprises();
    forget_stretch();
  }

  // How much likelier, as a log, the last values of the stretch and this one are if what was usual is back
  // than if the stretch goes on: a sum that is never below 0 (Page's test). 0 if this one is not usual.
  double evidence_with(double value) const {
    if (!is_usual(value) || (!is_larger() && !is_beyond(kSurprising, value))) return 0;
    const Moments own = of_stretch();
    const double before = square_of(own, value), then = square_of(usual, value);
    return std::max(evidence + std::log(own.deviation() / usual.deviation()) + (before - then) / 2, 0.0);
  }
  bool is_usual(double value) const { return square_of(usual, value) <= kUsual * kUsual; }
  // The same where there is no stretch.
  bool fits(double value) const { return square_of(moments, value) <= kUsual * kUsual; }

 private:
  bool adopt_surprises(double value, bool surprising, Role role) {
    const bool known = role == Role::feature && moments.count >= kEstablished;
    const double outlier = known ? Moments::kOfFeature : Moments::kOutlier;
    if (!surprising) {
      moments.observe(value, outlier);
      forget_surprises();
      return false;
    }
    note_surprise(value);
    moments.observe(value, outlier);
    if (surprises < kConvinced) return false;
    // A few values that happen to lie close together do not say that the spread has become small.
    moments = {double(kConvinced), surprise, std::max(fine_spread, usual_variance)};
    forget_surprises();
    faults = 0;
    return true;
  }

  Moments surprises_with(double value) const {
    Moments present{double(surprises), surprise, fine_spread};
    present.observe(value);
    return present;
  }
  void note_surprise(double value) {
    if (surprises == 0) usual_variance = moments.fine_variance;
    const Moments present = surprises_with(value);
    surprises += 1;
    surprise = present.mean;
    fine_spread = present.fine_variance;
  }

  // A target that is a fault: the next ones are believed no more, unless they show a level.
  void doubt(double value) {
    wary = is_beyond(kDoubtful, value) ? kConvinced : wary - 1;
    note_surprise(value);
    if (surprises == kConvinced) forget_surprises();
  }

  // Whether a value and those before it are a level, around which they vary as is usual: they are neither
  // constant nor scattered.
  bool shows_level(double value) const {
    const Moments present = surprises_with(value);
    return present.count == kConvinced && present.varies() &&
           present.fine_variance <= kSurprising * kSurprising * usual_variance;
  }

  // Counts the values of a stretch, of which a surprise is the first.
  void follow_stretch(bool surprising) {
    if (stretch == kLongest) forget_stretch();
    const bool begins = surprising && stretch == 0 && calm == kEstablished;
    if (begins) usual = moments;
    if (begins || stretch > 0) stretch += 1;
  }

  // True if what was usual is adopted again, by the evidence that there is with the newest value.
  bool is_back_to_usual(double value, double now) {
    const bool sure = now > kSure, back = sure && may_return();
    evidence = float(std::min(now, kSure));
    if (back)
      return_to_usual();
    else if (sure || (calm >= kShortest && !is_larger() && is_usual(value)))
      forget_stretch();
    return back;
  }

  void forget_surprises() {
    surprises = 0;
    surprise = fine_spread = 0;
  }
  void forget_stretch() {
    usual = {};
    stretch = 0;
    evidence = 0;
  }

  // The moments of the stretch alone: those of now hold what was usual, too, unless a regime was adopted.
  Moments of_stretch() const {
    const double share = std::max(std::min(moments.count, Moments::kMemory) / stretch - 1, 0.0);
    const double more = std::max(moments.fine_variance - usual.fine_variance, 0.0);
    return {moments.count, moments.mean, moments.fine_variance + share * more};
  }

  bool is_beyond(double deviations, double value) const {
    return moments.varies() && std::abs(value - moments.mean) > deviations * moments.deviation();
  }
  bool is_larger() const { return moments.deviation() > kFarLarger * usual.deviation(); }
  static double square_of(const Moments& moments, double value) {
    const double z = moments.standardise_far(value);
    return z * z;
  }
};

// A regime as the numbers that are kept of it.
struct RegimeNumbers {
  Moments moments, surprises;
  double usual_variance = 0, faults = 0;
  Moments usual;
  double stretch = 0, evidence = 0, calm = 0, wary = 0;

  RegimeNumbers() = default;
  explicit RegimeNumbers(const Regime& from)
      : moments(from.moments),
        surprises{double(from.surprises), from.surprise, from.fine_spread},
        usual_variance(from.usual_variance),
        faults(from.faults),
        usual(from.usual),
        stretch(from.stretch),
        evidence(from.evidence),
        calm(from.calm),
        wary(from.wary) {}

  bool are_possible() const {
    return moments.is_possible() && surprises.is_possible() && surprises.count <= Regime::kConvinced &&
           Moments::is_possible_variance(usual_variance) && faults >= 0 && faults <= Regime::kMostFaults &&
           usual.is_possible() && is_count(stretch, Regime::kLongest) && (stretch == 0 || usual.varies()) &&
           evidence >= 0 && evidence <= Regime::kSure && is_count(calm, Regime::kEstablished) &&
           is_count(wary, Regime::kConvinced);
  }
  Regime regime() const {
    return {.moments = moments,
            .usual = usual,
            .surprise = surprises.mean,
            .fine_spread = surprises.fine_variance,
            .usual_variance = usual_variance,
            .faults = float(faults),
            .evidence = float(evidence),
            .surprises = std::uint16_t(surprises.count),
            .stretch = std::uint16_t(stretch),
            .calm = std::uint16_t(calm),
            .wary = std::uint16_t(wary)};
  }

 private:
  static bool is_count(double value, double most) {
    return value >= 0 && value <= most && value == std::floor(value);
  }
};

// Walks the regimes of the columns of an axis, such as those of the inputs.
inline void exchange_regimes(Archive& archive, const std::string& kind, const Axis& axis,
                             std::vector<Regime>& regimes) {
  constexpr std::size_t n = 15, of_moments = 3, of_surprises = 4, of_stretches = 11;
  static_assert(sizeof(RegimeNumbers) == n * sizeof(double));
  std::vector<RegimeNumbers> numbers(regimes.begin(), regimes.end());
  double* data = reinterpret_cast<double*>(numbers.data());
  const bool former =
      archive.has_part(kind + "_moments", false);  // whose variances are in the column's units
  const std::string name = former ? kind : kind + "_fine";
  archive.array(name + "_moments", data, axis, {"moment", of_moments}, n);
  if (former || archive.has_part(name + "_surprises", false))  // of versions that knew no more than these
    archive.array(name + "_surprises", data + of_moments, axis, {"moment", of_surprises}, n);
  else if (archive.has_part(name + "_stretches", false))  // or than these
    archive.array(name + "_stretches", data + of_moments, axis, {"moment", of_stretches}, n);
  else
    archive.array(name + "_regimes", data + of_moments, axis, {"moment", n - of_moments}, n);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    RegimeNumbers& each = numbers[i];
    if (former)
      for (double* variance :
           {&each.moments.fine_variance, &each.surprises.fine_variance, &each.usual_variance})
        *variance *= Moments::kFine * Moments::kFine;
    archive.require(each.are_possible(), "the moments of a column are out of range");
    regimes[i] = each.regime();
  }
}

}  // namespace elman
