package main

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"strings"
	"time"

	"github.com/go-kit/log"
	"github.com/go-kit/log/level"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	clientrest "k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/promcost/promcost/allocation/kubeapi"
)

// authority is a certificate authority in memory with the one certificate that it signed.
type authority struct {
	dynamiccertificates.CertKeyContentProvider
	bundle []byte // the authority's certificate
}

// validity is how long certificates in memory are valid: longer than any process runs.
const validity = 10 * 365 * 24 * time.Hour

// certificate is an authority and a certificate for the Service, nil where there are files.
func (f *flags) certificate() (*authority, error) {
	if f.certFile != "" {
		return nil, nil
	}
	namespace, name, _ := strings.Cut(f.service, "/") // as check has it
	host := name + "." + namespace + ".svc"
	a, err := newAuthority(host)
	if err != nil {
		return nil, fmt.Errorf("make certificate for %s: %w", host, err)
	}
	return a, nil
}

// newAuthority makes an authority and a certificate for a host. The authority's key is forgotten.
func newAuthority(host string) (*authority, error) {
	now := time.Now()
	root := &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()), Subject: pkix.Name{CommonName: "promcost-apiserver-ca"},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(validity), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign,
	}
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano() + 1), Subject: pkix.Name{CommonName: host}, DNSNames: []string{host},
		NotBefore: root.NotBefore, NotAfter: root.NotAfter,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	rootKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	rootDER, err := x509.CreateCertificate(rand.Reader, root, root, rootKey.Public(), rootKey)
	if err != nil {
		return nil, err
	}
	leafDER, err := x509.CreateCertificate(rand.Reader, leaf, root, key.Public(), rootKey)
	if err != nil {
		return nil, err
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	bundle := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: rootDER})
	content, err := dynamiccertificates.NewStaticCertKeyContent("in memory",
		append(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: leafDER}), bundle...),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER}))
	return &authority{content, bundle}, err
}

// truster keeps the authority in the APIService, by which the Kubernetes API trusts the server.
type truster struct {
	client *http.Client
	url    string
	bundle []byte
}

// apiService is the path of the one object that the program changes.
var apiService = "/apis/apiregistration.k8s.io/v1/apiservices/" + kubeapi.GroupVersion.Version + "." + kubeapi.GroupVersion.Group

// truster is one that reaches the Kubernetes API as a kubeconfig says; "" is as a pod does.
func (a *authority) truster(kubeconfig string) (*truster, error) {
	cfg, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("reach the Kubernetes API: %w: give --kubeconfig", err)
	}
	client, err := clientrest.HTTPClientFor(cfg)
	if err != nil {
		return nil, fmt.Errorf("reach the Kubernetes API: %w", err)
	}
	return &truster{client, strings.TrimRight(cfg.Host, "/") + apiService, a.bundle}, nil
}

// Periods of the truster.
const (
	trustEvery = time.Minute // somebody may apply the APIService again, without the authority
	trustAgain = 2 * time.Second
	trustLimit = 10 * time.Second // of a request
)

// run keeps the authority in the APIService until ctx ends.
func (t *truster) run(ctx context.Context, logger log.Logger) {
	for {
		wait := trustEvery
		changed, err := t.keep(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			level.Warn(logger).Log("msg", "the APIService does not know the certificate authority", "err", err)
			wait = trustAgain
		case changed:
			level.Info(logger).Log("msg", "the APIService knows the certificate authority")
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
	}
}

// wireService is what matters of an APIService.
type wireService struct {
	Spec struct {
		CABundle              []byte `json:"caBundle"`
		InsecureSkipTLSVerify bool   `json:"insecureSkipTLSVerify"`
	} `json:"spec"`
}

// keep puts the authority into the APIService if it is not there.
func (t *truster) keep(ctx context.Context) (changed bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, trustLimit)
	defer cancel()
	var is, want wireService
	if err := t.do(ctx, http.MethodGet, nil, &is); err != nil {
		return false, err
	}
	want.Spec.CABundle = t.bundle
	if bytes.Equal(is.Spec.CABundle, t.bundle) && !is.Spec.InsecureSkipTLSVerify {
		return false, nil
	}
	return true, t.do(ctx, http.MethodPatch, want, nil)
}

// do sends a request about the APIService.
func (t *truster) do(ctx context.Context, method string, object, reply any) error {
	var body io.Reader
	if object != nil {
		text, err := json.Marshal(object)
		if err != nil {
			return fmt.Errorf("encode object: %w", err)
		}
		body = bytes.NewReader(text)
	}
	req, err := http.NewRequestWithContext(ctx, method, t.url, body)
	if err != nil {
		return fmt.Errorf("make request: %w", err)
	}
	req.Header.Set("Content-Type", "application/merge-patch+json")
	resp, err := t.client.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }() // it was read as far as wanted
	text, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil {
		return fmt.Errorf("read answer: %w", err)
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s %s: %s: %.300s", method, apiService, resp.Status, text)
	}
	if reply == nil {
		return nil
	}
	return json.Unmarshal(text, reply)
}
