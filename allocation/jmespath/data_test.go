package jmespath_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"strings"
	"testing"
	"time"
)

func dataCases() []functionCase {
	const yaml = "species:\n  dog: lab\n  name: dory\n  isGoodBoi: false\n  snacks:\n  - chimken\n  - fries\n"
	return []functionCase{
		{"items(`{\"key1\": \"value1\"}`, 'key', 'value')", `[{"key": "key1", "value": "value1"}]`, ""},
		{"items(labels, 'k', 'v')[*].k", `["color", "dog", "weight"]`, ""},
		{"items(`[\"A\", \"B\"]`, 'myKey', 'myValue')", `[{"myKey": 0, "myValue": "A"}, {"myKey": 1, "myValue": "B"}]`, ""},
		{"items(`{}`, 'k', 'v')", `[]`, ""},
		{"items(text, 'k', 'v')", "", `function items: argument 1 is "foobar": want object or array`},
		{"lookup(labels, 'dog')", `"lab"`, ""},
		{"lookup(labels, 'cat')", `null`, ""},
		{"lookup(list, `1`)", `1`, ""},
		{"lookup(list, `3`)", `null`, ""},
		{"lookup(list, `-1`)", `null`, ""},
		{"lookup(list, `1.5`)", "", "function lookup: argument 2 is 1.5: want a whole number"},
		{"lookup(list, 'x')", "", "function lookup: argument 2"},
		{"lookup(labels, `1`)", "", "function lookup: argument 2 is 1: want a string"},
		{"object_from_lists(names, list)", `{"b": 3, "a": 1}`, ""},
		{"object_from_lists(names, `[1]`)", `{"b": 1, "a": null}`, ""},
		{"object_from_lists(`[null]`, list)", "", "function object_from_lists: argument 1 is an array: element 0 is null: want a string"},
		{"parse_json('[\"1001\",\"1002\"]')[*].to_number(@)", `[1001, 1002]`, ""},
		{"parse_json('{\"a\": [1, 2, {\"b\": null}]}').a[2]", `{"b": null}`, ""},
		{"parse_json('1e999')", "", `function parse_json: argument 1 is "1e999": want JSON whose numbers are below 1.8e308`},
		{"parse_json('{')", "", `function parse_json: argument 1 is "{": want JSON`},
		{"parse_yaml('" + yaml + "').species.isGoodBoi", `false`, ""},
		{"parse_yaml('" + yaml + "').species.snacks", `["chimken", "fries"]`, ""},
		{"parse_yaml('- 1\n- a: b')", `[1, {"a": "b"}]`, ""},
		{"parse_yaml(': :\n\t-')", "", "function parse_yaml: argument 1"},
		{"x509_decode('x')", "", `function x509_decode: argument 1 is "x": want a certificate in PEM`},
		{"x509_decode('" + ecdsaCertificate() + "')", "", "its key is a *ecdsa.PublicKey"},
		{"type(x509_decode('" + rsaCertificate() + "'))", `"object"`, ""},
		{"x509_decode('" + rsaCertificate() + "').[Subject.CommonName, NotAfter, PublicKey.E]", `["test", "2027-01-01T00:00:00Z", 65537]`, ""},
	}
}

// certificate is one in PEM that is signed with its own key.
func certificate(public, private any) string {
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"},
		NotBefore: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), NotAfter: time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC),
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, public, private)
	if err != nil {
		panic(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw}))
}

func rsaCertificate() string {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	return certificate(&key.PublicKey, key)
}

func ecdsaCertificate() string {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	return certificate(&key.PublicKey, key)
}

func TestCertificateRequest(t *testing.T) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{Subject: pkix.Name{CommonName: "asked"}}, key)
	if err != nil {
		t.Fatal(err)
	}
	text := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: raw}))
	got, err := search("x509_decode(@).[Subject.CommonName, PublicKey.N]", text)
	if err != nil {
		t.Fatal(err)
	}
	if list := got.([]any); list[0] != "asked" || list[1] != key.N.String() {
		t.Error(got)
	}
	if _, err := search("x509_decode(@)", strings.ReplaceAll(text, "CERTIFICATE REQUEST", "X509 CRL")); err == nil || !strings.Contains(err.Error(), "it is a X509 CRL") {
		t.Error(err)
	}
}
