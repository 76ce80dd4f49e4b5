// Lines over time (uPlot): requests, usage and limits.

import { color, el, svg } from "./dom.js";

const HEIGHT = 180;

// Lines shows series over steps. Options are {title, steps: [{start, end}], series: [{name, color, values, fill, dash}], text(value), incrs, format}: color is the name of a custom property, values have a
// number or null a step, text says a value, incrs are the distances that
// labels of the axis may have, if not of the decimal system. The legend has the values of the step that is pointed at, or else the last ones.
export class Lines {
  constructor(options) {
    this.options = options;
    this.legend = el("div", { class: "legend", role: "status" });
    this.host = el("div", {
      class: "lines", tabindex: 0, role: "group", "aria-label": `${options.title} over time. Left and right go from one time to the next.`,
      onkeydown: (event) => this.key(event), onblur: () => this.tell(-1),
    });
    this.element = el("figure", { class: "chart" }, this.legend, this.host);
    this.observer = new ResizeObserver(() => requestAnimationFrame(() => this.resize()));
    this.observer.observe(this.host);
    this.tell(-1);
  }

  // free ends the chart.
  free() {
    this.observer.disconnect();
    this.plot?.destroy();
  }

  resize() {
    const width = Math.floor(this.host.clientWidth);
    if (width === 0 || width === this.plot?.width) return;
    if (this.plot) this.plot.setSize({ width, height: HEIGHT });
    else this.draw(width);
  }

  draw(width) {
    const { steps, series, text, format, incrs } = this.options;
    const seconds = (t) => new Date(t).getTime() / 1000;
    const axis = { stroke: color("--muted"), grid: { stroke: color("--line"), width: 1 }, ticks: { stroke: color("--line"), width: 1 }, font: "12px system-ui, sans-serif" };
    const stepped = uPlot.paths.stepped({ align: 1 });
    this.plot = new uPlot({
      width, height: HEIGHT, padding: [8, 22, 0, 0], legend: { show: false },
      tzDate: (t) => uPlot.tzDate(new Date(t * 1000), format.zone),
      scales: { x: { range: () => [seconds(steps[0].start), seconds(steps.at(-1).end)] }, y: { range: (_, low, high) => [0, Math.max(high, 1e-9) * 1.06] } },
      axes: [{ ...axis, values: (_, ticks) => ticks.map((t) => format.tick(t * 1000)) }, { ...axis, size: 74, incrs, values: (_, ticks) => ticks.map(text) }],
      series: [{}, ...series.map((s) => ({ stroke: color(s.color), width: 1.5, dash: s.dash, fill: s.fill && color(s.color) + "44", paths: stepped, points: { show: false } }))],
      cursor: { y: false, points: { show: false }, drag: { x: false, y: false } },
      hooks: { setCursor: [(u) => this.tell(u.cursor.left >= 0 ? u.cursor.idx : -1)] },
    }, [[...steps.map((s) => seconds(s.start)), seconds(steps.at(-1).end)], ...series.map((s) => [...s.values, s.values.at(-1)])], this.host);
  }

  // tell says the values of a step; of the last one for -1.
  tell(i) {
    const { steps, series, text, format, title } = this.options;
    this.chosen = i;
    const at = i < 0 ? steps.length - 1 : Math.min(i, steps.length - 1);
    const key = (s) => svg("svg", { viewBox: "0 0 16 8", width: 16, height: 8, "aria-hidden": "true" }, svg("line", { x1: 0, x2: 16, y1: 4, y2: 4, stroke: color(s.color), "stroke-width": 2.5, "stroke-dasharray": s.dash?.join(" ") }));
    this.legend.replaceChildren(el("b", {}, title), ...series.map((s) => el("span", {}, key(s), ` ${s.name} ${text(s.values[at])}`)), el("span", {}, format.time(steps[at].start)));
  }

  key(event) {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const { steps } = this.options;
    const from = this.chosen < 0 ? (step < 0 ? steps.length : -1) : this.chosen;
    this.tell(Math.max(0, Math.min(steps.length - 1, from + step)));
  }
}
