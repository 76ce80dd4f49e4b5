// Package billing reads bills in FOCUS, the FinOps Open Cost and Usage Specification, and hands out their lines by day.
//
// # Words
//
// A bill is what the config file names: files in a directory or a bucket. A delivery is what one manifest lists, or without one
// all files of one folder. A statement is what one bill charges one billing account for one billing period. A delivery holds one
// or more statements, and replaces those of the same keys that earlier deliveries brought.
//
// A line is a charge, cut at the days of the configured time zone. Lines of the same thing share one Item, which describes it:
// the account, the resource, the service and the tags. So what depends on the description alone is worked out once an item, not
// once a line.
//
// A Book is what all bills say at one moment. It does not change, so one answer sees one state:
//
//	book, err := books.Book(ctx)
//	err = book.Read(ctx, window, func(l *billing.Line) error { … })
//
// # Money
//
// Files are kept in the currency of the bill. A Book converts to the configured currency, takes the cost that the bill's
// settings name, and spreads the categories that they include, so a change of these settings needs no second reading.
package billing
