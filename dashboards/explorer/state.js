// The state of the page, which is its URL.

// DEFAULTS are all that there is to the state, with the values that the URL does not show.
export const DEFAULTS = {
  __proto__: null,
  view: "allocations",
  window: "", // empty is that of the view
  baseline: "", // what the window is compared with; empty is the time before it
  aggregate: "namespace", // a comma list of fields
  filter: "", // a v2 filter or a selector, as typed
  path: "", // where drilling down has led: a JSON list of [field, value]
  idle: "row", // row, node, share, even or hide
  share: "", // namespaces that are shared
  tenancy: "true", // whether what clusters cost besides nodes is shared
  prices: "billed", // billed or list
  zone: "", // an IANA name; empty is the server's zone
  profile: "balanced", // of the view savings: what recommends requests
  bill: "", // of the view bill: where opening it has led, a JSON list of [field, value]
  external: "", // whether costs outside of clusters join the rows whose names they carry
  effect: "", // of the view why: the effect that is looked into
};

// read is the state that a URL has.
export function read(search) {
  const given = new URLSearchParams(search);
  const state = {};
  for (const [name, value] of Object.entries(DEFAULTS)) state[name] = given.get(name) ?? value;
  return state;
}

// write is the query of a URL that has the state.
export function write(state) {
  const out = new URLSearchParams();
  for (const [name, value] of Object.entries(DEFAULTS)) {
    if (state[name] !== value) out.set(name, state[name]);
  }
  const text = out.toString();
  return text ? "?" + text : location.pathname;
}

// explicit is the query of a URL that has the state, and names its view even where it is the default.
export function explicit(state) {
  const query = new URLSearchParams(write(state).startsWith("?") ? write(state) : "");
  query.set("view", state.view);
  return `?${query}`;
}

// steps are the pairs of a JSON list of [field, value].
export function steps(text) {
  try {
    return JSON.parse(text || "[]").filter((step) => Array.isArray(step) && step.length === 2 && step.every((s) => typeof s === "string"));
  } catch {
    return [];
  }
}

// path is where drilling down has led, a list of [field, value].
export const path = (state) => steps(state.path);

// quote is a text as filters have it.
export const quote = (text) => `"${text.replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"`;

// ofKind is the v2 filter for controllers of a kind alone: one of Jobs also selects what CronJobs run.
const ofKind = (kind) => `controllerKind:${quote(kind)}` + (kind.toLowerCase() === "job" ? `+controllerKind!:"cronjob"` : "");

// condition is the v2 filter for rows with a value of a field of aggregate.
export function condition(field, value) {
  const label = /^(label|annotation):(.*)$/.exec(field);
  if (label) {
    const prefix = label[2] + "=";
    return `${label[1]}[${label[2]}]:${quote(value.startsWith(prefix) ? value.slice(prefix.length) : value)}`;
  }
  const at = value.indexOf(":");
  switch (field) {
    case "controller":
      if (value === "__unmounted__:__unmounted__") return `container:"__unmounted__"`; // volumes without a pod, as links of dashboards name them
      if (at < 0) return `controllerName:${quote(value)}`;
      return `${ofKind(value.slice(0, at))}+controllerName:${quote(value.slice(at + 1))}`;
    case "deployment": case "statefulset": case "daemonset": case "job":
      return `${ofKind(field)}+controllerName:${quote(value)}`;
    case "controllerKind":
      return ofKind(value);
    case "service":
      return `services:${quote(value)}`;
  }
  return `${field}:${quote(value)}`;
}

// selection are the parameters that select what the filter and the path do. The filter is v2, or a selector of Kubernetes.
export function selection(state) {
  const conditions = path(state).map(([field, value]) => condition(field, value));
  const typed = state.filter.trim();
  switch (language(typed)) {
    case "v2":
      conditions.push(typed.includes("|") && conditions.length > 0 ? `(${typed})` : typed);
      break;
    case "labels":
      return { filter: conditions.join("+"), labelSelector: typed };
    case "fields":
      return { filter: conditions.join("+"), fieldSelector: typed };
  }
  return { filter: conditions.join("+") };
}

// language is what a filter is written in: v2, labels or fields (selectors of Kubernetes), words, or "" for none.
export function language(text) {
  if (text === "") return "";
  if (/^(spec|metadata|status)\.[\w.]+\s*(!=|=)/.test(text)) return "fields";
  if (text.includes(":")) return "v2";
  return /[=!]|\s(not)?in\s*\(/.test(text) ? "labels" : "words";
}

const IDLE = {
  __proto__: null,
  row: { idle: "true" },
  node: { idle: "true", idleByNode: "true", splitIdle: "true" },
  share: { shareIdle: "true" },
  even: { shareIdle: "even" },
  hide: { idle: "false" },
};

// ESTIMATED asks for costs as billed, estimated where no bill charges anything yet.
export const ESTIMATED = { __proto__: null, unbilled: "estimate" };

// question are the parameters of questions about allocations: what is selected and shared, but neither window nor aggregate.
export function question(state) {
  return {
    ...selection(state), ...IDLE[state.idle],
    shareNamespaces: state.share,
    shareTenancyCosts: state.tenancy,
    external: state.external,
    ...(state.prices === "list" ? { reconcile: "false" } : ESTIMATED),
  };
}

// isPart reports whether a state shows only some rows: below a row, or those of a filter. The idle capacity that falls on them then stands apart.
export const isPart = (state) => path(state).length > 0 || state.filter.trim() !== "";

// ofRow is a state of a part without its row of idle: costs then add up to those of the rows.
export const ofRow = (state) => (isPart(state) && IDLE[state.idle]?.idle === "true" ? { ...state, idle: "hide" } : state);

// NEXT are the fields that rows of a field are divided by, when one drills down. Those of labels and teams are controllers.
const NEXT = {
  __proto__: null,
  all: "cluster", cluster: "namespace", namespace: "controller", controllerKind: "controller", controller: "pod", deployment: "pod", statefulset: "pod",
  daemonset: "pod", job: "pod", service: "pod", node: "pod", pod: "container", uid: "container", container: "",
};

const DEPTHS = ["cluster", "namespace", "controller", "pod", "container", ""];

// below is the field that a row of several fields is divided by next; "" if it is undivided.
export function below(fields) {
  const next = fields.map((field) => NEXT[field] ?? "controller");
  return next.reduce((a, b) => (DEPTHS.indexOf(b) > DEPTHS.indexOf(a) ? b : a));
}

// isIdle reports whether a row is of idle: its name ends in a part that no value of a workload has without a backslash before it.
export const isIdle = (name) => name.split("/").at(-1) === "__idle__";

// deeper is the state below a row; undefined where a row cannot be divided. Rows of several fields have their values joined by slashes.
export function deeper(name, fields, state) {
  const next = below(fields);
  const to = next !== "" && narrowed(name, fields, state);
  return to ? { path: to, aggregate: next } : undefined;
}

// narrowed is the path to a row; undefined for idle, and where a name has more parts than fields.
function narrowed(name, fields, state) {
  const values = fields.length === 1 ? [name] : name.split("/");
  if (values.length !== fields.length || isIdle(name)) return undefined;
  return JSON.stringify([...path(state), ...fields.map((field, i) => [field, values[i]])]);
}

// WORKLOADS are the fields whose rows the view workload shows.
const WORKLOADS = ["controller", "deployment", "statefulset", "daemonset", "job", "pod", "container"];

// isWorkload reports whether a value of a field is a workload: those that stand for what has none, or for what nobody used, are not.
export const isWorkload = (field, value) => WORKLOADS.includes(field) && !/(^|\/)__\w+__$/.test(value);

// workload is the state that shows a row as a workload; undefined for rows that are none.
export function workload(name, fields, state) {
  const to = isWorkload(fields.at(-1), name) && narrowed(name, fields, state);
  return to ? { view: "workload", path: to } : undefined;
}
