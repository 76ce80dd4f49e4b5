// Small parts that several views have.

import { el, svg } from "./dom.js";
import { term } from "./help.js";

const END = 9; // letters at the end of a name that are never cut

// named is a name that may be long: shorten cuts its middle where there is no room, and its title is whole.
export const named = (text) => el("span", { class: "name", title: text }, head(text ?? ""));

// opener is a name that leads somewhere: to what it consists of, unless what says what else is there.
export const opener = (text, onclick, what = "show what it consists of") => el("button", { type: "button", class: "link name", "aria-label": text, title: `${text}: ${what}`, onclick }, head(text));

const head = (text) => el("span", { class: "head" }, text);

// whole makes the names within an element one text again, as they were before shorten.
export function whole(element) {
  const heads = [...element.querySelectorAll(".name > .head")];
  for (const h of heads) if (h.nextSibling) h.parentNode.replaceChildren(Object.assign(h, { textContent: h.parentNode.textContent }));
  return heads;
}

// shorten cuts the names within an element that have no room: their ends stay. All others stay one text, which browsers find and copy as such.
export function shorten(element) {
  for (const h of whole(element).filter((h) => h.scrollHeight > h.clientHeight + 1)) {
    const text = h.textContent;
    h.textContent = text.slice(0, -END);
    h.after(el("span", {}, text.slice(-END)));
  }
}

// tiles are numbers with what they are: a list of [label, text, word], where word is the label's word in the glossary if it is not the label.
export const tiles = (list) => el("dl", { class: "tiles" }, list.map(([label, text, word = label]) => el("div", {}, el("dt", {}, term(label, word)), el("dd", {}, text))));

// when is the tile of the window.
export const when = (window, format) => ["Window", el("small", {}, format.span(window), " ", el("span", { class: "muted" }, format.zone))];

// basis says whether the costs of an answer are at list prices or as billed.
export const basis = (state, answer) => (state.prices !== "list" && answer.billedUntil ? "billed" : "list");

// section is a part of a view with a heading.
export const section = (title, ...children) => el("section", {}, el("h2", {}, title), children);

// bar shows parts of one: filled up to what is used, outlined up to what is allocated. What is unknown has none.
export function bar(used, allocated, label) {
  if (used === null || used === undefined || !Number.isFinite(used)) return el("span", { class: "muted" }, "unknown");
  const width = (part) => 100 * Math.min(1, Math.max(0, part));
  return svg("svg", { class: used > 1 ? "bar over" : "bar", viewBox: "0 0 100 10", preserveAspectRatio: "none", role: "img", "aria-label": label },
    svg("title", {}, label),
    svg("rect", { class: "whole", width: 100, height: 10 }),
    allocated !== undefined && svg("rect", { class: "allocated", width: width(allocated), height: 10 }),
    svg("rect", { class: "used", width: width(used), height: 10 }));
}

// copier is a button that copies a text. Without the right to the clipboard, it calls refused.
export function copier(text, title, refused) {
  const button = el("button", {
    type: "button", class: "copy", "aria-label": `Copy: ${text}`, title,
    onclick: async () => {
      try {
        await navigator.clipboard.writeText(text);
        button.textContent = "copied";
      } catch {
        refused(button);
      }
    },
  }, "copy");
  return button;
}

// copyable is a text with a button that copies it; nothing where there is none.
export function copyable(text) {
  if (!text) return "";
  const code = el("code", {}, text);
  return el("span", { class: "remedy" }, code, " ", copier(text, "Copy", (button) => {
    getSelection().selectAllChildren(code); // Ctrl-C does it
    button.textContent = "press Ctrl-C";
  }));
}

// example is a text over several lines that one may copy.
export const example = (label, text) => el("pre", { class: "example", tabindex: 0, "aria-label": label, role: "region" }, text);

// cents is an amount as it is shown, in hundredths.
export const cents = (amount) => Math.round(100 * amount) / 100;

// monthly is what a cost of an answer comes to in a month of 730 hours, at the rate of the hours that have data.
export const monthly = (cost, answer) => cost * 730 / (answer.coveredHours || answer.windowHours);

// partial says that a window of an answer about a change has data of too few hours for a growth to say anything; "" where both have enough.
export const partial = ({ notComparable }) => (notComparable ? `not comparable: ${notComparable}` : "");

// doubt is a small mark at a cost of which a part rests on prices that nobody gave, or on estimates, with the reason on hover; nothing where none does.
export function doubt(answer) {
  const reasons = (answer.warnings ?? []).filter((text) => text.includes("of this cost rests on") || text.includes("are estimated from the last billed days"));
  return reasons.length > 0 && el("abbr", { class: "doubt", title: reasons.join("\n"), "aria-label": reasons.join(" "), tabindex: "0", role: "note" }, "≈");
}
