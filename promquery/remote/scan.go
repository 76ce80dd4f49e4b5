package remote

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

const (
	// maxToken bounds a string or number of an answer, maxDepth the nesting of skipped values.
	maxToken = 1 << 20
	maxDepth = 64
)

// errNotJSON says that an answer is no JSON object from its first byte on.
var errNotJSON = errors.New("answer is not a JSON object")

// scanner reads JSON from a stream, token by token, through one buffer. The first error stays.
type scanner struct {
	r   io.Reader
	buf []byte
	pos int
	end int
	n   int64  // bytes read
	tok []byte // the last string or number
	err error
}

func newScanner(r io.Reader) *scanner { return &scanner{r: r, buf: make([]byte, 64<<10)} }

// fill reads more and reports whether there is any.
func (s *scanner) fill() bool {
	if s.err != nil {
		return false
	}
	for range 100 { // readers may return nothing for a while
		n, err := s.r.Read(s.buf)
		s.n += int64(n)
		if s.pos, s.end = 0, n; n > 0 {
			return true
		}
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			s.err = streamError{fmt.Errorf("the answer was cut off: %w", err)}
			return false
		}
	}
	s.err = streamError{io.ErrNoProgress}
	return false
}

// peek returns the next byte that is not space, 0 at the end.
func (s *scanner) peek() byte {
	for {
		for s.pos < s.end {
			switch c := s.buf[s.pos]; c {
			case ' ', '\n', '\r', '\t':
				s.pos++
			default:
				return c
			}
		}
		if !s.fill() {
			return 0
		}
	}
}

// next returns the next byte, space or not, 0 at the end.
func (s *scanner) next() byte {
	if s.pos == s.end && !s.fill() {
		return 0
	}
	s.pos++
	return s.buf[s.pos-1]
}

// fail records that something other than want was found.
func (s *scanner) fail(want string) {
	if s.err == nil {
		s.err = streamError{fmt.Errorf("malformed JSON: want %s", want)}
	}
}

// expect takes the byte c.
func (s *scanner) expect(c byte) bool {
	if s.peek() != c {
		s.fail(strconv.QuoteRune(rune(c)))
		return false
	}
	s.pos++
	return true
}

// each calls visit for every element up to the closing byte; the opening one has been taken.
func (s *scanner) each(closing byte, visit func()) {
	if s.peek() == closing {
		s.pos++
		return
	}
	for s.err == nil {
		if visit(); s.err != nil {
			return
		}
		switch s.peek() {
		case ',':
			s.pos++
		case closing:
			s.pos++
			return
		default:
			s.fail("',' or " + strconv.QuoteRune(rune(closing)))
		}
	}
}

// object calls visit with each key of an object; the key is valid until visit reads on.
func (s *scanner) object(visit func(key []byte)) {
	if !s.expect('{') {
		return
	}
	s.each('}', func() {
		if key := s.str(); s.err == nil && s.expect(':') {
			visit(key)
		}
	})
}

// array calls visit at each element of an array.
func (s *scanner) array(visit func()) {
	if s.expect('[') {
		s.each(']', visit)
	}
}

// str reads a string; it is valid until the next token.
func (s *scanner) str() []byte {
	s.tok = s.tok[:0]
	if !s.expect('"') {
		return nil
	}
	for s.err == nil {
		// What is in the buffer up to a quote or an escape is taken at once.
		k := s.pos
		for k < s.end && s.buf[k] != '"' && s.buf[k] != '\\' {
			k++
		}
		s.tok = append(s.tok, s.buf[s.pos:k]...)
		if s.pos = k; len(s.tok) > maxToken {
			s.fail("a shorter string")
			return nil
		}
		if k == s.end {
			s.fill()
			continue
		}
		s.pos++
		if s.buf[k] == '"' {
			return s.tok
		}
		s.escape()
	}
	return nil
}

// escape reads what follows a backslash.
func (s *scanner) escape() {
	switch c := s.next(); c {
	case '"', '\\', '/':
		s.tok = append(s.tok, c)
	case 'b':
		s.tok = append(s.tok, '\b')
	case 'f':
		s.tok = append(s.tok, '\f')
	case 'n':
		s.tok = append(s.tok, '\n')
	case 'r':
		s.tok = append(s.tok, '\r')
	case 't':
		s.tok = append(s.tok, '\t')
	case 'u':
		r := s.hex4()
		if utf16.IsSurrogate(r) {
			if s.next() != '\\' || s.next() != 'u' {
				s.fail("the second half of a surrogate pair")
				return
			}
			r = utf16.DecodeRune(r, s.hex4())
		}
		s.tok = utf8.AppendRune(s.tok, r)
	default:
		s.fail("an escape sequence")
	}
}

func (s *scanner) hex4() rune {
	var digits [4]byte
	for i := range digits {
		digits[i] = s.next()
	}
	n, err := strconv.ParseUint(string(digits[:]), 16, 16)
	if err != nil {
		s.fail("four hexadecimal digits")
	}
	return rune(n)
}

// number reads a number, or a bare word such as true; it is valid until the next token.
func (s *scanner) number() []byte {
	s.tok = s.tok[:0]
	s.peek()
	for s.err == nil {
		if s.pos == s.end && !s.fill() {
			break
		}
		c := s.buf[s.pos]
		if c == ',' || c == ']' || c == '}' || c == ':' || c <= ' ' || c == '"' || c == '[' || c == '{' {
			break
		}
		if s.tok = append(s.tok, c); len(s.tok) > maxToken {
			s.fail("a shorter number")
		}
		s.pos++
	}
	if len(s.tok) == 0 {
		s.fail("a value")
	}
	return s.tok
}

// skip reads a value of any kind.
func (s *scanner) skip(depth int) {
	if depth > maxDepth {
		s.fail("less nesting")
		return
	}
	switch s.peek() {
	case '{':
		s.object(func([]byte) { s.skip(depth + 1) })
	case '[':
		s.array(func() { s.skip(depth + 1) })
	case '"':
		s.str()
	default:
		s.number()
	}
}

// powers are the powers of ten that float64 holds exactly.
var powers = [...]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15}

// parseDecimal parses a number of at most 15 digits without an exponent. Mantissa and power are exact, so their quotient is
// rounded correctly.
func parseDecimal(b []byte) (mantissa int64, decimals int, ok bool) {
	neg := len(b) > 0 && b[0] == '-'
	if neg {
		b = b[1:]
	}
	point := -1
	for i, c := range b {
		switch {
		case c >= '0' && c <= '9':
			mantissa = mantissa*10 + int64(c-'0')
		case c == '.' && point < 0 && i > 0:
			point = i
		default:
			return 0, 0, false
		}
		if i > 15 {
			return 0, 0, false
		}
	}
	digits := len(b)
	if point >= 0 {
		digits--
		decimals = len(b) - point - 1
	}
	if digits == 0 || digits > 15 || neg && mantissa == 0 { // -0 has a sign to keep
		return 0, 0, false
	}
	if neg {
		mantissa = -mantissa
	}
	return mantissa, decimals, true
}

// parseValue parses a sample's value.
func parseValue(b []byte) (float64, error) {
	if m, d, ok := parseDecimal(b); ok {
		return float64(m) / powers[d], nil
	}
	return strconv.ParseFloat(string(b), 64)
}
