// Budgets of the config file: what is spent of them, and what they will come to.

import { el } from "../dom.js";
import { bar, example, named } from "../parts.js";
import { Table } from "../table.js";

export const controls = [];

const EXAMPLE = `budgets:
- name: search
  filter: 'namespace:"search"'
  amount: 500
  period: month
`;

export async function show(root, ctx) {
  const { format } = ctx;
  const { data } = await ctx.ask("model/budgets");
  ctx.offer({ path: "model/budgets", params: {}, promql: data.length > 0 ? { expression: "promcost_budget_spent" } : { reason: "There are no budgets." } });
  if (data.length === 0) {
    root.append(el("p", { class: "empty" }, "There are no budgets yet. Name them in the file of --config.file, then send promcost SIGHUP:"), example("An example of budgets", EXAMPLE));
    return;
  }
  const part = (b, x) => (x === null || x === undefined || b.amount === 0 ? null : x / b.amount);
  const amount = (b, x) => [el("span", { class: part(b, x) > 1 ? "over amount" : "amount" }, format.money(x)), " ", bar(part(b, x), undefined, `${format.percent(part(b, x))} of the budget`)];
  const table = new Table([
    { name: "name", title: "Budget", text: true, value: (b) => b.name, cell: (b) => named(b.name) },
    { name: "period", title: "Period", text: true, wide: true, under: true, value: (b) => b.period, cell: (b) => ["a ", b.period] },
    { name: "prices", title: "Prices", text: true, wide: true, under: true, value: (b) => b.cost ?? "list", cell: (b) => (b.cost === "billed" ? "as billed" : "list") },
    { name: "amount", title: "Budgeted", value: (b) => b.amount, cell: (b) => format.money(b.amount) },
    { name: "spent", title: "Spent", value: (b) => part(b, b.spent), csv: (b) => b.spent, cell: (b) => amount(b, b.spent) },
    { name: "forecast", title: "Forecast", value: (b) => part(b, b.forecast), csv: (b) => b.forecast, cell: (b) => amount(b, b.forecast) },
    { name: "left", title: "Left", wide: true, under: true, value: (b) => (b.spent === null ? null : b.amount - b.spent), cell: (b) => format.money(b.spent === null ? null : b.amount - b.spent) },
    { name: "until", title: "Counted", text: true, wide: true, value: (b) => b.window?.end ?? "", cell: (b) => (b.window ? format.span(b.window) : "not yet") },
  ], data, { caption: "Budgets", unit: format.currency, sort: "forecast" });
  const [text, over] = verdict(data);
  root.append(el("p", { class: over ? "lead over" : "lead" }, text), table.element);
}

// verdict says which budgets are spent, will be, or are not known yet, and whether any is spent or will be. A budget of which nothing is known is not on track.
function verdict(data) {
  const spent = (b) => b.spent !== null && b.spent > b.amount;
  const over = (b) => !spent(b) && b.forecast !== null && b.forecast > b.amount;
  const unknown = (b) => !spent(b) && !over(b) && (b.spent === null || b.forecast === null);
  const texts = [["Spent already", spent], ["Over budget by the end of its period", over], ["Not known yet", unknown]]
    .map(([what, is]) => [what, data.filter(is).map((b) => b.name)]).filter(([, names]) => names.length > 0).map(([what, names]) => `${what}: ${names.join(", ")}.`);
  return [texts.length > 0 ? texts.join(" ") : "All budgets are on track.", data.some((b) => spent(b) || over(b))];
}
