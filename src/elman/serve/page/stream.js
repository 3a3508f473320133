// One stream: its rows as they come, how it errs, whom its committee trusts, what matters, what has changed.

import { AheadChart, ErrorsChart, RowsChart, WeightsChart, memberColour, pale } from "/page/charts.js";
import { against, clock, count, coverageGrade, element, grade, missing, number, percent, rate, standing, write } from "/page/format.js";
import * as theme from "/page/theme.js";

const mostRows = 6000;
const windows = [100, 300, 1000, 2000];
const tableRows = 25;
const secondsBetweenQuestions = 3;

export class StreamView {
  constructor(place, name, output) {
    this.name = name;
    this.path = `/streams/${encodeURIComponent(name)}`;
    this.output = output;
    this.columns = [[], [], [], [], [], []]; // row, time, truth, prediction, low, high
    this.changes = [];
    this.paused = false;
    this.window = 300;
    this.handlers = {
      rows: (content) => this.addRows(content),
      summary: (content) => this.summarise(content),
      settled: (content) => this.settle(content),
      history: (content) => this.history(content),
      gone: () => { location.hash = "#/"; },
    };
    place.append(this.title(), this.factList(), this.pictures());
    this.cards["The rows ahead"].hidden = true;
    this.rows = new RowsChart(this.rowsPlace, {
      changes: () => this.changes, onZoom: (held) => this.zoomed(held), onCursor: (at) => this.point(at),
    });
    this.errors = new ErrorsChart(this.errorsPlace, { changes: () => this.changes });
    this.weights = new WeightsChart(this.weightsPlace);
    this.ahead = new AheadChart(this.aheadPlace);
    this.charts = [this.rows, this.errors, this.weights, this.ahead];
    this.stopListening = theme.onChange(() => this.restyle());
    this.timer = setInterval(() => this.ask(), 1000 * secondsBetweenQuestions);
  }

  close() {
    this.stopListening();
    clearInterval(this.timer);
    for (const chart of this.charts) chart.close();
  }

  title() {
    this.model = element("span", { class: "chip" });
    this.pauseButton = element("button", { class: "button", type: "button", "aria-pressed": "false", title: "Space", onclick: () => this.pause(!this.paused) }, "Pause");
    this.outputSelect = element("select", { "aria-label": "Target", hidden: true, onchange: (event) => { location.hash = `#${this.path}/${event.target.value}`; } });
    return element("div", { class: "title" },
      element("a", { class: "button back", href: "#/", "aria-label": "All streams", title: "All streams (Esc)" }, "←"),
      element("h1", {}, this.name), this.model,
      element("div", { class: "actions" }, this.outputSelect, this.pauseButton,
        element("a", { class: "button", href: `${this.path}/state`, download: `${this.name}.elman`, title: "Download the model" }, "State"),
        element("a", { class: "button", href: `${this.path}/explain`, title: "What the model says of itself" }, "Explain")));
  }

  factList() {
    this.facts = {};
    const fact = (key, text) => {
      this.facts[key] = element("dd", {}, missing);
      return element("div", {}, element("dt", {}, text), this.facts[key]);
    };
    return element("dl", { class: "facts" },
      fact("error", "error / last value"), fact("mse", "mean squared error"), fact("coverage", "coverage, recent"),
      fact("rate", "rows per second"), fact("rows", "rows"), fact("changes", "changes"));
  }

  pictures() {
    this.cards = {};
    const card = (title, place, extra = [], wide = false) => {
      this.cards[title] = element("section", { class: wide ? "card wide" : "card", "aria-label": title }, element("header", {}, element("h2", {}, title), ...extra), place);
      return this.cards[title];
    };
    const chart = (text, tall = false) =>
      element("div", { class: tall ? "chart tall" : "chart", role: "img", "aria-label": text, tabindex: tall ? "0" : "-1" }, element("div", { class: "waiting" }, "waits for rows"));
    this.rowsPlace = chart("Truth, prediction and interval of the last rows", true);
    this.errorsPlace = chart("Mean squared error over time");
    this.weightsPlace = chart("Weights of the members over time");
    this.aheadPlace = chart("The rows ahead with their intervals");
    this.pausedNote = element("p", { class: "chip paused", hidden: true });
    this.readout = element("p", { class: "readout" });
    this.resetButton = element("button", { class: "button", type: "button", hidden: true, title: "0", onclick: () => this.rows.hold(null) }, "Newest rows");
    this.windowSelect = element("select", { "aria-label": "Rows shown", onchange: (event) => this.choose(Number(event.target.value)) },
      ...windows.map((rows) => element("option", { value: String(rows), selected: rows === this.window }, `${count(rows)} rows`)));
    const key = (variable, text, kind = "") => {
      const swatch = element("i", { class: kind });
      if (kind !== "mark") swatch.style.background = `var(--${variable})`;
      return element("li", {}, swatch, text);
    };
    this.members = element("ul", { class: "legend members" });
    this.importance = element("ul", { class: "bars" });
    this.changeList = element("ul", { class: "bars" });
    this.table = element("tbody");
    const heads = ["row", "time", "truth", "prediction", "low", "high", "error"].map((text) => element("th", { scope: "col" }, text));
    return element("div", { class: "grid" },
      card("Rows", this.rowsPlace, [
        element("ul", { class: "legend" }, key("truth", "truth"), key("accent", "prediction"), key("band", "interval", "block"), key("change", "change", "mark")),
        this.pausedNote, this.readout, element("div", { class: "push" }, this.resetButton, this.windowSelect)], true),
      card("Error over time", this.errorsPlace, [element("ul", { class: "legend" }, key("accent", "model"), key("last", "last value"), key("mean", "mean so far"))]),
      card("Who is trusted", element("div", {}, this.weightsPlace, this.members)),
      card("The rows ahead", this.aheadPlace, [element("ul", { class: "legend" }, key("truth", "truth"), key("accent", "forecast"), key("band", "interval", "block"))]),
      card("What matters", this.importance, [element("p", {}, "how far the answer moves with each input")]),
      card("Changes", this.changeList, [element("p", {}, "where the model noticed a new law")]),
      card("Last rows", element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Last rows" },
        element("table", { class: "rows" }, element("thead", {}, element("tr", {}, ...heads)), this.table)), [], true));
  }

  // A forecaster shows the rows ahead instead of what only other models know of themselves.
  suit(model) {
    if (model === this.suited) return;
    this.suited = model;
    this.forecasts = model.toLowerCase() === "forecaster";
    this.cards["The rows ahead"].hidden = !this.forecasts;
    for (const title of ["Who is trusted", "What matters", "Changes"]) this.cards[title].hidden = this.forecasts;
    this.ask();
  }

  key(event) {
    const done = {
      " ": () => this.pause(!this.paused), "+": () => this.rows.plot && this.rows.zoom(0.5), "=": () => this.rows.plot && this.rows.zoom(0.5),
      "-": () => this.rows.plot && this.rows.zoom(2), ArrowLeft: () => this.rows.plot && this.rows.move(-0.25),
      ArrowRight: () => this.rows.plot && this.rows.move(0.25), 0: () => this.rows.hold(null), Escape: () => { location.hash = "#/"; },
    }[event.key];
    const onControl = event.key === " " && event.target instanceof Element && event.target.closest("button, a");
    if (!done || onControl) return false;
    done();
    return true;
  }

  pause(paused) {
    this.paused = paused;
    this.pauseButton.setAttribute("aria-pressed", String(paused));
    write(this.pauseButton, paused ? "Resume" : "Pause");
    this.pausedAt = this.last ?? 0;
    this.notePaused();
    if (!paused) {
      this.drawRows();
      if (this.latest) this.drawHistory();
    }
  }

  notePaused() {
    this.pausedNote.hidden = !this.paused;
    write(this.pausedNote, `paused at row ${count(this.pausedAt)} · ${count((this.last ?? 0) - this.pausedAt)} new rows since`);
  }

  choose(rows) {
    this.window = rows;
    this.rows.held = null;
    this.zoomed(false);
    this.drawRows();
  }

  zoomed(held) {
    this.resetButton.hidden = !held;
    if (held === this.wasHeld) return;
    this.wasHeld = held;
    this.drawRows();
  }

  addRows({ columns, last }) {
    const known = this.columns[0];
    if (known.length && columns[0].length && columns[0][0] <= known[known.length - 1]) {
      for (const column of this.columns) column.length = 0; // a connection begins again, or another state does
    }
    columns.forEach((column, i) => this.columns[i].push(...column));
    if (known.length > mostRows) for (const column of this.columns) column.splice(0, column.length - mostRows);
    this.last = last;
    if (this.paused) this.notePaused();
    if (!this.paused && !this.scheduled) {
      this.scheduled = requestAnimationFrame(() => {
        this.scheduled = 0;
        if (!this.paused) this.drawRows();
      });
    }
  }

  // Truths that came late: to rows that are here already.
  settle({ rows, truths }) {
    const [known, , truth] = this.columns;
    rows.forEach((row, i) => {
      const at = known.indexOf(row);
      if (at >= 0) truth[at] = truths[i];
    });
    if (!this.paused) this.drawRows();
  }

  drawRows() {
    const all = this.columns[0].length;
    if (!all) return;
    // While somebody looks at some rows all of them stay at hand; otherwise only those that are shown are drawn.
    const first = this.rows.held ? 0 : Math.max(0, all - this.window);
    const [row, , truth, prediction, low, high] = this.columns.map((column) => column.slice(first));
    this.rows.draw([row, high, low, prediction, truth]);
    this.fillTable();
  }

  fillTable() {
    const all = this.columns[0].length;
    while (this.table.rows.length < Math.min(tableRows, all)) {
      this.table.append(element("tr", {}, ...Array.from({ length: 7 }, () => element("td"))));
    }
    for (let i = 0; i < this.table.rows.length; i += 1) {
      const [row, time, truth, prediction, low, high] = this.columns.map((column) => column[all - 1 - i]);
      const cells = this.table.rows[i].cells;
      const error = truth === null || prediction === null ? null : truth - prediction;
      [count(row), clock(time), ...[truth, prediction, low, high, error].map((value) => number(value, 5))].forEach((text, j) => write(cells[j], text));
      const outside = truth !== null && low !== null && (truth < low || truth > high);
      cells[2].className = outside ? "out" : "";
      cells[2].title = outside ? "outside its interval" : "";
    }
  }

  point(at) {
    const data = this.rows?.data;
    if (at === null || !data || data[0][at] === undefined) {
      write(this.readout, "");
      return;
    }
    const [row, high, low, prediction, truth] = data.map((column) => column[at]);
    write(this.readout, `row ${count(row)}: ${number(truth)} · predicted ${number(prediction)} (${number(low)} to ${number(high)})`);
  }

  summarise(summary) {
    const ratio = against(summary);
    write(this.model, standing(summary));
    this.model.dataset.grade = summary.broken ? "poor" : "plain";
    this.suit(summary.model);
    this.fact("error", ratio === null ? missing : number(ratio, 3), grade(ratio));
    this.fact("mse", number(summary.recent_mse), "");
    this.fact("coverage", percent(summary.recent_covered), coverageGrade(summary));
    this.fact("rate", rate(summary.rate), "");
    this.fact("rows", count(summary.rows), "");
    this.fact("changes", count(summary.changes), "");
  }

  fact(key, text, state) {
    write(this.facts[key], text);
    this.facts[key].dataset.grade = state;
  }

  history(content) {
    this.latest = content;
    this.changes = content.changes;
    this.listOutputs(content.outputs);
    if (!this.paused) this.drawHistory();
  }

  drawHistory() {
    const { weights, changes } = this.latest;
    this.errors.show(this.latest);
    this.weights.show(weights);
    this.listMembers(weights);
    this.listChanges(changes);
  }

  listOutputs(outputs) {
    if (this.outputSelect.options.length === outputs) return;
    this.outputSelect.hidden = outputs < 2;
    this.outputSelect.replaceChildren(...Array.from({ length: outputs }, (_, i) => element("option", { value: String(i), selected: i === this.output }, `target ${i + 1} of ${outputs}`)));
  }

  listMembers({ names, weights }) {
    const newest = weights[weights.length - 1] ?? [];
    const ordered = names.map((name, i) => [name, newest[i], i]).sort((a, b) => b[1] - a[1]).slice(0, 12);
    if (!names.length) {
      this.weightsPlace.replaceChildren(element("div", { class: "waiting" }, this.last ? "one network, no committee" : "waits for rows"));
    }
    this.members.replaceChildren(...ordered.map(([name, share, i]) => {
      const swatch = element("i", { class: "block" });
      swatch.style.background = memberColour(i);
      swatch.style.opacity = pale(i) ? "0.5" : "1";
      return element("li", { title: name }, swatch, element("span", {}, name), element("b", {}, percent(share, 0)));
    }));
  }

  listChanges(changes) {
    if (!changes.length) {
      this.changeList.replaceChildren(element("li", { class: "none" }, "none noticed"));
      return;
    }
    const newest = changes.slice(-12).reverse();
    this.changeList.replaceChildren(...newest.map((row) => {
      const mark = element("i", { class: "flag" });
      return element("li", { class: "change" }, mark, element("span", {}, `row ${count(row)}`), element("b", {}, `${count(Math.max(0, (this.last ?? row) - row))} rows ago`));
    }));
  }

  // What the stream does not send by itself: what matters, or the rows ahead.
  async ask() {
    if (this.paused || document.hidden || this.suited === undefined) return;
    try {
      const response = await fetch(`${this.path}/${this.forecasts ? "forecast" : "importance"}`);
      if (!response.ok) return;
      const content = await response.json();
      if (this.forecasts) this.ahead.show(content, this.columns);
      else this.showImportance(Object.entries(content.importance));
    } catch {
      // The service is away for a moment: what was shown stays.
    }
  }

  showImportance(found) {
    const most = Math.max(...found.map(([, value]) => value), 1e-12);
    const bars = found.sort((a, b) => b[1] - a[1]).slice(0, 15).map(([name, value]) => {
      const bar = element("i");
      bar.style.width = `${(100 * Math.max(value, 0)) / most}%`;
      return element("li", { title: name }, element("span", {}, name), element("span", { class: "track" }, bar), element("b", {}, number(value, 3)));
    });
    this.importance.replaceChildren(...(bars.length ? bars : [element("li", { class: "none" }, "not known yet")]));
  }

  restyle() {
    for (const chart of this.charts) chart.restyle();
    if (this.latest) this.listMembers(this.latest.weights);
  }
}
