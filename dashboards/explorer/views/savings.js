// What to request in place of today's requests, and what is paid for and not used.

import { el } from "../dom.js";
import { copier, named, section, tiles } from "../parts.js";
import { selection } from "../state.js";
import { Table } from "../table.js";

export const controls = ["window", "filter"];

// LEAST is the saving a month from which on a container is listed.
const LEAST = 0.005;

export async function show(root, ctx) {
  const { state, format } = ctx;
  const params = { window: state.window, ...selection(state) };
  const [sizes, volumes, pods, gpus] = await Promise.all([
    ctx.ask("model/savings/requests", params), ctx.ask("model/savings/unclaimedVolumes", params), ctx.ask("model/savings/abandonedWorkloads", { ...params, format: "json" }), ctx.ask("model/savings/idleGPUs", params),
  ]);
  ctx.offer({ path: "model/savings/requests", params, promql: { expression: "promcost_recommended_request" } });
  const { data } = sizes;
  const wasted = OTHERS.map((other) => ({ ...other, rows: other.of({ volumes: volumes.data, pods: pods.data, gpus: gpus.data }) }));
  root.append(tiles([
    ["Smaller requests save", `${format.headline(data.monthlySaving)} ${format.currency} a month`],
    ["Larger ones cost", [`${format.headline(data.monthlyRisk)} ${format.currency} a month`, " ", el("small", {}, "where requests are below what is used")]],
    ["Paid for and not used", `${format.headline(wasted.reduce((sum, { rows, cost }) => sum + rows.reduce((of, row) => of + cost(row), 0), 0))} ${format.currency} a month`],
  ]));
  root.append(...(data.notes ?? []).map((text) => el("p", { class: "muted" }, text)));
  requests(root, data.requests, ctx);
  for (const { title, rows, columns } of wasted) {
    if (rows.length > 0) root.append(section(title, new Table(columns(format), rows, { caption: title, sort: "cost" }).element));
  }
}

// requests are the tables of recommended requests: what saves, and apart from it what is at risk.
function requests(root, rows, { format }) {
  const saves = rows.filter((r) => r.monthlySaving >= LEAST);
  const lacks = rows.filter((r) => r.monthlySaving < LEAST && r.monthlyRisk >= LEAST);
  if (rows.length === 0) {
    root.append(el("p", { class: "empty" }, "Nothing is known of how high usage was. The history keeps it from now on; promcost backfill --recompute adds it to hours of before."));
    return;
  }
  if (saves.length === 0) root.append(el("p", { class: "lead" }, "No request is much higher than what is used."));
  else root.append(section("Requests that could be smaller", new Table(sized("Saves", (r) => r.monthlySaving, format), saves, { caption: "Requests that could be smaller", sort: "money" }).element));
  if (lacks.length > 0) root.append(section("Requests that are below what is used", new Table(sized("Costs", (r) => r.monthlyRisk, format), lacks, { caption: "Requests that are below what is used", sort: "money" }).element));
}

const nameOf = (r) => `${r.namespace}/${r.controller}/${r.container}`;

// sized are the columns of recommended requests.
const sized = (title, money, format) => [
  { name: "name", title: "Container", text: true, value: nameOf, cell: (r) => named(nameOf(r)) },
  { name: "money", title: `${title} a month`, value: money, cell: (r) => format.money(money(r)) },
  { name: "cpu", title: "Cores", help: "Requested now → recommended", value: (r) => r.cpu.request, cell: (r) => change(r.cpu, format.quantity, format) },
  { name: "memory", title: "Memory", help: "Requested now → recommended", value: (r) => r.memory.request, cell: (r) => change(r.memory, format.bytes, format) },
  { name: "risk", title: "Above its request", help: "How much of the time CPU usage would be above the recommended request, and is above today's", wide: true, value: (r) => r.cpu.exceedance, cell: (r) => risk(r, format) },
  { name: "owner", title: "Owner", text: true, wide: true, value: (r) => r.owner ?? "", cell: (r) => named(r.owner) },
  { name: "command", title: "kubectl", help: "The command that sets the recommended requests", text: true, wide: true, value: command, cell: (r) => copied(command(r)) },
];

// change is a request now, and what is recommended, or why nothing is.
function change(amount, text, format) {
  const now = amount.request > 0 ? text(amount.request) : "none";
  if (amount.recommended === null) return el("span", { class: "muted", title: `Nothing is recommended: ${amount.why}` }, now);
  return el("span", { title: amount.low === null ? undefined : `between ${text(amount.low)} and ${text(amount.high)}` }, `${now} → `, el("strong", {}, text(amount.recommended)));
}

// risk says in words how often a container is above its request.
function risk(r, format) {
  if (r.cpu.exceedance === null) return format.UNKNOWN;
  const words = `${format.percent(r.cpu.exceedance, 1)} of the time`;
  return [words, r.cpu.currentExceedance !== null && el("small", {}, ` now ${format.percent(r.cpu.currentExceedance, 1)}`), r.lowConfidence && el("abbr", { class: "doubt", title: `Usage of only ${r.days} days is known`, tabindex: "0", role: "note" }, "≈")];
}

// copied is a button that copies a command, which is long; nothing where there is none. Without the right to the clipboard it shows the command.
const copied = (text) => text && copier(text, text, (button) => button.replaceWith(el("code", {}, text)));

// command sets the recommended requests of a container; "" where there are none, or nothing that kubectl can change.
function command(r) {
  const list = [];
  if (r.cpu.recommended !== null) list.push(`cpu=${Math.ceil(r.cpu.recommended * 1000 - 1e-6)}m`);
  if (r.memory.recommended !== null) list.push(`memory=${Math.ceil(r.memory.recommended / 2 ** 20 - 1e-6)}Mi`);
  const names = [r.namespace, r.controller, r.container];
  if (list.length === 0 || !["deployment", "statefulset", "daemonset"].includes(r.controllerKind) || !names.every((name) => /^[a-z0-9.-]+$/.test(name))) return ""; // it is pasted into a shell
  return `kubectl -n ${r.namespace} set resources ${r.controllerKind}/${r.controller} -c ${r.container} --requests=${list.join(",")}`;
}

const text = (name, title, of, wide) => ({ name, title, text: true, wide, value: (r) => of(r) ?? "", cell: (r) => named(of(r)) });
const costs = (of, format) => ({ name: "cost", title: "Costs a month", value: of, cell: (r) => format.money(of(r)) });

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
