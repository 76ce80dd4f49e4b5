package cloudcost

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/billing"
)

var _ json.Marshaler = (*Status)(nil)

// Status is the state of a bill, as OpenCost describes an integration.
type Status struct {
	Name, Provider string
	Delivered      time.Time // the newest delivery
	Looks          billing.Looks
	Statements     int
	Charged        allocation.Window
	Problem        string // "" where there is none
}

// MarshalJSON implements json.Marshaler.
func (s *Status) MarshalJSON() ([]byte, error) {
	clock := func(t time.Time) string { return t.UTC().Format(time.RFC3339) }
	next := s.Looks.Last
	if !next.IsZero() {
		next = next.Add(s.Looks.Every)
	}
	out := map[string]any{
		"key": s.Name, "source": "FOCUS", "provider": s.Provider, "active": true, "valid": s.Problem == "", "runs": s.Looks.Count,
		"lastRun": clock(s.Looks.Last), "created": clock(s.Delivered), "nextRun": clock(next), "refreshRate": s.Looks.Every.String(),
		"connectionStatus": cmp.Or(s.Problem, "Successful Connection"), "coverage": "",
	}
	if s.Statements > 0 {
		out["coverage"] = "[" + clock(s.Charged.Start) + ", " + clock(s.Charged.End) + ")"
	}
	return json.Marshal(out)
}

// StatusOf lists the bills of a book in the order of the config file. The problem of a bill is the first warning about it.
func StatusOf(b *billing.Book) []*Status {
	list := make([]*Status, 0, len(b.Bills()))
	for _, bill := range b.Bills() {
		s := &Status{Name: bill.Name, Looks: b.Looks(), Problem: "no files were found"}
		var providers []string
		for _, st := range b.Statements() {
			if st.Bill != bill.Name {
				continue
			}
			if s.Statements == 0 || st.Charged.Start.Before(s.Charged.Start) {
				s.Charged.Start = st.Charged.Start
			}
			if st.Charged.End.After(s.Charged.End) {
				s.Charged.End = st.Charged.End
			}
			if st.Delivered.After(s.Delivered) {
				s.Delivered = st.Delivered
			}
			for _, t := range st.Totals {
				if t.Provider != "" && !slices.Contains(providers, t.Provider) {
					providers = append(providers, t.Provider)
				}
			}
			s.Statements++
			s.Problem = ""
		}
		for _, text := range slices.Backward(b.Warnings()) {
			rest, ok := strings.CutPrefix(text, "bill "+bill.Name)
			if problem, found := strings.CutPrefix(rest, ": "); ok && found {
				s.Problem = problem
			} else if ok && strings.HasPrefix(rest, " does not count") {
				s.Problem = "it" + rest
			}
		}
		slices.Sort(providers)
		s.Provider = strings.Join(providers, ", ")
		list = append(list, s)
	}
	return list
}

// CustomStatus is the state of the bills of vendors, as OpenCost describes its plugins. Without vendors it says only that there are none.
type CustomStatus struct {
	Enabled  bool              `json:"enabled"`
	Domains  []string          `json:"domains"`
	Coverage map[string]window `json:"coverageDaily,omitempty"` // by domain
	LastRun  *time.Time        `json:"lastRun,omitempty"`
	Refresh  string            `json:"RefreshRateDaily,omitempty"`
}

// CustomStatusOf is the state of the bills of vendors in a book.
func CustomStatusOf(b *billing.Book, zone *time.Location) *CustomStatus {
	s := &CustomStatus{Coverage: map[string]window{}}
	for _, st := range b.Statements() {
		charged := windowOf(st.Charged, zone)
		for _, t := range st.Totals {
			if !isVendor(t.Provider) {
				continue
			}
			is, known := s.Coverage[t.Provider]
			if !known || charged.Start.Before(is.Start) {
				is.Start = charged.Start
			}
			if charged.End.After(is.End) {
				is.End = charged.End
			}
			s.Coverage[t.Provider] = is
		}
	}
	if len(s.Coverage) == 0 {
		return s
	}
	looks := b.Looks()
	s.Enabled, s.Domains, s.Refresh = true, slices.Sorted(maps.Keys(s.Coverage)), looks.Every.String()
	if !looks.Last.IsZero() {
		last := looks.Last.UTC()
		s.LastRun = &last
	}
	return s
}
