// What bills say: list against billed, and what of the bills matches the clusters.

import { el } from "../dom.js";
import { copyable, example, named, section, tiles } from "../parts.js";
import { Table } from "../table.js";

export const controls = ["window"];

const EXAMPLE = `bills:
- name: aws
  path: /bills/aws   # FOCUS files: CSV or Parquet, as AWS Data Exports, Azure and BigQuery write them
`;

export async function show(root, ctx) {
  const { state, format } = ctx;
  const params = { window: state.window };
  const costs = { ...params, aggregate: "namespace", idle: "true", accumulate: "true", fields: "totalCost" };
  const [report, billed, list] = await Promise.all([
    ctx.ask("model/reconciliation", params), ctx.ask("model/allocation", costs), ctx.ask("model/allocation", { ...costs, reconcile: "false" }),
  ]);
  const { data } = report;
  ctx.offer({ path: "model/reconciliation", params, promql: { reason: "Metrics know of the newest day of bills only: promcost_bill_matched_ratio and promcost_list_to_bill_ratio." } });
  if (!data.bills) {
    root.append(el("p", { class: "empty" }, "There are no bills: all costs are at list prices. Name bills in the file of --config.file:"), example("An example of bills", EXAMPLE));
    return;
  }
  const rows = rowsOf(list.data[0] ?? {}, billed.data[0] ?? {});
  const total = (key) => rows.reduce((sum, r) => sum + r[key], 0);
  root.append(tiles([
    ["At list prices", `${format.headline(total("list"))} ${format.currency}`], ["As billed", `${format.headline(total("billed"))} ${format.currency}`],
    ["Difference", `${format.signed(total("billed") - total("list"))} (${format.growth(total("billed") / total("list") - 1)})`],
    ["Billed until", billed.billedUntil ? format.time(billed.billedUntil) : "no bill reaches the window"],
  ]));
  root.append(section("List against billed", new Table([
    { name: "name", title: "Namespace", text: true, value: (r) => r.name, cell: (r) => named(r.name) },
    money("list", "List", format), money("billed", "Billed", format),
    { name: "difference", title: "Difference", value: (r) => r.billed - r.list, cell: (r) => format.signed(r.billed - r.list) },
    { name: "rate", title: "%", wide: true, value: (r) => rate(r), cell: (r) => format.growth(rate(r)) },
  ], rows, { caption: "Costs at list prices and as billed, by namespace", sort: "billed" }).element));
  for (const part of PARTS) {
    const rows = data[part.of] ?? [];
    if (rows.length > 0) root.append(section(part.title, new Table(part.columns(format), rows, { caption: part.title, sort: part.sort }).element));
  }
}

// rate is how much more than list is billed; unknown where nothing is charged at list prices.
const rate = (r) => (r.list === 0 ? null : r.billed / r.list - 1);

// rowsOf joins two answers by their names.
function rowsOf(list, billed) {
  return [...new Set([...Object.keys(list), ...Object.keys(billed)])].map((name) => ({ name, list: list[name]?.totalCost ?? 0, billed: billed[name]?.totalCost ?? 0 }));
}

const text = (name, title, wide) => ({ name, title, text: true, wide, value: (r) => r[name] ?? "", cell: (r) => named(r[name]) });
const money = (name, title, format) => ({ name, title, value: (r) => r[name], cell: (r) => format.money(r[name]) });
const count = (name, title) => ({ name, title, wide: true, value: (r) => r[name], cell: (r) => r[name].toLocaleString("en") });
const remedy = { name: "remedy", title: "What to do", text: true, value: (r) => r.remedy ?? "", cell: (r) => copyable(r.remedy) };

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
    of: "kinds", title: "What is charged", sort: "cost", columns: (format) => [
      text("kind", "Kind"), count("lines", "Lines"), money("cost", "Charged", format), { name: "share", title: "Share", value: (k) => k.share, cell: (k) => format.percent(k.share, 1) },
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
