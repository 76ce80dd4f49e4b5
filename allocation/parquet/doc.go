// Package parquet writes allocations and assets as Parquet files, and reads them back by column: the schema of the history, and of
// what is exported for other tools.
//
// Write makes one file of a set and a Footer, and Readers read it: a File is decoded by a Projection, side by side with others,
// and what was Decoded is then added to a Set, one file after the other, because that gives texts their ids. Files of older versions
// lack columns, for which others stand in. A file that is damaged is an error, whatever its bytes say: it is never a panic, and
// takes no more memory than its size allows. A Stream writes sets into one file that is not read back.
package parquet
