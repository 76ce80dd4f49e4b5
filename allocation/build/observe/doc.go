// Package observe takes what series say of clusters, each series as it comes: pods and containers (objects.go, containers.go), nodes (nodes.go),
// volumes (volumes.go), services and load balancers (services.go, balancers.go), and prices (prices.go, trafficprices.go). Its types also have the
// fields that package resolve fills in: when something ran or lived, at which price, and the sections and rows of containers.
package observe
