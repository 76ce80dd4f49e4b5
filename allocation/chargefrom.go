package allocation

// ChargeFrom says from when on a container's request is charged.
type ChargeFrom uint8

const (
	// FromRunning charges while a container runs.
	FromRunning ChargeFrom = iota
	// FromScheduled charges also what a pod was placed for and waits: from when it was scheduled to when its container
	// first starts, or while the pod is pending. Init containers wait for nothing that is reserved for them alone, but native
	// sidecars do.
	FromScheduled
)
