package allocation

// Proportion is what part of an asset's cost a row is, from 0 to 1: of what the asset costs at list price, idle
// included, what the row costs before idle and shared costs. The parts of things that the asset is not are 0.
type Proportion struct {
	Cluster      string
	Name         string // of the node, disk, or `<namespace>/<service>` of the load balancer; empty for all nodes of a cluster
	Type         string // Node, Disk, LoadBalancer; empty for all nodes of a cluster
	ProviderID   string
	CPU          float64
	RAM          float64
	GPU          float64
	PV           float64
	LoadBalancer float64
	Node         float64 // of CPU, RAM and GPU together
}

// Proportions are the row's parts of assets' costs, by cluster and name, where Options.Proportions asked for them: of each
// node with IdleByNode, else of all nodes of each cluster, of disks and of load balancers.
func (s *Set) Proportions(row int) []Proportion { return nil }
