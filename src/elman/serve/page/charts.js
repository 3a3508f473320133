// The pictures of a stream, drawn by uPlot: rows with their band, errors over time, members' weights.

import uPlot from "/page/uplot.js";
import { colour } from "/page/theme.js";
import { number, short } from "/page/format.js";

const font = "12px system-ui, sans-serif";

function axis(values, extra = {}) {
  return {
    stroke: () => colour("soft"), font, grid: { stroke: () => colour("grid"), width: 1 },
    ticks: { show: false }, values: (_, splits) => splits.map(values), ...extra,
  };
}

const rowAxis = () => axis((value) => (value === null || !Number.isInteger(value) ? "" : value >= 1e5 ? short(value) : String(value)), { space: 70, size: 30 });
const valueAxis = (values = (value) => (value === null ? "" : number(value, 3))) => axis(values, { size: 58, space: 34 });

const line = (label, stroke, width, extra = {}) => ({ label, stroke: () => colour(stroke), width, points: { show: false }, spanGaps: false, ...extra });

// A vertical line at each change, with a small flag at the top.
function marks(changes) {
  return (plot) => {
    const { ctx: context, bbox } = plot;
    context.save();
    context.beginPath();
    context.rect(bbox.left, bbox.top - 12, bbox.width, bbox.height + 12);
    context.clip();
    context.strokeStyle = context.fillStyle = colour("change");
    context.lineWidth = 1.5 * uPlot.pxRatio;
    context.setLineDash([4 * uPlot.pxRatio, 3 * uPlot.pxRatio]);
    for (const row of changes()) {
      if (row < plot.scales.x.min || row > plot.scales.x.max) continue;
      const x = Math.round(plot.valToPos(row, "x", true));
      context.beginPath();
      context.moveTo(x, bbox.top);
      context.lineTo(x, bbox.top + bbox.height);
      context.stroke();
      context.beginPath();
      context.moveTo(x, bbox.top);
      context.lineTo(x + 8 * uPlot.pxRatio, bbox.top + 4 * uPlot.pxRatio);
      context.lineTo(x, bbox.top + 8 * uPlot.pxRatio);
      context.fill();
    }
    context.restore();
  };
}

class Chart {
  constructor(place, height, options) {
    this.place = place;
    this.height = height;
    this.options = options;
    this.observer = new ResizeObserver(() => this.fit());
    this.observer.observe(place);
  }

  size() {
    return { width: Math.max(200, this.place.clientWidth), height: this.height() };
  }

  draw(data) {
    this.data = data;
    if (this.plot) {
      this.plot.setData(data, !this.held);
      return;
    }
    this.place.replaceChildren();
    this.plot = new uPlot({ ...this.size(), ...this.options(this) }, data, this.place);
  }

  fit() {
    const size = this.size();
    if (this.plot && (size.width !== this.plot.width || size.height !== this.plot.height)) this.plot.setSize(size);
  }

  restyle() {
    this.remake();
    if (this.data) this.draw(this.data);
  }

  remake() {
    this.plot?.destroy();
    this.plot = null;
  }

  close() {
    this.observer.disconnect();
    this.plot?.destroy();
  }
}

// Truth, prediction and band. It follows the newest rows until somebody zooms.
export class RowsChart extends Chart {
  constructor(place, { changes, onZoom, onCursor }) {
    super(place, () => (place.clientWidth < 520 ? 240 : 320), (chart) => chart.described());
    this.changes = changes;
    this.onZoom = onZoom;
    this.onCursor = onCursor;
    this.held = null;
  }

  described() {
    return {
      padding: [14, 24, 0, 0], legend: { show: false },
      cursor: { y: false, drag: { x: true, y: false, setScale: false }, points: { size: 7 }, focus: { prox: 30 } },
      scales: { x: { time: false, range: (_, low, high) => this.held ?? [low, high > low ? high : low + 1] } },
      axes: [rowAxis(), valueAxis()],
      series: [
        { label: "row" }, line("high", "band", 0), line("low", "band", 0),
        line("prediction", "accent", 1.6), line("truth", "truth", 1.2),
      ],
      bands: [{ series: [1, 2], fill: () => colour("band") }],
      hooks: {
        draw: [marks(this.changes)],
        setSelect: [(plot) => this.select(plot)],
        setCursor: [(plot) => this.onCursor(plot.cursor.idx ?? null)],
        ready: [(plot) => plot.over.addEventListener("dblclick", () => this.hold(null))],
      },
    };
  }

  select(plot) {
    if (plot.select.width < 4) return;
    const [first, last] = [plot.select.left, plot.select.left + plot.select.width].map((at) => plot.posToVal(at, "x"));
    plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
    this.hold([first, Math.max(last, first + 2)]);
  }

  hold(range) {
    this.held = range;
    this.onZoom(range !== null);
    if (this.plot && this.data) this.plot.setData(this.data, true);
  }

  // Zoom around the newest row shown, or move, by shares of what is shown.
  zoom(factor) {
    const [low, high] = this.range();
    const width = Math.max(10, (high - low) * factor);
    const all = this.data[0];
    if (high - width <= all[0] && high >= all[all.length - 1]) this.hold(null);
    else this.hold([Math.max(high - width, all[0]), high]);
  }

  move(share) {
    const [low, high] = this.range();
    const all = this.data[0];
    const by = Math.min(Math.max(share * (high - low), all[0] - low), all[all.length - 1] - high);
    this.hold([low + by, high + by]);
  }

  range() {
    return this.held ?? [this.plot.scales.x.min, this.plot.scales.x.max];
  }
}

// Mean squared errors of the model and of two forecasts that need none. Their logarithms are drawn: uPlot's own
// logarithmic scale does not end where a range is degenerate.
export class ErrorsChart extends Chart {
  constructor(place, { changes }) {
    super(place, () => (place.clientWidth < 520 ? 220 : 310), () => ({
      padding: [14, 24, 0, 0], legend: { show: false }, cursor: { y: false, drag: { x: true, y: false } },
      scales: { x: { time: false }, y: { range: (_, low, high) => (Number.isFinite(high - low) ? [low - 0.1, high + 0.1] : [0, 1]) } },
      axes: [rowAxis(), { ...valueAxis((value) => number(10 ** value, 2)), splits: (_, __, low, high) => decades(low, high) }],
      series: [
        { label: "row" }, { label: "last value", stroke: () => colour("last"), width: 1.3 },
        { label: "mean so far", stroke: () => colour("mean"), width: 1.3 },
        { label: "model", stroke: () => colour("accent"), width: 2 },
      ].map((series) => ({ points: { show: false }, ...series })),
      hooks: { draw: [marks(changes)] },
    }));
  }

  show({ ends, errors }) {
    if (ends.length < 2) return;
    const [own, last, mean] = errors.map((line) => line.map((value) => (value > 0 ? Math.log10(value) : null)));
    this.draw([ends, last, mean, own]);
  }
}

// Logarithms of round numbers in a range, few enough to be read.
function decades(low, high) {
  for (const steps of [[1, 2, 5], [1, 3], [1]]) {
    const found = [];
    for (let power = Math.floor(low); power <= high; power += 1) {
      found.push(...steps.map((step) => power + Math.log10(step)).filter((at) => at >= low && at <= high));
    }
    if (found.length <= 8) return found;
  }
  const every = Math.ceil((high - low) / 8);
  return Array.from({ length: 9 }, (_, i) => Math.ceil(low) + i * every).filter((at) => at <= high);
}

// Who is trusted: shares that add up to one, stacked.
export class WeightsChart extends Chart {
  constructor(place) {
    super(place, () => 220, () => ({
      padding: [14, 24, 0, 0], legend: { show: false }, cursor: { y: false, drag: { x: true, y: false }, points: { show: false } },
      scales: { x: { time: false }, y: { range: [0, 1] } },
      axes: [rowAxis(), valueAxis((value) => (value === null ? "" : `${Math.round(100 * value)} %`))],
      series: [{ label: "row" }, ...this.names.map((name, i) => ({ label: name, width: 0.5, points: { show: false }, stroke: () => memberColour(i), fill: () => `${memberColour(i)}${pale(i) ? "66" : "cc"}` }))],
      bands: this.names.slice(1).map((_, i) => ({ series: [i + 2, i + 1] })),
    }));
    this.names = [];
  }

  // `weights` has a line for each of `rows` with the share of each of `names`.
  show({ rows, names, weights }) {
    if (rows.length < 2 || !names.length) return;
    if (names.length !== this.names.length) {
      this.names = names;
      this.remake();
    }
    const sums = weights.map(() => 0);
    this.draw([rows, ...names.map((_, i) => weights.map((line, j) => (sums[j] += line[i])))]);
  }
}

// What is forecast, behind the last rows.
export class AheadChart extends Chart {
  constructor(place) {
    super(place, () => (place.clientWidth < 520 ? 220 : 310), () => ({
      padding: [14, 24, 0, 0], legend: { show: false }, cursor: { y: false, drag: { x: true, y: false } },
      scales: { x: { time: false } },
      axes: [rowAxis(), valueAxis()],
      series: [{ label: "row" }, line("high", "band", 0), line("low", "band", 0), line("forecast", "accent", 1.8), line("truth", "truth", 1.2)],
      bands: [{ series: [1, 2], fill: () => colour("band") }],
    }));
  }

  // `row` is the last one that was seen; `columns` has the last rows, the first two of which are row and time.
  show({ row, mean, low, high }, [rows, , truths]) {
    const seen = rows.findLastIndex((known) => known <= row);
    const first = Math.max(0, seen + 1 - Math.max(2 * mean.length, 20));
    const past = truths.slice(first, seen + 1);
    const begin = past.map((truth, i) => (i === past.length - 1 ? truth : null)); // all grow out of the last row
    this.draw([
      [...rows.slice(first, seen + 1), ...mean.map((_, i) => row + 1 + i)],
      ...[high, low, mean].map((ahead) => [...begin, ...ahead]),
      [...past, ...mean.map(() => null)],
    ]);
  }
}

export const memberColour = (i) => colour(`m${i % 12}`);
export const pale = (i) => i >= 12; // there are no more colours that can be told apart
