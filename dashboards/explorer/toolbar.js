// The toolbar: what is asked, and the same question elsewhere (link, CSV, curl, PromQL, PNG).

import { curl } from "./api.js";
import { el, options, save } from "./dom.js";
import { FilterBox } from "./filter.js";
import { instant, local, rfc3339 } from "./format.js";
import { explained } from "./help.js";
import { path, write } from "./state.js";
import { tablesIn } from "./table.js";

const WINDOWS = [
  ["today", "today"], ["yesterday", "yesterday"], ["12h", "12 hours"], ["7d", "7 days"], ["14d", "14 days"], ["week", "this week, from Sunday"], ["lastweek", "last week, from Sunday"],
  ["30d", "30 days"], ["month", "this month"], ["lastmonth", "last month"], ["90d", "90 days"],
];

const FIELDS = [
  "cluster", "namespace", "controller", "controllerKind", "pod", "container", "node", "nodePool", "service", "team", "department", "environment", "owner", "product",
  "cluster,namespace", "namespace,controller", "namespace,pod",
];

const PROFILES = [["balanced", "balanced"], ["tight", "tight"], ["safe", "safe"], ["krr", "as KRR"], ["vpa", "as the VPA"], ["kubecost", "as Kubecost"]];

const IDLE = [["row", "as a row"], ["node", "one row per node"], ["share", "shared by cost"], ["even", "shared evenly"], ["hide", "left out"]];

// Toolbar is the form with all controls. Each view shows those that it heeds.
export class Toolbar {
  constructor(form, go) {
    this.form = form;
    this.go = go;
    this.filter = new FilterBox((filter, replace) => go({ filter }, replace), form);
    form.addEventListener("submit", (event) => event.preventDefault());
  }

  // show shows the controls of a view.
  show(state, controls, format, root) {
    Object.assign(this, { state, format, root, offered: undefined });
    const focused = this.form.contains(document.activeElement) ? document.activeElement.name : "";
    const parts = { window: () => this.window(), aggregate: () => this.aggregate(), profile: () => this.profile(), filter: () => this.filter.show(state), idle: () => this.idle(), share: () => this.share(), external: () => this.external(), prices: () => this.prices(), compare: () => this.compare() };
    this.actions = el("span", { class: "actions" });
    this.place([...Object.keys(parts).filter((name) => controls.includes(name)).map((name) => parts[name]()), el("span", { class: "space" }), this.actions, ...(controls.includes("filter") ? [this.filter.mistake] : [])]);
    this.form.hidden = controls.length === 0;
    if (focused) this.form.elements[focused]?.focus();
  }

  // place puts nodes into the form. The filter box stays where it is, for one may be typing.
  place(nodes) {
    const at = nodes.indexOf(this.filter.element);
    if (at < 0 || !this.form.contains(this.filter.element)) {
      this.form.replaceChildren(...nodes);
      return;
    }
    for (const node of [...this.form.children]) if (node !== this.filter.element) node.remove();
    this.filter.element.before(...nodes.slice(0, at));
    this.filter.element.after(...nodes.slice(at + 1));
  }

  // choice is a select that changes one part of the state. other is what asks for a value that is not listed.
  choice(name, label, pairs, other) {
    const value = this.state[name];
    if (!pairs.some(([v]) => v === value)) pairs = [[value, this.describe(name, value)], ...pairs];
    if (other) pairs = [...pairs, ["…", "other …"]];
    return el("label", explained(label), el("span", {}, label), el("select", {
      name, onchange: (event) => {
        if (event.target.value !== "…") {
          this.go({ [name]: event.target.value });
          return;
        }
        event.target.value = value;
        other();
      },
    }, options(pairs, value)));
  }

  // describe is a value of the state that is not listed.
  describe(name, value) {
    const [start, end] = value.split(",");
    if (name !== "aggregate" && end && !Number.isNaN(Date.parse(start)) && !Number.isNaN(Date.parse(end))) return this.format.span({ start, end });
    return value.replaceAll(",", ", ");
  }

  window() { return this.choice("window", "window", WINDOWS, () => this.askWindow("window")); }
  aggregate() { return this.choice("aggregate", "by", FIELDS.map((f) => [f, f.replaceAll(",", ", ")]), () => this.askFields()); }
  profile() { return this.choice("profile", "requests", PROFILES); }
  idle() { return this.choice("idle", "idle", IDLE); }
  external() { return this.choice("external", "external", [["", "left out"], ["true", "included"]]); }
  prices() { return this.choice("prices", "prices", [["billed", "as billed"], ["list", "list"]]); }

  compare() {
    return this.choice("baseline", "against", [["", "the time before"], ["yesterday", "yesterday"], ["lastweek", "last week"], ["lastmonth", "last month"]], () => this.askWindow("baseline"));
  }

  share() {
    const { share, tenancy } = this.state;
    const text = [share, tenancy === "true" && "control plane, node disks"].filter(Boolean).join(", ") || "nothing";
    return el("label", explained("shared"), el("span", {}, "shared"), el("button", { type: "button", class: "choice", name: "share", "aria-haspopup": "dialog", onclick: () => this.askShared() }, text));
  }

  askShared() {
    const names = el("input", { name: "names", value: this.state.share, placeholder: "kube-system,monitoring", size: 40 });
    const tenancy = el("input", { name: "tenancy", type: "checkbox", checked: this.state.tenancy === "true" });
    dialog("Shared costs", [
      el("label", {}, "Shared namespaces (comma-separated): their cost is split among all others", names),
      el("label", { class: "check" }, tenancy, "also share control-plane and node-disk costs"),
    ], () => this.go({ share: names.value.replaceAll(/\s/g, ""), tenancy: String(tenancy.checked) }));
  }

  askFields() {
    const input = el("input", { name: "fields", value: this.state.aggregate, size: 40, list: "fields" });
    dialog("Rows by several fields", [
      el("label", {}, "Fields, comma-separated, such as namespace,label:app or team,controller", input),
      el("datalist", { id: "fields" }, FIELDS.map((value) => el("option", { value }))),
    ], () => this.go({ aggregate: input.value.replaceAll(/\s/g, "") || "namespace" }));
  }

  // askWindow asks for a window between two times of the zone that is shown.
  askWindow(name) {
    const { zone } = this.format;
    const [was, until] = this.state[name].split(",");
    const end = until ? new Date(until) : new Date(Math.floor(Date.now() / 3600e3) * 3600e3);
    const start = until ? new Date(was) : new Date(end - 24 * 3600e3);
    const from = el("input", { type: "datetime-local", name: "from", value: local(start, zone), required: true });
    const to = el("input", { type: "datetime-local", name: "to", value: local(end, zone), required: true });
    dialog(name === "window" ? "Window" : "Compare with", [el("label", {}, `From (${zone})`, from), el("label", {}, "To", to)], () => {
      const window = [instant(from.value, zone), instant(to.value, zone)];
      if (window[0] >= window[1]) {
        to.setCustomValidity("The window ends before it begins.");
        to.reportValidity();
        to.addEventListener("input", () => to.setCustomValidity(""), { once: true });
        return false;
      }
      this.go({ [name]: window.map(rfc3339).join(",") });
    });
  }

  // offer shows the buttons for what a view asked: {path, params, window, baseline, promql}. A view may set baseline later.
  offer(what) {
    this.offered = what;
    this.form.hidden = false; // views without controls have these
    const button = (text, title, onclick) => el("button", { type: "button", title, onclick }, text);
    this.actions.replaceChildren(
      button("link", "Copy a permanent link with fixed dates", () => this.showLink()),
      button("CSV", "The tables of this view as CSV", () => saveTables(what, this.format.currency)),
      button("curl", "The command that asks the same", () => showText("The same by curl", curl(what.path, this.absolute(what.params)))),
      what.promql ? button("PromQL", "The expression that yields the same", () => this.showExpression(what.promql)) : "",
      button("PNG", "The picture of this view", () => this.save()));
  }

  // absolute has the windows of a state or of parameters as times, so that they stay where they are. The default of the baseline depends on
  // how a window is called.
  absolute(state) {
    const out = { ...state };
    for (const name of ["window", "baseline"]) {
      const window = this.offered[name];
      if (window && name in out) out[name] = `${rfc3339(window.start)},${rfc3339(window.end)}`;
    }
    return out;
  }

  showLink() {
    showText("A link to what is shown now", new URL(write(this.absolute(this.state)), document.baseURI).href);
  }

  showExpression(promql) {
    if (promql.expression) showText("The same by PromQL", promql.expression, promql.note);
    else showText("No PromQL expression yields this", "", promql.reason);
  }

  async save() {
    const { savePicture } = await import("./picture.js");
    const where = path(this.state).map(([, value]) => value).join(" › ");
    const [window, by] = [this.form.elements.window, this.form.elements.aggregate].map((control) => control?.selectedOptions[0].text);
    await savePicture(this.root, `promcost: ${[this.state.view, window, by && `by ${by}`, where].filter(Boolean).join(", ")}`);
  }
}

// dialog asks for something. done may return false to stay open.
function dialog(title, fields, done) {
  const form = el("form", { method: "dialog", onsubmit: (event) => { if (done() === false) event.preventDefault(); } },
    el("h2", {}, title), fields,
    el("p", { class: "buttons" }, el("button", { type: "button", onclick: () => box.close() }, "Cancel"), el("button", { type: "submit", class: "main" }, "Show")));
  const box = el("dialog", { "aria-label": title, onclose: () => box.remove() }, form);
  document.body.append(box);
  box.showModal();
}

// saveTables saves the tables that the page shows, with an empty line between them. Each row says of which window it is, what that is compared with, and in which currency.
function saveTables({ window, baseline }, currency) {
  const more = [["Window start", window?.start], ["Window end", window?.end], ["Against start", baseline?.start], ["Against end", baseline?.end], ["Currency", currency]].filter(([, value]) => value);
  const tables = tablesIn(document.getElementById("view"));
  if (tables.length === 0) showText("There is no table to save", "", "The view says why.");
  else save("promcost.csv", new Blob([tables.map((table) => table.csv(more)).join("\r\n")], { type: "text/csv" }));
}

// showText shows a text to be copied.
function showText(title, text, note) {
  const area = el("textarea", { readonly: true, rows: Math.min(8, 2 + text.length / 70), "aria-label": title }, text);
  const copied = el("span", { role: "status", class: "muted" });
  const copy = async () => {
    area.select();
    try {
      await navigator.clipboard.writeText(text);
      copied.textContent = "copied";
    } catch {
      copied.textContent = "selected: press Ctrl-C";
    }
  };
  const box = el("dialog", { "aria-label": title, onclose: () => box.remove() }, el("form", { method: "dialog" },
    el("h2", {}, title), note && el("p", {}, note), text && area,
    el("p", { class: "buttons" }, copied, el("button", { type: "submit" }, "Close"), text && el("button", { type: "button", class: "main", onclick: copy }, "Copy"))));
  document.body.append(box);
  box.showModal();
  area.select();
}
