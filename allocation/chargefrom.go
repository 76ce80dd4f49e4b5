package allocation

// ChargeFrom says when the charge for a container's request begins.
type ChargeFrom uint8

const (
	// FromRunning charges while the container runs.
	FromRunning ChargeFrom = iota
	// FromScheduled also charges the wait of a pod that has a node: from when it was scheduled until its container first
	// starts, or while the pod is pending. Init containers reserve nothing of their own while they wait, except native
	// sidecars.
	FromScheduled
)
