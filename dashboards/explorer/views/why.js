// Why costs changed: the effects that lead from one window's total to the other's, and who had them.

import { waterfall } from "../chart.js";
import { el } from "../dom.js";
import { below, deeper, ofRow, path, question } from "../state.js";
import { basis, named, opener, partial, section, tiles } from "../parts.js";
import { Table } from "../table.js";

export const controls = ["window", "compare", "aggregate", "filter", "idle", "share", "prices"];

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
  ctx.offer({ path: "model/allocation/change", params, window, baseline: baselineWindow, csv: { format: "csv" }, promql: { reason: "Effects compare two windows workload by workload: no PromQL expression does that." } });
  const steps = path(state);
  if (steps.length > 0) root.append(el("p", { class: "path" }, `Only ${steps.map(([f, v]) => `${f} ${v}`).join(" › ")}${ofRow(state) === state ? "" : ", without idle"}. `, el("button", { type: "button", class: "link", onclick: () => go({ path: "", aggregate: steps[0][0] }) }, "all")));
  if (rows.length === 0) {
    root.append(el("p", { class: "empty" }, "Nothing that the filter selects ran in either window. Choose another window, or change the filter."));
    return;
  }
  const part = partial(data);
  root.append(tiles([
    [`Change, ${basis(state, answer)}`, [el("strong", { class: "headline" }, `${format.signed(total.change)} ${format.currency}`), total.withinBounds && el("small", {}, " within the error bounds")], "Change"],
    ["Relative", part ? [format.UNKNOWN, " ", el("small", {}, part)] : format.growth(total.relative)],
    ["Before", el("small", {}, format.span(baselineWindow))],
    ["After", el("small", {}, format.span(window))],
  ]));
  const effects = Object.entries(total.effects).filter(([, v]) => Math.abs(v) >= 0.005 || Math.abs(v) > 1e-3 * Math.abs(total.change)).sort((a, b) => b[1] - a[1]);
  const bars = effects.map(([name, value]) => ({ name, value, title: shown(name) }));
  const picture = waterfall({ name: "before", value: total.baseline }, { name: "after", value: total.cost }, bars, format, state.effect, (effect) => go({ effect }));
  root.append(section("Why the cost changed", el("p", { class: "muted" }, `In ${format.currency}. Select a cause to see which workloads it affected.`), picture));
  if (state.effect in total.effects) root.append(await contributors(params, ctx));
  root.append(changes(rows, ctx));
}

// changes is the table of all rows.
function changes(rows, { state, format, go }) {
  const fields = state.aggregate.split(",");
  const drill = (r) => {
    const to = deeper(r.name, fields, state);
    return to ? opener(r.name, () => go(to)) : named(r.name);
  };
  return section(`Changes by ${fields.join(", ")}`, new Table([
    { name: "name", title: fields.join(", "), term: "Rows", text: true, value: (r) => r.name, cell: drill },
    { name: "baseline", title: "Before", value: (r) => r.baseline, cell: (r) => format.money(r.baseline) },
    { name: "cost", title: "After", value: (r) => r.cost, cell: (r) => format.money(r.cost) },
    { name: "change", title: "Change", value: (r) => Math.abs(r.change), cell: (r) => el("span", { class: r.withinBounds ? "muted" : r.change > 0 ? "more" : "less", title: r.withinBounds ? "within the error bounds" : undefined }, format.signed(r.change)) },
    { name: "why", title: "Why", text: true, wide: true, value: (r) => words(r, format), cell: (r) => words(r, format) },
  ], rows, { caption: `Changes by ${fields.join(", ")}`, sort: "change" }).element);
}

// words are the largest effects of a row.
function words(row, format) {
  const sorted = Object.entries(row.effects).sort((a, b) => Math.abs(b[1]) - Math.abs(a[1]));
  const matters = sorted.filter(([, v]) => Math.abs(v) >= 0.005 && Math.abs(v) >= 0.02 * Math.abs(sorted[0][1]));
  return matters.slice(0, 4).map(([name, v]) => `${shown(name)} ${format.signed(v)}`).join(", ");
}

// contributors is the table of those that had an effect, one level down.
async function contributors(params, { state, format, ask }) {
  const { effect } = state;
  const next = below(state.aggregate.split(","));
  const aggregate = next === "" ? state.aggregate : `${state.aggregate},${next}`;
  const { data } = await ask("model/allocation/change", { ...params, aggregate, limit: 0 });
  const rows = data.rows.filter((r) => Math.abs(r.effects[effect]) >= 0.005).sort((a, b) => Math.abs(b.effects[effect]) - Math.abs(a.effects[effect])).slice(0, 100);
  const title = `${shown(effect)}: workloads affected`;
  if (rows.length === 0) return section(title, el("p", { class: "empty" }, "No workload changed by more than 0.01."));
  return section(title, new Table([
    { name: "name", title: aggregate.replaceAll(",", ", "), term: "Rows", text: true, value: (r) => r.name, cell: (r) => named(r.name) },
    { name: "effect", title: shown(effect), term: "Cause", value: (r) => Math.abs(r.effects[effect]), cell: (r) => el("span", { class: r.effects[effect] > 0 ? "more" : "less" }, format.signed(r.effects[effect])) },
    { name: "change", title: "Whole change", wide: true, value: (r) => Math.abs(r.change), cell: (r) => format.signed(r.change) },
    { name: "cost", title: "After", value: (r) => r.cost, cell: (r) => format.money(r.cost) },
  ], rows, { caption: title, sort: "effect" }).element);
}
