// What to request in place of today's requests, and what is paid for and not used.

import { el, NARROW } from "../dom.js";
import { histogram, legend } from "../histogram.js";
import { copier, named, opener, section, tiles, when } from "../parts.js";
import { selection } from "../state.js";
import { Table } from "../table.js";

export const controls = ["window", "profile", "filter"];

// WINDOW is what is looked at where the address names no window: as long as in the terminal, for requests follow two weeks of usage.
export const WINDOW = "14d";

// LEAST is the saving a month from which on a container is listed.
const LEAST = 0.005;

// LEAST_PART is the part of all savings and costs below which a container is not named at first, as in the terminal: hundreds of jobs come to a cent each.
const LEAST_PART = 0.001;

const ROW = 60; // pixels of height: a line of text and a histogram
const NARROW_ROW = 140; // two of them, and the risk

export async function show(root, ctx) {
  const { state, format } = ctx;
  const params = { window: state.window, ...selection(state) };
  const sizing = { ...params, profile: state.profile };
  const whole = !Object.values(selection(state)).some(Boolean); // filters are of workloads: they select no nodes
  const [sizes, volumes, pods, gpus, times, nodes] = await Promise.all([
    ctx.ask("model/savings/requests", { ...sizing, distribution: true }), ctx.ask("model/savings/unclaimedVolumes", params), ctx.ask("model/savings/abandonedWorkloads", { ...params, format: "json" }), ctx.ask("model/savings/idleGPUs", params),
    ctx.ask("model/allocation", { window: state.window, aggregate: "cluster", accumulate: "true", fields: "window" }, false),
    whole && ctx.ask("model/savings/nodes", { window: state.window }),
  ]);
  const { window } = Object.values(times.data[0] ?? {})[0] ?? {};
  ctx.offer({ path: "model/savings/requests", params: sizing, window, promql: promql(state) });
  const { data } = sizes;
  const wasted = OTHERS.map((other) => ({ ...other, rows: other.of({ volumes: volumes.data, pods: pods.data, gpus: gpus.data }) }));
  const prices = sizes.billedUntil ? "as billed" : "at list prices";
  const larger = (rows) => format.money(rows.reduce((sum, r) => sum + r.monthlyRisk, 0));
  const { saves, lacks, changed } = sorted(data.requests);
  const parts = [[lacks, "where requests are too low"], [saves, "in containers that save"], [changed, "where they were raised within the window"]].filter(([rows]) => rows.length > 0);
  root.append(tiles([
    ["Smaller requests save", [`${format.headline(data.monthlySaving)} ${format.currency} a month`, " ", el("small", {}, prices)]],
    ["Larger ones cost", [`${format.headline(data.monthlyRisk)} ${format.currency} a month`, " ", el("small", {}, `${prices}${parts.map(([rows, where], i) => `${i > 0 ? ", " : ": "}${larger(rows)} ${where}`).join("")}`)]],
    [`Risk of ${data.profile} requests`, RESOURCES.map(({ name, title }) => el("small", {}, often(title, data[name].exceedance, format))), "Risk"],
    ["Paid for and not used", [
      `${format.headline(wasted.reduce((sum, { rows, cost }) => sum + rows.reduce((of, row) => of + cost(row), 0), 0))} ${format.currency} a month`, " ",
      el("small", {}, volumes.billedUntil ? "as billed" : "at list prices"),
    ]],
    window && when(window, format),
  ].filter(Boolean)));
  root.append(...(data.notes ?? []).map((text) => el("p", { class: "muted" }, text)));
  requests(root, data.requests, ctx);
  for (const { title, rows, columns } of wasted) {
    if (rows.length > 0) root.append(section(title, new Table(columns(format), rows, { caption: title, unit: format.currency, sort: "cost" }).element));
  }
  if (nodes.data?.nodes.length > 0) root.append(pools(nodes.data, format));
}

// promql is the metric of recommended requests, or why it does not have what is shown.
function promql(state) {
  if (state.profile !== "balanced" || Object.values(selection(state)).some(Boolean)) return { reason: "The metric has what the profile balanced recommends for all workloads: choose it, and leave out the filter." };
  return { expression: "promcost_recommended_request", note: "It has what is recommended now, by the last 14 days, in cores and bytes, if promcost runs with --collector.recommended." };
}

// sorted are the recommendations by what they lead to: those that save, those for larger requests, and those for smaller ones that save nothing yet, for the request was raised within the window.
function sorted(rows) {
  const rest = rows.filter((r) => r.monthlySaving < LEAST && r.monthlyRisk >= LEAST);
  const grows = (r) => RESOURCES.some(({ name }) => r[name].recommended > r[name].request);
  return { saves: rows.filter((r) => r.monthlySaving >= LEAST), lacks: rest.filter(grows), changed: rest.filter((r) => !grows(r)) };
}

// requests are the tables of recommended requests: what saves, and apart from it what is too low, and what was changed.
export function requests(root, rows, { format }) {
  const { saves, lacks, changed } = sorted(rows);
  if (rows.length === 0) {
    root.append(el("p", { class: "empty" }, "Nothing is known of how high usage was. The history keeps it from now on; promcost backfill --recompute adds it to hours of before."));
    return;
  }
  const least = LEAST_PART * rows.reduce((sum, r) => sum + r.monthlySaving + r.monthlyRisk, 0);
  const table = (title, about, list, ...money) => section(title, about && el("p", { class: "muted" }, about), legend(), foldable(sized(...money, format), list, least, format, { caption: title, unit: format.currency, sort: "money", height: NARROW.matches ? NARROW_ROW : ROW }));
  const beside = (r) => (r.monthlyRisk >= LEAST ? `${listed(r, (a) => a.monthlySaving < 0)}: ${format.money(r.monthlyRisk)} more` : "");
  const since = (r) => (listed(r, raised) ? `saves 0 yet: ${listed(r, raised)} raised` : "");
  if (saves.length === 0) root.append(el("p", { class: "lead" }, "No request is much higher than what is used."));
  else root.append(table("Requests that could be smaller", "", saves, "Saves", (r) => r.monthlySaving, beside));
  if (lacks.length > 0) root.append(table("Requests that are too low", "", lacks, "Costs", (r) => r.monthlyRisk, since));
  if (changed.length > 0) root.append(table("Requests that were raised within the window", "Less than now would do. It costs more than what was requested before, so it saves nothing yet.", changed, "Costs", (r) => r.monthlyRisk, since));
}

// foldable is the element of a table in which the rows that come to less than an amount are one, the last, until it is clicked. Its CSV has them all.
function foldable(columns, list, least, format, options) {
  const whole = () => new Table(columns, list, options).element;
  const isSmall = (r) => Math.max(r.monthlySaving, r.monthlyRisk) < least;
  const small = list.filter(isSmall);
  if (small.length < 2) return whole();
  const sum = (of) => small.reduce((total, r) => total + of(r), 0);
  const open = () => {
    const all = whole();
    folded.replaceWith(all);
    all.focus();
  };
  const more = sum((r) => r.monthlyRisk);
  const cells = {
    __proto__: null,
    name: () => opener(`${small.length} small ones`, open, "show them"),
    money: (c) => [format.money(sum(c.value)), c.title === "Saves a month" && more >= LEAST && el("div", {}, el("small", {}, `larger ones: ${format.money(more)} more`))].filter(Boolean),
  };
  const one = {};
  const folding = columns.map((c) => ({ ...c, csv: c.csv ?? c.value, value: (r) => (r === one ? null : c.value(r)), cell: (r) => (r === one ? cells[c.name]?.(c) ?? "" : c.cell(r)) }));
  const folded = new Table(folding, [...list.filter((r) => !isSmall(r)), one], { ...options, all: list }).element;
  return folded;
}

// listed are the resources of a row of which something is true, in words.
const listed = (r, is) => RESOURCES.filter(({ name }) => is(r[name])).map(({ title }) => title).join(" and ");

// raised is whether a recommended request costs more although it is smaller than today's: for a part of the time less was requested.
const raised = ({ request, recommended, monthlySaving }) => recommended !== null && recommended < request && monthlySaving < 0;

const nameOf = (r) => `${r.namespace}/${r.controller}/${r.container}`;

// RESOURCES are those with requests: how they are called, and how their amounts are written.
const RESOURCES = [
  { name: "cpu", title: "CPU", text: (format) => (v) => `${format.quantity(v)} cores` },
  { name: "memory", title: "Memory", text: (format) => format.bytes },
];

// sized are the columns of recommended requests, with an amount of money and what is to be said beside it.
const sized = (title, money, beside, format) => [
  { name: "name", title: "Container", text: true, value: nameOf, cell: (r) => el("span", { title: nameOf(r) }, named(`${r.controller}/${r.container}`), el("br", {}), el("small", {}, r.namespace)) },
  { name: "money", title: `${title} a month`, value: money, cell: (r) => [format.money(money(r)), el("div", {}, el("small", {}, beside(r)))] },
  ...(NARROW.matches ? [{ name: "requests", title: "Requests, time above", term: "Request", value: (r) => r.cpu.request, cell: (r) => [...RESOURCES.map((of) => resized(of, r[of.name], format)), risk(r, format)] }] : [
    ...RESOURCES.map((of) => ({ name: of.name, title: of.title, term: "Request", value: (r) => r[of.name].request, cell: (r) => resized(of, r[of.name], format) })),
    { name: "risk", title: "Above its request", value: (r) => r.cpu.exceedance, cell: (r) => risk(r, format) },
    { name: "command", title: "kubectl", text: true, value: command, cell: (r) => copied(command(r)) },
    { name: "owner", title: "Owner", text: true, wide: true, value: (r) => r.owner ?? "", cell: (r) => named(r.owner) },
  ]),
];

// resized is a request now, what is recommended, and both in the picture of usage.
function resized(of, amount, format) {
  const text = of.text(format);
  const { request, recommended, distribution } = amount;
  return [change(amount, text), distribution && histogram(distribution, request, recommended, describe(of, amount, text, format))].filter(Boolean);
}

// change is a request now, and what is recommended, or why nothing is.
function change(amount, text) {
  let now = amount.request > 0 ? text(amount.request) : "none";
  if (amount.recommended === null) return el("div", { class: "muted" }, `${now}, ${WHY[amount.why] ?? amount.why}`);
  const to = text(amount.recommended);
  const [number, unit] = now.split(" ");
  if (unit === to.split(" ")[1]) now = number;
  return el("div", { title: amount.low === null ? undefined : `between ${text(amount.low)} and ${text(amount.high)}` }, `${now} → `, el("strong", {}, to));
}

// WHY is why nothing is recommended, by the words of the API.
const WHY = { __proto__: null, hpa: "autoscaled", short: "ran too short", unknown: "usage unknown" };

// describe says in words what a histogram shows.
function describe({ title }, { distribution, request, recommended, usageMax, exceedance, currentExceedance }, text, format) {
  let sum = 0;
  const half = distribution.levels[1 + distribution.shares.findIndex((share) => (sum += share) >= 0.5)];
  return [
    `${title} usage: half of the time at most ${text(half)}, never more than ${text(usageMax)}.`,
    request > 0 ? `${text(request)} requested now: ${often("usage", currentExceedance, format)}.` : "Nothing requested now.",
    recommended !== null && `${text(recommended)} recommended: ${often("usage", exceedance, format)}.`,
  ].filter(Boolean).join(" ");
}

// often says in words for how much of the time something is above its request.
function often(what, part, format) {
  if (part === null) return `${what} unknown`;
  return part === 0 ? `${what} never above its request` : `${what} above its request ${share(part, format)} of the time`;
}

const share = (part, format) => (part < 0.001 ? "less than 0.1 %" : format.percent(part, part < 0.0995 ? 1 : 0));

// risk says in words how often each resource would be above its request, and is where that is more.
function risk(r, format) {
  const lines = RESOURCES.map(({ name, title }) => {
    const { recommended, exceedance, currentExceedance } = r[name];
    if (recommended === null) return el("div", { class: "muted" }, `${title} –`);
    const more = !NARROW.matches && currentExceedance > exceedance && el("small", {}, ` now ${share(currentExceedance, format)}`);
    return el("div", {}, `${title} ${exceedance === 0 ? "never" : share(exceedance, format) + (NARROW.matches ? "" : " of the time")}`, more);
  });
  if (r.lowConfidence) lines[0].append(el("abbr", { class: "doubt", title: `Usage of only ${r.days} days is known`, tabindex: "0", role: "note" }, "≈"));
  return lines;
}

// copied is a button that copies a command, which is long; nothing where there is none. Without the right to the clipboard it shows the command.
const copied = (text) => text && copier(text, text, (button) => button.replaceWith(el("code", {}, text)));

// command sets the recommended requests of a container, and the limits that must change with them; "" where there are none, or nothing that kubectl can change.
function command(r) {
  const list = [], limits = [];
  const cpu = (cores) => `cpu=${Math.ceil(cores * 1000 - 1e-6)}m`;
  const memory = (bytes) => `memory=${bytes % 1e6 === 0 ? `${bytes / 1e6}M` : Math.ceil(bytes)}`; // not rounded up: no request may be above its limit
  if (r.cpu.recommended !== null) list.push(cpu(r.cpu.recommended));
  if (r.cpu.limit > 0 && r.cpu.recommended > r.cpu.limit) limits.push(cpu(r.cpu.recommended));
  if (r.memory.recommended !== null) list.push(memory(r.memory.recommended));
  if (r.memory.recommended !== null && r.memory.recommendedLimit !== r.memory.limit) limits.push(memory(r.memory.recommendedLimit));
  const names = [r.namespace, r.controller, r.container];
  if (list.length === 0 || !["deployment", "statefulset", "daemonset"].includes(r.controllerKind) || !names.every((name) => /^[a-z0-9.-]+$/.test(name))) return ""; // it is pasted into a shell
  return `kubectl -n ${r.namespace} set resources ${r.controllerKind}/${r.controller} -c ${r.container} --requests=${list.join(",")}${limits.length > 0 ? ` --limits=${limits.join(",")}` : ""}`;
}

const text = (name, title, of, wide) => ({ name, title, text: true, wide, value: (r) => of(r) ?? "", cell: (r) => named(of(r)) });
const costs = (of, format) => ({ name: "cost", title: "Costs a month", value: of, cell: (r) => format.money(of(r)) });

// pools are the node pools: what they are used for, and what would be paid less without them.
function pools({ nodes, notes }, format) {
  const several = new Set(nodes.map((n) => n.cluster)).size > 1;
  const nameOf = (n) => `${several ? `${n.cluster}/` : ""}${n.nodePool || "__unallocated__"}`;
  const money = (name, title, of, wide) => ({ name, title, wide, value: of, cell: (n) => format.money(of(n)) });
  const table = new Table([
    text("name", "Pool", nameOf),
    { name: "nodes", title: "Nodes", term: "Nodes of the pool", wide: true, value: (n) => n.nodes, cell: (n) => format.quantity(n.nodes) },
    costs((n) => n.monthlyCost, format),
    { name: "idle", title: "Idle", value: (n) => n.idle.monthlyCost, cell: (n) => [format.money(n.idle.monthlyCost), n.monthlyCost > 0 && el("small", {}, ` ${format.percent(n.idle.monthlyCost / n.monthlyCost)}`)].filter(Boolean) },
    money("moving", "Runs elsewhere", (n) => n.moving.monthlyCost, true),
    money("committed", "Committed", (n) => n.committedMonthlyCost, true),
    { ...money("least", "Saved at least", (n) => n.monthlySavings.least, true), under: true }, money("most", "Saved at most", (n) => n.monthlySavings.most),
  ], nodes, { caption: "Node pools", unit: format.currency, sort: "cost" });
  return section("Node pools", el("p", { class: "muted" }, "What each pool costs a month, and what would be saved without its nodes."), table.element, (notes ?? []).map((note) => el("p", { class: "muted" }, note)));
}

// OTHERS are the other things that are paid for and not used.
const OTHERS = [
  {
    title: "Volumes that no pod uses", of: ({ volumes }) => volumes.volumes ?? [], cost: (v) => v.monthlyCost,
    columns: (format) => [text("name", "Volume", (v) => v.volumeName), text("claim", "Claim", (v) => v.claim), text("class", "Storage class", (v) => v.storageClass, true),
      { name: "size", title: "Size", value: (v) => v.bytes, cell: (v) => format.bytes(v.bytes) }, costs((v) => v.monthlyCost, format)],
  },
  {
    title: "Pods that do nothing", of: ({ pods }) => pods, cost: (p) => p.monthlySavings,
    columns: (format) => [text("name", "Pod", (p) => `${p.namespace}/${p.pod}`), text("node", "Node", (p) => p.node, true), costs((p) => p.monthlySavings, format)],
  },
  {
    title: "GPUs that do nothing", of: ({ gpus }) => gpus.idle ?? [], cost: (g) => g.monthlyCost,
    columns: (format) => [text("name", "Pod", (g) => `${g.namespace}/${g.pod}`), text("node", "Node", (g) => g.node, true),
      { name: "count", title: "GPUs", value: (g) => g.gpus, cell: (g) => format.quantity(g.gpus) }, costs((g) => g.monthlyCost, format)],
  },
];
