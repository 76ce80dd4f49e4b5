//go:build race

package costseries_test

// With the race detector all takes ten times as long: scrapes of fewer zones are compared.
const scrapedZones = 1
