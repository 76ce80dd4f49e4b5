// Saved views: those of the configuration, which everybody has, and those of this browser.

import { el } from "./dom.js";

const KEY = "promcost-views";

// read are the views of this browser, a list of {name, query}.
function read() {
  try {
    const list = JSON.parse(localStorage.getItem(KEY) ?? "[]");
    return Array.isArray(list) ? list.filter((v) => typeof v?.name === "string" && typeof v?.query === "string") : [];
  } catch {
    return []; // the browser keeps nothing for this page, or something else wrote there
  }
}

// Saved is the menu of views. go is told of the query of a view that is chosen, and query is that of what is shown.
export class Saved {
  constructor({ go, query }) {
    Object.assign(this, { go, query, shared: [], own: read() });
    this.list = el("div", {});
    this.name = el("input", { name: "view", required: true, maxlength: 100, placeholder: "Name", "aria-label": "Name of the view", autocomplete: "off" });
    this.said = el("p", { class: "muted", role: "status" });
    const form = el("form", { onsubmit: (event) => this.save(event) }, this.name, el("button", { type: "submit" }, "Save this view"));
    this.element = el("details", { class: "saved", onkeydown: (event) => { if (event.key === "Escape") this.close(); } }, el("summary", {}, "Views"), el("div", { class: "menu" }, this.list, form, this.said));
    document.addEventListener("click", (event) => { if (!this.element.contains(event.target)) this.element.open = false; });
    this.fill();
  }

  // share takes the views of the configuration.
  share(list) {
    this.shared = list;
    this.fill();
  }

  // first is the query of the view that the page begins with; undefined where nothing is saved.
  get first() {
    return [...this.shared, ...this.own][0]?.query;
  }

  fill() {
    const line = (v, i) => el("li", {},
      el("a", { href: `?${v.query}`, onclick: (event) => this.open(event, v) }, v.name),
      i !== undefined && el("button", { type: "button", class: "link", "aria-label": `Forget the view ${v.name}`, title: "Forget", onclick: () => this.forget(i) }, "×"));
    const part = (title, list, of) => list.length > 0 && [el("h2", {}, title), el("ul", {}, list.map(of))];
    this.list.replaceChildren(...[part("For everybody", this.shared, (v) => line(v)), part("In this browser", this.own, line)].flat().filter(Boolean));
    if (this.shared.length + this.own.length === 0) this.list.append(el("p", { class: "muted" }, "Nothing is saved yet. The page begins with the first view."));
  }

  open(event, view) {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    this.close();
    this.go(`?${view.query}`);
  }

  close() {
    this.element.open = false;
    this.element.firstChild.focus();
  }

  save(event) {
    event.preventDefault();
    const name = this.name.value.trim();
    if (name === "") return;
    this.own = [...this.own.filter((v) => v.name !== name), { name, query: this.query() }];
    this.name.value = "";
    this.keep(`Saved as ${name}.`);
  }

  forget(i) {
    this.own = this.own.filter((_, n) => n !== i);
    this.keep("Forgotten.");
    this.name.focus();
  }

  keep(text) {
    try {
      localStorage.setItem(KEY, JSON.stringify(this.own));
      this.said.textContent = text;
    } catch {
      this.said.textContent = "This browser keeps nothing for this page: copy the link instead.";
    }
    this.fill();
  }
}
