// Package costapi is the HTTP API: Kubecost's paths under /model, OpenCost's without it, and ACK's /v2/allocation.
//
// Kubecost's allocations, summaries and assets are of stored sets: days of the configured time zone, or hours where a
// duration under 24h is asked for. The sets cover the window, and the last one ends now. The paths with compute, and
// OpenCost's, are of exactly the window asked for. Both are computed by the same Ledger; sets go through the passes of
// package allocation together, whichever computations they come from.
//
// One table has all parameters (params.go), and the documentation is made from it. Another one has all paths
// (handler.go). A parameter that has another effect in Kubecost or OpenCost than here is
// refused, never ignored. Every error is JSON,
//
//	{"code": 400, "data": null, "message": "what is wrong, where, and what would be right", "kind": "Status", "apiVersion": "v1", "status": "Failure"}
//
// with the same HTTP status: 400 for the request, 404 and 405 for its path and method, 413 and 415 for its body, 422 where
// there is no data or too much of it, 502 where the source fails, 503 where it takes too long or too much is asked at
// once, 500 for what is promcost's fault.
package costapi
