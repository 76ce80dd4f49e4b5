// What is shown while there are no costs: what promcost finds, what is missing, and what to paste.

import { el } from "../dom.js";
import { copier, section } from "../parts.js";
import { Table } from "../table.js";

const WINDOW = "1h"; // that is looked at: the state of now, and quickly

// empty is what is shown of an answer without rows: how to begin if the source has nothing that costs need, else why there are none.
export async function empty(root, answer, ctx) {
  const { data } = await ctx.ask("model/diagnose", { window: WINDOW }, false);
  if (data.nothing) onboarding(root, data, ctx);
  else root.append(noData(answer, ctx));
}

// noData is what is shown of an answer without rows: why there are none, if it says so.
function noData(answer, ctx) {
  const reason = (answer.warnings ?? []).find((_, i) => answer.warningKinds?.[i].kind === "missing-data");
  return el("div", { class: "empty" }, el("p", { class: "lead" }, "No data for this period."), reason && el("p", {}, reason),
    el("p", {}, "Choose another window. If that is unexpected, check ", el("button", { type: "button", class: "link", onclick: () => ctx.go({ view: "health" }) }, "Health"), "."), again(ctx));
}

// again is a button that looks again.
const again = ({ go }) => el("button", { type: "button", class: "again", onclick: () => go({}, true) }, "Look again");

// onboarding shows a diagnosis of a source that has none of the inputs.
export function onboarding(root, { jobs = [], clusters, recipes }, ctx) {
  const scraped = jobs.length === 0 ? el("p", {}, "Nothing in the last hour. Is this the right Prometheus, and does its retention reach that far?") : new Table([
    { name: "name", title: "Job", text: true, value: (j) => j.name, cell: (j) => j.name || "(no name)" },
    { name: "targets", title: "Targets", value: (j) => j.targets, cell: (j) => j.targets.toLocaleString("en") },
    { name: "up", title: "Up", value: (j) => j.up, cell: (j) => j.up.toLocaleString("en") },
  ], jobs, { caption: "What this Prometheus scrapes", sort: "name" }).element;
  const missing = new Table([
    { name: "name", title: "Input", text: true, value: (i) => i.name, cell: (i) => i.name },
    { name: "remedy", title: "What is lost, and what to do", text: true, value: (i) => `${i.missing}: ${i.remedy}`, cell: (i) => [el("div", {}, i.missing), i.remedy] },
  ], clusters.flatMap((c) => c.inputs), { caption: "What is missing", sort: "name" }).element;
  root.append(
    el("p", { class: "lead" }, "Almost there: promcost reaches Prometheus, which has no metrics of Kubernetes in the last hour."), el("p", {}, again(ctx)),
    section("What this Prometheus scrapes", scraped), section("What is missing", missing),
    section("What to paste", recipes.map(({ title, text }) => [el("p", {}, title, ": ", copier(text, "Copy", (button) => select(button))), el("pre", { class: "example", tabindex: 0, "aria-label": title, role: "region" }, text)])),
    el("p", { class: "muted" }, "Costs appear within minutes of the first samples."));
}

// select selects the text below a button, for Ctrl-C.
function select(button) {
  getSelection().selectAllChildren(button.parentNode.nextElementSibling);
  button.textContent = "press Ctrl-C";
}
