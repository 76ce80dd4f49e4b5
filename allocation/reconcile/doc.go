// Package reconcile joins the lines of bills to the assets of clusters, so that these cost what was billed (SEMANTICS §7).
//
// An Index knows the assets of one day and says of each line what it is about: an asset or several, or something outside of
// clusters. A day's matched lines and list costs give each asset a factor, by which the cost of any part of the day is
// multiplied. A Reconciler does this with the sets of a Ledger: it cuts their windows at days, adjusts each piece, and
// merges the pieces again. So hours, days and windows with odd edges have the same sums and the same shares.
package reconcile
