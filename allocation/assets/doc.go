// Package assets lists what costs money in a set: its nodes, disks, load balancers, networks, management fees and bills, each by
// itself or merged by dimensions such as type, provider or a label.
package assets
