package main

import (
	"cmp"
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	"github.com/prometheus/common/version"
)

// stamp sets the version where the linker did not: to the one that Go recorded of the build, if any. What shows or exports the
// version reads it there.
func stamp() {
	if version.Version != "" {
		return
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "(devel)" {
		version.Version = strings.TrimPrefix(info.Main.Version, "v")
	}
	version.Version = cmp.Or(version.Version, unstamped)
}

// unstamped is the version of a build without version information.
const unstamped = "devel"

// versionText is what is known of the build, in the form of Prometheus' programs.
func versionText() string {
	var b strings.Builder
	b.WriteString("promcost, version " + cmp.Or(version.Version, unstamped))
	var source []string
	for _, of := range [...][2]string{{"branch", version.Branch}, {"revision", version.GetRevision()}} {
		if isKnown(of[1]) {
			source = append(source, of[0]+": "+of[1])
		}
	}
	if len(source) > 0 {
		b.WriteString(" (" + strings.Join(source, ", ") + ")")
	}
	for _, of := range [...][2]string{
		{"build user", version.BuildUser},
		{"build date", version.BuildDate},
		{"go version", version.GoVersion},
		{"platform", version.GoOS + "/" + version.GoArch},
		{"tags", version.GetTags()},
	} {
		if isKnown(of[1]) {
			fmt.Fprintf(&b, "\n  %-17s %s", of[0]+":", of[1])
		}
	}
	return b.String()
}

// sourceDate is the day of the build, or else of its commit, as 2006-01-02; "" if neither is known.
func sourceDate() string {
	if day, err := time.Parse("20060102", version.BuildDate[:min(len(version.BuildDate), 8)]); err == nil {
		return day.Format(time.DateOnly)
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if day, err := time.Parse(time.RFC3339, s.Value); s.Key == "vcs.time" && err == nil {
				return day.UTC().Format(time.DateOnly)
			}
		}
	}
	return ""
}

// isKnown reports whether a stamp says something.
func isKnown(stamp string) bool { return stamp != "" && stamp != "unknown" }
