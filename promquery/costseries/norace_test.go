//go:build !race

package costseries_test

// scrapedZones is in how many zones TestQueriesAreWhatScrapesGot compares.
const scrapedZones = 4
