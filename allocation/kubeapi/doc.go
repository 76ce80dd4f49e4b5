// Package kubeapi is the Kubernetes API of promcost: get, list and watch of allocations, clusterallocations and assets, in the group
// cost.promcost.io/v1alpha1.
//
// A Client asks a promcost over HTTP. The answers are pinned to the newest closed hour, whose end, as Unix time, is the
// resourceVersion of everything. A Server keeps the answers of that hour, as items, until the next hour is closed. Resources are what an
// API server installs: each selects items, makes objects of them and prints them as tables. The package knows nothing of API servers
// themselves: their library is large, and who may ask is decided before a Resource is asked.
//
// Objects of two hours never mix. A list that continues one of an older hour and a watch that begins in one get 410 Gone, as the
// Kubernetes API does after compaction. When an hour closes, watches get what differs.
package kubeapi
