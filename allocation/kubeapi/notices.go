package kubeapi

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// What is said of times: whole minutes of UTC.
const (
	minuteFormat = "2006-01-02 15:04 UTC"
	clockFormat  = "15:04 UTC"
)

const (
	// lookBack is how far before a window without costs the newest ones are looked for.
	lookBack = 30 * 24 * time.Hour
	// edge is how long the begin or the end of a window may lack costs without a word of it.
	edge = 10 * time.Minute
)

// notice adds what everyone has to know of the window of the snapshot: that all of it or a part has no costs, and when there will be some. It says
// times alone, because it is also for those who may see one namespace.
func (r *reading) notice(ctx context.Context) {
	unsure := r.state.several && len(r.covered.Clusters) == 0 // the data may be those of another cluster
	if r.covered.Whole() && !unsure {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, r.patience)
	defer cancel()
	w := r.window()
	found, err := r.reach(ctx, w)
	switch nothing := err == nil && found.start.IsZero(); {
	case nothing:
		r.covered.Hours = 0
		r.notices = []string{r.nothing(ctx, w)}
	case !r.covered.Whole():
		r.notices = []string{r.covered.Text() + ": " + found.edges(w)}
	}
	whole := r.covered.Text() + ":"
	r.warnings = slices.DeleteFunc(r.warnings, func(text string) bool { return strings.HasPrefix(text, whole) })
}

// reach is the time from the first to the last cost of the cluster in a window, the zero value where there is none.
func (r *reading) reach(ctx context.Context, w span) (found span, err error) {
	q := question{allocationPath, w, "", map[string]string{"aggregate": "cluster", "fields": "start,end"}}
	_, _, err = r.ask(ctx, q, func(_ string, decode func(any) error) error {
		var row struct{ Start, End time.Time }
		if err := decode(&row); err != nil {
			return err
		}
		if found.start.IsZero() || row.Start.Before(found.start) {
			found.start = row.Start
		}
		if row.End.After(found.end) {
			found.end = row.End
		}
		return nil
	})
	return found, err
}

// edges says which end of a window costs do not reach.
func (found span) edges(w span) string {
	var words []string
	if found.start.Sub(w.start) > edge {
		words = append(words, "they begin at "+found.start.UTC().Format(minuteFormat))
	}
	if !found.end.IsZero() && w.end.Sub(found.end) > edge {
		words = append(words, "they end at "+found.end.UTC().Format(minuteFormat)+": does promcost still get samples?")
	}
	if len(words) == 0 {
		return "costs are those of these hours alone"
	}
	return strings.Join(words, ", and ")
}

// nothing says of a window without costs when there were some, or will be.
func (r *reading) nothing(ctx context.Context, w span) string {
	older, err := r.reach(ctx, span{w.start.Add(-lookBack), w.start})
	running, failed := r.reach(ctx, span{w.end, w.end.Add(time.Hour)})
	soon := failed == nil && !running.start.IsZero()
	if soon && err == nil && older.start.IsZero() {
		return "no hour of costs has closed yet: the first is there at " + r.state.next.UTC().Format(clockFormat)
	}
	text := fmt.Sprintf("no costs from %s to %s", w.start.UTC().Format(minuteFormat), w.end.UTC().Format(minuteFormat))
	if err == nil && !older.start.IsZero() {
		text += ": the newest are of " + older.end.UTC().Format(minuteFormat)
	}
	if soon {
		return text + ", and the next hour is there at " + r.state.next.UTC().Format(clockFormat)
	}
	return text + ". Does promcost get samples? Its command check source says which are missing"
}
