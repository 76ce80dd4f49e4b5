// The frame: state and URL, views, warnings and the footer.

import { ask, Failure } from "./api.js";
import { el, NARROW, options } from "./dom.js";
import { Footer } from "./footer.js";
import { formats } from "./format.js";
import { help } from "./help.js";
import { Saved } from "./saved.js";
import { DEFAULTS, explicit, read, write } from "./state.js";
import { Toolbar } from "./toolbar.js";
import * as allocations from "./views/allocations.js";

// VIEWS are the views, by their names in the URL: what a tab says, and what loads the module. Inner ones have no tab: others lead to them.
const VIEWS = {
  __proto__: null,
  allocations: { title: "Allocations", load: () => allocations },
  why: { title: "Why", load: () => import("./views/why.js") },
  workload: { title: "Workload", inner: true, load: () => import("./views/workload.js") },
  assets: { title: "Assets", load: () => import("./views/assets.js") },
  savings: { title: "Savings", load: () => import("./views/savings.js") },
  budgets: { title: "Budgets", load: () => import("./views/budgets.js") },
  bill: { title: "Bill", load: () => import("./views/bill.js") },
  health: { title: "Health", load: () => import("./views/health.js") },
};

const WINDOW = "7d"; // of views that have no WINDOW of their own, where the address names none

const byId = (id) => document.getElementById(id);

let state = read(location.search);
let running; // AbortController of the view
let cleanup; // of the view that is on the page
let shown; // its state
let server = { currency: "USD", zone: "UTC" };

// go changes the state and the URL, and shows the view anew.
function go(patch, replace = false) {
  state = { ...state, ...patch };
  history[replace ? "replaceState" : "pushState"](null, "", saved.first === undefined ? write(state) : explicit(state));
  show();
}

addEventListener("popstate", () => {
  state = read(location.search);
  show();
});

// show shows the view of the state. The one before stays until the new one has its numbers; questions of the one before are cancelled.
async function show() {
  running?.abort();
  running = new AbortController();
  const { signal } = running;
  const name = VIEWS[state.view] ? state.view : DEFAULTS.view;
  const format = formats(server.currency, state.zone || server.zone);
  document.title = `promcost: ${VIEWS[name].title.toLowerCase()}`;
  byId("title").textContent = VIEWS[name].title;
  for (const tab of byId("views").children) {
    if (tab.dataset.view === name) tab.setAttribute("aria-current", "page");
    else tab.removeAttribute("aria-current");
  }
  const root = el("div", { class: `view ${name}` });
  const footer = new Footer(byId("footer"), format);
  const said = [];
  const old = byId("view");
  old.setAttribute("aria-busy", "true");
  let end;
  try {
    const view = await VIEWS[name].load();
    const asked = { ...state, window: state.window || (view.WINDOW ?? WINDOW) };
    toolbar.show(asked, view.controls ?? [], format, root);
    if (view.controls?.includes("filter") && !await readable(signal)) return;
    const ctx = {
      state: asked, signal, format, go,
      ask: async (path, params, heard = true) => {
        const answer = await ask(path, params, signal);
        if (heard) footer.add(answer);
        return answer;
      },
      offer: (what) => toolbar.offer(what),
      notice: (text) => said.push(text),
    };
    end = await view.show(root, ctx);
    if (!signal.aborted) shown = state;
  } catch (err) {
    if (signal.aborted) return;
    if (err.status === 400 && changed()) return refuse(err.message);
    if (!(err instanceof Failure)) console.error(err);
    root.replaceChildren(trouble(err));
  }
  if (signal.aborted) {
    end?.();
    return;
  }
  cleanup?.();
  cleanup = end;
  const had = old.contains(document.activeElement);
  old.replaceChildren(root);
  old.removeAttribute("aria-busy");
  if (had) old.focus({ preventScroll: true });
  byId("said").replaceChildren(...said.map((text) => el("p", {}, text)));
  footer.show();
}

// changed is whether the filter is another than that of what is shown.
const changed = () => shown && state.filter !== shown.filter;

// readable reads the filter of an address as one that is typed: plain words become a filter, and what cannot be read selects nothing, not all. It is false where another view is shown in place of this.
async function readable(signal) {
  const { filter, mistake } = await toolbar.filter.read(state.filter);
  if (signal.aborted) return false;
  if (mistake && changed()) {
    await refuse(mistake);
    return false;
  }
  if (mistake) {
    toolbar.filter.explain(mistake);
    throw new Failure("Nothing is shown until the filter is right: what is wrong with it stands below it.", 400);
  }
  if (filter === state.filter.trim()) return true;
  go({ filter }, true);
  return false;
}

// refuse shows again what is shown, and says at the filter box why its filter selects nothing.
async function refuse(message) {
  state = shown;
  history.replaceState(null, "", write(state));
  await show();
  toolbar.filter.explain(message);
}

// trouble says what went wrong, with the server's text, and what to do.
function trouble(err) {
  const [first, ...rest] = err.message.split("\n");
  return el("section", { class: "trouble", role: "alert" },
    el("h2", {}, err.status === 400 ? "promcost does not understand the question" : "There is no answer"),
    el("p", {}, first), rest.length > 0 && el("pre", {}, rest.join("\n")),
    el("p", {}, el("button", { type: "button", onclick: () => show() }, "Try again"), " ",
      el("button", { type: "button", onclick: () => go({ ...DEFAULTS, view: state.view }) }, "Start over")));
}

// listZones fills the list of time zones: the server's, the browser's and UTC.
function listZones() {
  const own = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const zones = [["", `${server.zone} (server)`]];
  for (const zone of new Set([own, "UTC", state.zone])) if (zone && zone !== server.zone) zones.push([zone, zone]);
  byId("zone").replaceChildren(...options(zones, state.zone));
}

// learn asks what the page shows of the server: its currency, zone and cluster.
async function learn() {
  const [configs, info, views] = await Promise.allSettled([ask("model/getConfigs"), ask("model/clusterInfo"), ask("model/views")]);
  if (configs.status === "fulfilled") {
    const { currencyCode, timeZone } = configs.value.data;
    server = { currency: currencyCode ?? "USD", zone: supported(timeZone) };
  }
  if (info.status === "fulfilled") byId("cluster").textContent = info.value.data.name ?? "";
  if (views.status === "fulfilled") saved.share(views.value.data);
  listZones();
}

// begin shows the first saved view where the address names none.
function begin() {
  if (location.search === "" && saved.first !== undefined) {
    state = read(saved.first);
    history.replaceState(null, "", explicit(state));
  }
  show();
}

// supported is the zone, or UTC where this browser does not know it.
function supported(zone) {
  try {
    new Intl.DateTimeFormat("en", { timeZone: zone });
    return zone ?? "UTC";
  } catch {
    return "UTC";
  }
}

const prefersDark = matchMedia("(prefers-color-scheme: dark)");
const toolbar = new Toolbar(byId("toolbar"), go);
const saved = new Saved({ go: (query) => go(read(query)), query: () => explicit(state).slice(1) });
byId("zone").before(saved.element);
byId("views").append(...Object.entries(VIEWS).filter(([, { inner }]) => !inner).map(([name, { title }]) => el("a", {
  href: name === DEFAULTS.view ? "./" : `?view=${name}`, dataset: { view: name },
  onclick: (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    go({ view: name });
  },
}, title)));
byId("zone").addEventListener("change", (event) => go({ zone: event.target.value }));
byId("theme").addEventListener("click", () => {
  const { dataset } = document.documentElement;
  const dark = dataset.theme === "dark" || dataset.theme !== "light" && prefersDark.matches;
  dataset.theme = dark ? "light" : "dark";
  try {
    localStorage.setItem("promcost-theme", dataset.theme);
  } catch {
    // It lasts as long as the page.
  }
  show(); // charts have their colours from the theme
});
prefersDark.addEventListener("change", () => show());
NARROW.addEventListener("change", () => show());
help();
await learn();
begin();
