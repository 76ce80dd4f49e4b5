package cloudcost

import (
	"cmp"
	"encoding/json"
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
	Next           time.Time // when bills are looked for again; zero if unknown
	Every          time.Duration
	Statements     int
	Charged        allocation.Window
	Problem        string // "" where there is none
}

// MarshalJSON implements json.Marshaler.
func (s *Status) MarshalJSON() ([]byte, error) {
	clock := func(t time.Time) string { return t.UTC().Format(time.RFC3339) }
	out := map[string]any{
		"key": s.Name, "source": "FOCUS", "provider": s.Provider, "active": true, "valid": s.Problem == "", "runs": s.Statements,
		"lastRun": clock(s.Delivered), "created": clock(s.Delivered), "nextRun": clock(s.Next), "refreshRate": s.Every.String(),
		"connectionStatus": cmp.Or(s.Problem, "Successful Connection"), "coverage": "",
	}
	if s.Statements > 0 {
		out["coverage"] = "[" + clock(s.Charged.Start) + ", " + clock(s.Charged.End) + ")"
	}
	return json.Marshal(out)
}

// StatusOf lists the bills of a book in the order of the config file.
func StatusOf(b *billing.Book) []*Status {
	list := make([]*Status, 0, len(b.Bills()))
	for _, bill := range b.Bills() {
		s := &Status{Name: bill.Name, Problem: "no files were found"}
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
		slices.Sort(providers)
		s.Provider = strings.Join(providers, ", ")
		list = append(list, s)
	}
	return list
}
