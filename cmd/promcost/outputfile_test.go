package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// TestOutputFiles holds that a file is written whole or not at all, wherever its name leads to.
func TestOutputFiles(t *testing.T) {
	failed := errors.New("the disk is full")
	for name, tt := range map[string]struct {
		before, link bool
		err          error
		want         string // "" for no file
	}{
		"a new file":                  {want: "new"},
		"a new file, and it fails":    {err: failed},
		"a file that is there":        {before: true, want: "new"},
		"a file that is there, fails": {before: true, err: failed, want: "old"},
		"a link to a file":            {before: true, link: true, want: "new"},
		"a link to a file, fails":     {before: true, link: true, err: failed, want: "old"},
	} {
		t.Run(name, func(t *testing.T) {
			dir, there := t.TempDir(), t.TempDir()
			path, file := filepath.Join(dir, "out.csv"), filepath.Join(dir, "out.csv")
			if tt.link {
				file = filepath.Join(there, "real.csv")
				if err := os.Symlink(file, path); err != nil {
					t.Fatal(err)
				}
			}
			if tt.before {
				if err := os.WriteFile(file, []byte("old"), 0o640); err != nil {
					t.Fatal(err)
				}
			}
			err := writeFile(path, func(w io.Writer) error {
				if _, err := io.WriteString(w, "new"); err != nil {
					return err
				}
				if text, err := os.ReadFile(path); err == nil != tt.before || tt.before && string(text) != "old" {
					t.Errorf("while it is written the file has %q, %v", text, err)
				}
				return tt.err
			})
			if !errors.Is(err, tt.err) {
				t.Error(err)
			}
			text, err := os.ReadFile(path)
			if err != nil && tt.want != "" || string(text) != tt.want {
				t.Errorf("the file has %q, %v, want %q", text, err, tt.want)
			}
			if info, err := os.Stat(path); tt.before && (err != nil || info.Mode().Perm() != 0o640) {
				t.Errorf("%v, %v", info.Mode(), err)
			}
			if info, err := os.Lstat(path); tt.link && (err != nil || info.Mode()&os.ModeSymlink == 0) {
				t.Errorf("the link is gone: %v", err)
			}
			for _, d := range []string{dir, there} {
				if list, err := os.ReadDir(d); err != nil || len(list) > 1 {
					t.Errorf("%v is left, %v", list, err)
				}
			}
		})
	}
	if err := writeFile(os.DevNull, func(w io.Writer) error { _, err := io.WriteString(w, "new"); return err }); err != nil {
		t.Error(err)
	}
	if info, err := os.Stat(os.DevNull); err != nil || info.Mode().IsRegular() {
		t.Errorf("the device is a file now: %v, %v", info, err)
	}
	if err := writeFile(filepath.Join(t.TempDir(), "no", "out.csv"), func(io.Writer) error { return nil }); err == nil {
		t.Error("it writes into a directory that is not there")
	}
}
