// The frame of the page: which view is shown, whether it is live, keys that work everywhere.

import * as theme from "/page/theme.js";
import { Overview } from "/page/overview.js";
import { StreamView } from "/page/stream.js";

const place = document.getElementById("view");
const status = document.getElementById("status");
const help = document.getElementById("help");
let view = null;
let source = null;

function listen(path, handlers) {
  source?.close();
  source = new EventSource(path);
  source.onopen = () => say("live");
  source.onerror = () => say("reconnecting");
  for (const [name, handle] of Object.entries(handlers)) {
    source.addEventListener(name, (event) => handle(JSON.parse(event.data)));
  }
}

function say(text) {
  if (status.textContent !== text) status.textContent = text;
  status.dataset.state = text;
}

function show() {
  const [, kind, name] = location.hash.split("/");
  view?.close();
  say("connecting");
  place.replaceChildren();
  if (kind === "streams" && name) {
    view = new StreamView(place, decodeURIComponent(name));
    document.title = `${decodeURIComponent(name)} · elman`;
    listen(`/streams/${name}/events`, view.handlers);
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
