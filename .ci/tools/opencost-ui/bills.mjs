// Goes through all that OpenCost's web page shows of cloud and external costs: node bills.mjs URL-OF-THE-PAGE URL-OF-ITS-LEGACY-BUILD NOW
// It prints how many pages it saw. It fails where a page shows no cost, or where the browser's console has an error.
import { chromium } from 'playwright-core';

const [page_, legacy, now] = process.argv.slice(2);
const flags = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
  '--disable-component-update', '--disable-sync'];
const windows = ['today', 'yesterday', '24h', '48h', 'week', 'lastweek', '7d', '14d'];
const billed = (window) => !['today', 'week'].includes(window); // bills end with the day before, a Saturday
const report = (layer, window, query) => ({
  id: `${layer}-${window}-${Object.values(query)}`.replace(/[^a-zA-Z0-9-]/g, '-'), window, name: layer, description: '', tags: [], owner: 'You', visibility: 'public', favorite: false, createdAt: now, updatedAt: now,
  query: { layer, window, currency: 'USD', chartType: 'bar', includeIdle: true, includeUnallocated: true, accumulate: true, filters: [], ...query },
});
const reports = [
  ...windows.map((window) => report('cloudCost', window, { aggregateBy: 'service', costMetric: 'AmortizedNetCost' })),
  ...['accountID', 'invoiceEntityID', 'provider', 'category'].map((aggregateBy) => report('cloudCost', '7d', { aggregateBy, costMetric: 'InvoicedCost' })),
  ...windows.map((window) => report('externalCost', window, { aggregateBy: 'domain', costType: 'blended', sortBy: 'cost', sortDirection: 'desc' })),
];
// What the pages of the legacy build are asked for, and how many times their first row is clicked to see what it consists of.
const pages = [
  ...windows.map((window) => ({ path: 'cloud', window, query: 'agg=provider' })),
  ...['accountID', 'invoiceEntityID', 'provider', 'service', 'category', 'item'].flatMap((agg) =>
    ['AmortizedNetCost', 'ListCost', 'InvoicedCost', 'AmortizedCost'].map((metric) => ({ path: 'cloud', window: '7d', query: `agg=${agg}&costMetric=${metric}` }))),
  { path: 'cloud', window: '7d', query: 'agg=provider', clicks: 3 },
  ...windows.map((window) => ({ path: 'external-costs', window, query: 'agg=domain' })),
  ...['domain', 'accountName', 'resourceName', 'resourceType', 'zone', 'chargeCategory', 'providerId', 'usageUnit'].flatMap((agg) =>
    ['blended', 'billed', 'list'].map((type) => ({ path: 'external-costs', window: '7d', query: `agg=${agg}&costType=${type}` }))),
  { path: 'external-costs', window: '7d', query: 'agg=domain', clicks: 4 },
];

const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: flags });
const page = await (await browser.newContext({ viewport: { width: 1400, height: 1600 } })).newPage();
let where = '', seen = 0;
const fail = (text) => { console.error(`${where}: ${text}`); process.exitCode = 1; };
page.on('pageerror', (e) => fail(e));
page.on('console', (m) => { if (m.type() === 'error') fail(`console: ${m.text()}`); });
await page.clock.setFixedTime(now);
await page.addInitScript((reports) => {
  localStorage.setItem('opencost-tutorial-wizard-completed', '1');
  localStorage.setItem('opencost-reports-v1', JSON.stringify(reports));
}, reports);

const rows = page.locator('tbody tr');
const check = async (window) => {
  seen++;
  if (billed(window)) await rows.filter({ hasText: /\$[\d,]*\.(?!00\b)\d\d|\$[1-9]/ }).first().waitFor({ timeout: 30_000 }).catch(() => fail('no cost in the table'));
  if (process.env.SHOTS) await page.screenshot({ path: `${process.env.SHOTS}/bills-${seen}.png`, fullPage: true });
};
const open = async (url, window) => {
  where = url;
  await page.goto(url, { waitUntil: 'networkidle' });
  await page.waitForTimeout(500);
  await check(window);
};

for (const r of reports) await open(`${page_}/report/${r.id}`, r.window);
for (const p of pages) {
  await open(`${legacy}/${p.path}?window=${p.window}&${p.query}`, p.window);
  for (let i = 1; i <= (p.clicks ?? 0); i++) {
    await rows.filter({ hasNotText: /^Total/ }).first().locator('td').first().click();
    await page.waitForTimeout(1000);
    where = `${p.path} after ${i} clicks`;
    await check(p.window);
  }
}
await browser.close();
console.log(`${seen} pages`);
