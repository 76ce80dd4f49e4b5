// Package pricing reads price sheets: what nodes, volumes, load balancers, control planes and traffic cost where the
// cluster exports no price metrics.
//
// A sheet is a YAML file. Every key is optional; the unit of a price stands in its key, GiB are 2^30 bytes. Every key that
// ends in Hour can end in Month instead, for 730 hours:
//
//	currency: USD
//	asOf: 2026-01-31                    # when the prices were looked up; else the file's time tells their age
//	multiplier: 1.02                    # on all prices, as negotiated or for taxes
//	discount: 0.1                       # off CPU and RAM of nodes
//	defaults:                           # for what no rule prices
//	  cpuPerCoreHour: 0.031611
//	  ramPerGiBHour: 0.004237
//	  gpuPerDeviceHour: 0.95
//	  spotCPUPerCoreHour: 0.006655      # of spot nodes
//	  spotRAMPerGiBHour: 0.000892
//	  spotGPUPerDeviceHour: 0.95
//	  storagePerGiBMonth: 0.04          # of volumes and of nodes' own disks
//	  loadBalancerPerHour: 0.025
//	  managementPerHour: 0              # of a cluster's control plane
//	  egressZonePerGiB: 0.01            # to other zones of the region
//	  egressRegionPerGiB: 0.01          # to other regions
//	  egressInternetPerGiB: 0.12
//	nodes:                              # each price is that of the first rule that matches and has it
//	  - provider: aws                   # aws, gcp, azure, …; any case
//	    region: eu-central-1
//	    zone: eu-central-1a
//	    instanceType: m5.*              # a trailing * matches any end
//	    providerID: i-0123              # of one machine: as spec.providerID has it, or its end after a slash; Azure's whole id
//	    gpuModel: NVIDIA-A100*
//	    cluster: prod
//	    name: ip-10-0-0-7               # of the node
//	    labels: {karpenter.sh/nodepool: batch} # all must be there; keys in any spelling that exporters have for them
//	    spot: false                     # without it, spot nodes and others match
//	    billedBy: pods                  # nodes that cost what their pods do, and nothing else
//	    from: 2026-01-01                # dates (in UTC) or RFC 3339 times: from this instant on
//	    to: 2026-07-01T00:00:00+02:00   # up to, and without, this one
//	    discount: 0.25                  # in place of the sheet's
//	    multiplier: 1                   # in place of the sheet's
//	    cpuPerCoreHour: 0.0288
//	    ramPerGiBHour: 0.00385
//	    gpuPerDeviceHour: 0.526
//	  - {instanceType: p3.8xlarge, nodePerHour: 12.24} # a whole node, which is divided among what it has
//	  - {gpuModel: NVIDIA-L4, gpuPerDeviceHour: 0.5, gpuExtra: true} # on top of the price of the whole node, by a rule after it
//	storage:                            # also by provider, region, zone, cluster, namespace, name, labels, from, to
//	  - {storageClass: gp3, storagePerGiBMonth: 0.08}
//	loadBalancers:                      # by provider, region, cluster, namespace, name, labels, from, to
//	  - {provider: aws, loadBalancerPerHour: 0.0225}
//	management:                         # by provider, region, cluster, from, to
//	  - {cluster: prod, managementPerMonth: 73}
//	network:                            # by provider, region, zone, cluster, from, to
//	  - {provider: gcp, egressInternetPerGiB: 0.085}
//	custom: {cpuPerCoreHour: 0.03, ramPerGiBHour: 0.004, gpuPerDeviceHour: 0.9, storagePerGiBHour: 0.00005, loadBalancerPerHour: 0.02, egressPerGiB: 0.05}
//
// A rule matches if everything it names matches; it must name something, and at least one price. Defaults that a sheet
// does not set are those of SEMANTICS §4, shown above. Prices of allocations and assets are price × (1 − discount) ×
// multiplier; custom prices, which answer ACK's customCost, are taken as they are.
//
// The price of a whole node is divided in proportion to what its parts cost at the defaults, so that they add up to it; but where there are GPUs,
// CPU and memory cost the defaults, and the GPUs the rest, if that is at least a fifth. What a rule prices itself, or one before it, keeps its price.
// With gpuExtra that is not a part of the whole node's, but comes on top of it.
//
// Unknown and repeated keys, prices that are negative or not numbers, and rules that can never win because an earlier one
// says it all are errors with their line. Prices that look as if they were for another unit are warnings.
//
// A sheet can be CSV as well, in a file whose name ends in .csv: the header names columns by the same keys, and label:KEY
// for node labels. A row is a rule, of the lists that its prices belong to; a row that names nothing but prices is the
// defaults. Empty cells are not there, lines that begin with # are comments. currency and asOf are columns too, with one
// value. Custom prices have no place in CSV.
package pricing
