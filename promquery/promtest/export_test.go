package promtest

import "testing"

// ShowAll is showAll.
var ShowAll = showAll

// NewKubernetes is the API at a URL.
func NewKubernetes(url string) *Kubernetes { return &Kubernetes{url: url} }

// StartPodNetwork is an API whose network of pods is served at a socket.
func StartPodNetwork(t testing.TB) (k *Kubernetes, socket string) {
	t.Helper()
	k = &Kubernetes{network: &podNetwork{routes: map[string]string{}}}
	return k, k.network.start(t)
}
