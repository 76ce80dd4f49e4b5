// Why costs changed: the effects that lead from one window's total to the other's, and who had them.

import { waterfall } from "../chart.js";
import { el, NARROW } from "../dom.js";
import { below, deeper, isPart, ofRow, path, question } from "../state.js";
import { basis, cents, named, opener, partial, section, tiles } from "../parts.js";
import { timeline } from "../sparkline.js";
import { Table } from "../table.js";
import { empty } from "./onboarding.js";

export const controls = ["window", "compare", "aggregate", "filter", "idle", "share", "external", "prices"];

// EFFECTS are the effects of the API by the names that are shown.
const EFFECTS = {
  __proto__: null,
  window: "Length of the windows", replicas: "More or fewer containers", placement: "Moved to other node types", sizeRequest: "Changed requests",
  sizeBurst: "Usage above requests", price: "Node prices", new: "New workloads", gone: "Gone workloads", volumes: "Persistent volumes", network: "Network traffic",
  loadBalancer: "Load balancers", shared: "Shared costs", external: "Costs outside of clusters", idle: "Idle capacity", adjustment: "Discounts and bill corrections",
};
const shown = (effect) => EFFECTS[effect] ?? effect;

export async function show(root, ctx) {
  const { state, format, go } = ctx;
  const params = { window: state.window, baseline: state.baseline, aggregate: state.aggregate, ...question(ofRow(state)) };
  const answer = await ctx.ask("model/allocation/change", { ...params, limit: 0 });
  const { data } = answer;
  const { total, rows, window, baselineWindow } = data;
  ctx.offer({ path: "model/allocation/change", params, window, baseline: baselineWindow, promql: { reason: "Effects compare two windows workload by workload: no PromQL expression does that." } });
  const steps = path(state);
  if (isPart(state)) {
    const only = [...steps.map(([f, v]) => `${f} ${v}`), state.filter.trim()].filter(Boolean).join(" › ");
    root.append(el("p", { class: "path" }, `Only ${only}${ofRow(state) === state ? "" : ", without idle"}. `, steps.length > 0 && el("button", { type: "button", class: "link", onclick: () => go({ path: "", aggregate: steps[0][0] }) }, "all")));
  }
  if (rows.length === 0) {
    if (state.filter || state.path) root.append(el("p", { class: "empty" }, "Nothing that the filter selects ran in either window. Choose another window, or change the filter."));
    else await empty(root, answer, ctx);
    return;
  }
  const part = partial(data);
  root.append(tiles([
    [`Change, ${basis(state, answer)}`, [el("strong", { class: "headline" }, part ? format.UNKNOWN : `${format.signed(total.change)} ${format.currency}`), total.withinBounds && el("small", {}, " within the error bounds")], "Change"],
    ["Relative", part ? [format.UNKNOWN, " ", el("small", {}, part)] : format.growth(total.relative)],
    ["Before", el("small", {}, format.span(baselineWindow))],
    ["After", el("small", {}, format.span(window))],
  ]));
  root.append(...gaps(data, format));
  if (part) return;
  const effects = Object.entries(total.effects).filter(([, v]) => Math.abs(v) >= 0.005 || Math.abs(v) > 1e-3 * Math.abs(total.change)).sort((a, b) => b[1] - a[1]);
  const bars = effects.map(([name, value]) => ({ name, value, title: shown(name) }));
  const others = cents(total.change) - effects.reduce((sum, [, value]) => sum + cents(value), 0);
  if (Math.abs(others) >= LEAST) bars.push({ name: "others", value: others });
  const picture = waterfall({ name: "before", value: total.baseline }, { name: "after", value: total.cost }, bars, format, state.effect, (effect) => go({ effect }));
  root.append(section("Why the cost changed", el("p", { class: "muted" }, `In ${format.currency}. Select a cause to see which workloads it affected.`), picture));
  if (state.effect in total.effects) root.append(await contributors(params, data, ctx));
  const table = changes(data, ctx);
  root.append(table.element);
  if (rows.length <= MOST) drawn(data, ctx).then((times) => { if (!ctx.signal.aborted) table.draw(times); }).catch(() => {}); // the table is shown without pictures
}

// LEAST is the smallest amount that does not round to 0.00.
const LEAST = 0.005;

// MOST is how many rows may have a picture: its question asks for a number a row and step.
const MOST = 500;

// gaps are bars of windows that lack data: how much of each has some.
function gaps({ notComparable, window, baselineWindow, baselineCoveredHours, baselineWindowHours, missing }, format) {
  const length = (w) => (new Date(w.end) - new Date(w.start)) / 3600e3;
  const lost = (w) => (missing ?? []).reduce((sum, m) => sum + Math.max(0, (Math.min(new Date(m.end), new Date(w.end)) - Math.max(new Date(m.start), new Date(w.start))) / 3600e3), 0);
  const hours = (x) => format.quantity(x);
  const list = [["Before", baselineWindow, baselineCoveredHours, baselineWindowHours], ["After", window, length(window) - lost(window), length(window)]]
    .filter(([, , covered, all]) => all - covered > 1 / 60)
    .map(([name, w, covered, all]) => el("div", { class: "lack" },
      el("span", {}, `${name}: ${hours(covered)} of ${hours(all)} h have data`), el("progress", { value: covered, max: all, "aria-label": `Hours with data of ${format.span(w)}` })));
  if (list.length === 0 && !notComparable) return [];
  return [section("Data is missing", el("p", { class: "muted" }, notComparable
    ? "Nothing is compared before both windows have data of a fifth of their hours. While the history is being filled, look again later, or choose other windows."
    : "What is missing is shown as the cause “Length of the windows”, and never as fewer containers."), list)];
}

// drawn asks what rows cost in each hour, day or week from the baseline to the end of the window.
async function drawn({ baselineWindow, window }, { state, ask }) {
  const start = [baselineWindow.start, window.start].reduce((a, b) => (new Date(b) < new Date(a) ? b : a));
  const hours = (new Date(window.end) - new Date(start)) / 3600e3;
  const accumulate = hours <= 72 ? "hour" : hours <= 92 * 24 ? "day" : "week";
  const { data } = await ask("model/allocation", { window: `${start},${window.end}`, aggregate: state.aggregate, ...question(ofRow(state)), accumulate, fields: "name,window,totalCost" });
  const sets = data.filter((set) => Object.keys(set).length > 0);
  return { steps: sets.map((set) => Object.values(set)[0].window), of: (name) => sets.map((set) => set[name]?.totalCost ?? 0), unit: accumulate };
}

// AMOUNTS are what ran, with their names in the API, and how they are said.
const AMOUNTS = [
  ["replicas", "containers", (x, format) => format.quantity(x)], ["cores", "cores", (x, format) => format.quantity(x)], ["gib", "GiB", (x, format) => format.quantity(x)], ["gpus", "GPUs", (x, format) => format.quantity(x)],
  ["corePrice", "a core-hour", (x, format) => (x === null ? format.UNKNOWN : x.toPrecision(3))],
];

const STEADY = 0.02; // part by which an amount may differ and still be told once

// amounts are what ran before and after, in words.
export function amounts({ before, after }, format) {
  return AMOUNTS.filter(([name]) => before[name] || after[name]).map(([name, unit, text]) => {
    const [was, is] = [before[name], after[name]];
    const steady = was !== null && is !== null && Math.abs(is - was) <= STEADY * Math.max(is, was);
    return el("span", { class: steady ? undefined : "changed" }, `${steady ? text(is, format) : `${text(was, format)} → ${text(is, format)}`} ${unit}`);
  });
}

// changes is the table of all rows: its element, and draw, which fills in what they cost over time.
function changes({ rows, window, total }, { state, format, go }) {
  const fields = state.aggregate.split(",");
  let times;
  const since = (r) => r.since && el("small", { class: "under" }, `since ${format.time(r.since)}`);
  const picture = (r) => {
    if (!times || times.steps.length < 2) return "";
    const values = times.of(r.name);
    const words = `Cost of each ${times.unit}: from ${format.money(values[0])} to ${format.money(values.at(-1))}, at most ${format.money(Math.max(...values))}${r.since ? `; at this level since ${format.time(r.since)}` : ""}`;
    return timeline(times.steps, values, window, r.since, words);
  };
  const drill = (r) => {
    const to = deeper(r.name, fields, state);
    return to ? opener(r.name, () => go(to)) : named(r.name);
  };
  const whose = (r) => [r.owner, r.team].filter(Boolean).join(", ");
  const columns = [
    { name: "name", title: fields.join(", "), term: "Rows", text: true, value: (r) => r.name, cell: drill },
    { name: "times", title: "Timeline", wide: true, under: true, csv: (r) => r.since, value: (r) => (r.since ? new Date(r.since).getTime() : null), cell: (r) => el("div", {}, picture(r), NARROW.matches && since(r)) },
    { name: "baseline", title: "Before", value: (r) => r.baseline, cell: (r) => format.money(r.baseline) },
    { name: "cost", title: "After", value: (r) => r.cost, cell: (r) => format.money(r.cost) },
    { name: "change", title: "Change", value: (r) => Math.abs(r.change), cell: (r) => el("span", { class: r.withinBounds ? "muted" : r.change > 0 ? "more" : "less", title: r.withinBounds ? "within the error bounds" : undefined }, format.signed(r.change), !NARROW.matches && since(r)) },
    { name: "owner", title: "Owner", term: "Whose", text: true, wide: true, under: true, value: whose, cell: (r) => named(whose(r)) },
    { name: "ran", title: "What ran", text: true, wide: true, under: true, value: (r) => amounts(r, format).map((e) => e.textContent).join(", "), cell: (r) => el("div", { class: "ran" }, amounts(r, format).flatMap((e, i) => (i > 0 ? [" · ", e] : [e]))) },
    { name: "why", title: "Why", text: true, wide: true, under: true, value: (r) => words(r, format), cell: (r) => el("div", { class: "words" }, words(r, format)) },
  ];
  const effects = Object.keys(total.effects).map((name) => [shown(name), (r) => r.effects[name]]);
  const tableOf = (list) => new Table(columns, list, { caption: `Changes by ${fields.join(", ")}`, unit: format.currency, sort: "change", height: NARROW.matches ? undefined : ROW, under: ROW_UNDER, all: rows, more: effects });
  const changed = rows.filter((r) => Math.abs(r.change) >= LEAST);
  let table = tableOf(changed);
  const whole = () => {
    const all = tableOf(rows);
    table.element.replaceWith(all.element);
    table = all;
    rest.remove();
  };
  const rest = rows.length > changed.length && el("p", { class: "muted" }, `${rows.length - changed.length} more changed by less than 0.01. `, el("button", { type: "button", class: "link", onclick: whole }, "show them"));
  return {
    element: section(`Changes by ${fields.join(", ")}`, table.element, rest),
    draw: (found) => {
      times = found;
      table.fill(["times"]);
    },
  };
}

const ROW = 50; // pixels of height: two lines of text
const ROW_UNDER = 140; // of the second line on narrow screens, where the timeline, owner, what ran and why are one below the other

// words are the largest effects of a row, and what the others come to: together they are its change.
export function words(row, format) {
  const sorted = Object.entries(row.effects).sort((a, b) => Math.abs(b[1]) - Math.abs(a[1]));
  const matters = sorted.filter(([, v]) => Math.abs(v) >= LEAST && Math.abs(v) >= 0.02 * Math.abs(sorted[0][1])).slice(0, 4);
  const others = cents(row.change) - matters.reduce((sum, [, v]) => sum + cents(v), 0);
  return [...matters.map(([name, v]) => `${shown(name)} ${format.signed(v)}`), Math.abs(others) >= LEAST && `others ${format.signed(others)}`].filter(Boolean).join(", ");
}

// ofBills is the effect that bills have, whose lines say more.
const ofBills = "adjustment";

// contributors is the table of those that had an effect, one level down. What bills did leads on to their lines.
async function contributors(params, { window, baselineWindow }, { state, format, ask, go }) {
  const { effect } = state;
  const next = below(state.aggregate.split(","));
  const aggregate = next === "" ? state.aggregate : `${state.aggregate},${next}`;
  const { data } = await ask("model/allocation/change", { ...params, aggregate, limit: 0 });
  const rows = data.rows.filter((r) => Math.abs(r.effects[effect]) >= LEAST).sort((a, b) => Math.abs(b.effects[effect]) - Math.abs(a.effects[effect])).slice(0, 100);
  const title = `${shown(effect)}: workloads affected`;
  if (rows.length === 0) return section(title, el("p", { class: "empty" }, "No workload changed by more than 0.01."));
  const bill = ({ start, end }, namespace) => () => go({ view: "bill", window: `${start},${end}`, bill: namespace ? JSON.stringify([["namespace", namespace]]) : "" });
  const at = aggregate.split(",").indexOf("namespace");
  const [, within] = path(state).find(([field]) => field === "namespace") ?? [];
  const namespaceOf = (r) => within ?? (at >= 0 && !r.name.includes("__") ? r.name.split("/")[at] : undefined);
  const lines = effect === ofBills && el("p", {}, "The lines of bills: ", [["before", baselineWindow], ["after", window]].map(([name, w], i) => [i > 0 && ", ", el("button", { type: "button", class: "link", onclick: bill(w, within) }, `${name}, ${format.span(w)}`)]), ".");
  const open = (r) => (effect === ofBills && namespaceOf(r) ? opener(r.name, bill(window, namespaceOf(r)), "the lines of bills behind it") : named(r.name));
  return section(title, lines, new Table([
    { name: "name", title: aggregate.replaceAll(",", ", "), term: "Rows", text: true, value: (r) => r.name, cell: open },
    { name: "effect", title: shown(effect), term: "Cause", value: (r) => Math.abs(r.effects[effect]), cell: (r) => el("span", { class: r.effects[effect] > 0 ? "more" : "less" }, format.signed(r.effects[effect])) },
    { name: "change", title: "Whole change", wide: true, value: (r) => Math.abs(r.change), cell: (r) => format.signed(r.change) },
    { name: "cost", title: "After", value: (r) => r.cost, cell: (r) => format.money(r.cost) },
  ], rows, { caption: title, unit: format.currency, sort: "effect" }).element);
}
