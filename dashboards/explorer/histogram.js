// Small histograms of usage, with a container's requests marked: those of now, and those recommended.

import { el, svg } from "./dom.js";

const [WIDTH, HEIGHT, EDGE] = [160, 28, 4];
const MARK = 2; // width
const CAP = 7; // of the mark of what is recommended, which so differs from the other not by colour alone
const RANGE = 4; // from the left end of the scale to the right one, at least
const BAR = 2 ** 0.25; // from the beginning to the end of a bar that has all that is lower, too

// histogram shows how long usage was how high: a distribution of the API, on a logarithmic scale that has both requests on it. What is not above 0 is not marked. The label
// says the same in words.
export function histogram({ levels, shares }, now, recommended, label) {
  const last = levels.length - 1;
  const begin = levels[0] || levels[1] / BAR;
  const above0 = [begin, levels[last], now, recommended].filter((v) => v > 0);
  const high = Math.max(...above0, 0) || 1;
  const low = Math.min(...above0, high / RANGE);
  const x = (v) => EDGE + (WIDTH - 2 * EDGE) * (v > low ? Math.log(v / low) / Math.log(high / low) : 0);
  const most = Math.max(...shares);
  const limit = recommended > 0 ? x(recommended) : now > 0 ? x(now) : WIDTH;
  const bars = shares.flatMap((share, i) => {
    const to = Math.max(x(levels[i + 1]), 1);
    const from = Math.min(x(i === 0 ? begin : levels[i]), to - 1);
    const height = share > 0 ? Math.max(1.5, (HEIGHT - CAP / 2) * share / most) : 0;
    const split = Math.min(Math.max(limit, from), to);
    const bar = (kind, left, right) => height > 0 && right > left && svg("rect", { class: kind, x: left, y: HEIGHT - height, width: right - left, height });
    return [bar("time", from, split), bar("time above", split, to)];
  });
  const mark = (kind, at) => at > 0 && svg("rect", { class: kind, x: x(at) - MARK / 2, width: MARK, height: HEIGHT });
  return svg("svg", { class: "histogram", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", role: "img", "aria-label": label },
    svg("title", {}, label),
    svg("rect", { class: "ground", y: HEIGHT - 0.5, width: WIDTH, height: 0.5 }),
    bars,
    mark("now", now),
    mark("recommended", recommended),
    recommended > 0 && svg("rect", { class: "recommended cap", x: x(recommended) - CAP / 2, width: CAP, height: CAP / 2 }));
}

// legend says what histograms consist of.
export function legend() {
  const key = (text, ...shapes) => el("span", {}, svg("svg", { class: "histogram", viewBox: "0 0 10 12", "aria-hidden": "true" }, shapes), text);
  return el("p", { class: "legend" },
    key("time at a level of usage", svg("rect", { class: "time", x: 1, y: 3, width: 8, height: 9 })),
    key("above the recommended request", svg("rect", { class: "time above", x: 1, y: 3, width: 8, height: 9 })),
    key("requested now", svg("rect", { class: "now", x: 4, width: MARK, height: 12 })),
    key("recommended", svg("rect", { class: "recommended", x: 4, width: MARK, height: 12 }), svg("rect", { class: "recommended", x: 5 - CAP / 2, width: CAP, height: CAP / 2 })),
    el("span", {}, "The scale is logarithmic."));
}
