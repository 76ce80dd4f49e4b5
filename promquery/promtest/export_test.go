package promtest

// ShowAll is showAll.
var ShowAll = showAll

// NewKubernetes is the API at a URL.
func NewKubernetes(url string) *Kubernetes { return &Kubernetes{url: url} }
