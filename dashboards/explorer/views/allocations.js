// What workloads cost: totals, costs over time, where they are, and a table to drill down in.

import { COLORS, StackedBars, treemap } from "../chart.js";
import { el } from "../dom.js";
import { below, deeper, isIdle, isPart, isWorkload, ofRow, path, question, workload } from "../state.js";
import { promql } from "../promql.js";
import { term } from "../help.js";
import { basis, doubt, monthly, named, opener, partial, tiles, when } from "../parts.js";
import { Table } from "../table.js";
import { TROUBLESHOOTING } from "../footer.js";
import { empty } from "./onboarding.js";

export const controls = ["window", "aggregate", "filter", "idle", "share", "external", "prices", "compare"];

const IDLE = "__idle__";

// NUMBERS are what rows need.
const NUMBERS = "name,window,totalCost,totalEfficiency,errorBounds,cpuCost,cpuCostAdjustment,ramCost,ramCostAdjustment,gpuCost,gpuCostAdjustment," +
  "pvCost,pvCostAdjustment,networkCost,networkCostAdjustment,loadBalancerCost,loadBalancerCostAdjustment,sharedCost,externalCost";

export async function show(root, ctx) {
  const { state, format } = ctx;
  const fields = state.aggregate.split(",");
  const asked = { window: state.window, aggregate: state.aggregate, ...question(state) };
  const params = { ...asked, accumulate: "true", nulls: "true" };
  const steps = ctx.ask("model/allocation", { ...asked, accumulate: stepOf(state.window), fields: "window,totalCost" });
  steps.catch(() => {}); // handled below, where the steps are awaited
  const answer = await ctx.ask("model/allocation", { ...params, fields: NUMBERS, explain: "true" });
  const rows = Object.values(answer.data[0] ?? {});
  root.append(crumbs(ctx));
  const window = rows[0]?.window;
  const offered = { path: "model/allocation", params, window, promql: window ? promql(state, rows, window, Boolean(answer.billedUntil)) : undefined };
  ctx.offer(offered);
  if (rows.length === 0) {
    if (state.filter || state.path) root.append(el("p", { class: "empty" }, "Nothing that the filter selects ran in this window. Change the filter, go back up, or choose another window. If it did run then: ", el("a", { href: `${TROUBLESHOOTING}#pods-are-missing`, target: "_blank", rel: "noopener" }, "why pods are missing"), "."));
    else await empty(root, answer, ctx);
    return;
  }
  const hours = (new Date(window.end) - new Date(window.start)) / 3600e3;
  const sumOf = (list) => list.reduce((sum, r) => sum + r.totalCost, 0);
  const idle = sumOf(rows.filter((r) => isIdle(r.name)));
  const total = sumOf(rows) - (isPart(state) ? idle : 0); // of rows, which had no idle
  const headline = new Headline(rows, { total, idle }, answer, window, ctx);
  const colors = colorsOf(rows);
  const table = costTable(rows, { total, hours, answer, colors, fields, ctx });
  const [bars, map, sum] = [el("div", { class: "picture" }), el("div", { class: "picture map" }), table.sum];
  root.append(headline.element, el("div", { class: "pictures" }, bars, map), table.table.element, sum);

  const frees = [];
  const fill = (where, promise, f) => promise.then((a) => { if (!ctx.signal.aborted) f(a); }).catch((err) => {
    if (!ctx.signal.aborted) where.replaceChildren(el("p", { class: "muted" }, err.message.split("\n")[0]));
  });
  fill(bars, steps, (a) => {
    const chart = chartOf(a.data, rows, colors, ctx);
    if (!chart) return;
    frees.push(() => chart.free());
    bars.append(chart.element);
    if (stepOf(state.window) !== "day") return;
    ctx.ask("model/anomalies", { ...asked, limit: 200 }, false).then(({ data }) => { if (!ctx.signal.aborted) chart.mark(unusualDays(data.rows, chart.options.steps, ctx)); }).catch(() => {}); // the costs are shown without marks
  });
  const next = below(fields);
  const parts = next === "" ? Promise.resolve({ data: [{}] }) : ctx.ask("model/allocation", { ...params, aggregate: `${state.aggregate},${next}`, limit: 400, fields: "name,totalCost" });
  fill(map, parts, (a) => {
    map.append(el("figure", {}, mapOf(rows, Object.values(a.data[0] ?? {}), colors, fields, ctx)));
  });
  const before = { ...asked, ...question(ofRow(state)), baseline: state.baseline, limit: 0 };
  fill(headline.change, ctx.ask("model/allocation/change", before, state.baseline !== ""), (a) => {
    if (!a.data.total) return;
    offered.baseline = a.data.baselineWindow;
    headline.compare(a.data);
    table.compare(a.data);
  });
  return () => frees.forEach((free) => free());
}

// stepOf is how finely costs are shown over time: about thirty bars, at most ninety.
function stepOf(window) {
  const [start, end] = window.split(",").map((t) => new Date(t));
  const hours = end ? (end - start) / 3600e3 : { h: 1, d: 24, w: 168 }[window.at(-1)] * parseFloat(window) || { today: 24, yesterday: 24, quarter: 2208, lastquarter: 2208 }[window] || 744;
  if (hours <= 72) return "hour";
  return hours <= 92 * 24 ? "day" : "week";
}

// crumbs are where drilling down has led, with ways back, and to what else there is of a workload.
function crumbs({ state, go }) {
  const steps = path(state);
  if (steps.length === 0) return "";
  const to = (n) => () => go({ path: n === 0 ? "" : JSON.stringify(steps.slice(0, n)), aggregate: n === 0 ? steps[0][0] : below([steps[n - 1][0]]) });
  return el("nav", { class: "path", "aria-label": "Where drilling down has led" }, el("button", { type: "button", class: "link", onclick: to(0) }, "all"),
    steps.map(([field, value], i) => [el("span", { "aria-hidden": "true" }, " › "),
      i === steps.length - 1 ? el("span", { "aria-current": "page" }, `${field} ${value}`) : el("button", { type: "button", class: "link", onclick: to(i + 1) }, `${field} ${value}`)]),
    isWorkload(...steps.at(-1)) && [" · ", el("button", { type: "button", class: "link", onclick: () => go({ view: "workload" }) }, "requests, usage and more")]);
}

// colorsOf are the colours of rows: those that cost most have one each, idle and the rest are grey.
function colorsOf(rows) {
  const ranked = rows.filter((r) => !isIdle(r.name)).sort((a, b) => b.totalCost - a.totalCost);
  return new Map([...ranked.map((r, i) => [r.name, i < COLORS ? i : "--other"]), ...rows.filter((r) => isIdle(r.name)).map((r) => [r.name, "--idle"])]);
}

// errorOf is how far the sum of rows may be off, relative to it: the bounds hold for cpu, memory and GPUs.
function errorOf(rows) {
  let [least, most, sum] = [0, 0, 0];
  for (const r of rows) {
    const cost = r.cpuCost + r.ramCost + r.gpuCost;
    const { lower, upper } = r.errorBounds ?? { lower: 1, upper: 1 };
    least += upper === null ? 0 : cost / upper;
    most += lower > 0 ? cost / lower : Infinity;
    sum += cost;
  }
  const total = rows.reduce((t, r) => t + r.totalCost, 0);
  return total > 0 ? Math.max(most - sum, sum - least) / total : null;
}

// periodOf is how a window of so many hours is called; "" for those without a name. A week may be as much longer as the running day is.
function periodOf(hours) {
  if (Math.abs(hours - 24) < 2) return "day";
  if (hours > 160 && hours < 193) return "week";
  return hours > 27.9 * 24 && hours < 32 * 24 ? "month" : "";
}

// Headline is the line of totals.
class Headline {
  constructor(rows, { total, idle }, answer, window, { format, go, state }) {
    Object.assign(this, { format, go, hours: (new Date(window.end) - new Date(window.start)) / 3600e3, given: state.baseline !== "" });
    const part = isPart(state);
    const own = part ? rows.filter((r) => !isIdle(r.name)) : rows;
    this.change = el("span", { class: "muted" }, "…");
    this.against = el("span", {}, "Against the time before");
    this.element = tiles([
      [`Total, ${basis(state, answer)}`, [
        el("strong", { class: "headline" }, `${format.headline(total)} ${format.currency}`), " ", el("small", { title: "how far it may be off" }, format.bound(errorOf(own))), doubt(answer),
        part && idle !== 0 && el("small", { class: "idle" }, " and ", term(`${format.headline(idle)} idle`, "Idle of these")),
      ], "Total"],
      idle !== 0 && !part && ["Idle", [format.headline(idle), " ", el("small", {}, format.percent(idle / total))]],
      ["A month", [format.headline(monthly(total, answer)), " ", el("small", {}, answer.coverage ?? "at this rate")]],
      [this.against, this.change, "Against"],
      when(window, format),
    ].filter(Boolean));
  }

  compare(data) {
    const { format } = this;
    const { total, baselineWindow } = data;
    const why = el("button", { type: "button", class: "link", onclick: () => this.go({ view: "why" }) }, "why?");
    this.against.textContent = this.given ? `Against ${format.span(baselineWindow)}` : `Against the ${periodOf(this.hours) || "time"} before`;
    this.against.title = format.span(baselineWindow);
    const part = partial(data);
    if (part) {
      this.change.replaceChildren(format.UNKNOWN, " ", el("small", {}, part), " ", why);
      return;
    }
    this.change.classList.remove("muted");
    this.change.replaceChildren(
      el("span", { class: total.change > 0 ? "more" : "less" }, total.relative === null ? format.signed(total.change) : format.growth(total.relative)), " ",
      total.withinBounds ? el("small", {}, "within the error bounds ") : "", why);
  }
}

// costTable is the table of rows, and the sum of those that are selected.
function costTable(rows, { total, hours, answer, colors, fields, ctx }) {
  const { format, go, state } = ctx;
  const changes = new Map();
  let lacking = ""; // what says that only a part of a window has costs
  const open = (name) => {
    const to = name === IDLE && state.idle === "row" ? { idle: "node" } : deeper(name, fields, state);
    const own = workload(name, fields, state);
    if (!to && own) return opener(name, () => go(own), "requests, usage and more");
    return to ? opener(name, () => go(to)) : named(name);
  };
  const details = (name) => {
    const own = fields.at(-1) !== "container" && workload(name, fields, state);
    return own && el("button", { type: "button", class: "link details", "aria-label": `details of ${name}`, title: "Requests, usage and more", onclick: () => go(own) }); // its text is in style.css: the cell says the name alone
  };
  const money = (name, title, value, wide = 2) => ({ name, title, wide, value, cell: (r) => small(value(r), format) });
  const part = (name) => (r) => r[`${name}Cost`] + (r[`${name}CostAdjustment`] ?? 0);
  const share = (r) => (isPart(state) && isIdle(r.name) ? null : r.totalCost / total);
  const some = (column) => rows.some((r) => column.value(r) !== 0);
  const columns = [
    { name: "name", title: fields.join(", "), term: "Rows", text: true, value: (r) => r.name, cell: (r) => [el("i", { class: `swatch ${swatch(colors.get(r.name))}`, "aria-hidden": "true" }), open(r.name), details(r.name)] },
    { ...money("cost", `Cost, ${basis(state, answer)}`, (r) => r.totalCost, false), term: "Cost", cell: (r) => el("span", { title: idleOf(r, rows, format) }, format.money(r.totalCost)) },
    { name: "bound", title: "±", wide: 2, value: (r) => errorOf([r]), cell: (r) => (r.errorBounds ? format.bound(errorOf([r])) : "") },
    { name: "share", title: "Share", wide: true, under: true, value: share, cell: (r) => (share(r) === null ? "" : [meter(share(r)), format.percent(share(r), 1)]) },
    money("cpu", "CPU", part("cpu")), money("ram", "RAM", part("ram")),
    ...[
      money("gpu", "GPU", part("gpu")), money("disk", "Disk", part("pv")), money("network", "Net", (r) => part("network")(r) + part("loadBalancer")(r)),
      money("shared", "Shared", (r) => r.sharedCost), money("external", "External", (r) => r.externalCost),
    ].filter(some),
    { name: "efficiency", title: "Efficiency", wide: true, value: (r) => r.totalEfficiency, cell: (r) => format.percent(r.totalEfficiency) },
    { ...money("month", "A month", (r) => monthly(r.totalCost, answer), 1), under: true, help: answer.coverage },
    ...(state.baseline ? [money("before", "Before", (r) => changes.get(r.name)?.baseline ?? null, 1)] : []),
    {
      name: "change", title: `Δ ${state.baseline ? "" : periodOf(hours)}`.trim(), term: "Change", value: (r) => changes.get(r.name)?.change,
      cell: (r) => {
        const c = changes.get(r.name);
        if (!c) return "";
        const colour = lacking || c.withinBounds || Math.abs(c.change) < 0.005 ? "muted" : c.change > 0 ? "more" : "less";
        return [el("span", { class: colour, title: lacking || undefined }, lacking ? format.UNKNOWN : Math.abs(c.change) < 0.005 ? "0.00" : format.signed(c.change)), " ", el("button", { type: "button", class: "link", "aria-label": `Why did ${r.name} change?`, onclick: () => go(whyOf(r.name, fields, state)) }, "why?")];
      },
    },
  ];
  const sum = el("p", { class: "sum", role: "status" });
  const table = new Table(columns, rows, {
    caption: `Costs by ${fields.join(", ")}`, unit: format.currency, sort: "cost", name: (r) => r.name,
    select: (selected) => {
      const cost = selected.reduce((s, r) => s + r.totalCost, 0);
      sum.textContent = selected.length === 0 ? "" : `${selected.length} selected: ${format.money(cost)} ${format.currency}, ${format.percent(cost / total, 1)} of the total, ${format.money(monthly(cost, answer))} a month`;
    },
  });
  return { table, sum, compare: (data) => { lacking = partial(data); for (const r of data.rows ?? []) changes.set(r.name, r); table.fill(["before", "change"]); } };
}

// idleOf says of a row of idle that belongs to another row, such as that of a node pool, which part of both it is; undefined for all others.
function idleOf(r, rows, format) {
  const of = isIdle(r.name) && rows.find(({ name }) => `${name}/${IDLE}` === r.name);
  if (!of) return undefined;
  const capacity = (row) => ["cpu", "ram", "gpu"].reduce((sum, name) => sum + row[`${name}Cost`] + (row[`${name}CostAdjustment`] ?? 0), 0);
  return `${format.percent(capacity(r) / (capacity(r) + capacity(of)))} of what CPU, memory and GPUs of ${of.name} cost`;
}

// small is an amount that matters little where it is no cent.
function small(amount, format) {
  if (!(Math.abs(amount) < 0.005)) return format.money(amount);
  return el("span", { class: "zero", title: amount === 0 ? undefined : format.money(amount) }, amount === 0 ? "0.00" : "<0.01");
}

// whyOf is the state that explains the change of a row.
function whyOf(name, fields, state) {
  return { view: "why", ...deeper(name, fields, state) };
}

// swatch is the class of a colour.
const swatch = (color) => (typeof color === "string" ? color.slice(2) : `c${color}`);

// meter is a bar of a share.
function meter(share) {
  const bar = el("span", { class: "meter", "aria-hidden": "true" }, el("span", {}));
  bar.firstChild.style.width = `${100 * Math.max(0, Math.min(1, share))}%`;
  return bar;
}

// chartOf is the chart of the steps of a window; undefined where there is one step only.
function chartOf(sets, rows, colors, { format, go, state }) {
  const steps = sets.map((set) => Object.values(set)[0]?.window);
  const known = sets.filter((_, i) => steps[i]);
  if (known.length < 2) return undefined;
  const ranked = [...rows].sort((a, b) => isIdle(a.name) - isIdle(b.name) || b.totalCost - a.totalCost).map((r) => r.name);
  const own = ranked.filter((name) => typeof colors.get(name) === "number" || isIdle(name));
  const rest = ranked.filter((name) => !own.includes(name));
  const series = own.map((name) => ({ name, color: colors.get(name), values: known.map((set) => set[name]?.totalCost ?? 0) }));
  if (rest.length > 0) series.splice(series.findLastIndex((s) => !isIdle(s.name)) + 1, 0, { name: `${rest.length} others`, color: "--other", values: known.map((set) => rest.reduce((sum, name) => sum + (set[name]?.totalCost ?? 0), 0)) });
  return new StackedBars({
    steps: steps.filter(Boolean), series, format, label: `Costs over time by ${state.aggregate}; the table below has the sums. Drag to zoom.`, unit: `${format.currency} per ${stepOf(state.window)}`,
    zoom: (start, end) => go({ window: `${start},${end}` }), explain: (start, end) => go({ view: "why", window: `${start},${end}`, baseline: "" }),
  });
}

// unusualDays are the marks of days on which some rows cost unusually much or little, the most unusual row first: they lead to why.
function unusualDays(rows, steps, { format, go }) {
  const days = new Map();
  for (const r of rows) {
    const step = steps.findIndex((s) => new Date(s.start).getTime() === new Date(r.day.start).getTime());
    if (step >= 0) days.set(step, [...(days.get(step) ?? []), r]);
  }
  return [...days].map(([step, list]) => {
    const first = list[0];
    const baseline = new URLSearchParams(first.change.split("?")[1]).get("baseline");
    const more = list.length > 1 ? ` and ${list.length - 1} more` : "";
    return {
      step, title: `Unusual: ${first.name} cost ${format.money(first.cost)}, expected were ${format.money(first.expected)}${more}. Why?`,
      go: () => go({ view: "why", window: `${first.day.start},${first.day.end}`, baseline }),
    };
  });
}

// mapOf is the treemap of rows and what is below them.
function mapOf(rows, parts, colors, fields, { format, go, state }) {
  const groups = new Map(rows.map((r) => [r.name, { name: r.name, value: r.totalCost, color: colors.get(r.name), parts: [], go: goTo(deeper(r.name, fields, state), go) }]));
  for (const p of parts) {
    const cut = p.name.split("/").slice(0, fields.length).join("/");
    const group = groups.get(cut);
    const rest = p.name.slice(cut.length + 1);
    if (!group || !rest || isIdle(p.name)) continue;
    const up = deeper(group.name, fields, state);
    group.parts.push({ name: rest, value: p.totalCost, go: goTo(up && deeper(rest, [up.aggregate], { ...state, ...up }) || up, go) });
  }
  return treemap([...groups.values()], format, `Costs by ${fields.join(", ")} and what is below; the table has the numbers.`);
}

const goTo = (patch, go) => patch && (() => go(patch));
