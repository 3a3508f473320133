// All streams at a glance.

import { against, coverageGrade, element, grade, missing, percent, rate, short, standing, count, write } from "/page/format.js";
import * as theme from "/page/theme.js";
import { spark } from "/page/spark.js";

const orders = {
  name: (a, b) => a.name.localeCompare(b.name, "en", { numeric: true }),
  error: (a, b) => (against(b) ?? -1) - (against(a) ?? -1),
  rate: (a, b) => (b.rate ?? 0) - (a.rate ?? 0),
  change: (a, b) => recency(a) - recency(b),
};

const linesInFrame = 20;

// Rows since the last change.
const recency = (stream) => (stream.last_change === null || stream.last_change === undefined ? Infinity : stream.rows - stream.last_change);

export class Overview {
  constructor(place) {
    this.streams = new Map();
    this.lines = new Map();
    this.undrawn = new Set();
    this.drawing = 0;
    this.handlers = { streams: (content) => this.update(content) };
    this.search = element("input", {
      type: "search", placeholder: "Look for a stream", title: "/", "aria-label": "Look for a stream",
      oninput: () => this.arrange(),
    });
    this.order = element("select", { "aria-label": "Order", onchange: () => this.arrange() },
      element("option", { value: "name" }, "by name"),
      element("option", { value: "error" }, "largest error first"),
      element("option", { value: "rate" }, "busiest first"),
      element("option", { value: "change" }, "latest change first"));
    this.list = element("ul", { class: "streams", "aria-label": "Streams" });
    this.empty = element("div", { class: "empty", hidden: true });
    this.none = element("p", { class: "empty", hidden: true }, "No stream is called so.");
    this.heads = element("div", { class: "heads", "aria-hidden": "true" },
      ...["stream", "last rows", "error / last value", "coverage", "rows/s", "rows", "last change"].map((text) => element("span", {}, text)));
    place.append(
      element("div", { class: "tools" }, element("h1", {}, "Streams"), this.search, this.order),
      this.heads, this.list, this.none, this.empty);
    this.stopListening = theme.onChange(() => this.redraw());
    this.resized = () => this.redraw();
    addEventListener("resize", this.resized);
  }

  close() {
    cancelAnimationFrame(this.drawing);
    this.stopListening();
    removeEventListener("resize", this.resized);
    write(document.getElementById("totals"), "");
  }

  key(event) {
    if (event.key === "/") {
      this.search.focus();
      return true;
    }
    if (event.key === "ArrowDown" || event.key === "ArrowUp") return this.step(event.key === "ArrowDown" ? 1 : -1);
    return false;
  }

  step(by) {
    const links = [...this.list.querySelectorAll("li:not([hidden]) a")];
    const at = links.indexOf(document.activeElement);
    const next = links[Math.min(Math.max(at + by, 0), links.length - 1)];
    next?.focus();
    return next !== undefined;
  }

  update({ streams, gone, count: total }) {
    for (const name of gone) {
      this.streams.delete(name);
      this.lines.get(name)?.item.remove();
      this.undrawn.delete(this.lines.get(name));
      this.lines.delete(name);
    }
    for (const stream of streams) {
      const known = this.streams.has(stream.name);
      this.streams.set(stream.name, stream);
      if (!known) this.lines.set(stream.name, new Line(stream.name));
      this.lines.get(stream.name).show(stream);
      this.undrawn.add(this.lines.get(stream.name));
    }
    this.arrange();
    this.drawSoon();
    let rows = 0;
    for (const stream of this.streams.values()) rows += stream.rate ?? 0;
    write(document.getElementById("totals"), `${count(total)} ${total === 1 ? "stream" : "streams"} · ${rate(rows)} rows/s`);
    this.sayIfEmpty();
  }

  sayIfEmpty() {
    this.empty.hidden = this.streams.size > 0;
    for (const tool of [this.search, this.order]) tool.hidden = !this.empty.hidden;
    if (this.empty.hidden || this.empty.childElementCount) return;
    this.empty.append(
      element("h2", {}, "No stream yet"),
      element("p", {}, "Make one and send it a row:"),
      element("pre", {}, `curl -X PUT ${location.origin}/streams/pump\ncurl ${location.origin}/streams/pump/rows \\\n  -d '{"x": {"pressure": 1.2, "flow": 3.4}, "y": 5.6}'`),
      element("p", {}, "or start with streams that run by themselves: ", element("code", {}, "elman serve --demo")));
  }

  arrange() {
    const wanted = this.search.value.trim().toLowerCase();
    const sorted = [...this.streams.values()].sort(orders[this.order.value]);
    let before = null, shown = 0;
    for (const stream of sorted) {
      const { item } = this.lines.get(stream.name);
      item.hidden = !stream.name.toLowerCase().includes(wanted);
      shown += item.hidden ? 0 : 1;
      const right = before === null ? this.list.firstElementChild : before.nextElementSibling;
      if (right !== item) this.list.insertBefore(item, right);
      before = item;
    }
    this.list.hidden = this.heads.hidden = shown === 0;
    this.none.hidden = shown > 0 || !sorted.length;
  }

  redraw() {
    for (const line of this.lines.values()) this.undrawn.add(line);
    this.drawSoon();
  }

  drawSoon() {
    this.drawing ||= requestAnimationFrame(() => this.drawSome());
  }

  // Some in each frame, so that none takes long; all sizes are read before anything is drawn.
  drawSome() {
    this.drawing = 0;
    const some = [...this.undrawn].slice(0, linesInFrame);
    const sizes = some.map(({ canvas }) => ({ width: canvas.clientWidth, height: canvas.clientHeight }));
    some.forEach((line, i) => {
      this.undrawn.delete(line);
      spark(line.canvas, line.stream.spark, sizes[i]);
    });
    if (this.undrawn.size) this.drawSoon();
  }
}

class Line {
  constructor(name) {
    this.parts = Object.fromEntries(["error", "coverage", "rate", "rows", "change"].map((part) => [part, element("span", { class: `figure ${part}` })]));
    this.labels = { error: "error / last value", coverage: "coverage", rate: "rows/s", rows: "rows", change: "last change" };
    this.model = element("small", {});
    this.canvas = element("canvas", { class: "spark", "aria-hidden": "true" });
    this.meter = element("span", { class: "meter" }, element("i", {}));
    const figures = Object.entries(this.parts).map(([part, value]) =>
      element("span", { class: "cell" }, element("small", { class: "label" }, this.labels[part]), value, part === "error" ? this.meter : null));
    this.item = element("li", {}, element("a", { href: `#/streams/${encodeURIComponent(name)}`, class: "line" },
      element("span", { class: "name" }, element("b", {}, name), this.model), this.canvas, ...figures));
  }

  show(stream) {
    this.stream = stream;
    const ratio = against(stream);
    write(this.model, standing(stream));
    this.model.dataset.grade = stream.broken ? "poor" : "plain";
    this.set("error", ratio === null ? missing : ratio.toFixed(3), grade(ratio));
    this.meter.hidden = ratio === null;
    this.meter.dataset.grade = grade(ratio);
    this.meter.firstElementChild.style.width = `${Math.min(100, 50 * (ratio ?? 0))}%`;
    this.set("coverage", percent(stream.recent_covered), coverageGrade(stream));
    this.set("rate", rate(stream.rate), stream.rate > 0.05 ? "live" : "none");
    this.set("rows", short(stream.rows), "plain");
    const since = recency(stream);
    this.set("change", since === Infinity ? "none" : `${short(since)} rows ago`, since < 300 ? "fresh" : "plain");
  }

  set(part, text, state) {
    write(this.parts[part], text);
    this.parts[part].dataset.grade = state;
  }
}
