package jmespath

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net/netip"
	"net/url"
	"regexp/syntax"
	"strings"

	"github.com/distribution/reference"
)

// externalFunctions returns functions whose meaning other systems define: images, certificates, hosts and randomness.
func externalFunctions() []function {
	return []function{
		{"image_normalize", "string", "string", "the reference of an image with its registry, and its tag where it has no digest", imageNormalize, false},
		{"is_external_url", "string", "boolean", "whether the host of the URL is neither loopback nor private", isExternalURL, true},
		{"random", "string", "string", "characters by chance that match the regular expression, such as '[a-z0-9]{8}'", random, true},
		{"x509_decode", "string", "object", "the fields of a certificate, or of a request for one, in PEM with an RSA key", decodeX509, false},
	}
}

// imageNormalize is like docker's own rules, but leaves out library/, as Kyverno does.
func imageNormalize(c *call) (any, error) {
	const (
		defaultRegistry = "docker.io"
		longest         = 4 << 10
	)
	name := c.text(0)
	if len(name) > longest {
		return nil, c.fail(0, "want at most %d bytes", longest)
	}
	host, _, found := strings.Cut(name, "/")
	if !found || !strings.ContainsAny(host, ".:") && host != "localhost" && strings.ToLower(host) == host {
		name = defaultRegistry + "/" + name
	}
	ref, err := reference.Parse(name)
	if err != nil {
		return nil, c.fail(0, "want the reference of an image such as nginx:1.27: %w", err)
	}
	named, ok := ref.(reference.Named)
	if !ok {
		return nil, c.fail(0, "want the reference of an image such as nginx:1.27")
	}
	if digested, ok := ref.(reference.Digested); ok {
		return named.Name() + "@" + digested.Digest().String(), nil
	}
	if tagged, ok := ref.(reference.Tagged); ok {
		return named.Name() + ":" + tagged.Tag(), nil
	}
	return named.Name() + ":latest", nil
}

func isExternalURL(c *call) (any, error) {
	u, err := url.Parse(c.text(0))
	if err != nil || u.Hostname() == "" {
		return nil, c.fail(0, "want a URL such as https://example.com")
	}
	hosts := []string{u.Hostname()}
	if _, err := netip.ParseAddr(hosts[0]); err != nil {
		if c.options.Resolve == nil {
			return nil, c.fail(0, "names of hosts are not looked up here: give a URL with an address")
		}
		if hosts, err = c.options.Resolve(c.ctx, u.Hostname()); err != nil {
			return nil, c.fail(0, "look up host: %w", err)
		}
	}
	for _, host := range hosts {
		addr, err := netip.ParseAddr(host)
		if err != nil {
			return nil, c.fail(0, "look up host: %w", err)
		}
		if addr = addr.Unmap(); addr.IsLoopback() || addr.IsPrivate() {
			return false, nil
		}
	}
	return true, nil
}

func decodeX509(c *call) (any, error) {
	if len(c.text(0)) > maxDocument {
		return nil, c.fail(0, "certificate of %d bytes: at most %d are allowed", len(c.text(0)), maxDocument)
	}
	block, _ := pem.Decode([]byte(c.text(0)))
	if block == nil {
		return nil, c.fail(0, "want a certificate in PEM, -----BEGIN CERTIFICATE-----")
	}
	object, err := certificate(block)
	if err != nil {
		return nil, c.fail(0, "want a certificate in PEM with an RSA key: %w", err)
	}
	return object, c.measure(object, 0)
}

// certificate is the fields of a certificate or of a request for one.
func certificate(block *pem.Block) (map[string]any, error) {
	switch block.Type {
	case "CERTIFICATE":
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, err
		}
		if cert.PublicKey, err = publicKey(cert.PublicKey); err != nil {
			return nil, err
		}
		return fieldsOf(cert)
	case "CERTIFICATE REQUEST":
		request, err := x509.ParseCertificateRequest(block.Bytes)
		if err != nil {
			return nil, err
		}
		if request.PublicKey, err = publicKey(request.PublicKey); err != nil {
			return nil, err
		}
		return fieldsOf(request)
	}
	return nil, fmt.Errorf("it is a %s", block.Type)
}

// publicKey is an RSA key as Kyverno writes it: its modulus is too long for a number.
func publicKey(key any) (any, error) {
	public, ok := key.(*rsa.PublicKey)
	if !ok {
		return nil, fmt.Errorf("its key is a %T", key)
	}
	return map[string]any{"N": public.N.String(), "E": public.E}, nil
}

// fieldsOf is a struct as JSON decodes it.
func fieldsOf(v any) (map[string]any, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	object := map[string]any{}
	return object, json.Unmarshal(text, &object)
}

func random(c *call) (any, error) {
	pattern := c.text(0)
	if pattern == "" || len(pattern) > MaxPattern {
		return nil, c.fail(0, "want a regular expression of 1 to %d bytes, such as [a-z0-9]{8}", MaxPattern)
	}
	tree, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return nil, c.fail(0, "want a regular expression in the syntax of RE2: %w", err)
	}
	g := generator{call: c}
	if err := g.write(tree); err != nil {
		return nil, c.fail(0, "make up characters: %w", err)
	}
	return g.out.String(), nil
}

// generator makes up text that matches a regular expression.
type generator struct {
	*call
	out strings.Builder
}

// below is a number by chance from 0 and below n.
func below(n int) (int, error) {
	v, err := rand.Int(rand.Reader, big.NewInt(int64(n)))
	if err != nil {
		return 0, fmt.Errorf("draw a number: %w", err)
	}
	return int(v.Int64()), nil
}

// write adds text that matches re.
func (g *generator) write(re *syntax.Regexp) error {
	const unbounded = 4096 // most repetitions where the expression names no bound
	switch re.Op {
	case syntax.OpLiteral:
		for _, c := range re.Rune {
			g.out.WriteRune(c)
		}
		return g.build(4 * len(re.Rune))
	case syntax.OpCharClass:
		return g.class(re.Rune)
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return g.class([]rune{' ', '~'})
	case syntax.OpStar:
		return g.repeat(re.Sub[0], 0, unbounded)
	case syntax.OpPlus:
		return g.repeat(re.Sub[0], 1, unbounded)
	case syntax.OpQuest:
		return g.repeat(re.Sub[0], 0, 1)
	case syntax.OpRepeat:
		most := re.Max
		if most < 0 {
			most = max(re.Min, unbounded)
		}
		return g.repeat(re.Sub[0], re.Min, most)
	case syntax.OpAlternate:
		i, err := below(len(re.Sub))
		if err != nil {
			return err
		}
		return g.write(re.Sub[i])
	case syntax.OpCapture, syntax.OpConcat:
		for _, sub := range re.Sub {
			if err := g.write(sub); err != nil {
				return err
			}
		}
		return nil
	case syntax.OpNoMatch, syntax.OpWordBoundary, syntax.OpNoWordBoundary:
		return errors.New("\\b, \\B and empty classes say nothing of what to write: leave them out")
	case syntax.OpEmptyMatch, syntax.OpBeginLine, syntax.OpEndLine, syntax.OpBeginText, syntax.OpEndText:
	}
	return nil
}

// mostRandom is about how many bytes are made up by chance. Repetitions that need not be end at half of it.
const mostRandom = 8 << 10

// repeat writes re as often as chance says.
func (g *generator) repeat(re *syntax.Regexp, least, most int) error {
	n, err := below(most - least + 1)
	if err != nil {
		return err
	}
	for i := range least + n {
		if i >= least && g.out.Len() >= mostRandom/2 {
			break
		}
		if g.out.Len() > mostRandom {
			return fmt.Errorf("they are more than %d bytes: repeat less", mostRandom)
		}
		if err := g.build(1); err != nil {
			return err
		}
		if err := g.write(re); err != nil {
			return err
		}
	}
	return nil
}

// class writes one character of pairs of bounds.
func (g *generator) class(pairs []rune) error {
	size := 0
	for i := 0; i < len(pairs); i += 2 {
		size += int(pairs[i+1]-pairs[i]) + 1
	}
	n, err := below(max(size, 1))
	if err != nil {
		return err
	}
	for i := 0; i < len(pairs); i += 2 {
		if width := int(pairs[i+1]-pairs[i]) + 1; n >= width {
			n -= width
			continue
		}
		g.out.WriteRune(pairs[i] + rune(n))
		break
	}
	return g.build(4)
}
