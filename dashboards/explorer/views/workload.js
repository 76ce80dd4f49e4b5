// One workload: what it requests and uses over time, what it costs, where it ran, whose it is, and what to do.

import { StackedBars } from "../chart.js";
import { el } from "../dom.js";
import { Lines } from "../lines.js";
import { basis, copyable, monthly, named, partial, section, tiles } from "../parts.js";
import { path, question } from "../state.js";
import { Table } from "../table.js";
import { requests } from "./savings.js";
import { amounts, words } from "./why.js";

export const controls = ["window", "prices", "profile", "compare"];

const NUMBERS = "name,window,totalCost,errorBounds,containers,cpuCoreRequestAverage,cpuCoreUsageAverage,cpuCoreLimitAverage,cpuEfficiency,ramByteRequestAverage,ramByteUsageAverage,ramByteLimitAverage," +
  "ramEfficiency,cpuThrottledShare,oomKills";

export async function show(root, ctx) {
  const { state, format } = ctx;
  let steps = path(state);
  if (steps.length === 0) {
    root.append(el("p", { class: "empty" }, "Choose a workload: a controller, a pod or a container under ", link("Allocations", () => ctx.go({ view: "allocations", aggregate: "controller" })), "."));
    return undefined;
  }
  const asked = { window: state.window, ...question({ ...state, idle: "hide" }) };
  const whole = { ...asked, accumulate: "true", nulls: "true" };
  const ask = (params) => ctx.ask("model/allocation", params);
  const [total, times, nodes, containers, change, sizes] = await Promise.all([
    ask({ ...whole, aggregate: "all", includeAggregatedMetadata: "true", fields: `${NUMBERS},properties` }),
    ask({ ...asked, aggregate: "all", nulls: "true", accumulate: stepOf(state.window), fields: NUMBERS }),
    ask({ ...whole, aggregate: "node", fields: "name,totalCost,containers,start,end" }),
    ask({ ...whole, aggregate: "container", fields: NUMBERS }),
    ctx.ask("model/allocation/change", { ...asked, baseline: state.baseline, aggregate: "all", limit: 1 }),
    ctx.ask("model/savings/requests", { window: state.window, filter: asked.filter, labelSelector: asked.labelSelector, fieldSelector: asked.fieldSelector, profile: state.profile, distribution: true }),
  ]);
  const [row] = Object.values(total.data[0] ?? {});
  const namespace = row?.properties?.namespace;
  if (namespace && !steps.some(([field]) => field === "namespace")) steps = [["namespace", namespace], ...steps];
  root.append(heading(steps, ctx));
  ctx.offer({ path: "model/allocation", params: { ...whole, aggregate: "all" }, window: row?.window, promql: { expression: costs(steps), note: "What it costs an hour, at list prices." } });
  if (!row) {
    root.append(el("p", { class: "empty" }, "It did not run in this window. Choose another window."));
    return undefined;
  }
  root.append(numbers(row, total, change.data, ctx));
  const charts = pictures(times, ctx);
  root.append(el("div", { class: "pictures even" }, charts.map((c) => c.element)));
  root.append(whyChanged(change.data, ctx), el("div", { class: "recommended" }));
  requests(root.lastChild, sizes.data.requests, ctx);
  root.append(tableOf("Containers", containers, format, [
    ["containers", "At a time", (r) => r.containers, format.quantity], ["cost", "Cost", (r) => r.totalCost, format.money], ["cpu", "CPU requested", (r) => r.cpuCoreRequestAverage, format.quantity],
    ["cpuUsed", "CPU usage", (r) => r.cpuCoreUsageAverage, format.quantity], ["ram", "Memory requested", (r) => r.ramByteRequestAverage, format.bytes], ["ramUsed", "Memory usage", (r) => r.ramByteUsageAverage, format.bytes],
  ]));
  root.append(tableOf("Nodes that it ran on", nodes, format, [
    ["containers", "At a time", (r) => r.containers, format.quantity], ["cost", "Cost", (r) => r.totalCost, format.money],
    ["from", "From", (r) => new Date(r.start).getTime(), format.time], ["to", "To", (r) => new Date(r.end).getTime(), format.time],
  ]));
  root.append(commands(steps), labels(row));
  return () => charts.forEach((c) => c.free());
}

const link = (text, onclick) => el("button", { type: "button", class: "link", onclick }, text);

// stepOf is how finely a window is shown: by hours up to eight days.
function stepOf(window) {
  const [start, end] = window.split(",").map((t) => new Date(t));
  const hours = end ? (end - start) / 3600e3 : { h: 1, d: 24, w: 168 }[window.at(-1)] * parseFloat(window) || { today: 24, yesterday: 24, week: 168, lastweek: 168 }[window] || 744;
  return hours <= 8 * 24 ? "hour" : "day";
}

// heading is what the workload is, with the way back to where it stands among others.
function heading(steps, { go }) {
  const [field, value] = steps.at(-1);
  const up = { view: "allocations", path: steps.length > 1 ? JSON.stringify(steps.slice(0, -1)) : "", aggregate: field };
  return el("nav", { class: "path", "aria-label": "Where it stands" }, steps.slice(0, -1).map(([f, v]) => [`${f} ${v}`, el("span", { "aria-hidden": "true" }, " › ")]), el("strong", {}, `${field} ${value}`), " ", link("among others", () => go(up)));
}

// numbers are what it costs, what ran, and what went wrong.
function numbers(row, answer, { rows }, { format, state }) {
  const of = rows[0];
  const { lower, upper } = row.errorBounds ?? {};
  const between = lower > 0 && upper ? `between ${format.money(row.totalCost / upper)} and ${format.money(row.totalCost / lower)}` : "";
  return tiles([
    [`Cost, ${basis(state, answer)}`, [el("strong", { class: "headline" }, `${format.money(row.totalCost)} ${format.currency}`), " ", el("small", {}, lower === 1 && upper === 1 ? "exact" : between)], "Cost"],
    ["A month", format.headline(monthly(row.totalCost, answer))],
    ["Containers at a time", format.quantity(row.containers), "At a time"],
    ["CPU used of requested", format.percent(row.cpuEfficiency)],
    ["Memory used of requested", format.percent(row.ramEfficiency)],
    ["Throttled", row.cpuThrottledShare === null ? el("small", {}, "unknown, or no CPU limit") : `${format.percent(row.cpuThrottledShare, 1)} of periods`],
    ["Killed for memory", row.oomKills > 0 ? el("span", { class: "more" }, `${format.quantity(row.oomKills)} times`) : el("small", {}, "not seen")],
    ["Owner", [of?.owner, of?.team].filter(Boolean).join(", ") || el("small", {}, "unknown"), "Whose"],
  ]);
}

const BINARY = Array.from({ length: 40 }, (_, i) => 2 ** (i + 10)); // distances of labels in bytes

// pictures are the charts of requests and usage, of containers and of costs.
function pictures({ data }, { format, go, state }) {
  const sets = data.map((set) => Object.values(set)[0]).filter(Boolean);
  if (sets.length < 2) return [];
  const steps = sets.map((r) => r.window);
  const unit = stepOf(state.window);
  const of = (name) => sets.map((r) => r[name] ?? null);
  const known = (values) => values.map((v) => (v > 0 ? v : null));
  const used = (title, requested, usage, limit, text, incrs) => new Lines({
    title, steps, text, incrs, format, series: [
      { name: "used", color: "--c0", values: of(usage), fill: true }, { name: "requested", color: "--text", values: of(requested) },
      ...(sets.some((r) => r[limit] > 0) ? [{ name: "limit", color: "--more", values: known(of(limit)), dash: [5, 4] }] : []),
    ],
  });
  const throttled = sets.some((r) => r.cpuThrottledShare > 0) && new Lines({ title: "Throttled", steps, format, text: (v) => format.percent(v, 1), series: [{ name: "of periods", color: "--more", values: of("cpuThrottledShare"), fill: true }] });
  const killed = sets.some((r) => r.oomKills > 0) && new Lines({ title: "Killed for memory", steps, format, text: (v) => format.quantity(v), series: [{ name: "kills", color: "--more", values: of("oomKills"), fill: true }] });
  const bars = new StackedBars({
    steps, format, series: [{ name: "cost", color: 0, values: of("totalCost") }], label: "Cost over time.", unit: `Cost, ${format.currency} per ${unit}. Click a bar to ask why.`,
    zoom: (start, end) => go({ window: `${start},${end}` }), explain: (start, end) => go({ view: "why", aggregate: "container", window: `${start},${end}`, baseline: "" }),
  });
  return [
    used("CPU, cores", "cpuCoreRequestAverage", "cpuCoreUsageAverage", "cpuCoreLimitAverage", format.quantity), used("Memory", "ramByteRequestAverage", "ramByteUsageAverage", "ramByteLimitAverage", format.bytes, BINARY),
    throttled, killed,
    new Lines({ title: "Containers at a time", steps, format, text: format.quantity, series: [{ name: "ran", color: "--c2", values: of("containers"), fill: true }] }),
    bars,
  ].filter(Boolean);
}

// whyChanged is how its cost differs from that of the time before.
function whyChanged(data, { format, go }) {
  const [row] = data.rows;
  const part = partial(data);
  if (!row || part) return section("Change", el("p", {}, part || "It did not run in the window that this one is compared with."));
  return section("Change", el("p", {}, el("strong", {}, `${format.signed(row.change)} ${format.currency}`), ` against ${format.span(data.baselineWindow)}`, row.since ? `, since ${format.time(row.since)}` : "", ": ",
    words(row, format) || "nothing changed", ". ", link("why?", () => go({ view: "why", aggregate: "container" }))), el("p", { class: "muted" }, amounts(row, format).flatMap((e, i) => (i > 0 ? [" · ", e] : [e]))));
}

// tableOf is a table of rows with columns [name, title, value, text], whose money is in the currency of a format.
function tableOf(title, { data }, { currency }, columns) {
  const rows = Object.values(data[0] ?? {});
  return section(title, new Table([
    { name: "name", title: "Name", text: true, value: (r) => r.name, cell: (r) => named(r.name) },
    ...columns.map(([name, heading, value, text], i) => ({ name, title: heading, wide: i > 1, value, cell: (r) => text(value(r)) })),
  ], rows, { caption: title, unit: currency, sort: "cost" }).element);
}

// matchers are the labels of PromQL that select it.
function matchers(steps) {
  const quoted = (text) => JSON.stringify(text);
  return steps.flatMap(([field, value]) => {
    const at = value.indexOf(":");
    if (field === "controller" && at >= 0) return [["controller_kind", value.slice(0, at)], ["controller", value.slice(at + 1)]];
    if (["deployment", "statefulset", "daemonset", "job"].includes(field)) return [["controller_kind", field], ["controller", value]];
    return ["cluster", "namespace", "controller", "pod", "container"].includes(field) ? [[field, value]] : [];
  }).map(([name, value]) => `${name}=${quoted(value)}`).join(", ");
}

// costs is the expression of what it costs an hour.
function costs(steps) {
  const has = (field) => steps.some(([f]) => f === field);
  const metric = has("container") ? "promcost_container_hourly_cost" : has("pod") ? "promcost_pod_hourly_cost" : "promcost_controller_hourly_cost";
  return `sum(${metric}{${matchers(steps)}})`;
}

// commands are lines to paste elsewhere.
function commands(steps) {
  const fields = Object.fromEntries(steps);
  const [kind, name] = fields.pod ? ["pod", fields.pod] : (fields.controller ?? "").includes(":") ? fields.controller.split(":") : [steps.at(-1)[0], steps.at(-1)[1]];
  const safe = [kind, name, fields.namespace ?? "x"].every((text) => /^[a-z0-9.-]+$/.test(text)) && kind !== "container"; // it is pasted into a shell
  const kubectl = safe ? `kubectl${fields.namespace ? ` -n ${fields.namespace}` : ""} describe ${kind}/${name}` : "";
  return section("Elsewhere", el("dl", { class: "elsewhere" }, [["PromQL", costs(steps)], ["kubectl", kubectl]].filter(([, text]) => text).map(([title, text]) => [el("dt", {}, title), el("dd", {}, copyable(text))])));
}

// labels are those that all of it has.
function labels({ properties }) {
  const list = Object.entries(properties?.labels ?? {});
  if (list.length === 0) return "";
  return section("Labels", el("ul", { class: "labels" }, list.map(([name, value]) => el("li", {}, el("code", {}, `${name}=${value}`)))));
}
