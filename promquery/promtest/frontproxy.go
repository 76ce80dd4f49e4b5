package promtest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"testing"
	"time"
)

// frontProxy makes the certificate by which the Kubernetes API shows aggregated API servers that it is the Kubernetes API. It returns the
// flags of kube-apiserver for it.
func frontProxy(t testing.TB, dir string) (flags []string) {
	t.Helper()
	const name = "front-proxy-client"
	root := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "front-proxy-ca"}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(24 * time.Hour), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: name}, NotBefore: root.NotBefore, NotAfter: root.NotAfter,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	signed := func(kind string, der []byte, err error) []byte {
		if err != nil {
			t.Fatal(err)
		}
		return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
	}
	rootKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificate(rand.Reader, root, root, rootKey.Public(), rootKey)
	ca := writeFile(t, dir, "front-proxy-ca.crt", string(signed("CERTIFICATE", der, err)))
	der, err = x509.CreateCertificate(rand.Reader, leaf, root, key.Public(), rootKey)
	cert := writeFile(t, dir, "front-proxy.crt", string(signed("CERTIFICATE", der, err)))
	der, err = x509.MarshalPKCS8PrivateKey(key)
	private := writeFile(t, dir, "front-proxy.key", string(signed("PRIVATE KEY", der, err)))
	return []string{
		"--requestheader-client-ca-file=" + ca, "--requestheader-allowed-names=" + name, "--requestheader-username-headers=X-Remote-User",
		"--requestheader-group-headers=X-Remote-Group", "--requestheader-extra-headers-prefix=X-Remote-Extra-",
		"--proxy-client-cert-file=" + cert, "--proxy-client-key-file=" + private, "--enable-aggregator-routing=false",
	}
}
