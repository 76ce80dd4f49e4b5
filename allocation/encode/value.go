package encode

import (
	"math"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"
)

const hexDigits = "0123456789abcdef"

// appendString appends s as a JSON string. Bytes that are not UTF-8 become U+FFFD.
func appendString(b []byte, s string) []byte {
	b = append(b, '"')
	from := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' && c < utf8.RuneSelf {
			i++
			continue
		}
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(s[i:])
			if r != utf8.RuneError || size > 1 {
				i += size
				continue
			}
			b = append(append(b, s[from:i]...), `\ufffd`...)
			i++
			from = i
			continue
		}
		b = append(b, s[from:i]...)
		switch c {
		case '"', '\\':
			b = append(b, '\\', c)
		case '\n':
			b = append(b, '\\', 'n')
		case '\t':
			b = append(b, '\\', 't')
		default:
			b = append(b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
		i++
		from = i
	}
	return append(append(b, s[from:]...), '"')
}

// appendNumber appends v as the shortest JSON number that reads back as v: in full from 1e-6 to 1e21, with an exponent
// beyond. What is no number becomes null.
func appendNumber(b []byte, v float64) []byte {
	if v == 0 {
		return append(b, '0')
	}
	if v-v != 0 {
		return append(b, "null"...)
	}
	abs := math.Abs(v)
	if whole := int64(v); abs < 1<<53 && float64(whole) == v {
		return strconv.AppendInt(b, whole, 10)
	}
	if abs >= 1e-6 && abs < 1e21 {
		return appendInFull(b, v)
	}
	b = strconv.AppendFloat(b, v, 'e', -1, 64)
	if n := len(b); b[n-4] == 'e' && b[n-2] == '0' { // e-09 is e-9
		b[n-2] = b[n-1]
		b = b[:n-1]
	}
	return b
}

// appendInFull appends v, from 1e-6 to 1e21 or negative, without an exponent, as strconv does with 'f'. That takes digits one by
// one, which takes longer than to move the point of what it writes with an exponent.
func appendInFull(b []byte, v float64) []byte {
	if v < 0 {
		b, v = append(b, '-'), -v
	}
	from := len(b)
	b = strconv.AppendFloat(b, v, 'e', -1, 64) // such as 1.25e+02, or 1e-06
	n := len(b) - len("e+00")
	exponent := int(b[n+2]-'0')*10 + int(b[n+3]-'0')
	small := b[n+1] == '-'
	b = b[:n]
	digits := max(n-from-len("."), 1)
	switch {
	case small && exponent > 0:
		if digits > 1 {
			b = append(b[:from+1], b[from+2:]...)
		}
		zeros := "0.00000"[:1+exponent]
		return slices.Insert(b, from, []byte(zeros)...)
	case digits > exponent+1:
		copy(b[from+1:], b[from+2:from+2+exponent])
		b[from+1+exponent] = '.'
	default:
		if digits > 1 {
			b = append(b[:from+1], b[from+2:]...)
		}
		for range exponent + 1 - digits {
			b = append(b, '0')
		}
	}
	return b
}

// appendTime appends t as an RFC 3339 string of whole seconds.
func appendTime(b []byte, t time.Time) []byte {
	return append(t.AppendFormat(append(b, '"'), time.RFC3339), '"')
}
