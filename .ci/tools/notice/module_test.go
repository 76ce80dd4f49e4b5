package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const mit = `MIT License

Copyright (c) 2026 Somebody

Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated documentation files (the
"Software"), to deal in the Software without restriction, including without limitation the rights to use, copy, modify, merge, publish,
distribute, sublicense, and/or sell copies of the Software, and to permit persons to whom the Software is furnished to do so, subject to
the following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF
MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR
ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE
SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.
`

const gpl = `This program is free software: you can redistribute it and/or modify it under the terms of the GNU General Public License as published by
the Free Software Foundation, either version 3 of the License, or (at your option) any later version.

This program is distributed in the hope that it will be useful, but WITHOUT ANY WARRANTY; without even the implied warranty of
MERCHANTABILITY or FITNESS FOR A PARTICULAR PURPOSE.  See the GNU General Public License for more details.

You should have received a copy of the GNU General Public License along with this program.  If not, see <https://www.gnu.org/licenses/>.
`

const own = `You may look at this software on weekdays. Every other use of it, in whole or in part, needs a contract with Somebody, who may end it at
any time, and who may ask for money for each look and for each day on which you remember what you saw.
`

// TestModule reads modules whose package p is linked.
func TestModule(t *testing.T) {
	apache, err := os.ReadFile("../../../LICENSE")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name     string
		files    map[string]string
		isOwn    bool
		licenses string
		texts    int
		want     string // of the error
	}{
		{name: "a license", files: map[string]string{"LICENSE": mit}, licenses: "MIT", texts: 1},
		{name: "the license of promcost", files: map[string]string{"LICENSE": string(apache)}, licenses: "Apache-2.0"},
		{name: "and a notice", files: map[string]string{"LICENSE.txt": string(apache), "NOTICE": "Somebody made this."}, licenses: "Apache-2.0", texts: 1},
		{name: "two in one file", files: map[string]string{"COPYING": string(apache) + mit}, licenses: "Apache-2.0 MIT", texts: 1},
		{name: "of a package", files: map[string]string{"LICENSE": string(apache), "p/COPYING.md": mit}, licenses: "Apache-2.0 MIT", texts: 1},
		{name: "of a package that is not linked", files: map[string]string{"LICENSE": mit, "q/LICENSE": gpl}, licenses: "MIT", texts: 1},
		{name: "of parts of promcost", files: map[string]string{"LICENSE": string(apache), "p/LICENSE": mit}, isOwn: true, licenses: "MIT", texts: 1},
		{name: "none", files: map[string]string{"README.md": mit}, want: "has no file of a license"},
		{name: "only code of that name", files: map[string]string{"license.go": mit}, want: "has no file of a license"},
		{name: "not on the list", files: map[string]string{"LICENSE": gpl}, want: "the license GPL-3.0-or-later, which is not on the list"},
		{name: "not on the list, in a package", files: map[string]string{"LICENSE": mit, "p/COPYING": gpl}, want: "p/COPYING has the license GPL-3.0-or-later"},
		{name: "not on the list, beside another", files: map[string]string{"LICENSE": mit + gpl}, want: "GPL-3.0-or-later"},
		{name: "unknown", files: map[string]string{"LICENSE": own}, want: "0 % of LICENSE are a known license"},
		{name: "unknown beside another", files: map[string]string{"LICENSE": mit + own + own}, want: "% of LICENSE are a known license"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			root := t.TempDir()
			if err := os.MkdirAll(filepath.Join(root, "p"), 0o700); err != nil {
				t.Fatal(err)
			}
			for name, content := range tt.files {
				file := filepath.Join(root, name)
				if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			m := &module{name: "example.com/m", version: "v1.0.0", root: root, own: tt.isOwn, dirs: map[string]bool{filepath.Join(root, "p"): true}}
			err := m.read()
			if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("%v, want %q", err, tt.want)
			}
			if got := strings.Join(m.licenses, " "); tt.want == "" && (got != tt.licenses || len(m.texts) != tt.texts) {
				t.Errorf("%s and %d texts, want %s and %d", got, len(m.texts), tt.licenses, tt.texts)
			}
		})
	}
}

// TestNotice writes equal texts once.
func TestNotice(t *testing.T) {
	text := string(notice(map[string]*module{
		"b": {name: "b", version: "v2.0.0", licenses: []string{"MIT"}, texts: []string{"x"}}, "a": {name: "a", version: "v1.0.0", licenses: []string{"BSD-3-Clause", "MIT"}, texts: []string{"x", "y"}},
		"o": {name: "o", own: true, texts: []string{"z"}},
	}))
	lines := strings.Split(strings.TrimPrefix(text, head), "\n")
	lines = slices.DeleteFunc(lines, func(l string) bool { return l == "" || l+"\n" == line })
	if got := strings.Join(lines, "|"); got != "a v1.0.0: BSD-3-Clause, MIT|b v2.0.0: MIT|a|b|x|a|y|parts of o|z" {
		t.Errorf("%s", got)
	}
}
