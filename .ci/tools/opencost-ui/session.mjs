// Uses OpenCost's web page as a person does: node session.mjs URL-OF-THE-PAGE URL-OF-ITS-LEGACY-BUILD NOW
import { chromium } from 'playwright-core';

const [page_, legacy, now] = process.argv.slice(2);
const flags = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
  '--disable-component-update', '--disable-sync'];

// A report is what the page keeps in the browser's storage. It asks for it when it is opened.
const window_ = '2026-11-20T00:00:00Z,2026-11-21T23:59:59Z';
const rule = (property, value) => ({ property, value });
const queries = [
  { layer: 'allocation', groupings: ['namespace'], measures: ['totalCost'], accumulate: 'day' },
  { layer: 'allocation', groupings: ['cluster', 'namespace', 'controllerKind', 'controller'], measures: ['cpuCost', 'ramCost'], accumulate: 'all' },
  { layer: 'allocation', groupings: ['deployment'], accumulate: 'hour', filters: [rule('namespace', 'search')] },
  { layer: 'allocation', groupings: ['statefulset', 'daemonset', 'job'], accumulate: 'week' },
  { layer: 'allocation', groupings: ['service'], accumulate: 'weeknow', includeIdle: false },
  { layer: 'allocation', groupings: ['pod', 'container'], accumulate: 'month', filters: [rule('namespace', 'payments'), rule('controllerKind', 'deployment')] },
  { layer: 'allocation', groupings: ['node'], measures: ['gpuCost', 'pvCost', 'networkCost', 'sharedCost', 'externalCost'], accumulate: 'quarter' },
  ...['assetType', 'category', 'cluster', 'provider', 'account', 'service', 'project', 'providerID'].map((aggregateBy) => ({ layer: 'infraAssets', aggregateBy })),
  { layer: 'infraAssets', aggregateBy: 'assetType', accumulate: false, includeIdle: false },
  { layer: 'infraAssets', aggregateBy: 'assetType', filters: [rule('type', 'Disk')] },
  { layer: 'infraAssets', aggregateBy: 'category', filters: [rule('category', 'Compute'), rule('cluster', 'cluster-one')] },
  { layer: 'cloudCost', aggregateBy: 'provider', accumulate: 'day', costMetric: 'AmortizedNetCost' },
  { layer: 'externalCost', aggregateBy: 'domain', costType: 'blended', sortBy: 'cost', sortDirection: 'desc' },
];
const reports = queries.map((query, i) => ({
  id: `r${i}`, name: `r${i}`, description: '', tags: [], owner: 'You', visibility: 'public', favorite: false, createdAt: now, updatedAt: now,
  query: { window: window_, currency: 'USD', chartType: 'bar', includeIdle: true, includeUnallocated: true, accumulate: true, filters: [], ...query },
}));
// Reports in which a value of a filter is chosen from what the page suggests.
const fields = {
  allocation: ['cluster', 'namespace', 'node', 'controllerKind', 'controller', 'pod', 'container'],
  infraAssets: ['assetType', 'account', 'cluster', 'category', 'provider', 'providerID'],
};
const suggest = Object.entries(fields).flatMap(([layer, properties]) => properties.map((property, i) => ({
  ...reports[0], id: `s-${layer}-${i}`, query: { ...reports[0].query, layer, accumulate: layer === 'allocation' ? 'all' : true, filters: [rule(property, '')] },
})));

const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: flags });
const page = await (await browser.newContext({ viewport: { width: 1400, height: 1600 } })).newPage();
page.on('pageerror', (e) => { console.error(String(e)); process.exitCode = 1; });
await page.clock.setFixedTime(now);
await page.addInitScript((reports) => {
  localStorage.setItem('opencost-tutorial-wizard-completed', '1');
  localStorage.setItem('opencost-reports-v1', JSON.stringify(reports));
}, [...reports, ...suggest]);

const shot = async (name) => { if (process.env.SHOTS) await page.screenshot({ path: `${process.env.SHOTS}/${name}.png`, fullPage: true }); };
const open = async (url) => { await page.goto(url, { waitUntil: 'networkidle' }); await page.waitForTimeout(700); };

for (const path of ['/', '/dashboards', '/dashboard/2', '/dashboard/3', '/dashboard/4', '/reports', '/settings']) {
  await open(page_ + path);
  await shot('page' + path.replaceAll('/', '-'));
}
for (const r of reports) {
  await open(`${page_}/report/${r.id}`);
  await shot('report-' + r.id);
}
for (const r of suggest) {
  await open(`${page_}/report/${r.id}`);
  const value = page.getByPlaceholder('Value').first();
  await value.click();
  await page.waitForTimeout(900);
  await value.pressSequentially('se');
  await page.waitForTimeout(900);
  await shot('suggest-' + r.id);
}
for (const window of ['today', 'yesterday', '24h', '48h', 'week', 'lastweek', '7d', '14d']) await open(`${legacy}/?window=${window}&agg=namespace&acc=true`);
for (const agg of ['cluster', 'node', 'controllerKind', 'controller', 'service', 'pod', 'container']) await open(`${legacy}/?window=48h&agg=${agg}&acc=false`);
await open(`${legacy}/?window=48h&agg=namespace&acc=true`);
for (const row of ['search', /deployment/i, /./, /./]) { // from namespaces down to containers
  const cell = page.locator('tbody tr').filter({ hasText: row }).filter({ hasNotText: /Totals|__/ }).first().locator('td').first();
  if (!(await cell.count())) break;
  await cell.click();
  await page.waitForTimeout(1000);
}
await shot('legacy');
await open(`${legacy}/cloud`);
await open(`${legacy}/external-costs`);
await browser.close();
