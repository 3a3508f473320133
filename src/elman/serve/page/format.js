// Numbers and times for people, and small helpers to make elements.

const compact = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });
const whole = new Intl.NumberFormat("en");

export const missing = "–";

export function number(value, digits = 4) {
  if (value === null || value === undefined || Number.isNaN(value)) return missing;
  const size = Math.abs(value);
  if (size !== 0 && (size >= 1e6 || size < 1e-3)) return value.toExponential(2);
  return new Intl.NumberFormat("en", { maximumSignificantDigits: digits }).format(value);
}

export const count = (value) => (value === null || value === undefined ? missing : whole.format(value));
export const short = (value) => (value === null || value === undefined ? missing : compact.format(value));
export const percent = (value, digits = 1) =>
  value === null || value === undefined ? missing : `${(100 * value).toFixed(digits)} %`;

export function rate(value) {
  if (value === null || value === undefined) return missing;
  if (value < 0.05) return "0";
  return value < 1000 ? value.toFixed(1) : compact.format(value);
}

export const clock = (seconds) =>
  new Date(1000 * seconds).toLocaleTimeString("en-GB", { hour12: false });

// How large the error is, beside that of saying the last value again: below 1 something was learned.
export function against(summary) {
  const { recent_mse: own, recent_mse_of_last: last } = summary;
  return own === null || own === undefined || !last ? null : Math.sqrt(own / last);
}

// What a stream is, or why it does not answer.
export function standing(summary) {
  if (summary.broken) return "out of order: the service's log says why";
  return summary.ready ? summary.model : "learning its log again";
}

export function grade(ratio) {
  if (ratio === null) return "none";
  if (ratio < 0.95) return "good";
  return ratio < 1.05 ? "fair" : "poor";
}

// 90 % intervals that hold 80 % or 99 % are not what they say.
export function coverageGrade(summary, wanted = 0.9) {
  const covered = summary.recent_covered;
  if (covered === null || covered === undefined) return "none";
  return Math.abs(covered - wanted) < 0.04 ? "good" : Math.abs(covered - wanted) < 0.08 ? "fair" : "poor";
}

export function element(name, properties = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (key === "class") made.className = value;
    else if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (key in made && typeof value !== "string") made[key] = value;
    else made.setAttribute(key, value);
  }
  made.append(...children.filter((child) => child !== null));
  return made;
}

// Writes only what has changed: the rest of the page need not be laid out again.
export function write(target, text) {
  if (target.textContent !== text) target.textContent = text;
}
