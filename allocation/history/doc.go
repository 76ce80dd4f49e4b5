// Package history keeps closed hours and days of allocations and their assets: as Parquet files in a directory or in an object
// store, which DuckDB, Spark, Trino or ClickHouse read as they lie.
//
// # Layout
//
//	allocations_hourly/cluster=<name>/date=2026-03-02/hour=13/part-1of1.g1.parquet
//	assets_hourly/cluster=<name>/date=2026-03-02/hour=13/part-1of1.g1.parquet
//	sets_hourly/date=2026-03-02/hour=13.part-1of1.g1.json
//	sets_hourly/date=2026-03-02/hour=13.part-1of1.g1.stats.json
//	allocations_daily/cluster=<name>/date=2026-03-02/part-1of1.g1.parquet
//	assets_daily/cluster=<name>/date=2026-03-02/part-1of1.g1.parquet
//	sets_daily/year=2026/date=2026-03-02.part-1of1.g1.json
//	sets_counted/date=2026-03-02/hour=13.part-1of1.g1.json
//	bills_daily/bill=<name>/account=<id>/period=20260301T000000Z/date=2026-03-02/part-1.g1.parquet
//	sets_bills/bill=<name>/account=<id>/period=20260301T000000Z.g1.json
//	bills_taken/bill=<name>/<delivery>.json
//	prices/<provider>/<region>/20260302T130000Z.csv
//	tmp/
//
// Names of clusters are percent-encoded. Dates and hours of hourly sets are those of their start in UTC, with the minutes
// where it is not on the hour (hour=1230); dates of daily sets are those of the time zone that days begin in. Such a place
// is a slot: it holds one set, in parts (one for each shard of the computing) and generations (a set that is computed again
// gets the next one).
//
// Files hold the names of clusters and the bounds of windows in full, so that queries need not parse paths:
//
//	SELECT namespace, sum(cpu_cost + ram_cost) FROM read_parquet('data/allocations_daily/**/*.parquet')
//	WHERE window_start >= '2026-03-01' GROUP BY namespace
//
// # Bills
//
// The lines of bills lie beside the sets, by day, in the columns of FOCUS. A statement (one billing account and period of one bill) is
// what its manifest in sets_bills names; a delivery that brings it again makes another generation, which replaces it whole. A record in
// bills_taken says that a delivery was taken in, so that nobody reads it twice. The rules below hold for bills, too, but files that no manifest
// names stay for a day, because a delivery may take long. What is damaged is read again from the bill's own files.
//
//	SELECT "ServiceName", sum("EffectiveCost") FROM read_parquet('data/bills_daily/**/*.parquet') GROUP BY 1
//
// # List prices
//
// What providers list for a region lies below prices, in a file that is named for when it was fetched: the newest counts, and older ones are removed once it is there.
// Who fetches them keeps them, not the Store.
//
// # Protocol
//
// A part of a set is what its manifest, the .json file, names: the files of every cluster, with their sizes and checksums. The
// manifest is written last, after the files are where they belong; a part without a manifest does not exist, and a set
// exists where a manifest of every part does. So a process may die at any instruction: what it leaves is whole, or not
// there. Nothing is ever written in place: files get their name by link(2), once they are synced, and never change under
// it.
//
// Files of one set, generation and part have the same bytes whoever writes them, so it does not matter who comes first: a
// file that is there already is left if it is the same. If it is not (a writer died that had read other data), the next
// generation is taken. Of several generations readers take the highest that is whole. Clean deletes the others once the
// whole one is an hour old, manifest first, so that no manifest names a missing file. A reader that does not find a file looks
// for the set again.
//
// What is read is compared with the checksums of the manifest, which has one of its own, and the manifest with its name. Damage is an error, CorruptError,
// that names the file and the set to be computed again; that makes a generation of its own.
package history
