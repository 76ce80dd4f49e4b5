// The filter box: completes fields and values as one types, explains mistakes, and makes filters of plain words.

import { ask } from "./api.js";
import { debounce, el } from "./dom.js";
import { term } from "./help.js";
import { language } from "./state.js";

// FIELDS are what v2 filters may name, and the field that lists their values.
const FIELDS = {
  __proto__: null,
  namespace: "namespace", controllerName: "controllerName", controllerKind: "controllerKind", pod: "pod", container: "container", node: "node", nodePool: "nodePool", cluster: "cluster",
  services: "service", team: "team", department: "department", environment: "environment", owner: "owner", product: "product",
};

// WORDS are the fields that plain words are looked for in, one after the other.
const WORDS = ["namespace", "controllerName", "team", "cluster", "node", "controllerKind", "services", "pod", "container", "department", "environment", "owner", "product"];

const PAUSE = 900; // milliseconds without a key, after which what is typed filters

// UNCLOSED is a selector whose values have no parentheses.
const UNCLOSED = /^([^\s:=!]+)\s+(in|notin)\s+([^()]+)$/;

const quote = (text) => `"${text.replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"`;

// FilterBox is an input with a list of completions, as ARIA's combobox.
export class FilterBox {
  constructor(done, form) {
    this.done = done;
    this.list = el("ul", { id: "completions", role: "listbox", "aria-label": "Completions", hidden: true });
    const pause = debounce(() => this.pause(), PAUSE);
    const complete = debounce(() => this.complete(), 120);
    this.clear = el("button", { type: "button", class: "clear", "aria-label": "Clear the filter", title: "Clear the filter", hidden: true, onclick: () => this.empty() }, "×");
    this.input = el("input", {
      name: "filter", "aria-label": "filter", type: "text", role: "combobox", "aria-expanded": "false", "aria-controls": "completions", "aria-autocomplete": "list", spellcheck: "false",
      autocapitalize: "off", placeholder: "search team-a, or app=web", "aria-describedby": "mistake",
      oninput: () => { this.clear.hidden = this.input.value === ""; complete(); pause(); }, onkeydown: (event) => this.key(event), onblur: () => setTimeout(() => this.close(), 150),
    });
    this.mistake = el("pre", { id: "mistake", role: "alert", hidden: true });
    this.element = el("div", { class: "filter" }, term("filter", "filter"), el("div", { class: "box" }, this.input, this.clear, this.list));
    form.addEventListener("submit", () => this.submit());
  }

  // show returns the box for a state.
  show(state) {
    this.state = state;
    if (document.activeElement !== this.input || this.accepted) this.input.value = state.filter;
    this.clear.hidden = this.input.value === "";
    this.accepted = false;
    this.explain("");
    return this.element;
  }

  // explain shows what is wrong with the filter; "" for nothing.
  explain(message) {
    this.mistake.textContent = message.replace(/^parameter filter=[^]*?: parse filter: /, "");
    this.mistake.hidden = message === "";
    this.input.setAttribute("aria-invalid", String(message !== ""));
  }

  async values(field, search, limit = 20) {
    try {
      const { data } = await ask("model/allocation/autocomplete", { window: this.state.window, field, search, limit }, this.asking.signal);
      return data.data;
    } catch {
      return []; // a completion that is not there, or was overtaken by the next
    }
  }

  // restart cancels the questions before.
  restart() {
    this.asking?.abort();
    this.asking = new AbortController();
    return this.asking.signal;
  }

  // complete lists what the text before the caret may become.
  async complete() {
    const signal = this.restart();
    const before = this.input.value.slice(0, this.input.selectionStart);
    const found = await this.completions(before);
    if (signal.aborted || document.activeElement !== this.input) return;
    this.open(found);
  }

  // completions are texts for the part of the text that begins at from: {from, text, hint}.
  async completions(before) {
    const label = /(label|annotation)\[([^\]"]*)$/.exec(before);
    if (label) return (await this.values(label[1], label[2])).map((name) => ({ from: before.length - label[2].length, text: `${name}]:"`, show: name, hint: label[1] }));
    const value = /(\w+)(?:\[([^\]"]*)\])?[!<>~^$]*:(?:\s*"(?:[^"\\]|\\.)*"\s*,)*\s*"((?:[^"\\]|\\.)*)$/.exec(before);
    if (value) {
      const [, name, of, prefix] = value;
      const field = of ? `${name}:${of}` : FIELDS[name];
      if (!field) return [];
      return (await this.values(field, prefix.replace(/\\(["\\])/g, "$1"))).map((text) => ({ from: before.length - prefix.length, text: quote(text).slice(1), show: text, hint: of ? `${name} ${of}` : name }));
    }
    const word = /[\w.-]*$/.exec(before)[0];
    if (word === "") return [];
    const from = before.length - word.length;
    const fields = [...Object.keys(FIELDS), "label", "annotation"].filter((f) => f.toLowerCase().startsWith(word.toLowerCase()))
      .map((f) => ({ from, text: f === "label" || f === "annotation" ? `${f}[` : `${f}:"`, show: f, hint: "field" }));
    const lists = await Promise.all(["namespace", "controllerName", "team"].map(async (f) => (await this.values(f, word, 6)).map((text) => ({ from, text: `${f}:${quote(text)}`, show: text, hint: f }))));
    return [...fields, ...lists.flat()];
  }

  open(found) {
    this.found = found;
    this.at = -1;
    this.list.replaceChildren(...found.map((c, i) => el("li", { id: `completion-${i}`, role: "option", "aria-selected": "false", onmousedown: (event) => { event.preventDefault(); this.take(i); } }, c.show, el("small", {}, c.hint))));
    this.list.hidden = found.length === 0;
    this.input.setAttribute("aria-expanded", String(found.length > 0));
    this.input.removeAttribute("aria-activedescendant");
  }

  close() {
    this.open([]);
  }

  key(event) {
    const count = this.found?.length ?? 0;
    if (event.key === "Escape" && count > 0) this.close();
    else if ((event.key === "ArrowDown" || event.key === "ArrowUp") && count > 0) this.move((this.at + (event.key === "ArrowDown" ? 1 : count - (this.at < 0 ? 0 : 1))) % count);
    else if ((event.key === "Enter" || event.key === "Tab") && this.at >= 0) this.take(this.at);
    else return;
    event.preventDefault();
  }

  move(at) {
    this.list.children[this.at]?.setAttribute("aria-selected", "false");
    this.at = at;
    this.list.children[at].setAttribute("aria-selected", "true");
    this.list.children[at].scrollIntoView({ block: "nearest" });
    this.input.setAttribute("aria-activedescendant", `completion-${at}`);
  }

  // take puts a completion into the box.
  take(i) {
    const { from, text } = this.found[i];
    const { value, selectionStart } = this.input;
    let rest = value.slice(selectionStart);
    if (text.endsWith('"') && rest.startsWith('"')) rest = rest.slice(1);
    this.input.value = value.slice(0, from) + text + rest;
    this.input.setSelectionRange(from + text.length, from + text.length);
    this.close();
    if (!text.endsWith('"') || text.endsWith(':"')) this.complete();
  }

  // submit takes what is typed.
  async submit() {
    this.close();
    this.tried = this.input.value;
    const { filter, mistake } = await this.read();
    if (mistake) {
      this.explain(mistake);
      return;
    }
    this.accepted = true;
    this.input.value = filter;
    this.done(filter);
  }

  // pause takes what is typed so far, if it selects something, and else says why not. What is in the box stays as it is, for one may type on.
  async pause() {
    const typed = this.input.value;
    if (typed.replace(/\\./g, "").split('"').length % 2 === 0 || typed === this.tried) return; // within quotes, or submitted
    const { filter, mistake } = await this.read();
    if (typed !== this.input.value || document.activeElement !== this.input) return;
    if (mistake) this.explain(mistake);
    else if (filter !== this.state.filter) this.done(filter, true);
    else this.explain("");
  }

  empty() {
    this.input.value = "";
    this.input.focus();
    this.submit();
  }

  // read is the filter that is typed, or that a link has, or what is wrong with it: {filter, mistake}. Plain words become a filter.
  async read(text = this.input.value) {
    const filter = text.trim();
    if (language(filter) !== "words") return { filter };
    const [, name, verb, list] = UNCLOSED.exec(filter) ?? [];
    if (list) return { mistake: `The values after “${verb}” stand in parentheses: ${name} ${verb} (${list.trim().split(/[\s,]+/).join(", ")})` };
    this.restart();
    return this.ofWords(filter.split(/\s+/));
  }

  // ofWords makes a filter of plain words: each is a value of the first field that has it, or else a part of one. Labels come last.
  async ofWords(words) {
    const conditions = [];
    for (const word of words) {
      const found = await Promise.all(WORDS.map((name) => this.values(FIELDS[name], word)));
      let i = found.findIndex((list) => list.includes(word));
      if (i >= 0) {
        conditions.push(`${WORDS[i]}:${quote(word)}`);
        continue;
      }
      const label = await this.labelWith(word);
      if (label) {
        conditions.push(`label[${label}]:${quote(word)}`);
        continue;
      }
      i = found.findIndex((list) => list.length > 0);
      if (i < 0) return { mistake: `Nothing in this window is called ${word}: it is part of no namespace, controller, node, pod or container, and of no label's value. Another window may have it.` };
      conditions.push(`${WORDS[i]}~:${quote(word)}`);
    }
    return { filter: conditions.join("+") };
  }

  // labelWith is a label that has the word as value.
  async labelWith(word) {
    const names = await this.values("label", "", 30);
    const found = await Promise.all(names.map((name) => this.values(`label:${name}`, word)));
    return names[found.findIndex((list) => list.includes(word))];
  }
}
