package remote

// AtLeast and RetryAfter are exported to tests.
var (
	AtLeast    = atLeast
	RetryAfter = retryAfter
)
