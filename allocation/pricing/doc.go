// Package pricing reads price sheets: what a node costs where the cluster exports no price metrics.
//
// A sheet is a YAML file. Every key is optional; the unit of a price stands in its key, GiB are 2^30 bytes:
//
//	defaults:                           # for nodes that no rule matches, and for prices that a matching rule lacks
//	  cpuPerCoreHour: 0.031611
//	  ramPerGiBHour: 0.004237
//	  gpuPerDeviceHour: 0.95
//	  spotCPUPerCoreHour: 0.006655      # of spot nodes
//	  spotRAMPerGiBHour: 0.000892
//	  spotGPUPerDeviceHour: 0.95
//	  storagePerGiBHour: 0.00005479452  # of volumes
//	nodes:                              # the first rule that matches wins
//	  - provider: aws                   # aws, gcp, azure, …; any case
//	    region: eu-central-1
//	    zone: eu-central-1a
//	    instanceType: m5.*              # a trailing * matches any end
//	    labels: {karpenter.sh/nodepool: batch} # all must be there; keys raw or with _ for what Prometheus does not allow
//	    spot: false                     # without it, spot nodes and others match
//	    cpuPerCoreHour: 0.0288
//	    ramPerGiBHour: 0.00385
//	    gpuPerDeviceHour: 0.526
//
// A rule matches if everything it names matches; it must name something, and at least one price. Defaults that a sheet
// does not set are those of SEMANTICS §4, shown above. Unknown and repeated keys, prices that are negative or not
// numbers, and rules that can never win because an earlier one matches the same are errors with their line.
package pricing
