package main

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kingpin/v2"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/common/version"
)

// TestFlagsAreInGroups checks under which headings help shows the flags of serve: none is left over, and none twice.
func TestFlagsAreInGroups(t *testing.T) {
	app, _ := newApp(streams{})
	var stdout, stderr bytes.Buffer
	if code := run(t.Context(), []string{"serve", "--help"}, &stdout, &stderr); code != exitOK {
		t.Fatalf("exit %d: %s", code, stderr.String())
	}
	var titles []string
	for _, match := range regexp.MustCompile(`(?m)^(\S.* flags|Flags):$`).FindAllStringSubmatch(stdout.String(), -1) {
		titles = append(titles, match[1])
	}
	want := []string{"Source flags", "Price and cluster flags", "Price list flags", "Computation flags", "History flags", "Collector flags", "PromQL flags", "Web flags", "Log flags", "General flags"}
	if diff := cmp.Diff(want, titles); diff != "" {
		t.Errorf("headings (-want +got):\n%s", diff)
	}
	i := slices.IndexFunc(app.Model().Commands, func(c *kingpin.CmdModel) bool { return c.Name == "serve" })
	for _, f := range slices.Concat(app.Model().Flags, app.Model().Commands[i].Flags) {
		shown := len(regexp.MustCompile(`(?m)^ {2}(-., |    )?--(\[no-\])?`+regexp.QuoteMeta(f.Name)+`(=| |$)`).FindAllString(stdout.String(), -1))
		if want := 1; !f.Hidden && shown != want || f.Hidden && shown != 0 {
			t.Errorf("--%s is shown %d times", f.Name, shown)
		}
	}
}

// TestVersionText checks what is said of builds with all stamps, some or none.
func TestVersionText(t *testing.T) {
	stamps := []*string{&version.Version, &version.Branch, &version.Revision, &version.BuildUser, &version.BuildDate}
	before := make([]string, len(stamps))
	for i, s := range stamps {
		before[i] = *s
	}
	t.Cleanup(func() {
		for i, s := range stamps {
			*s = before[i]
		}
	})
	for _, tt := range []struct {
		name   string
		stamps [5]string
		want   string // how it begins
	}{
		{"none", [5]string{}, "promcost, version devel\n  go version:       go"},
		{"of make build", [5]string{"1.2.3", "", "0123abc", "", ""}, "promcost, version 1.2.3 (revision: 0123abc)\n  go version:       go"},
		{
			"of a release",
			[5]string{"1.2.3", "main", "0123abc", "me@here", "20261122"},
			"promcost, version 1.2.3 (branch: main, revision: 0123abc)\n  build user:       me@here\n  build date:       20261122\n  go version:       go",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for i, s := range stamps {
				*s = tt.stamps[i]
			}
			got := versionText()
			if !strings.HasPrefix(got, tt.want) || strings.Contains(got, "unknown") {
				t.Errorf("got %q, want %q first", got, tt.want)
			}
		})
	}
}
