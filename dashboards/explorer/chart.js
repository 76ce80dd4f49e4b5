// Pictures: stacked bars over time (uPlot), a treemap and a waterfall (SVG).

import { color, el, svg } from "./dom.js";

// COLORS is how many colours style.css has for series: --c0 and so on. What comes after them has --other.
export const COLORS = 9;

const DRAGGED = 5; // pixels from which on a click is dragging

const paint = (i) => color(i < COLORS ? `--c${i}` : "--other");

// StackedBars is a bar a step, with a part for each series. Options are {steps: [{start, end}], series: [{name, color, values}], format,
// zoom(start, end), explain(start, end), label, unit}: unit is that of the values, color is an index or the name of a custom property, values have a number or
// null a step. Dragging zooms, a click explains a bar.
export class StackedBars {
  constructor(options) {
    this.options = options;
    this.tip = el("div", { class: "tip", role: "status", hidden: true });
    this.host = el("div", {
      class: "bars", tabindex: 0, role: "group", "aria-label": `${options.label} Left and right go from bar to bar, Enter zooms to one, W asks why it costs that.`,
      onkeydown: (event) => this.key(event), onblur: () => this.tell(-1),
    });
    this.plane = el("div", { class: "chart" }, this.host, this.tip);
    this.element = el("figure", {}, el("figcaption", { class: "unit" }, options.unit), this.plane);
    this.observer = new ResizeObserver(() => requestAnimationFrame(() => this.resize()));
    this.observer.observe(this.host);
    this.marks = [];
  }

  // free ends the chart.
  free() {
    this.observer.disconnect();
    this.plot?.destroy();
  }

  get canvas() {
    return this.host.querySelector("canvas");
  }

  resize() {
    const width = Math.floor(this.host.clientWidth);
    if (width === 0 || width === this.plot?.width) return;
    if (this.plot) this.plot.setSize({ width, height: this.height() });
    else this.draw(width);
    this.placeMarks();
  }

  // mark puts a button over the bars of some steps: [{step, title, go}], where step is an index.
  mark(list) {
    this.marks = list.map(({ step, title, go }) => ({ step, button: el("button", { type: "button", class: "unusual", title, "aria-label": title, onclick: go }, "▲") }));
    this.plane.append(...this.marks.map((m) => m.button));
    this.placeMarks();
  }

  placeMarks() {
    for (const { step, button } of this.marks) if (this.plot) button.style.left = `${this.middle(step)}px`;
  }

  // middle is where the middle of a step's bar is, in pixels.
  middle(i) {
    const { start, end } = this.options.steps[i];
    return this.plot.valToPos((new Date(start).getTime() + new Date(end).getTime()) / 2000, "x") + this.plot.bbox.left / devicePixelRatio;
  }

  height() {
    return this.host.clientWidth < 500 ? 200 : 260;
  }

  draw(width) {
    const { steps, series, format } = this.options;
    const seconds = (t) => new Date(t).getTime() / 1000;
    const [first, last] = [seconds(steps[0].start), seconds(steps.at(-1).end)];
    const sums = steps.map(() => 0);
    const stacked = series.map((s) => s.values.map((v, i) => (sums[i] += v ?? 0)));
    const bars = uPlot.paths.bars({ size: [0.86, 90], align: 1 });
    const axis = { stroke: color("--muted"), grid: { stroke: color("--line"), width: 1 }, ticks: { stroke: color("--line"), width: 1 }, font: "12px system-ui, sans-serif" };
    this.plot = new uPlot({
      width, height: this.height(), padding: [8, 22, 0, 0], legend: { show: false },
      tzDate: (t) => uPlot.tzDate(new Date(t * 1000), format.zone),
      scales: { x: { range: () => [first, last] }, y: { range: (_, low, high) => [Math.min(0, low), Math.max(high, 1e-9) * 1.04] } },
      axes: [{ ...axis, values: (_, ticks) => ticks.map((t) => format.tick(t * 1000)) }, { ...axis, size: 48, values: (_, ticks) => ticks.map((v) => format.quantity(v)) }],
      // The highest sums are drawn first: those below cover them.
      series: [{}, ...series.map((s) => ({ fill: this.fill(s), width: 0, paths: bars, points: { show: false } })).reverse()],
      cursor: { y: false, points: { show: false }, drag: { x: true, y: false, setScale: false } },
      hooks: { setCursor: [(u) => this.tell(u.cursor.left >= 0 ? this.at(u, u.cursor.left) : -1)], setSelect: [(u) => this.select(u)] },
    }, [steps.map((s) => seconds(s.start)), ...stacked.reverse()], this.host);
    let pressed; // where the mouse was
    this.plot.over.addEventListener("mousedown", (event) => { pressed = event.offsetX; });
    this.plot.over.addEventListener("click", (event) => { if (Math.abs(event.offsetX - pressed) < DRAGGED) this.explain(this.at(this.plot, event.offsetX)); });
  }

  explain(i) {
    const { start, end } = this.options.steps[i];
    this.options.explain?.(start, end);
  }

  fill(series) {
    return typeof series.color === "string" ? color(series.color) : paint(series.color);
  }

  // at is the step under a position in pixels.
  at(u, left) {
    const time = u.posToVal(left, "x") * 1000;
    const found = this.options.steps.findLastIndex((s) => new Date(s.start).getTime() <= time);
    return Math.max(0, found);
  }

  // tell says what a step costs, beside its bar; nothing for -1.
  tell(i) {
    this.chosen = i;
    this.tip.hidden = i < 0;
    if (i < 0) return;
    const { series, steps, format } = this.options;
    const parts = series.map((s) => ({ ...s, value: s.values[i] ?? 0 })).filter((s) => s.value !== 0);
    const total = parts.reduce((sum, s) => sum + s.value, 0);
    const line = (s) => el("tr", {}, el("td", {}, square(this.fill(s)), s.name), el("td", {}, format.money(s.value)));
    this.tip.replaceChildren(el("b", {}, format.span(steps[i])), el("table", { role: "presentation" }, parts.reverse().map(line),
      el("tr", { class: "sum" }, el("td", {}, "total"), el("td", {}, `${format.money(total)} ${format.currency}`))),
    this.options.explain ? el("small", {}, "Click: why? Drag: zoom") : "");
    const left = this.middle(i);
    this.tip.classList.toggle("left", left > this.host.clientWidth / 2);
    this.tip.style.left = `${left}px`;
  }

  // key chooses a bar, or zooms to it.
  key(event) {
    const { steps, zoom } = this.options;
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    const from = this.chosen ?? -1;
    if (step) this.tell(from < 0 && step < 0 ? steps.length - 1 : Math.max(0, Math.min(steps.length - 1, from + step)));
    else if (event.key === "Enter" && from >= 0) zoom(steps[from].start, steps[from].end);
    else if (event.key.toLowerCase() === "w" && from >= 0) this.explain(from);
    else if (event.key === "Escape") this.tell(-1);
    else return;
    event.preventDefault();
  }

  select(u) {
    const { left, width } = u.select;
    if (width < DRAGGED) return;
    const { steps, zoom } = this.options;
    const [from, to] = [steps[this.at(u, left)], steps[this.at(u, left + width)]];
    u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
    zoom(from.start, to.end);
  }
}

// square is a sample of a colour.
const square = (fill) => svg("svg", { class: "swatch", viewBox: "0 0 9 9", "aria-hidden": "true" }, svg("rect", { width: 9, height: 9, rx: 2, fill }));

// squarify divides a rectangle among values, largest first, into rectangles that are as square as can be (Bruls, Huizing and van Wijk 2000).
export function squarify(values, x, y, width, height) {
  const out = [];
  let left = values.reduce((sum, v) => sum + v, 0);
  for (let i = 0; i < values.length;) {
    const short = Math.min(width, height);
    const scale = left > 0 ? width * height / left : 0;
    let sum = 0;
    let worst = Infinity;
    let n = i;
    for (; n < values.length; n++) {
      const next = sum + values[n];
      const thickness = next * scale / short;
      const sides = [values[i], values[n]].map((v) => v * scale / thickness);
      const ratio = Math.max(...sides.map((side) => Math.max(side / thickness, thickness / side)));
      if (ratio > worst) break;
      [worst, sum] = [ratio, next];
    }
    if (n === i) break; // no room is left, or values that are no numbers
    const thickness = sum * scale / short;
    let at = 0;
    for (; i < n; i++) {
      const side = sum > 0 ? values[i] / sum * short : 0;
      out.push(width >= height ? { x, y: y + at, width: thickness, height: side } : { x: x + at, y, width: side, height: thickness });
      at += side;
    }
    if (width >= height) [x, width] = [x + thickness, width - thickness];
    else [y, height] = [y + thickness, height - thickness];
    left -= sum;
  }
  return out;
}

const [MAP_WIDTH, MAP_HEIGHT] = [640, 300];

// treemap shows groups with their parts: [{name, color, value, parts: [{name, value, go}], go}]. It only repeats what a table says, which the
// keyboard reaches.
export function treemap(groups, format, label) {
  const shown = groups.filter((g) => g.value > 0).sort((a, b) => b.value - a.value);
  const boxes = squarify(shown.map((g) => g.value), 0, 0, MAP_WIDTH, MAP_HEIGHT);
  return svg("svg", { class: "treemap", viewBox: `0 0 ${MAP_WIDTH} ${MAP_HEIGHT}`, role: "img", "aria-label": label }, boxes.map((box, i) => {
    const group = shown[i];
    const head = box.height > 34 && box.width > 40 ? 16 : 0;
    const parts = (group.parts ?? []).filter((p) => p.value > 0).sort((a, b) => b.value - a.value);
    const inner = squarify(parts.map((p) => p.value), box.x + 1, box.y + head + 1, Math.max(0, box.width - 2), Math.max(0, box.height - head - 2));
    const fill = { class: `fill ${typeof group.color === "string" ? group.color.slice(2) : group.color < COLORS ? `c${group.color}` : "other"}` };
    return svg("g", {},
      cell(box, group, fill, format),
      inner.map((b, n) => cell(b, parts[n], { class: `${fill.class} part` }, format)),
      head > 0 && text(box, group.name, 12, true));
  }));
}

// cell is a rectangle of the treemap, with its name where there is room.
function cell(box, part, attributes, format) {
  if (box.width < 1 || box.height < 1) return "";
  return svg("g", { class: part.go ? "go" : undefined, onclick: part.go },
    svg("title", {}, `${part.name}: ${format.money(part.value)} ${format.currency}`),
    svg("rect", { ...attributes, x: box.x, y: box.y, width: box.width, height: box.height }),
    attributes.class.endsWith("part") && box.height > 15 && box.width > 30 && text(box, part.name, 11));
}

// text is a name that is cut to the width of its box.
function text(box, name, size, strong) {
  const room = Math.floor((box.width - 8) / (size * 0.56));
  if (room < 2) return "";
  const short = [...name];
  return svg("text", { x: box.x + 4, y: box.y + size, "font-size": size, class: strong ? "strong" : undefined }, short.length > room ? short.slice(0, room - 1).join("") + "…" : name);
}

// waterfall leads from one total to another by effects: [{name, value, title}]. go(name) is called for an effect that is clicked; those without a title cannot be.
export function waterfall(before, after, effects, format, chosen, go) {
  let at = before.value;
  const bars = [{ ...before, from: 0, to: before.value, total: true }];
  for (const effect of effects) {
    bars.push({ ...effect, from: at, to: at + effect.value });
    at += effect.value;
  }
  bars.push({ ...after, from: 0, to: after.value, total: true });
  const ends = bars.flatMap((b) => (b.total ? [b.to] : [b.from, b.to]));
  const spread = Math.max(...ends) - Math.min(...ends);
  const low = Math.min(0, ...ends) < 0 ? Math.min(...ends) : Math.max(0, Math.min(...ends) - 0.25 * spread); // cut, so that effects can be seen beside large totals
  const high = Math.max(...ends) || 1;
  const place = (v) => 100 * (Math.max(v, low) - low) / (high - low || 1);
  const list = el("ol", { class: "waterfall" }, bars.map((b) => {
    const [from, to] = [place(Math.min(b.from, b.to)), place(Math.max(b.from, b.to))];
    const kind = b.total ? "total" : b.value > 0 ? "more" : "less";
    const text = b.total ? format.money(b.value) : format.signed(b.value);
    const picture = svg("svg", { viewBox: "0 0 100 10", preserveAspectRatio: "none", "aria-hidden": "true" }, svg("rect", { class: kind, x: from, width: Math.max(0.3, to - from), y: 1, height: 8 }));
    const title = !b.title ? el("span", { class: "what" }, b.name)
      : el("button", { type: "button", class: "what", "aria-pressed": String(b.name === chosen), onclick: () => go(b.name === chosen ? "" : b.name) }, b.title);
    return el("li", { class: kind, "data-name": b.name }, title, picture, el("span", { class: "value" }, text));
  }));
  return el("figure", {}, list, low > 0 && el("figcaption", { class: "muted" }, `Bars begin at ${format.money(low)}, not at zero.`));
}
