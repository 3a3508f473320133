// The frame of the page: which view is shown, whether it is live, keys that work everywhere.

import * as theme from "/page/theme.js";
import { element } from "/page/format.js";
import { Overview } from "/page/overview.js";
import { StreamView } from "/page/stream.js";

const place = document.getElementById("view");
const status = document.getElementById("status");
const help = document.getElementById("help");
let view = null;
let source = null;
let again = 0;

function listen(path, handlers) {
  source?.close();
  clearTimeout(again);
  source = new EventSource(path);
  source.onopen = () => say("live");
  source.onerror = (event) => {
    say("reconnecting");
    // The browser tries again by itself where there was no answer, but not where the answer was a refusal.
    if (event.target.readyState === EventSource.CLOSED && event.target === source) refused(path, handlers);
  };
  for (const [name, handle] of Object.entries(handlers)) {
    source.addEventListener(name, (event) => handle(JSON.parse(event.data)));
  }
}

async function refused(path, handlers) {
  const asked = source;
  const response = await fetch(path.replace(/\/events.*/, "") || "/streams").catch(() => null);
  if (asked !== source) return;
  if (response?.status === 404 && view instanceof StreamView) {
    view.close();
    say("not found");
    place.replaceChildren(element("div", { class: "empty" },
      element("h2", {}, `There is no stream “${view.name}”`), element("p", {}, "It was removed, or never made."),
      element("p", {}, element("a", { class: "button", href: "#/" }, "All streams"))));
    view = null;
    return;
  }
  again = setTimeout(() => listen(path, handlers), 5000);
}

function say(text) {
  if (status.textContent !== text) status.textContent = text;
  status.dataset.state = text;
}

function show() {
  const [, kind, name, output = "0"] = location.hash.split("/");
  view?.close();
  say("connecting");
  place.replaceChildren();
  if (kind === "streams" && name) {
    view = new StreamView(place, decodeURIComponent(name), Number(output) || 0);
    document.title = `${decodeURIComponent(name)} · elman`;
    listen(`/streams/${name}/events?output=${view.output}`, view.handlers);
  } else {
    view = new Overview(place);
    document.title = "elman";
    listen("/events", view.handlers);
  }
}

function changeTheme() {
  const button = document.getElementById("theme");
  button.title = `Theme: ${theme.next()} (t)`;
}

document.getElementById("theme").addEventListener("click", changeTheme);
document.getElementById("keys").addEventListener("click", () => help.showModal());
document.addEventListener("keydown", (event) => {
  const typing = event.target instanceof Element && event.target.closest("input, select, textarea");
  if (help.open || event.ctrlKey || event.metaKey || event.altKey) return;
  if (typing) {
    if (event.key === "Escape") event.target.blur();
    return;
  }
  if (event.key === "?") help.showModal();
  else if (event.key === "t") changeTheme();
  else if (!view?.key(event)) return;
  event.preventDefault();
});
addEventListener("hashchange", () => {
  show();
  scrollTo(0, 0);
  place.focus({ preventScroll: true });
});
addEventListener("pagehide", () => source?.close());
show();
