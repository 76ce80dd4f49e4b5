package remote

import (
	"compress/gzip"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
)

// Compression is whether answers are asked for compressed.
type Compression string

// The settings of compression. CompressionAuto is CompressionGzip for servers outside of this machine and of the cluster. Compressing takes a
// server up to four times the processor time of making an answer, which pays only where the network is slow or costs money.
const (
	CompressionAuto Compression = "auto"
	CompressionGzip Compression = "gzip"
	CompressionNone Compression = "none"
)

// acceptedEncoding is the encoding of answers to ask a server for.
func (c Compression) acceptedEncoding(server *url.URL) string {
	if c == CompressionGzip || c == CompressionAuto && !isNear(server) {
		return "gzip"
	}
	return "identity"
}

// isNear reports whether a server is on this machine or in this cluster, by its name: names of Services are NAME, NAME.NAMESPACE (by http,
// as hardly a certificate has it), and below svc and cluster.local.
func isNear(server *url.URL) bool {
	host := strings.TrimSuffix(strings.ToLower(server.Hostname()), ".")
	if ip := net.ParseIP(host); ip != nil {
		return ip.IsLoopback()
	}
	labels := strings.Split(host, ".")
	last := labels[len(labels)-1]
	return len(labels) == 1 || last == "localhost" || last == "svc" || strings.HasSuffix(host, ".cluster.local") || len(labels) == 2 && server.Scheme == "http"
}

// isCompressed reports whether an answer came compressed.
func isCompressed(resp *http.Response) bool { return resp.Header.Get("Content-Encoding") == "gzip" }

// unzipped returns the body of an answer without its compression. The transport leaves it as it is, for the encoding was asked for explicitly.
func unzipped(resp *http.Response, body io.Reader) (io.Reader, error) {
	if !isCompressed(resp) {
		return body, nil
	}
	r, err := gzip.NewReader(body)
	if err != nil {
		return nil, streamError{err}
	}
	return r, nil
}
