package remote

import (
	"cmp"
	"slices"
	"strings"

	"github.com/promcost/promcost/allocation/timeline"
)

// Prometheus writes staleness markers of all series of a target that it no longer has, at the time of the scrape that would have been next. The samples of up
// end as well, so that no scrape shows it. A target was removed where it is not scraped for the lookback and others of the same Prometheus are. Where all of
// them end together it is an outage.

// ofTargets are labels of up that say which target it is of. Others that all series have say which Prometheus scraped it.
var ofTargets = []string{"__name__", "job", "instance", "namespace", "service", "pod", "container", "endpoint", "node", "metrics_path"}

// scraped is a time in which a target was scraped.
type scraped struct {
	timeline.Interval

	step int64 // between the last two scrapes, 0 if there is one only
}

// runs are the times, divided where more than the lookback lies between two.
func (s times) runs() (list []scraped) {
	for _, x := range s {
		k := len(list) - 1
		if k < 0 || x.from-list[k].To > timeline.Lookback {
			list = append(list, scraped{timeline.Interval{From: x.from, To: x.last()}, x.step})
			continue
		}
		list[k].step = cmp.Or(x.step, x.from-list[k].To)
		list[k].To = x.last()
	}
	return list
}

// addRemovals adds to the scrapes of targets those that would have been next when they were removed.
func (s *scrapes) addRemovals() {
	names := s.ofPrometheus()
	scrapedBy := make(map[uint64]string, len(s.byID))
	scraping := map[string]timeline.Intervals{} // when a Prometheus scraped something
	for id, list := range s.byID {
		values := make([]string, len(names))
		for i, name := range names {
			values[i] = valueOf(s.labels[id], name)
		}
		by := strings.Join(values, "\xff")
		scrapedBy[id] = by
		for _, x := range list.runs() {
			scraping[by] = append(scraping[by], x.Interval)
		}
	}
	for by, list := range scraping {
		scraping[by] = timeline.Union(list)
	}
	for id, list := range s.byID {
		for _, x := range list.runs() {
			if in, _ := scraping[scrapedBy[id]].Find(x.To); x.step > 0 && in.To >= x.To+2*x.step {
				*list = append(*list, stretch{from: x.To + x.step, n: 1})
			}
		}
		slices.SortFunc(*list, func(a, b stretch) int { return cmp.Compare(a.from, b.from) })
	}
	s.labels = nil
}

// ofPrometheus are the labels that all series have and that are not of targets.
func (s *scrapes) ofPrometheus() (names []string) {
	count := map[string]int{}
	for _, labels := range s.labels {
		for _, l := range labels {
			if count[l.name]++; count[l.name] == len(s.labels) && !slices.Contains(ofTargets, l.name) {
				names = append(names, l.name)
			}
		}
	}
	return names
}
