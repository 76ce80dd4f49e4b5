// Numbers and times as text. Unknown numbers are a dash.

export const UNKNOWN = "–";

const numbers = new Map();

// decimal is a number with a fixed count of decimals.
function decimal(x, least, most = least) {
  const key = `${least}/${most}`;
  if (!numbers.has(key)) numbers.set(key, new Intl.NumberFormat("en", { minimumFractionDigits: least, maximumFractionDigits: most }));
  return numbers.get(key).format(x).replace("-", "−");
}

const known = (x) => x !== null && x !== undefined && Number.isFinite(x);

// money is an amount with two decimals, or with as many as show two digits of it.
export function money(x) {
  if (!known(x)) return UNKNOWN;
  const size = Math.abs(x);
  if (size >= 0.005 || size < 1e-9) return decimal(size < 1e-9 ? 0 : x, 2);
  return decimal(x, 2, Math.min(10, 1 - Math.floor(Math.log10(size))));
}

// headline is an amount for a total: without decimals where they do not matter.
export const headline = (x) => (known(x) && Math.abs(x) >= 1000 ? decimal(x, 0) : money(x));

// signed is an amount with its sign.
export const signed = (x) => (known(x) && x > 0 && money(x) !== "0.00" ? "+" : "") + money(x);

// percent is a part of one as percent.
export function percent(x, decimals = 0) {
  if (!known(x)) return UNKNOWN;
  return decimal(100 * x, decimals) + " %";
}

// growth is a relative change as percent, with its sign.
export function growth(x) {
  if (!known(x)) return UNKNOWN;
  const text = percent(x, Math.abs(x) < 0.0995 ? 1 : 0);
  return (x > 0 ? "+" : "") + text;
}

// bound is the error of a number, relative to it, as ±x %. The bounds are those of an answer: what was counted over what may be true.
export function bound(x) {
  if (!known(x)) return "";
  if (x < 5e-7) return "exact";
  const text = 100 * x;
  return "±" + decimal(text, 0, Math.max(0, Math.min(4, 1 - Math.floor(Math.log10(text))))) + " %";
}

// quantity is a number of cores or the like with three digits.
export function quantity(x) {
  if (!known(x)) return UNKNOWN;
  if (x === 0) return "0";
  return decimal(x, 0, Math.max(0, Math.min(3, 2 - Math.floor(Math.log10(Math.abs(x))))));
}

// bytes is an amount of memory.
export function bytes(x) {
  if (!known(x)) return UNKNOWN;
  const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
  let i = 0;
  for (; Math.abs(x) >= 1024 && i < units.length - 1; i++) x /= 1024;
  return `${quantity(x)} ${units[i]}`;
}

// duration is a length of time in milliseconds.
export function duration(ms) {
  if (!known(ms)) return UNKNOWN;
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60e3) return `${decimal(ms / 1000, 0, 1)} s`;
  const hours = ms / 3600e3;
  if (hours < 1) return `${Math.round(ms / 60e3)} min`;
  return hours < 72 ? `${decimal(hours, 0, 1)} h` : `${decimal(hours / 24, 0, 1)} days`;
}

const clocks = new Map();

function clock(zone, style) {
  const key = `${zone}/${style}`;
  if (!clocks.has(key)) {
    const fields = {
      time: { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" },
      day: { weekday: "short", day: "numeric", month: "short" },
      tick: { day: "numeric", month: "short" },
      date: { day: "numeric", month: "short", year: "numeric" },
      parts: { year: "numeric", month: "2-digit", day: "2-digit", hour: "2-digit", minute: "2-digit", second: "2-digit" },
    }[style];
    clocks.set(key, new Intl.DateTimeFormat("en-GB", { ...fields, hourCycle: "h23", timeZone: zone }));
  }
  return clocks.get(key);
}

// parts are the fields of a time in a zone.
function parts(time, zone) {
  const out = {};
  for (const { type, value } of clock(zone, "parts").formatToParts(time)) out[type] = value;
  return out;
}

// local is a time as <input type="datetime-local"> has it, in a zone.
export function local(time, zone) {
  const p = parts(time, zone);
  return `${p.year}-${p.month}-${p.day}T${p.hour}:${p.minute}`;
}

// instant is the time of a text as of local, in a zone.
export function instant(text, zone) {
  const asked = Date.parse(text + "Z");
  let guess = asked;
  for (let i = 0; i < 2; i++) guess += asked - Date.parse(local(new Date(guess), zone) + "Z"); // twice, for the offset may change between
  return new Date(guess);
}

// rfc3339 is a time in UTC to the second.
export const rfc3339 = (time) => new Date(time).toISOString().replace(/\.\d+Z$/, "Z");

// formats are the functions of this module for a currency and a zone.
export function formats(currency, zone) {
  return {
    money, headline, signed, percent, growth, bound, quantity, bytes, duration, rfc3339, currency, zone, UNKNOWN,
    time: (t) => clock(zone, "time").format(new Date(t)),
    day: (t) => clock(zone, "day").format(new Date(t)),
    tick: (t) => (local(new Date(t), zone).endsWith("T00:00") ? clock(zone, "tick").format(t) : local(new Date(t), zone).slice(-5)),
    date: (t) => clock(zone, "date").format(new Date(t)),
    // span is a window; its end is left out where it is the end of the same day.
    span: (w) => `${clock(zone, "time").format(new Date(w.start))} – ${clock(zone, "time").format(new Date(w.end))}`,
  };
}
