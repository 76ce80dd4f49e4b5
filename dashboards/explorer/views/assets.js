// What costs money: nodes with what is done with them, disks, load balancers and the rest.

import { el } from "../dom.js";
import { bar, basis, doubt, monthly, named, section, tiles, when } from "../parts.js";
import { ESTIMATED } from "../state.js";
import { Table } from "../table.js";
import { empty } from "./onboarding.js";

export const controls = ["window", "prices"];

// TITLES are the types of assets in the order in which they are shown.
const TITLES = {
  __proto__: null,
  Node: "Nodes", Disk: "Disks", LoadBalancer: "Load balancers", Network: "Network", ClusterManagement: "Cluster management", Cloud: "Outside of clusters",
};

export async function show(root, ctx) {
  const { state, format } = ctx;
  const params = { window: state.window, accumulate: "true", ...(state.prices === "list" ? { disableAdjustments: "true" } : ESTIMATED) };
  const [assets, used, tagged] = await Promise.all([
    ctx.ask("model/assets", params),
    ctx.ask("model/allocation", {
      window: state.window, accumulate: "true", aggregate: "cluster,node", idle: "false", shareTenancyCosts: "false", nulls: "true",
      fields: "properties,minutes,cpuCoreHours,cpuCoreUsageAverage,ramByteHours,ramByteUsageAverage,totalCost",
    }),
    outside(ctx),
  ]);
  const known = Object.values(assets.data[0] ?? {});
  const window = known[0]?.window;
  const rows = [...known, ...tagged];
  ctx.offer({ path: "model/assets", params, window, promql: { reason: "The history of single assets is in promcost_node_hourly_cost and the like, without what bills add." } });
  if (known.length === 0) {
    await empty(root, assets, ctx);
    return;
  }
  const sum = (list) => list.reduce((total, a) => total + (a.totalCost ?? 0), 0);
  const of = (type) => rows.filter((a) => (TITLES[a.type] ? a.type : "Cloud") === type);
  const types = Object.keys(TITLES).filter((type) => of(type).length > 0);
  const month = ["A month", [format.headline(monthly(sum(rows), assets)), " ", el("small", {}, assets.coverage ?? "at this rate")]];
  root.append(tiles([[`Total, ${basis(state, assets)}`, [`${format.headline(sum(rows))} ${format.currency}`, doubt(assets)], "Total"], month, ...types.map((type) => [TITLES[type], format.headline(sum(of(type)))]), when(window, format)]));
  const usage = usageOf(known, Object.values(used.data[0] ?? {}));
  for (const type of types) {
    const columns = [...(COLUMNS[type] ?? COLUMNS.other)(format, usage), ...costs(format, assets, basis(state, assets))];
    root.append(section(TITLES[type], new Table(columns, of(type), { caption: TITLES[type], unit: format.currency, sort: "cost" }).element));
  }
}

// outside are what bills charge outside of clusters for a team, a namespace or the like, by their tags, as assets. All else that is outside is among the assets of the API.
async function outside({ state, ask }) {
  const costs = await ask("model/allocation", { window: state.window, aggregate: "cluster", accumulate: "true", fields: "window" }, false);
  const { window } = Object.values(costs.data[0] ?? {})[0] ?? {};
  if (!window) return [];
  const { data } = await ask("model/cloudCost", { window: `${window.start},${window.end}`, aggregate: "provider,accountID,service,providerID", accumulate: "true", filter: `kind:"external"` }, false);
  return Object.values(data.sets[0]?.cloudCosts ?? {}).map(({ properties: { provider, accountID, service, providerID }, amortizedNetCost: { cost } }) => ({ type: "Cloud", totalCost: cost, properties: { name: providerID ?? service, service, provider, account: accountID } }));
}

// usageOf are the parts of nodes' cores and memory that were allocated and used, by cluster and name. Nodes of one name after each other are one.
function usageOf(assets, allocations) {
  const nodes = new Map();
  for (const a of assets.filter((a) => a.type === "Node")) {
    const key = keyOf(a.properties.cluster, a.properties.name);
    const n = nodes.get(key) ?? { cpu: 0, ram: 0 };
    nodes.set(key, { cpu: n.cpu + a.cpuCoreHours, ram: n.ram + a.ramByteHours });
  }
  const parts = new Map();
  for (const row of allocations) {
    const key = keyOf(row.properties?.cluster, row.properties?.node);
    const n = nodes.get(key);
    if (!n) continue;
    const used = (average) => (average === null || average === undefined ? null : average * row.minutes / 60);
    parts.set(key, {
      cpu: { allocated: row.cpuCoreHours / n.cpu, used: ratio(used(row.cpuCoreUsageAverage), n.cpu) },
      ram: { allocated: row.ramByteHours / n.ram, used: ratio(used(row.ramByteUsageAverage), n.ram) },
    });
  }
  return (a, resource) => parts.get(keyOf(a.properties.cluster, a.properties.name))?.[resource];
}

const keyOf = (cluster, name) => JSON.stringify([cluster, name]);
const ratio = (part, whole) => (part === null ? null : part / whole);

// costs are the columns that all assets have.
function costs(format, answer, prices) {
  return [
    { name: "cost", title: `Cost, ${prices}`, term: "Cost", value: (a) => a.totalCost, cell: (a) => format.money(a.totalCost) },
    { name: "month", title: "A month", wide: true, help: answer.coverage, value: (a) => a.totalCost, cell: (a) => format.money(monthly(a.totalCost, answer)) },
  ];
}

const name = { name: "name", title: "Name", text: true, value: (a) => a.properties.name ?? "", cell: (a) => named(a.properties.name) };
const text = (id, title, value) => ({ name: id, title, text: true, wide: true, value: (a) => value(a) ?? "", cell: (a) => value(a) ?? "" });

// part is a column with a bar of what was used, over what was allocated.
function part(resource, title, amount, usage, format) {
  return {
    name: resource, title, term: `${title} used`, wide: resource === "ram",
    value: (a) => usage(a, resource)?.used,
    cell: (a) => {
      const u = usage(a, resource);
      return [el("span", { class: "amount" }, amount(a)), " ", bar(u?.used, u?.allocated, `${format.percent(u?.used)} used, ${format.percent(u?.allocated)} allocated`)];
    },
  };
}

const COLUMNS = {
  __proto__: null,
  Node: (format, usage) => [
    name, text("kind", "Type", (a) => a.nodeType), text("spot", "Spot", (a) => (a.preemptible ? "spot" : "")), text("pool", "Pool", (a) => a.pool),
    part("cpu", "CPU", (a) => format.quantity(a.cpuCores), usage, format), part("ram", "Memory", (a) => format.bytes(a.ramBytes), usage, format),
    { name: "gpu", title: "GPUs", wide: true, value: (a) => a.gpuCount, cell: (a) => (a.gpuCount ? format.quantity(a.gpuCount) : "") },
  ],
  Disk: (format) => [
    name, text("claim", "Claim", (a) => a.claimName && `${a.claimNamespace}/${a.claimName}`), text("class", "Class", (a) => a.storageClass),
    {
      name: "bytes", title: "Size, used", value: (a) => a.bytes,
      cell: (a) => {
        const used = a.byteHoursUsed === null || a.byteHoursUsed === undefined ? null : a.byteHoursUsed / a.byteHours;
        return [el("span", { class: "amount" }, format.bytes(a.bytes)), " ", bar(used, undefined, `${format.percent(used)} used`)];
      },
    },
  ],
  LoadBalancer: () => [name, text("ip", "Address", (a) => a.ip), text("private", "Reached", (a) => ({ true: "inside", false: "from the internet" })[a.private])],
  Cloud: () => [name, text("service", "Service", (a) => a.properties.service), text("provider", "Provider", (a) => a.properties.provider), text("account", "Account", (a) => a.properties.account)],
  other: () => [name, text("provider", "Provider", (a) => a.properties.provider)],
};
