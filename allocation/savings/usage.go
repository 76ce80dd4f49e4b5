package savings

import (
	"maps"
	"math"
	"slices"

	"github.com/promcost/promcost/allocation"
)

// usage is for how many hours a container used how much of a resource: by the levels of usage where sets have these, else by the mean of each
// set.
type usage struct {
	buckets map[float64]bucket // by a level that stands for those close to it
}

// bucket is the hours spent at levels close to each other, and their sum of level × hours.
type bucket struct{ hours, amount float64 }

// levelBits is how many bits of a level tell buckets apart.
const levelBits = 10

// add adds hours at a level.
func (u *usage) add(level, hours float64) {
	if u.buckets == nil {
		u.buckets = map[float64]bucket{}
	}
	fraction, exponent := math.Frexp(level)
	key := math.Ldexp(math.Round(math.Ldexp(fraction, levelBits)), exponent-levelBits)
	b := u.buckets[key]
	u.buckets[key] = bucket{b.hours + hours, b.amount + level*hours}
}

// above returns ∫max(q, u) dt over all hours, in amount × hours.
func (u *usage) above(q float64) (sum float64) {
	for _, key := range slices.Sorted(maps.Keys(u.buckets)) {
		b := u.buckets[key]
		sum += max(q*b.hours, b.amount)
	}
	return sum
}

// containerHistory is what is known of a container of all replicas of a controller.
type containerHistory struct {
	hours    float64                          // in which replicas of it ran
	charged  [allocation.NumResources]float64 // ∫max(q, u)
	requests [allocation.NumResources]float64 // ∫q
	usage    [allocation.NumResources]usage
	scaled   bool // a HorizontalPodAutoscaler followed its CPU or memory in the newest hour
}

// historyColumns are what is summed of containers.
func historyColumns() []allocation.Column {
	columns := []allocation.Column{allocation.RunningSeconds, allocation.CPUScaledSeconds, allocation.RAMScaledSeconds}
	for r := range allocation.NumResources {
		columns = append(columns, allocation.Hours.Of(r), allocation.RequestHours.Of(r), allocation.UsageHours.Of(r), allocation.UnknownSeconds.Of(r))
	}
	return columns
}

// HistoryNeeds returns what Predict looks at of the sets of usage.
func HistoryNeeds() *allocation.Projection {
	p := allocation.OfRows([]allocation.Property{
		allocation.Cluster, allocation.Namespace, allocation.ControllerKind, allocation.Controller, allocation.Pod, allocation.Container,
	}, historyColumns()...)
	p.Levels = true
	return p
}

// add adds a row. Usage that is not known is taken to be nothing.
func (c *containerHistory) add(s *allocation.Set, row int) {
	hours := s.Value(allocation.RunningSeconds, row) / 3600
	c.hours += hours
	c.scaled = s.Value(allocation.CPUScaledSeconds, row)+s.Value(allocation.RAMScaledSeconds, row) > 0
	for r := range allocation.NumResources {
		c.charged[r] += s.Value(allocation.Hours.Of(r), row)
		c.requests[r] += s.Value(allocation.RequestHours.Of(r), row)
		unknown := min(hours, s.Value(allocation.UnknownSeconds.Of(r), row)/3600)
		if unknown > 0 {
			c.usage[r].add(0, unknown)
		}
		if known := hours - unknown; known > 0 {
			c.usage[r].addLevels(levelsOf(s, r, row), s.Value(allocation.UsageHours.Of(r), row), known)
		}
	}
}

// levelsOf are the levels of a row's usage, none where they are not known.
func levelsOf(s *allocation.Set, r allocation.Resource, row int) []allocation.Level {
	if slices.Contains(allocation.LevelResources[:], r) && s.HasLevels() {
		return s.Levels(r, row)
	}
	return nil
}

// addLevels adds hours in which so much was used, at levels in proportion to those given, else at the mean.
func (u *usage) addLevels(levels []allocation.Level, amount, hours float64) {
	sum, millis := 0.0, 0.0
	for _, l := range levels {
		sum, millis = sum+l.Bucket.Middle()*float64(l.Millis), millis+float64(l.Millis)
	}
	if sum == 0 {
		u.add(amount/hours, hours)
		return
	}
	for _, l := range levels {
		u.add(l.Bucket.Middle()*amount/hours*millis/sum, hours*float64(l.Millis)/millis)
	}
}

// mean returns the mean of max(q, u) over the hours. What bursts that levels do not show are charged above the requests that there were is
// added, as far as q is exceeded as they were.
func (c *containerHistory) mean(r allocation.Resource, q float64) float64 {
	u, before := &c.usage[r], c.requests[r]/c.hours
	over := func(q float64) float64 { return u.above(q) - q*c.hours }
	part := 0.0
	switch was := over(before); {
	case was > 0:
		part = min(1, over(q)/was)
	case q <= before:
		part = 1
	}
	return (u.above(q) + part*(c.charged[r]-u.above(before))) / c.hours
}

// controllerKey identifies a controller, or a pod of its own, of a cluster. The kind is in lower case, and pod for such a pod.
type controllerKey struct{ namespace, kind, name string }

// controllerHistory is what is known of the containers of a controller, by name.
type controllerHistory map[string]*containerHistory

// hours returns for how many hours its pods ran: as long as the container that ran longest.
func (h controllerHistory) hours() (most float64) {
	for _, c := range h {
		most = max(most, c.hours)
	}
	return most
}

// scaled reports whether a HorizontalPodAutoscaler of the cluster scales the controller.
func (h controllerHistory) scaled() bool {
	for _, c := range h {
		if c.scaled {
			return true
		}
	}
	return false
}
