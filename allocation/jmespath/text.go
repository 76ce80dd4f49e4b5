package jmespath

import (
	"crypto/md5"  //nolint:gosec // Kyverno has it; nothing is kept safe by it
	"crypto/sha1" //nolint:gosec // likewise
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"hash"
	"io"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/blang/semver/v4"
)

// textFunctions are of strings.
func textFunctions() []function {
	return []function{
		{"base64_decode", "string", "string", "what a base64 encoded string encodes", decodeBase64, false},
		{"base64_encode", "string", "string", "the string encoded in base64", func(c *call) (any, error) {
			if err := c.build(base64.StdEncoding.EncodedLen(len(c.text(0)))); err != nil {
				return nil, err
			}
			return base64.StdEncoding.EncodeToString([]byte(c.text(0))), nil
		}, false},
		{"compare", "string, string", "number", "-1, 0 or 1 as the first string sorts before, with or after the second", func(c *call) (any, error) {
			return float64(strings.Compare(c.text(0), c.text(1))), nil
		}, false},
		{"equal_fold", "string, string", "boolean", "whether the strings are equal but for the case of letters", func(c *call) (any, error) {
			return strings.EqualFold(c.text(0), c.text(1)), c.charge(len(c.text(0)) / 16)
		}, false},
		{"md5", "string", "string", "the MD5 checksum of the string, in hexadecimal", digest(md5.New), false},
		{"path_canonicalize", "string", "string", "the path without excess slashes, . and ..", func(c *call) (any, error) {
			return c.made(path.Join(c.text(0)))
		}, false},
		{"replace", "string, string, string, number", "string", "the first string with the third in place of the second, at most as often as the number says; -1 is always", replace, false},
		{"replace_all", "string, string, string", "string", "the first string with the third in place of each of the second", func(c *call) (any, error) {
			return c.replace(-1)
		}, false},
		{"semver_compare", "string, string", "boolean", "whether the version is in the range, such as '>=1.2.x <2.0.0 || >3.0.0'", compareVersion, false},
		{"sha1", "string", "string", "the SHA-1 checksum of the string, in hexadecimal", digest(sha1.New), false},
		{"sha256", "string", "string", "the SHA-256 checksum of the string, in hexadecimal", digest(sha256.New), false},
		{"split", "string, string", "array[string]", "the parts of the first string between each of the second", split, false},
		{"to_boolean", "string", "boolean", "true or false from the string of that word in any case", toBoolean, false},
		{"to_lower", "string", "string", "the string in lower case", func(c *call) (any, error) { return c.made(strings.ToLower(c.text(0))) }, false},
		{"to_upper", "string", "string", "the string in upper case", func(c *call) (any, error) { return c.made(strings.ToUpper(c.text(0))) }, false},
		{"trim", "string, string", "string", "the first string without the characters of the second at its ends", func(c *call) (any, error) {
			return strings.Trim(c.text(0), c.text(1)), c.charge((len(c.text(0)) + 1) * (len(c.text(1)) + 1) / 16)
		}, false},
		{"trim_prefix", "string, string", "string", "the first string without the second at its beginning", func(c *call) (any, error) {
			return strings.TrimPrefix(c.text(0), c.text(1)), nil
		}, false},
		{"truncate", "string, number", "string", "the first characters of the string, as many as the number says", truncate, false},
	}
}

// digest is the call of a hash function over the argument.
func digest(newHash func() hash.Hash) func(c *call) (any, error) {
	return func(c *call) (any, error) {
		if err := c.charge(len(c.text(0)) / 16); err != nil {
			return nil, err
		}
		h := newHash()
		_, _ = io.WriteString(h, c.text(0)) // hashes return no error
		return c.made(hex.EncodeToString(h.Sum(nil)))
	}
}

func decodeBase64(c *call) (any, error) {
	if err := c.build(len(c.text(0))); err != nil {
		return nil, err
	}
	raw, err := base64.StdEncoding.DecodeString(c.text(0))
	if err != nil {
		return nil, c.fail(0, "want base64: %w", err)
	}
	return string(raw), nil
}

func replace(c *call) (any, error) {
	n, ok := whole(c.number(3))
	if !ok {
		return nil, c.fail(3, "want a whole number")
	}
	return c.replace(n)
}

// replace is the first argument with the third in place of the first n of the second.
func (c *call) replace(n int) (any, error) {
	text, old, by := c.text(0), c.text(1), c.text(2)
	if err := c.charge(len(text) / 16); err != nil {
		return nil, err
	}
	count := strings.Count(text, old)
	if n >= 0 {
		count = min(count, n)
	}
	if err := c.build(len(text) + count*max(len(by)-len(old), 0)); err != nil {
		return nil, err
	}
	return strings.Replace(text, old, by, n), nil
}

func compareVersion(c *call) (any, error) {
	const longest = 1 << 10 // bytes of versions and ranges
	for i := range c.args {
		if len(c.text(i)) > longest {
			return nil, c.fail(i, "want at most %d bytes", longest)
		}
	}
	version, err := semver.Parse(c.text(0))
	if err != nil {
		return nil, c.fail(0, "want a semantic version such as 1.2.3: %w", err)
	}
	within, err := semver.ParseRange(c.text(1))
	if err != nil {
		return nil, c.fail(1, "want a range of versions such as '>=1.2.0 <2.0.0': %w", err)
	}
	return within(version), nil
}

func split(c *call) (any, error) {
	text, by := c.text(0), c.text(1)
	if err := c.charge(len(text) / 16); err != nil {
		return nil, err
	}
	if err := c.build(2 * slotSize * (strings.Count(text, by) + 1)); err != nil {
		return nil, err
	}
	parts := []any{}
	for part := range strings.SplitSeq(text, by) {
		parts = append(parts, part)
	}
	return parts, nil
}

func toBoolean(c *call) (any, error) {
	switch {
	case strings.EqualFold(c.text(0), "true"):
		return true, nil
	case strings.EqualFold(c.text(0), "false"):
		return false, nil
	}
	return nil, c.fail(0, "want true or false, in any case")
}

func truncate(c *call) (any, error) {
	text, n := c.text(0), c.number(1)
	if n >= float64(len(text)) {
		return text, nil
	}
	end := 0
	for range int(max(n, 0)) {
		_, size := utf8.DecodeRuneInString(text[end:])
		end += size
	}
	return text[:end], c.charge(end / 16)
}
