// Explanations of words, beside them on hover and on focus, with a link to where they are defined.

import { el } from "./dom.js";
import { GLOSSARY, SEMANTICS } from "./glossary.js";

const WAIT = 250; // milliseconds until an explanation comes or goes, so that the mouse can pass, and can reach it

// explained are the attributes of an element that says a word of the glossary; more is what there is to say besides.
export const explained = (word, more) => (word in GLOSSARY ? { "data-help": word, "data-more": more } : {});

// term is a word that has an explanation, and the focus for it.
export const term = (text, word, more) => (word in GLOSSARY ? el("button", { type: "button", class: "term", ...explained(word, more) }, text) : text);

// Help shows the explanation of the word that has the mouse or the focus. There is one at a time, after its word, so that the tabulator leads into it.
class Help {
  constructor() {
    this.tip = el("div", { id: "help", role: "tooltip", popover: "manual" });
    this.tip.addEventListener("pointerenter", () => clearTimeout(this.timer));
    const over = (event) => event.target.closest?.("[data-help]") ?? (this.tip.contains(event.target) ? this.word : undefined);
    document.addEventListener("pointerover", (event) => { if (event.pointerType === "mouse") this.soon(over(event)); });
    document.addEventListener("focusin", (event) => { if (event.target.matches(":focus-visible")) this.soon(over(event)); });
    document.addEventListener("focusout", () => this.soon());
    document.addEventListener("click", (event) => { if (event.target.closest?.(".term")) this.show(over(event)); else if (!this.tip.contains(event.target)) this.soon(); });
    document.addEventListener("input", () => this.show());
    document.addEventListener("keydown", (event) => { if (event.key === "Escape") this.show(); });
    document.addEventListener("scroll", (event) => { if (!this.tip.contains(event.target)) this.show(); }, { capture: true, passive: true });
  }

  soon(word) {
    clearTimeout(this.timer);
    if (word !== this.word) this.timer = setTimeout(() => this.show(word), WAIT);
  }

  // show shows the explanation of an element's word; of none, it hides what is shown.
  show(word) {
    clearTimeout(this.timer);
    if (word === this.word && word?.isConnected) return;
    this.word?.removeAttribute("aria-describedby");
    this.tip.remove();
    this.word = word?.isConnected ? word : undefined;
    if (!this.word) return;
    const [text, section] = GLOSSARY[word.dataset.help];
    this.tip.replaceChildren(el("p", {}, text), word.dataset.more ? el("p", {}, word.dataset.more) : "", el("a", { href: `${SEMANTICS}#${section}`, target: "_blank", rel: "noopener" }, "What the numbers mean"));
    word.after(this.tip);
    word.setAttribute("aria-describedby", "help");
    this.tip.showPopover();
    const at = word.getBoundingClientRect();
    const { width, height } = this.tip.getBoundingClientRect();
    const below = at.bottom + 4 + height <= innerHeight;
    this.tip.style.left = `${Math.max(4, Math.min(at.left, innerWidth - width - 4))}px`;
    this.tip.style.top = `${below ? at.bottom + 4 : Math.max(4, at.top - 4 - height)}px`;
  }
}

// help begins to explain the words of the page.
export const help = () => new Help();
