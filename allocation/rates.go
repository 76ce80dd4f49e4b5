package allocation

// NodeAttributes are what a price may depend on. An empty attribute is unknown.
type NodeAttributes struct {
	Cluster      string
	Name         string            // the node's name in Kubernetes
	Provider     string            // aws, gcp, azure, …, lower case
	Region       string            // us-east-1
	Zone         string            // us-east-1a
	InstanceType string            // m5.large
	Labels       map[string]string // the node's labels, keys raw or as Prometheus writes them
	Spot         bool              // spot, preemptible
}

// NodeRates are the prices of a node where it has no price metrics of its own.
type NodeRates struct {
	// Price is money per core-hour, GiB-hour (2^30 bytes) and device-hour, by Resource: never negative, never NaN.
	Price [NumResources]float64
	// Source is where the prices come from, for people: "prices.yaml:12", "built-in defaults".
	Source string
	// Default reports that no rule matched the node and the defaults were taken, which is worth a warning.
	Default bool
}

// Rates prices nodes. Implementations are pure and safe for concurrent use: the same attributes have the same rates.
type Rates interface {
	Node(n NodeAttributes) NodeRates
}
