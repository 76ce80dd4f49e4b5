// What bills charge for one namespace: by resource, and by the lines behind it. Both add up to its difference from list prices.

import { el } from "../dom.js";
import { named, section, tiles } from "../parts.js";
import { condition } from "../state.js";
import { Table } from "../table.js";

// RESOURCES are the costs of an allocation with what bills add, by their names in the API. Shared costs have both in one number.
const RESOURCES = [
  ["cpu", "CPU"], ["ram", "RAM"], ["gpu", "GPU"], ["pv", "Disk"], ["network", "Network"], ["loadBalancer", "Load balancers"],
];

const FIELDS = `name,window,properties,totalCost,sharedCost,pvs,lbAllocations,${RESOURCES.flatMap(([name]) => [`${name}Cost`, `${name}CostAdjustment`]).join(",")}`;

// namespace shows the costs of a namespace in a window, of which bills reach the days from start to end.
export async function namespace(root, name, { start, end }, ctx) {
  const { state, format } = ctx;
  const costs = (window, more) => ctx.ask("model/allocation", { window, filter: condition("namespace", name), idle: "false", accumulate: "true", fields: FIELDS, ...more });
  const reached = `${start},${end}`;
  const LIST = { reconcile: "false" };
  const [billed, list, nodes, nodesAtList, lines] = await Promise.all([
    costs(state.window, { aggregate: "namespace" }), costs(state.window, { aggregate: "namespace", ...LIST }),
    ...(start ? [
      costs(reached, { aggregate: "cluster,node" }), costs(reached, { aggregate: "cluster,node", ...LIST }),
      ctx.ask("model/cloudCost", { window: reached, aggregate: "kind,cluster,asset,service,description", accumulate: "true", filter: `kind!:"cloud","external"` }),
    ] : []),
  ]);
  const rowsOf = (answer) => Object.values(answer.data[0] ?? {});
  const [row, atList] = [rowsOf(billed)[0], rowsOf(list)[0]];
  if (!row) {
    root.append(el("p", { class: "empty" }, `Nothing of ${name} ran in this window. Choose another window.`));
    return;
  }
  const parts = [...RESOURCES.map(([of, title]) => ({ name: title, list: row[`${of}Cost`] ?? 0, billed: (row[`${of}Cost`] ?? 0) + (row[`${of}CostAdjustment`] ?? 0) })), { name: "Shared", list: atList.sharedCost, billed: row.sharedCost }];
  root.append(tiles([
    ["At list prices", `${format.money(atList.totalCost)} ${format.currency}`], ["As billed", `${format.money(row.totalCost)} ${format.currency}`],
    ["Difference", el("strong", { class: "headline" }, format.signed(row.totalCost - atList.totalCost))], ["Window", el("small", {}, format.span(row.window))],
  ]));
  root.append(section("By resource", new Table([
    { name: "name", title: "Resource", term: "Part", text: true, value: (r) => r.name, cell: (r) => r.name },
    money("list", "List", format), money("billed", "Billed", format),
    { name: "difference", title: "Difference", value: (r) => r.billed - r.list, cell: (r) => difference(r, format) },
  ], parts.filter((p) => p.list !== 0 || p.billed !== 0), { caption: `Costs of ${name} at list prices and as billed, by resource`, unit: format.currency, sort: "billed" }).element));
  if (start) root.append(behind(name, pools(rowsOf(nodes), rowsOf(nodesAtList)), Object.values(lines.data.sets[0]?.cloudCosts ?? {}), { start, end }, format));
}

// difference is what a row is billed more or less than at list prices.
export const difference = ({ list, billed }, format) => (Math.abs(billed - list) < 0.005 ? "0.00" : format.signed(billed - list));

// money is a column of amounts.
export const money = (name, title, format) => ({ name, title, value: (r) => r[name], cell: (r) => format.money(r[name]) });

// pools are the amounts of rows by cluster and node that one asset, or all of a kind in a cluster, charge: {list, billed, of(line)}.
function pools(rows, rowsAtList) {
  const found = new Map();
  const add = (key, list, adjustment, of) => {
    const pool = found.get(key) ?? { list: 0, billed: 0, of };
    pool.list += list;
    pool.billed += list + adjustment;
    found.set(key, pool);
  };
  const shared = new Map(rowsAtList.map((r) => [r.name, r.sharedCost]));
  for (const r of rows) {
    const { cluster, node } = r.properties;
    const one = (kind, asset) => (l) => l.kind === kind && l.cluster === cluster && l.asset === asset;
    const sum = (suffix) => ["cpu", "ram", "gpu"].reduce((t, of) => t + (r[`${of}Cost${suffix}`] ?? 0), 0);
    add(`node/${cluster}/${node}`, sum(""), sum("Adjustment"), one("node", node));
    for (const [key, v] of Object.entries(r.pvs ?? {})) add(key, v.cost, v.adjustment ?? 0, (l) => l.kind === "volume" && key === `cluster=${l.cluster}:name=${l.asset}`);
    for (const [key, b] of Object.entries(r.lbAllocations ?? {})) add(`balancer/${key}`, b.cost, b.adjustment ?? 0, (l) => l.kind === "load balancer" && key === `${l.cluster}/${l.asset}`);
    add(`network/${cluster}`, r.networkCost ?? 0, r.networkCostAdjustment ?? 0, (l) => l.kind === "network" && l.cluster === cluster);
    const atList = shared.get(r.name) ?? 0;
    add(`shared/${cluster}`, atList, r.sharedCost - atList, (l) => ["management", "local disk"].includes(l.kind) && l.cluster === cluster);
  }
  return [...found.values()].filter((p) => p.list !== 0 || p.billed !== 0);
}

// behind are the lines of bills that charge pools, each with the part that is a namespace's. Lines of an asset charge it in proportion to their costs.
function behind(name, all, costs, window, format) {
  const lines = costs.map((c) => ({ ...c.properties, cost: c.amortizedNetCost.cost }));
  const found = new Map();
  const [charged, list] = [(of) => all.reduce((sum, p) => sum + p[of], 0)].flatMap((sum) => [sum("billed"), sum("list")]);
  let unbilled = 0;
  for (const pool of all) {
    const own = lines.filter(pool.of);
    const whole = own.reduce((sum, l) => sum + l.cost, 0);
    if (whole === 0) {
      unbilled += pool.billed;
      continue;
    }
    for (const l of own) {
      const key = JSON.stringify([l.kind, l.service, l.description]);
      const line = found.get(key) ?? { kind: l.kind, service: l.service ?? "", description: l.description ?? l.service ?? "", charged: 0 };
      line.charged += pool.billed * l.cost / whole;
      found.set(key, line);
    }
  }
  const rows = [...found.values()];
  if (Math.abs(unbilled) >= 0.005) rows.push({ kind: "", service: "", description: "No line charges it: at list prices", charged: unbilled });
  return section("The lines behind it", el("p", { class: "muted" },
    `In ${format.span(window)}, the days that bills reach: lines charge ${format.money(charged)}, list prices come to ${format.money(list)}, and the difference is ${format.signed(charged - list)}.`),
  new Table([
    { name: "name", title: "Line", text: true, value: (r) => r.description, cell: (r) => named(r.description) },
    { name: "service", title: "Service", text: true, wide: true, value: (r) => r.service, cell: (r) => named(r.service) },
    { name: "kind", title: "Kind", text: true, wide: true, value: (r) => r.kind, cell: (r) => r.kind },
    money("charged", "Charged", format),
  ], rows, { caption: `Lines of bills behind ${name}`, unit: format.currency, sort: "charged" }).element);
}
