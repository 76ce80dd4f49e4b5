// What promcost finds in its source: which metrics are missing, what is lost without them, and what adds them.

import { el } from "../dom.js";
import { copyable, named, section, tiles } from "../parts.js";
import { Table } from "../table.js";
import { missingPod } from "./missing.js";
import { onboarding } from "./onboarding.js";

export const controls = [];

// WINDOW is what is looked at: the state of now, and quickly.
const WINDOW = "1h";

// STATES are what an input can be, the worst first, as text. What is optional and not there is no fault: it comes last.
const STATES = { __proto__: null, missing: "missing", fallback: "second best", sheet: "from the price sheet", found: "found", none: "optional, not present" };

export async function show(root, ctx) {
  const { format } = ctx;
  const [ready, answer] = await Promise.all([readiness(ctx.signal), ctx.ask("model/diagnose", { window: WINDOW })]);
  const { data } = answer;
  ctx.offer({ path: "model/diagnose", params: { window: WINDOW }, promql: { reason: "Health is not of costs: no PromQL expression yields it. Metrics that begin with promcost_ tell of promcost itself." } });
  if (data.nothing) {
    onboarding(root, data, ctx);
    return;
  }
  const inputs = data.clusters.flatMap((c) => c.inputs);
  const count = (required, of) => of.filter((i) => Boolean(i.required) === required).length;
  const lost = inputs.filter((i) => i.state === "missing");
  const missing = `${count(true, lost)} of ${count(true, inputs)} required, ${count(false, lost)} of ${count(false, inputs)} optional`;
  const read = (name) => data.sources.reduce((sum, s) => sum + (s[name] ?? 0), 0);
  const lacking = ready.ok && !data.complete;
  root.append(el("p", { class: ready.ok && data.complete ? "lead" : "lead over" }, lacking ? "promcost runs, but required metrics are missing." : ready.text),
    required(data.clusters),
    tiles([
      ["Metrics", data.complete ? "all required metrics are there" : "required metrics are missing"], ["Missing", missing],
      new Date(data.oldest) < new Date(data.window.start) && ["Samples since", el("small", {}, format.time(data.oldest))],
      ["Read for the last hour", `${read("samples").toLocaleString("en")} samples of ${read("series").toLocaleString("en")} series`],
      ["In", `${format.duration(1000 * read("seconds"))}, ${format.bytes(read("bytes"))}, ${read("requests").toLocaleString("en")} requests`],
    ].filter(Boolean)));
  root.append(missingPod(ctx));
  for (const cluster of data.clusters) root.append(...clusterOf(cluster, format));
  if (data.prices.length > 0) root.append(pricesOf(data, format));
  for (const source of data.sources) root.append(sourceOf(source, format));
}

// required are the required inputs that are missing, with what is lost and what adds them; nothing where none are.
function required(clusters) {
  const lost = clusters.flatMap((c) => c.inputs.filter((i) => i.required && i.state === "missing").map((input) => ({ input, cluster: c.cluster })));
  return lost.length === 0 ? "" : el("ul", { class: "problems required" }, lost.map(({ input, cluster }) => el("li", {}, el("strong", {}, input.name), ` of cluster ${cluster}`, ...remedy(...lack(input)))));
}

// KINDS are the kinds of sources of prices, as text.
const KINDS = { __proto__: null, metric: "metric", sheet: "price sheet", exporter: "other exporter", list: "price list", estimate: "estimate", default: "default", unknown: "not known" };

// pricesOf is what the cost of the last hour rests on.
function pricesOf(data, format) {
  const age = (p) => (p.asOf ? Math.max(0, (new Date(data.window.end) - new Date(p.asOf)) / 864e5) : undefined);
  const table = new Table([
    { name: "source", title: "Prices by", text: true, value: (p) => p.source, cell: (p) => named(p.source) },
    { name: "kind", title: "Kind", term: "Kind of price", text: true, value: (p) => p.kind, cell: (p) => el("span", { class: `state ${p.kind === "default" ? "missing" : p.kind === "estimate" ? "fallback" : "found"}` }, KINDS[p.kind] ?? p.kind) },
    { name: "age", title: "Age", wide: true, value: age, cell: (p) => (p.asOf ? `${Math.floor(age(p))}d` : "") },
    { name: "nodes", title: "Nodes", term: "Priced nodes", wide: true, value: (p) => p.nodes.length, cell: (p) => el("span", { title: p.nodes.slice(0, 20).join("\n") }, p.nodes.length.toLocaleString("en")) },
    { name: "share", title: "Of the cost", value: (p) => p.share, cell: (p) => format.percent(p.share) },
  ], data.prices, { caption: "What the last hour's cost rests on", sort: "share" });
  return section("Prices", table.element);
}

// readiness is what /-/ready says. Not to be ready is an answer, too.
async function readiness(signal) {
  const response = await fetch(new URL("../-/ready", document.baseURI), { signal });
  return { ok: response.ok, text: (await response.text()).trim() };
}

// lack is what is lost without an input, and what adds it.
const lack = (input) => (input.state === "found" ? [] : [input.missing, input.remedy]);

const remedy = (missing, text) => [missing && el("div", {}, missing), copyable(text)];

// clusterOf is what a cluster has of each input, what is wrong first.
function clusterOf(cluster, format) {
  const order = Object.keys(STATES);
  const rank = (input) => String(2 * order.indexOf(input.state) + (input.required ? 0 : 1));
  const problems = (cluster.problems ?? []).map((text) => el("li", {}, text));
  const gaps = (cluster.uncovered ?? []).map((w) => el("li", {}, `no samples from ${format.span(w)}`));
  const table = new Table([
    { name: "name", title: "Input", text: true, value: (i) => i.name, cell: (i) => i.name },
    { name: "state", title: "State", text: true, value: (i) => rank(i), csv: (i) => i.state, cell: (i) => el("span", { class: `state ${i.state}` }, STATES[i.state] ?? i.state, i.required && i.state === "missing" ? ", required" : "") },
    { name: "remedy", title: "What is lost, and what to do", text: true, value: (i) => lack(i).filter(Boolean).join(": "), cell: (i) => remedy(...lack(i)) },
    { name: "metric", title: "Metric", text: true, wide: true, value: (i) => i.alternatives[0]?.metric ?? "", cell: (i) => named(i.alternatives[0]?.metric ?? "") },
    { name: "series", title: "Series", wide: true, value: (i) => i.alternatives[0]?.series, cell: (i) => (i.alternatives[0]?.series ?? 0).toLocaleString("en") },
    { name: "interval", title: "Scraped", text: true, wide: true, value: (i) => i.scrapeInterval ?? "", cell: (i) => (i.scrapeInterval ? `every ${i.scrapeInterval}` : "") },
  ], cluster.inputs, { caption: `Inputs of cluster ${cluster.cluster}`, sort: "state" });
  const facts = [cluster.scrapeInterval && `scraped every ${cluster.scrapeInterval}`, cluster.newest && `last sample ${format.time(cluster.newest)}`].filter(Boolean).join(", ");
  return [section(`Cluster ${cluster.cluster}`, facts && el("p", { class: "muted" }, facts), problems.length + gaps.length > 0 && el("ul", { class: "problems" }, problems, gaps), table.element)];
}

// sourceOf is what was read of a source, and how long each input took.
function sourceOf(source, format) {
  const table = new Table([
    { name: "name", title: "Input", text: true, value: (i) => i.name, cell: (i) => i.name },
    ...["Requests", "Samples"].map((title) => [title, title.toLowerCase()]).map(([title, name]) => ({ name, title, wide: name === "requests", value: (i) => i[name], cell: (i) => i[name].toLocaleString("en") })),
    { name: "bytes", title: "Bytes", value: (i) => i.bytes, cell: (i) => format.bytes(i.bytes) },
    { name: "time", title: "Time", value: (i) => i.requestSeconds, cell: (i) => format.duration(1000 * i.requestSeconds) },
    ...["Retries", "Errors"].map((title) => [title, title.toLowerCase()]).map(([title, name]) => ({ name, title, wide: true, value: (i) => i[name], cell: (i) => String(i[name]) })),
  ], source.inputs ?? [], { caption: `What was read of ${source.name}`, sort: "time" });
  return el("details", {}, el("summary", {}, `What was read of ${source.name}, and how long it took`), table.element);
}
