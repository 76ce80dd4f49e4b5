package main

import (
	"fmt"
	"strings"
	"text/template"

	"github.com/alecthomas/kingpin/v2"
)

// flagGroups are the headings of flags in the help, in order, with the prefixes of their flags: the longest prefix counts. The
// first has all other flags.
var flagGroups = [...]struct {
	title    string
	prefixes []string
}{
	{ownFlags, nil},
	{"Demo flags", []string{"demo."}},
	{"Source flags", []string{"prometheus.", "thanos.", "blocks.", "query.", "source", "tsdb."}},
	{"Price and cluster flags", []string{"charge-from", "cluster.", "config.file", "pricing.", "timezone"}},
	{"Price list flags", []string{"pricing.fetch", "pricing.google-key-file", "pricing.http-config", "pricing.url"}},
	{"Computation flags", []string{"compute.", "debug.", "query.max-memory"}},
	{"History flags", []string{"history.", "shard", "storage."}},
	{"Collector flags", []string{"collector."}},
	{"PromQL flags", []string{"promql."}},
	{"Web flags", []string{"web."}},
	{"Log flags", []string{"log."}},
	{"General flags", []string{"help", "version"}},
}

// shownFlags are flags below a heading.
type shownFlags struct {
	Title string
	Flags []*kingpin.FlagModel
}

// ownFlags is the heading of flags that are in no other group.
const ownFlags = "Flags"

// groupFlags puts the flags that help shows below their headings, in order.
func groupFlags(flags []*kingpin.FlagModel) []shownFlags {
	var byGroup [len(flagGroups)][]*kingpin.FlagModel
	for _, f := range flags {
		if f.Hidden {
			continue
		}
		group, longest := 0, 0
		for i, g := range flagGroups {
			for _, prefix := range g.prefixes {
				if len(prefix) > longest && strings.HasPrefix(f.Name, prefix) {
					group, longest = i, len(prefix)
				}
			}
		}
		byGroup[group] = append(byGroup[group], f)
	}
	var shown []shownFlags
	for i, list := range byGroup {
		if len(list) > 0 {
			shown = append(shown, shownFlags{flagGroups[i].title, list})
		}
	}
	return shown
}

// usageTemplate is kingpin's with the flags in groups, and without a mark on the command that another one is short for.
func usageTemplate() string {
	return strings.NewReplacer(`{{if .Context.Flags -}}
Flags:
{{.Context.Flags|FlagsToTwoColumns|FormatTwoColumns}}
{{end -}}`, `{{range .Context.Flags|GroupFlags -}}
{{.Title}}:
{{.Flags|FlagsToTwoColumns|FormatTwoColumns}}
{{end -}}`, `{{if .Default}}*{{end}}`, "").Replace(kingpin.DefaultUsageTemplate)
}

// manPage is the template of the man page.
const manPage = `{{define "Flags" -}}
{{range .Flags|GroupFlags -}}
.PP
{{.Title}}:
{{range .Flags -}}
.TP
\fB{{if .Short}}\-{{.Short|Char}}\fR, \fB{{end}}\-\-{{.Name|Roff}}\fR{{if not .IsBoolFlag}}=\fI{{.FormatPlaceHolder|Roff}}\fR{{end}}
{{.HelpWithEnvar|Roff}}
{{end -}}
{{end -}}
{{end -}}

.TH PROMCOST 1 "{{Date|Roff}}" "promcost {{Version|Roff}}" "User Commands"
.SH NAME
promcost \- what Kubernetes workloads cost
.SH SYNOPSIS
.B promcost
[\fIflags\fR] \fIcommand\fR [\fIflags\fR] [\fIarguments\fR]
.SH DESCRIPTION
{{.App.Help|Roff}}
.SH OPTIONS
{{template "Flags" .App -}}
.SH COMMANDS
{{range .App.FlattenedCommands -}}
{{if not .Hidden -}}
.SS promcost {{.FullCommand|Roff}}{{range .Args}} [{{.Name|Roff}}{{if .Value|IsCumulative}} ...{{end}}]{{end}}
{{.Help|Roff}}
{{template "Flags" . -}}
{{end -}}
{{end -}}
`

// roff escapes text for a man page, in ASCII, without the backquotes of Markdown.
func roff(text string) string {
	var b strings.Builder
	for i, r := range text {
		switch {
		case r == '\\':
			b.WriteString(`\e`)
		case r == '`':
		case r == '-':
			b.WriteString(`\-`)
		case (r == '.' || r == '\'') && (i == 0 || text[i-1] == '\n'): // else it were a request
			b.WriteString(`\&` + string(r))
		case r > '~':
			fmt.Fprintf(&b, `\[u%04X]`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// usageFuncs are what the templates call. date is that of the program's source.
func usageFuncs(version string, date func() string) template.FuncMap {
	return template.FuncMap{"GroupFlags": groupFlags, "Roff": roff, "Date": date, "Version": func() string { return version }}
}
