// Package parquet writes allocations and assets as Parquet files, and reads them back by column. It has the schema of the history
// and of exports for other tools. No other package uses the Parquet library: bills are read and written here, too.
//
// Write makes one file of a set and a Footer, and Readers read it. Files are decoded in parallel, each by a Projection. What was
// Decoded is then added to a Set, one file after another, because that gives strings their ids. Columns that files of older versions
// lack are derived from others. A damaged file is always an error and never a panic, and takes no more memory than its size
// allows. A Stream writes sets into one file that is not read back. A Table reads files of any program, some rows at a time, and
// WriteTable writes columns of any kind.
package parquet
