// Why a pod has no costs: whether it has any, what promcost says of it, and pods with names like it.

import { el } from "../dom.js";
import { TROUBLESHOOTING } from "../footer.js";
import { section } from "../parts.js";
import { condition } from "../state.js";

const WINDOW = "7d"; // that is searched

const MOST = 8; // names that are proposed

// missingPod is a box that looks for a pod.
export function missingPod(ctx) {
  const input = el("input", { name: "pod", type: "search", required: true, maxlength: 253, placeholder: "name of a pod", "aria-label": "Name of the pod", autocomplete: "off", spellcheck: "false", size: 36 });
  const said = el("div", { role: "status" });
  const look = async (name) => {
    input.value = name;
    said.replaceChildren(el("p", { class: "muted" }, "Looking …"));
    try {
      said.replaceChildren(...await found(name, ctx, look));
    } catch (err) {
      if (!ctx.signal.aborted) said.replaceChildren(el("p", { class: "over" }, err.message.split("\n")[0]));
    }
  };
  const form = el("form", { class: "pod", onsubmit: (event) => { event.preventDefault(); look(input.value.trim()); } }, input, el("button", { type: "submit" }, "Look for it"));
  return section("Why is my pod missing?", form, said);
}

// found says what there is of a pod in the last days. look looks for another.
async function found(name, { ask, go, format }, look) {
  const filter = condition("pod", name);
  const answer = await ask("model/allocation", { window: WINDOW, aggregate: "namespace,pod", filter, idle: "false", accumulate: "true", fields: "name,start,end,totalCost" }, false);
  const rows = Object.values(answer.data[0] ?? {});
  if (rows.length > 0) {
    const lines = rows.map((r) => el("li", {}, el("button", { type: "button", class: "link", onclick: () => go({ view: "allocations", aggregate: "container", window: WINDOW, path: JSON.stringify([["namespace", r.name.split("/")[0]], ["pod", name]]) }) }, r.name),
      `: ${format.money(r.totalCost)} ${format.currency}, seen from ${format.span(r)}`));
    return [el("p", {}, "It is there, in the last 7 days:"), el("ul", {}, lines)];
  }
  const similar = await like(name, ask);
  const reason = (answer.warnings ?? []).find((text) => text.includes("nothing of the window matches"));
  return [
    el("p", {}, reason ? `No costs in the last 7 days: ${reason.replace(/^parameter filter: /, "").replace(/; if it is right, see http.*$/, ".")}` : "No pod has costs in the last 7 days."),
    similar.length > 0 && el("p", {}, "Pods with names like it: ", similar.map((text, i) => [i > 0 && ", ", el("button", { type: "button", class: "link", onclick: () => look(text) }, text)])),
    el("p", {}, "If the name is right: ", el("a", { href: `${TROUBLESHOOTING}#pods-are-missing`, target: "_blank", rel: "noopener" }, "why pods are missing"), ". The inputs “running” and “pod” below must be found in its cluster."),
  ].filter(Boolean);
}

// like are names of pods that share the most with a name: its beginning, the longest that some have, or else one of its words.
async function like(name, ask) {
  const words = name.split(/[-.]/).filter(Boolean);
  const beginnings = words.map((_, i) => words.slice(0, words.length - i).join("-"));
  for (const search of new Set([...beginnings, ...words.filter((w) => w.length > 2).sort((a, b) => b.length - a.length), name.slice(0, 3)])) {
    const { data } = await ask("model/allocation/autocomplete", { window: WINDOW, field: "pod", search, limit: MOST }, false);
    if (data.data.length > 0) return data.data;
  }
  return [];
}
