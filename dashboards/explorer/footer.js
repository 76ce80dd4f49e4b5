// The footer: what answers say about themselves. Warnings stand by what they are about, those of lost costs first.

import { el } from "./dom.js";

// TROUBLESHOOTING is the page that goes through what may be wrong.
export const TROUBLESHOOTING = "https://github.com/promcost/promcost/blob/main/TROUBLESHOOTING.md";

// KINDS are the headings of the kinds of warnings.
const KINDS = {
  __proto__: null,
  question: "What was asked", opentelemetry: "Metrics of OpenTelemetry", "missing-data": "Hours without data", "missing-metrics": "Missing metrics", "unreadable-samples": "Samples that cannot be read", "pods-without-nodes": "Pods on unknown nodes",
  "volumes-without-cost": "Volumes of unknown size", bills: "Bills that do not count in full", "odd-prices": "Unusual prices", "default-prices": "Default prices",
  "estimated-bills": "Days without a final bill", "gaps-in-samples": "Gaps in samples", "odd-nodes": "Unusual nodes", "odd-samples": "Unusual samples",
  "devices-without-cost": "Devices that cost nothing", "short-init-containers": "Short init containers", "cronjobs-in-step": "CronJobs in step with the samples", labels: "Labels that nothing has",
  "other-warnings": "Other notes",
};

// LEVELS are what warnings say about costs, by how much they matter.
const LEVELS = { __proto__: null, lost: "Costs are missing or wrong", estimated: "Costs rest on assumptions" };

// Footer collects what answers say about themselves: warnings, resolution, where they are from, how long they took.
export class Footer {
  constructor(element, format) {
    Object.assign(this, { element, format, warnings: new Map(), resolutions: new Set(), milliseconds: 0, shown: false });
  }

  add(answer) {
    (answer.warnings ?? []).forEach((text, i) => this.warnings.set(text, answer.warningKinds?.[i] ?? { kind: "other-warnings", level: "minor" }));
    if (answer.resolution) this.resolutions.add(answer.resolution);
    this.billed = answer.billedUntil ?? this.billed;
    if (answer.estimatedFrom) this.estimated = answer;
    this.milliseconds = Math.max(this.milliseconds, answer.milliseconds);
    if (answer.explain) this.hours = hoursOf(answer);
    if (this.shown) this.show();
  }

  show() {
    this.shown = true;
    const facts = [
      this.hours && `${this.hours.kept}/${this.hours.all} h in the history`,
      [...this.resolutions].join(", "),
      this.milliseconds > 0 && this.format.duration(this.milliseconds),
      this.billed && `billed until ${this.format.time(this.billed)}`,
      this.estimated && `${this.format.percent(this.estimated.estimatedShare, 1)} estimated from ${this.format.time(this.estimated.estimatedFrom)} on`,
    ].filter(Boolean);
    this.element.replaceChildren(this.notes(), el("span", { class: "facts" }, facts.join(" · ")));
  }

  // notes are the warnings by level and kind. Those that hardly matter are folded away.
  notes() {
    if (this.warnings.size === 0) return el("span", {}, "No warnings");
    const open = (name) => this.element.querySelector(`details.${name}`)?.open ?? false;
    const of = (level) => Map.groupBy([...this.warnings].filter(([, w]) => (level in LEVELS ? w.level === level : !(w.level in LEVELS))), ([, w]) => w.kind);
    const count = (groups) => [...groups.values()].reduce((sum, list) => sum + list.length, 0);
    const known = Object.keys(LEVELS).map((level) => [level, of(level)]).filter(([, groups]) => groups.size > 0);
    const minor = of("minor");
    const smaller = minor.size > 0 && `${count(minor)} smaller note${count(minor) === 1 ? "" : "s"}`;
    if (known.length === 0) return el("details", { class: "notes minor", open: open("notes") }, el("summary", {}, smaller), el("h2", { class: "hidden" }, "Smaller notes"), groupsOf(minor));
    return el("details", { class: "notes", open: open("notes") },
      el("summary", {}, "⚠ ", known.map(([level, groups]) => `${LEVELS[level]}: ${[...groups.keys()].map(heading).join(", ").toLowerCase()}`).join(". ")),
      known.map(([level, groups]) => el("section", { class: level }, el("h2", { class: known.length > 1 ? undefined : "hidden" }, LEVELS[level]), groupsOf(groups))),
      smaller && el("details", { class: "minor", open: open("minor") }, el("summary", {}, smaller), groupsOf(minor)));
  }
}

const heading = (kind) => KINDS[kind] ?? kind;

// groupsOf are the warnings of some kinds, each kind with a link to what helps.
function groupsOf(groups) {
  return [...groups].map(([kind, list]) => el("div", { class: "group" },
    el("h3", {}, heading(kind), " ", el("a", { href: `${TROUBLESHOOTING}#${kind}`, target: "_blank", rel: "noopener", "aria-label": `${heading(kind)}: what to do` }, "what to do")),
    el("ul", {}, list.map(([text]) => el("li", {}, text)))));
}

// hoursOf are the hours of an answer's window, and how many of them were kept in the history.
function hoursOf({ data, explain }) {
  const window = Object.values(data[0] ?? {})[0]?.window;
  if (!window) return undefined;
  const length = (w) => (new Date(w.end) - new Date(w.start)) / 3600e3;
  const all = length(window);
  const computed = explain.computations.reduce((sum, c) => sum + length(c.window ?? window), 0);
  return { all: Math.round(all), kept: Math.max(0, Math.round(all - computed)) };
}
