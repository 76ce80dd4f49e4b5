// Package cloudcost answers what bills say, as OpenCost's cloud costs and custom costs do: sums of lines by account, provider,
// service and the like, whether or not a cluster explains them.
//
// Read sums the lines of windows to rows. Graph, Total and Table are views of the rows, as OpenCost's web page shows them;
// Custom sums the costs of SaaS vendors.
package cloudcost
