// The PromQL expression that yields what a table of costs says, where there is one.

import { path } from "./state.js";

// FAMILIES are the metrics of costs by field, with the labels that are summed by. The last label is the row's name.
const FAMILIES = {
  __proto__: null,
  cluster: ["promcost_namespace_hourly_cost", "cluster"],
  namespace: ["promcost_namespace_hourly_cost", "namespace"],
  controller: ["promcost_controller_hourly_cost", "controller_kind, controller"],
  pod: ["promcost_pod_hourly_cost", "pod"],
  container: ["promcost_container_hourly_cost", "container"],
};

// LABELS are the labels that drilling down may have fixed, with the coarsest metric that has them.
const ORDER = ["cluster", "namespace", "controller", "pod", "container"];

const quoted = (text) => JSON.stringify(text);

// ALIASES are fields that stand for labels.
const ALIASES = ["team", "department", "environment", "owner", "product", "nodePool"];

// labelOf is the label that rows are by; undefined where they are by something else.
const labelOf = (field) => (ALIASES.includes(field) ? field : /^label:([^,]+)$/.exec(field)?.[1]);

// promql is {expression, note} for the rows of a window, or {reason} why there is none.
export function promql(state, rows, window, billed) {
  const steps = path(state);
  const field = [state.aggregate, ...steps.map(([f]) => f)].reduce((a, b) => (ORDER.indexOf(b) > ORDER.indexOf(a) ? b : a));
  const label = labelOf(state.aggregate);
  const [metric, by] = label ? ["promcost_label_hourly_cost", "value"] : [FAMILIES[field]?.[0], FAMILIES[state.aggregate]?.[1]];
  if (!metric || !by || steps.some(([f]) => label || !FAMILIES[f])) return { reason: `No metric has costs by ${[...steps.map(([f]) => f), state.aggregate].join(", ")}: choose one of ${Object.keys(FAMILIES).join(", ")}, or a label that --collector.label.names names.` };
  const matchers = label ? [`label=${quoted(label)}`] : steps.flatMap(([f, value]) => {
    const at = value.indexOf(":");
    return f === "controller" && at >= 0 ? [`controller_kind=${quoted(value.slice(0, at))}`, `controller=${quoted(value.slice(at + 1))}`] : [`${f}=${quoted(value)}`];
  });
  const selector = metric + (matchers.length > 0 ? `{${matchers.join(", ")}}` : "");
  const no = (reason) => ({ reason: `${reason} The metric is ${selector}.` });
  if (state.filter.trim()) return no("The filter has no counterpart in PromQL: leave it empty, and drill down instead.");
  if (billed && state.prices !== "list") return no("These metrics are at list prices: choose prices “list”.");
  if (state.share || rows.some((r) => r.sharedCost !== 0)) return no("No metric has shared costs: under “shared”, leave out namespaces and what clusters cost besides nodes.");
  if (!["row", "hide"].includes(state.idle) || state.idle === "row" && steps.length > 0) return no("No metric has idle costs that are shared or part of a workload: choose idle “left out”.");
  const hours = (new Date(window.end) - new Date(window.start)) / 3600e3;
  if (!Number.isInteger(hours) || new Date(window.end) % 3600e3 !== 0) return no("Metrics have a sample an hour: choose a window of whole hours.");
  const range = `[${hours}h] @ ${new Date(window.end) / 1000} offset -59m`;
  const sum = (series, labels) => `sum${labels && ` by (${labels}) `}(sum_over_time(${series}${range}))`;
  let expression = sum(selector, by);
  if (state.idle === "row") {
    const name = by.split(", ").at(-1);
    expression += `\nor\nlabel_replace(${sum("promcost_idle_hourly_cost", "")}, "${name}", "__idle__", "", "")`;
  }
  return { expression, note: "It adds up the hourly costs of the window. An hour's sample stands some minutes after the hour's end, hence the offset." + (label ? " The label must be among --collector.label.names." : "") };
}
