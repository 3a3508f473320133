// Light, dark, or as the system is; and the colours of the style sheet for what is drawn on a canvas.

const names = ["auto", "light", "dark"];
const listeners = new Set();
const colours = new Map();
const system = matchMedia("(prefers-color-scheme: dark)");

function stored() {
  try {
    const found = localStorage.getItem("elman-theme");
    return names.includes(found) ? found : "auto";
  } catch {
    return "auto";
  }
}

let chosen = stored();

function apply() {
  const dark = chosen === "dark" || (chosen === "auto" && system.matches);
  document.documentElement.dataset.theme = dark ? "dark" : "light";
  colours.clear();
  for (const listener of listeners) listener();
}

export function next() {
  chosen = names[(names.indexOf(chosen) + 1) % names.length];
  try {
    localStorage.setItem("elman-theme", chosen);
  } catch {
    // Not kept, but shown.
  }
  apply();
  return chosen;
}

export function onChange(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

// To ask for a style makes the browser bring all of them up to date: once for each colour and theme is enough.
export function colour(name) {
  if (!colours.has(name)) colours.set(name, getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim());
  return colours.get(name);
}

system.addEventListener("change", apply);
apply();
