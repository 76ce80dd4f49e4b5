package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// setting is a flag of a command or a parameter of an endpoint.
type setting struct{ group, name, values, def, help string }

// withoutDefault is the setting without its default, which may differ from place to place.
func (s setting) withoutDefault() setting {
	s.def = ""
	return s
}

// section is a command or an endpoint, and what can be set there.
type section struct {
	title    string
	settings []setting
}

// settingsPage writes what can be set at several places: what several have is told once, below the heading of its group.
type settingsPage struct {
	columns  []string
	groups   []string             // of shared settings
	shared   map[string][]setting // by group, with the defaults of the first place
	defaults map[setting]string
	told     map[setting]string // the places where the others are told
}

// newSettingsPage finds which settings several places share, but for those of the group own. Of those with one name in a group, it is the
// one that most places have.
func newSettingsPage(places []section, own string, columns ...string) *settingsPage {
	p := &settingsPage{columns: columns, shared: map[string][]setting{}, defaults: map[setting]string{}, told: map[setting]string{}}
	times, most := map[setting]int{}, map[setting]int{}
	name := func(s setting) setting { return setting{group: s.group, name: s.name} }
	for _, at := range places {
		for _, s := range at.settings {
			times[s.withoutDefault()]++
			most[name(s)] = max(most[name(s)], times[s.withoutDefault()])
		}
	}
	for _, at := range places {
		for _, s := range at.settings {
			key := s.withoutDefault()
			if _, known := p.defaults[key]; known || s.group == own || times[key] == 1 || times[key] < most[name(s)] {
				continue
			}
			p.defaults[key] = s.def
			if p.shared[s.group] == nil {
				p.groups = append(p.groups, s.group)
			}
			p.shared[s.group] = append(p.shared[s.group], s)
		}
	}
	return p
}

// sharedTables writes the groups of shared settings, each below its heading.
func (p *settingsPage) sharedTables(b *strings.Builder) {
	for _, group := range p.groups {
		b.WriteString("\n### " + group + "\n")
		p.table(b, p.shared[group])
	}
}

// table writes settings with their defaults.
func (p *settingsPage) table(b *strings.Builder, settings []setting) {
	table(b, p.columns...)
	for _, s := range settings {
		cells := []string{code(s.name), s.values, code(s.def), s.help}
		if len(p.columns) < len(cells) {
			cells = slices.Delete(cells, 1, 2)
		}
		line(b, cells...)
	}
}

// section writes which of the shared settings a place has, with defaults that differ, and a table of its others. title introduces the
// shared ones.
func (p *settingsPage) section(b *strings.Builder, at section, title string) {
	var own []setting
	has := map[string][]setting{}
	for _, s := range at.settings {
		if _, shared := p.defaults[s.withoutDefault()]; shared {
			has[s.group] = append(has[s.group], s)
		} else {
			own = append(own, s)
		}
	}
	var parts []string
	for _, group := range p.groups {
		if len(has[group]) > 0 {
			parts = append(parts, p.some(group, has[group]))
		}
	}
	own, elsewhere := p.toldElsewhere(at.title, own)
	if parts = append(parts, elsewhere...); len(parts) > 0 {
		fmt.Fprintf(b, "\n%s: %s.%s\n", title, strings.Join(parts, "; "), otherDefaults(at.settings, func(s setting) (string, bool) {
			def, shared := p.defaults[s.withoutDefault()]
			return def, shared
		}))
	}
	if len(own) > 0 {
		p.table(b, own)
	}
}

// some says which settings of a group are meant.
func (p *settingsPage) some(group string, has []setting) string {
	var missing []string
	for _, s := range p.shared[group] {
		if !slices.ContainsFunc(has, func(h setting) bool { return h.withoutDefault() == s.withoutDefault() }) {
			missing = append(missing, s.name)
		}
	}
	switch {
	case len(missing) == 0:
		return link(group)
	case len(missing) < len(has):
		return link(group) + " without " + codes(missing)
	}
	return names(has) + " of " + link(group)
}

// toldElsewhere takes those settings out of own that an earlier place tells, if they are several, and says where that is.
func (p *settingsPage) toldElsewhere(title string, own []setting) (rest []setting, elsewhere []string) {
	var titles []string
	by := map[string][]setting{}
	for _, s := range own {
		where := p.told[s.withoutDefault()]
		if where != "" && by[where] == nil {
			titles = append(titles, where)
		}
		by[where] = append(by[where], s)
	}
	for _, where := range titles {
		if len(by[where]) > 1 {
			elsewhere = append(elsewhere, names(by[where])+" of "+link(where))
			own = slices.DeleteFunc(own, func(s setting) bool { return p.told[s.withoutDefault()] == where })
		}
	}
	for _, s := range own {
		p.told[s.withoutDefault()] = cmp.Or(p.told[s.withoutDefault()], title)
	}
	return own, elsewhere
}

// otherDefaults says which settings have another default than the usual one.
func otherDefaults(settings []setting, usual func(setting) (def string, shared bool)) string {
	var differ []string
	none := 0
	for _, s := range settings {
		if def, shared := usual(s); shared && def != s.def {
			if s.def == "" {
				none++
			}
			differ = append(differ, code(s.name)+" "+cmp.Or(code(s.def), "none"))
		}
	}
	switch {
	case len(differ) == 0:
		return ""
	case none == len(differ):
		return " None of them has a default."
	}
	return " Other defaults: " + strings.Join(differ, ", ") + "."
}

// names are the names of settings, as code.
func names(settings []setting) string {
	list := make([]string, len(settings))
	for i, s := range settings {
		list[i] = s.name
	}
	return codes(list)
}
