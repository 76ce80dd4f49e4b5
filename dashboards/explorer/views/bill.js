// What bills say: list against billed, and what of the bills matches the clusters.

import { el } from "../dom.js";
import { copyable, example, named, opener, section, tiles, when } from "../parts.js";
import { ESTIMATED, quote, steps } from "../state.js";
import { Table } from "../table.js";
import { difference, money, namespace } from "./billed.js";

export const controls = ["window"];

const EXAMPLE = `bills:
- name: aws
  path: /bills/aws   # FOCUS files: CSV or Parquet, as AWS Data Exports, Azure and BigQuery write them
`;

export async function show(root, ctx) {
  const { state, format } = ctx;
  const costs = { window: state.window, aggregate: "namespace", idle: "true", accumulate: "true", fields: "totalCost,window" };
  const ask = (more) => ctx.ask("model/allocation", { ...costs, ...more });
  const [billed, list, estimated] = await Promise.all([ask(), ask({ reconcile: "false" }), ask({ ...ESTIMATED, aggregate: "cluster" })]);
  const { window } = Object.values(billed.data[0] ?? {})[0] ?? {};
  const params = { window: window ? `${window.start},${window.end}` : state.window }; // the days that the costs are of
  const { data } = await ctx.ask("model/reconciliation", params);
  ctx.offer({ path: "model/reconciliation", params, window, promql: { reason: "Metrics know of the newest day of bills only: promcost_bill_matched_ratio and promcost_list_to_bill_ratio." } });
  if (!data.bills) {
    root.append(el("p", { class: "empty" }, "There are no bills: all costs are at list prices. Name bills in the file of --config.file:"), example("An example of bills", EXAMPLE));
    return;
  }
  const [first] = steps(state.bill);
  if (first) {
    root.append(crumbs(ctx));
    await (first[0] === "namespace" ? namespace(root, first[1], data, ctx) : charged(root, data, ctx));
    return;
  }
  const rows = rowsOf(list.data[0] ?? {}, billed.data[0] ?? {});
  const total = (key) => rows.reduce((sum, r) => sum + r[key], 0);
  root.append(tiles([
    ["At list prices", `${format.headline(total("list"))} ${format.currency}`], ["As billed", `${format.headline(total("billed"))} ${format.currency}`],
    ["Difference", `${format.signed(total("billed") - total("list"))} (${format.growth(total("billed") / total("list") - 1)})`],
    ["Billed until", billed.billedUntil ? format.time(billed.billedUntil) : "no bill reaches the window"],
    ...(window ? [when(window, format)] : []),
  ]));
  const sum = Object.values(estimated.data[0] ?? {}).reduce((all, r) => all + r.totalCost, 0);
  if (estimated.estimatedFrom) root.append(el("p", { class: "muted estimates" }, apart(total("billed"), sum, estimated.estimatedFrom, format)));
  root.append(section("List against billed", new Table([
    { name: "name", title: "Namespace", text: true, value: (r) => r.name, cell: (r) => (r.name.startsWith("__") ? named(r.name) : into("namespace", r.name, r.name, ctx)) },
    money("list", "List", format), money("billed", "Billed", format),
    { name: "difference", title: "Difference", value: (r) => r.billed - r.list, cell: (r) => difference(r, format) },
    { name: "rate", title: "%", wide: true, value: (r) => rate(r), cell: (r) => format.growth(rate(r)) },
  ], rows, { caption: "Costs at list prices and as billed, by namespace", unit: format.currency, sort: "billed" }).element));
  if (data.start) {
    await charged(root, data, ctx);
    await unused(root, data, ctx);
  }
  for (const part of PARTS) {
    const rows = data[part.of] ?? [];
    if (rows.length > 0) root.append(section(part.title, new Table(part.columns(format, ctx), rows, { caption: part.title, unit: format.currency, sort: part.sort }).element));
  }
}

// apart says how far what the view Allocations shows as billed is from what this one does, and why.
function apart(here, there, from, format) {
  const difference = there - here;
  const much = Math.abs(difference) < 0.005 ? "the same" : `${format.money(Math.abs(difference))} ${difference > 0 ? "more" : "less"}`;
  return `Allocations shows ${format.money(there)} as billed, ${much}: what no bill charges finally, from ${format.time(from)} on, is estimated there from the last billed days, and at list prices here.`;
}

// unused shows what commitments cost that nothing used, by name.
async function unused(root, { start, end }, { ask, format }) {
  const { data } = await ask("model/cloudCost", { window: `${start},${end}`, aggregate: "provider,service,providerID,description", accumulate: "true", filter: `commitmentStatus:"Unused"` });
  const rows = Object.values(data.sets[0]?.cloudCosts ?? {}).map(({ properties, amortizedNetCost: { cost } }) => ({ ...properties, cost }));
  if (rows.length === 0) return;
  const name = (r) => r.description ?? r.providerID ?? r.service;
  root.append(section("Unused commitments", new Table([
    { name: "name", title: "Unused commitment", text: true, value: name, cell: (r) => named(name(r)) },
    text("providerID", "Resource", true), text("service", "Service", true), money("cost", "Charged", format),
  ], rows, { caption: "Unused commitments", unit: format.currency, sort: "cost" }).element));
}

// LEVELS are the fields of lines by which charges open, one below the other. The last one is the lines.
const LEVELS = [
  { field: "provider", title: "Provider" }, { field: "accountID", title: "Account" }, { field: "service", title: "Service" },
  { field: "providerID,chargeCategory,commitmentStatus,description", title: "Line" },
];

const NONE = "__unallocated__"; // the value of lines without one

// into is a name that opens what has a value of a field, below what is open already.
const into = (field, value, text, { state, go }) => opener(text, () => go({ bill: JSON.stringify([...steps(state.bill), [field, value]]) }));

// crumbs are where opening the bill has led, with ways back.
function crumbs({ state, go }) {
  const led = steps(state.bill);
  const to = (n) => () => go({ bill: n === 0 ? "" : JSON.stringify(led.slice(0, n)) });
  return el("nav", { class: "path", "aria-label": "Where opening the bill has led" }, el("button", { type: "button", class: "link", onclick: to(0) }, "all bills"),
    led.map(([, value], i) => [el("span", { "aria-hidden": "true" }, " › "),
      i === led.length - 1 ? el("span", { "aria-current": "page" }, value) : el("button", { type: "button", class: "link", onclick: to(i + 1) }, value)]));
}

// charged shows what is charged below what is open: by provider, account, service, and then each line.
async function charged(root, { start, end }, ctx) {
  const { state, format } = ctx;
  const led = steps(state.bill);
  const level = LEVELS.find((l) => !led.some(([field]) => field === l.field));
  const last = level === LEVELS.at(-1);
  const filter = led.map(([field, value]) => `${field}:${quote(value)}`).join("+");
  const { data } = await ctx.ask("model/cloudCost", { window: `${start},${end}`, aggregate: level.field, accumulate: "true", filter });
  const rows = Object.entries(data.sets[0]?.cloudCosts ?? {}).map(([name, { properties, amortizedNetCost: { cost, kubernetesPercent } }]) => ({ name, ...properties, cost, ofClusters: cost * kubernetesPercent }));
  const total = (key) => rows.reduce((sum, r) => sum + r[key], 0);
  if (led.length > 0) root.append(tiles([["Charged", el("strong", { class: "headline" }, `${format.money(total("cost"))} ${format.currency}`)], ["Of clusters", format.money(total("ofClusters"))], ["Window", el("small", {}, format.span({ start, end }))]]));
  const what = (r) => [r.chargeCategory !== "Usage" && r.chargeCategory, r.commitmentStatus === "Unused" && "unused commitment"].filter(Boolean).join(", ").toLowerCase();
  const shown = (r) => (r.name === NONE ? "none" : level.field === "accountID" && r.accountName && r.accountName !== r.name ? `${r.accountName} (${r.name})` : r.name);
  const columns = last ? [
    { name: "name", title: "Line", text: true, value: (r) => r.description ?? r.providerID ?? r.service ?? "", cell: (r) => named(r.description ?? r.providerID ?? r.service) },
    { name: "resource", title: "Resource", text: true, wide: true, value: (r) => r.providerID ?? "", cell: (r) => named(r.providerID) },
    { name: "what", title: "Kind", text: true, wide: true, value: what, cell: what },
  ] : [{ name: "name", title: level.title, text: true, value: shown, cell: (r) => into(level.field, r.name, shown(r), ctx) }];
  const title = `Charged by ${level.title.toLowerCase()}`;
  root.append(section(title, new Table([...columns, money("cost", "Charged", format), { ...money("ofClusters", "Of clusters", format), wide: true }], rows, { caption: title, unit: format.currency, sort: "cost" }).element));
}

// rate is how much more than list is billed; unknown where nothing is charged at list prices.
const rate = (r) => (r.list === 0 ? null : r.billed / r.list - 1);

// rowsOf joins two answers by their names.
function rowsOf(list, billed) {
  return [...new Set([...Object.keys(list), ...Object.keys(billed)])].map((name) => ({ name, list: list[name]?.totalCost ?? 0, billed: billed[name]?.totalCost ?? 0 }));
}

const text = (name, title, wide) => ({ name, title, text: true, wide, value: (r) => r[name] ?? "", cell: (r) => named(r[name]) });
const count = (name, title) => ({ name, title, wide: true, value: (r) => r[name], cell: (r) => r[name].toLocaleString("en") });
const remedy = { name: "remedy", title: "What to do", text: true, value: (r) => r.remedy ?? "", cell: (r) => copyable(r.remedy) };

// KINDS say what lines of a kind are about.
const KINDS = {
  __proto__: null,
  node: "nodes of the clusters", volume: "persistent volumes", "local disk": "the nodes' own disks", "load balancer": "load balancers", network: "data transfer of nodes and load balancers", management: "control planes",
  external: "outside of clusters, with a tag of a namespace, a team or the like: under “external”, it joins their costs",
  cloud: "all else: what no tag gives to anyone, taxes, credits, unused commitments",
};

// PARTS are the tables of the report.
const PARTS = [
  {
    of: "bills", title: "Bills", sort: "totalCost", columns: (format) => [
      text("name", "Bill"), text("cost", "Which cost", true), count("statements", "Deliveries"), count("lines", "Lines"),
      { name: "delivered", title: "Delivered", text: true, value: (b) => b.delivered ?? "", cell: (b) => (b.delivered ? format.time(b.delivered) : "") },
      money("totalCost", "Charged", format), money("matchedCost", "Of clusters", format),
    ],
  },
  {
    of: "kinds", title: "What is charged", sort: "cost", columns: (format, ctx) => [
      { ...text("kind", "Kind"), cell: (k) => (k.lines > 0 ? into("kind", k.kind, k.kind, ctx) : named(k.kind)) }, { name: "is", title: "What it is", text: true, wide: true, under: true, value: (k) => KINDS[k.kind] ?? "", cell: (k) => KINDS[k.kind] ?? "" },
      count("lines", "Lines"), money("cost", "Charged", format), { name: "share", title: "Share", value: (k) => k.share, cell: (k) => format.percent(k.share, 1) },
    ],
  },
  {
    of: "nodes", title: "Nodes by instance type", sort: "billedCost", columns: (format) => [
      text("instanceType", "Type"), { name: "spot", title: "Spot", text: true, wide: true, value: (n) => String(n.spot), cell: (n) => (n.spot ? "spot" : "") }, text("cluster", "Cluster", true),
      money("listCost", "List", format), money("billedCost", "Billed", format),
      { name: "ratio", title: "List / billed", value: (n) => n.listToBillRatio, cell: (n) => format.quantity(n.listToBillRatio) },
    ],
  },
  {
    of: "unmatched", title: "Lines of bills that match nothing", sort: "cost", columns: (format) => [
      text("resource", "Resource"), text("service", "Service", true), money("cost", "Charged", format), text("why", "Why it looks like a cluster's"), remedy,
    ],
  },
  {
    of: "unbilled", title: "What no bill charges", sort: "listCost", columns: (format) => [
      text("name", "Name"), text("kind", "Kind"), text("cluster", "Cluster", true), count("days", "Days"), money("listCost", "List", format), remedy,
    ],
  },
];
