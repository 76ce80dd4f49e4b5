// Tables of costs: sorted by any column, usable by keyboard, with a sum of the selected rows. Of long tables only the rows in sight are elements.

import { el, NARROW } from "./dom.js";
import { explained } from "./help.js";
import { shorten, whole } from "./parts.js";

const HEIGHT = 29; // of a row, in pixels, unless options say otherwise
const UNDER = 24; // of its second line on narrow screens, likewise
const WIDEST = 420; // of names that leave other columns less, in pixels
const WHOLE = 200; // rows up to which a table is not cut to what is in sight
const AROUND = 15; // rows kept above and below what is in sight

// TABLES are the tables by their elements.
const TABLES = new WeakMap();

// tablesIn are the tables within an element of the page, in their order there.
export const tablesIn = (element) => [...element.querySelectorAll("table.costs")].map((table) => TABLES.get(table));

// widthOf is how wide the cell of a name must be to show all of it, in pixels; 0 for cells without one. It holds for names that are whole, in a table that is measured.
function widthOf(cell) {
  const head = cell.querySelector(".name > .head");
  if (!head) return 0;
  const { paddingLeft, paddingRight } = getComputedStyle(cell);
  const beside = [...cell.querySelectorAll(".swatch, .details")].reduce((sum, e) => sum + e.offsetWidth + parseFloat(getComputedStyle(e).marginRight), 0);
  return head.scrollWidth + beside + parseFloat(paddingLeft) + parseFloat(paddingRight) + 2;
}

// Table shows rows in columns. A column is {name, title, term, help, value(row), cell(row), csv(row), text, wide}: term is its word in the glossary, by default its title, help what there is to say besides;
// value is what it is sorted by, and in CSV unless csv is given, cell a node or a text; text columns are sorted from a to z, wide ones leave narrow screens, and of them those with the
// highest number, then the last ones, leave a box that is too small. On narrow screens, what columns that are under say stands in a second line of each row. Options are caption, unit (of its
// amounts), sort (the name of a column), select(rows), which gets the selected rows, height and under, of rows and of their second lines in pixels, and what CSV alone has: all, if that is more rows, and more, columns as [title, value(row)].
export class Table {
  constructor(columns, rows, options) {
    Object.assign(this, { columns, options, rows: [...rows], selected: new Set(), gone: new Set(), first: -1, last: -1 });
    this.by = columns.find((c) => c.name === options.sort) ?? columns[0];
    this.down = !this.by.text;
    this.body = el("tbody", {});
    this.head = el("tr", { "aria-rowindex": 1 }, this.headers());
    this.table = el("table", { class: "costs", "aria-rowcount": rows.length + 1 },
      el("caption", {}, el("span", { class: "hidden" }, options.caption), options.unit && el("span", { class: "unit" }, ` in ${options.unit}`)), el("thead", {}, this.head), this.body);
    this.under = NARROW.matches ? columns.filter((c) => c.under) : [];
    const [own, under] = [options.height ?? HEIGHT, options.under ?? UNDER];
    this.height = own + (this.under.length > 0 ? under : 0);
    this.table.style.setProperty("--row", `${own}px`);
    this.table.style.setProperty("--under", `${under}px`);
    TABLES.set(this.table, this);
    this.long = rows.length > WHOLE;
    this.element = el("div", { class: this.long ? "scroll long" : "scroll", tabindex: 0, role: "region", "aria-label": options.caption, onkeydown: (event) => this.key(event), oncopy: (event) => this.copy(event) }, this.table);
    if (this.long) this.element.addEventListener("scroll", () => this.draw(), { passive: true });
    const observer = new ResizeObserver(() => this.fit()); // of the table, too: some cells come later
    for (const box of [this.element, this.table]) observer.observe(box);
    this.sort();
  }

  // fit takes wide columns away, those that matter least first, until the table is as wide as its box.
  fit() {
    const wide = this.columns.filter((c) => c.wide).reverse().sort((a, b) => b.wide - a.wide);
    for (let n = 0; n <= wide.length; n++) {
      this.leave(wide.slice(0, n));
      this.widen();
      for (let i = 0; i < 2; i++) { // what is cut needs room for its end
        this.yield();
        shorten(this.body); // the others take of a column's room what they lacked
      }
      if (this.table.offsetWidth <= this.element.clientWidth) break;
    }
  }

  // widen gives names the room that they need, of that which texts of other columns can do without.
  widen() {
    whole(this.body);
    this.table.classList.add("measured");
    const widths = this.columns.map((c) => (this.gone.has(c) ? 0 : Math.max(0, ...[...this.body.querySelectorAll(`[data-column="${c.name}"]`)].map(widthOf))));
    this.table.classList.remove("measured");
    this.columns.forEach((c, n) => { this.headerOf(c).style.minWidth = widths[n] > 0 ? `${Math.min(widths[n], WIDEST)}px` : ""; });
  }

  // yield takes from names the room that there is not, from those of the last columns first.
  yield() {
    for (const { style } of this.columns.map((c) => this.headerOf(c)).reverse()) {
      const over = this.table.offsetWidth - this.element.clientWidth;
      if (over <= 0) return;
      if (style.minWidth !== "") style.minWidth = `${Math.max(0, parseFloat(style.minWidth) - over)}px`;
    }
  }

  // leave hides some columns, and shows all others.
  leave(columns) {
    const changed = this.columns.filter((c) => this.gone.has(c) !== columns.includes(c));
    this.gone = new Set(columns);
    for (const c of changed) {
      for (const cell of this.table.querySelectorAll(`[data-column="${c.name}"]`)) cell.hidden = this.gone.has(c);
    }
  }

  headerOf(c) {
    return this.head.children[this.columns.indexOf(c) + (this.options.select ? 1 : 0)];
  }

  headers() {
    const all = el("input", { type: "checkbox", "aria-label": "Select all rows", onchange: (event) => this.selectAll(event.target.checked) });
    return [this.options.select && el("th", { class: "pick", scope: "col" }, all), ...this.columns.map((c) => el("th", { scope: "col", ...this.marks(c), "aria-sort": this.order(c) },
      el("button", { type: "button", onclick: () => this.sortBy(c), ...explained(c.term ?? c.title, c.help) }, c.title)))];
  }

  // marks are the attributes of a column's cells. Names of columns are no classes, which have meanings of their own.
  marks(c) {
    return { class: [c.text ? "text" : "", c.wide ? "wide" : ""].filter(Boolean).join(" ") || undefined, "data-column": c.name, hidden: this.gone.has(c) };
  }

  order(c) {
    if (c !== this.by) return "none";
    return this.down ? "descending" : "ascending";
  }

  sortBy(c) {
    this.down = c === this.by ? !this.down : !c.text;
    this.by = c;
    for (const column of this.columns) this.headerOf(column).setAttribute("aria-sort", this.order(column));
    this.sort();
  }

  sort() {
    const { value, text } = this.by;
    const sign = this.down ? -1 : 1;
    const keys = new Map(this.rows.map((row) => [row, value(row)]));
    this.rows.sort((a, b) => {
      const [x, y] = [keys.get(a), keys.get(b)];
      if (x === y) return 0;
      if (x === null || x === undefined) return 1; // the unknown comes last
      if (y === null || y === undefined) return -1;
      return sign * (text ? x.localeCompare(y) : x - y);
    });
    this.refresh();
  }

  // csv is the table as CSV, in the order in which it is shown unless it has more rows: the values that it is sorted by, which are not rounded. What is unknown is empty.
  // more are columns with one value in all rows, as [title, value].
  csv(more = []) {
    const cell = (value) => {
      const text = String(value ?? "");
      return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
    };
    const all = [...this.columns.map((c) => [c.title, c.csv ?? c.value]), ...(this.options.more ?? []), ...more.map(([title, value]) => [title, () => value])];
    const lines = [all.map(([title]) => title), ...(this.options.all ?? this.rows).map((row) => all.map(([, value]) => value(row)))];
    return lines.map((line) => line.map(cell).join(",") + "\r\n").join("");
  }

  // refresh draws all rows anew, for what their cells say has changed.
  refresh() {
    this.first = -1;
    this.draw();
  }

  // fill says the cells of some columns anew. The rows stay the elements that they are: one that is replaced while the mouse is pressed on it
  // gets no click.
  fill(names) {
    if (names.includes(this.by.name)) {
      this.sort();
      return;
    }
    const from = this.options.select ? 1 : 0;
    for (const line of this.body.querySelectorAll("tr[data-row]")) {
      this.columns.forEach((c, n) => {
        if (names.includes(c.name)) line.children[from + n].replaceWith(this.cell(c, n, this.rows[line.dataset.row]));
      });
      if (this.under.some((c) => names.includes(c.name))) line.nextElementSibling.replaceWith(this.second(this.rows[line.dataset.row]));
    }
    this.fit();
  }

  // draw makes the rows in sight.
  draw() {
    let [first, last] = [0, this.rows.length];
    if (this.long) {
      first = Math.max(0, Math.floor(this.element.scrollTop / this.height) - AROUND);
      last = Math.min(this.rows.length, first + Math.ceil((this.element.clientHeight || 800) / this.height) + 2 * AROUND);
      if (this.first >= 0 && Math.abs(first - this.first) < AROUND && this.last - this.first === last - first) return;
    }
    [this.first, this.last] = [first, last];
    const space = (rows) => rows > 0 && el("tr", { class: "gap", "aria-hidden": "true", height: rows * this.height });
    const at = this.body.contains(document.activeElement) ? document.activeElement.closest("tr").dataset.row : "";
    this.body.replaceChildren(...[space(first), ...this.rows.slice(first, last).flatMap((row, i) => [this.line(row, first + i), this.under.length > 0 && this.second(row)]), space(this.rows.length - last)].filter(Boolean));
    for (const gap of this.body.querySelectorAll(".gap")) gap.style.height = `${gap.getAttribute("height")}px`;
    shorten(this.body);
    if (at) this.body.querySelector(`tr[data-row="${at}"] a, tr[data-row="${at}"] input`)?.focus({ preventScroll: true });
  }

  line(row, i) {
    const pick = this.options.select && el("td", { class: "pick" }, el("input", {
      type: "checkbox", checked: this.selected.has(row), "aria-label": `Select ${this.options.name(row)}`, onclick: (event) => this.pick(i, event.target.checked, event.shiftKey),
    }));
    return el("tr", { "aria-rowindex": i + 2, class: this.selected.has(row) ? "selected" : undefined, dataset: { row: i } }, pick, this.columns.map((c, n) => this.cell(c, n, row)));
  }

  // second is the second line of a row.
  second(row) {
    const parts = this.under.map((c) => el("span", {}, el("small", {}, c.title), " ", c.cell(row)));
    return el("tr", { class: "under" }, el("td", { colspan: this.columns.length + (this.options.select ? 1 : 0) }, el("div", {}, parts.filter((part) => part.textContent !== `${part.firstChild.textContent} `))));
  }

  cell(c, n, row) {
    return el(n === 0 ? "th" : "td", { ...this.marks(c), scope: n === 0 ? "row" : undefined }, c.cell(row));
  }

  // pick selects a row, or with shift all from the one before.
  pick(i, on, range) {
    const from = range && this.picked !== undefined ? this.picked : i;
    for (let n = Math.min(from, i); n <= Math.max(from, i); n++) {
      if (on) this.selected.add(this.rows[n]);
      else this.selected.delete(this.rows[n]);
    }
    this.picked = i;
    this.tell();
  }

  selectAll(on) {
    this.selected = new Set(on ? this.rows : []);
    this.tell();
  }

  tell() {
    this.refresh();
    this.options.select([...this.selected]);
  }

  // copy copies a name as one word: browsers take the two parts of one that is cut for lines.
  copy(event) {
    const range = getSelection().getRangeAt(0);
    const text = range.toString().trim();
    const names = [...this.body.querySelectorAll(".name")].filter((name) => range.intersectsNode(name));
    if (names.length !== 1 || !names[0].textContent.includes(text)) return;
    event.clipboardData.setData("text/plain", text);
    event.preventDefault();
  }

  // key moves between rows with the arrows, and selects with the space bar.
  key(event) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step) return;
    const line = document.activeElement.closest?.("tr[data-row]");
    const at = line ? Number(line.dataset.row) + step : this.first;
    if (at < 0 || at >= this.rows.length) return;
    event.preventDefault();
    if (this.long) {
      const { scrollTop, clientHeight } = this.element;
      if (at * this.height < scrollTop) this.element.scrollTop = at * this.height;
      if ((at + 3) * this.height > scrollTop + clientHeight) this.element.scrollTop = (at + 3) * this.height - clientHeight;
      this.draw();
    }
    const tag = document.activeElement.matches?.("input") ? "input" : "th a, th button, input";
    (this.body.querySelector(`tr[data-row="${at}"] :is(${tag})`) ?? this.body.querySelector(`tr[data-row="${at}"] input`))?.focus();
  }
}
