package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"
)

// linkTarget finds where links and images of Markdown and HTML lead.
var linkTarget = regexp.MustCompile(`\]\(([^)\s]+)\)|(?:href|src)="([^"]+)"`)

// TestLinksOfPages: what pages of the tree link to is there, a file or a section of a page.
func TestLinksOfPages(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..")
	links := 0
	for _, page := range markdownPages(t, root) {
		for _, m := range linkTarget.FindAllStringSubmatch(readText(t, page), -1) {
			target := m[1] + m[2]
			if strings.Contains(target, "://") {
				continue
			}
			links++
			name, section, _ := strings.Cut(target, "#")
			file := page
			if name != "" {
				file = filepath.Join(filepath.Dir(page), name)
			}
			if _, err := os.Stat(file); err != nil {
				t.Errorf("%s links to %s, which is not there", page, target)
			} else if section != "" && !anchors(readText(t, file))[section] {
				t.Errorf("%s links to %s: there is no such section", page, target)
			}
		}
	}
	if links < 50 {
		t.Errorf("only %d links were found", links)
	}
}

// markdownPages are the Markdown files below a directory, but for those that are built and the copy of SEMANTICS.md that the program embeds.
func markdownPages(t *testing.T, root string) (files []string) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && (e.Name() == ".git" || e.Name() == "bin" || e.Name() == "node_modules"):
			return filepath.SkipDir
		case filepath.Ext(path) == ".md" && e.Name() != "semantics.md":
			files = append(files, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// anchors are the sections of a page by the names that links give them.
func anchors(page string) map[string]bool {
	known := map[string]bool{}
	for line := range strings.Lines(page) {
		if title := strings.TrimLeft(line, "#"); title != line && strings.HasPrefix(title, " ") {
			known[anchor(strings.TrimSpace(title))] = true
		}
	}
	return known
}

// anchor is the name of a section in links, as GitHub forms it.
func anchor(title string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case unicode.IsLetter(r), unicode.IsDigit(r), r == '-', r == '_':
			return unicode.ToLower(r)
		}
		return -1
	}, title)
}
